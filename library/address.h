/* address.h: a socket address of any family, between socket.c and socket.ae. Not for users of the library. */
#ifndef AE_ADDRESS_H
#define AE_ADDRESS_H

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

struct ae_address {
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_un un;
    } u;
    socklen_t length;
};
/* Return 0 or a negative errno. ip null: any IPv4 address. */
int ae_address_ip(struct ae_address *a, const char *ip, int port);
int ae_address_unix(struct ae_address *a, const char *path);
/* A new stream socket of the address's family, O_NONBLOCK and O_CLOEXEC, or a negative errno. */
int ae_address_socket(const struct ae_address *a);

#endif
