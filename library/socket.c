/* Sockets: the leaves, each one request to io.h, and what needs no waiting. What is made of other calls stands in socket.ae.
 *
 * The functions with a struct __ae_branch * in front are those that <aesop/socket.h> declares with __aesop: aecc adds that parameter.
 * A leaf returns the value of ae_io() as it is; see io/io.h. */
#include "../io/io.h"
#include <aesop/socket.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"

/* --- leaves --- */

int aesop_accept(struct __ae_branch *b, int fd, struct sockaddr *addr, socklen_t *len) {
    struct ae_io_request q = {.op = AE_IO_ACCEPT, .fd = fd, .flags = SOCK_CLOEXEC | SOCK_NONBLOCK, .buf = addr, .more.length = len};
    return (int)ae_io(b, &q);
}
int aesop_connect(struct __ae_branch *b, int fd, const struct sockaddr *addr, socklen_t len) {
    struct ae_io_request q = {.op = AE_IO_CONNECT, .fd = fd, .buf = (void *)(size_t)addr, .len = len};
    return (int)ae_io(b, &q);
}
long aesop_recv(struct __ae_branch *b, int fd, void *buf, size_t len, int flags) {
    struct ae_io_request q = {.op = AE_IO_RECV, .fd = fd, .flags = flags, .buf = buf, .len = len};
    return ae_io(b, &q);
}
long aesop_send(struct __ae_branch *b, int fd, const void *buf, size_t len, int flags) {
    struct ae_io_request q = {.op = AE_IO_SEND, .fd = fd, .flags = flags, .buf = (void *)(size_t)buf, .len = len};
    return ae_io(b, &q);
}
long aesop_read(struct __ae_branch *b, int fd, void *buf, size_t len) {
    struct ae_io_request q = {.op = AE_IO_READ, .fd = fd, .buf = buf, .len = len, .off = -1};
    return ae_io(b, &q);
}
long aesop_write(struct __ae_branch *b, int fd, const void *buf, size_t len) {
    struct ae_io_request q = {.op = AE_IO_WRITE, .fd = fd, .buf = (void *)(size_t)buf, .len = len, .off = -1};
    return ae_io(b, &q);
}
int aesop_poll(struct __ae_branch *b, int fd, int events) {
    struct ae_io_request q = {.op = AE_IO_POLL, .fd = fd, .flags = events};
    return (int)ae_io(b, &q);
}
int aesop_close(struct __ae_branch *b, int fd) {
    struct ae_io_request q = {.op = AE_IO_CLOSE, .fd = fd};
    return (int)ae_io(b, &q);
}

/* --- without waiting --- */

int ae_address_ip(struct ae_address *a, const char *ip, int port) {
    if (port < 0 || port > 65535) return -EINVAL;
    memset(a, 0, sizeof *a);
    if (!ip || inet_pton(AF_INET, ip, &a->u.in.sin_addr) == 1) {
        a->u.in.sin_family = AF_INET;
        a->u.in.sin_port = htons((uint16_t)port);
        a->length = sizeof a->u.in;
        return 0;
    }
    if (inet_pton(AF_INET6, ip, &a->u.in6.sin6_addr) != 1) return -EINVAL;
    a->u.in6.sin6_family = AF_INET6;
    a->u.in6.sin6_port = htons((uint16_t)port);
    a->length = sizeof a->u.in6;
    return 0;
}
int ae_address_unix(struct ae_address *a, const char *path) {
    size_t n = strlen(path);
    if (n >= sizeof a->u.un.sun_path) return -ENAMETOOLONG;
    if (n == 0) return -ENOENT; /* to the kernel this is "choose a name" */
    memset(a, 0, sizeof *a);
    a->u.un.sun_family = AF_UNIX;
    memcpy(a->u.un.sun_path, path, n + 1);
    a->length = sizeof a->u.un;
    return 0;
}
int ae_address_socket(const struct ae_address *a) {
    int fd = socket(a->u.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

static int result(int n) { return n < 0 ? -errno : 0; }
static int set(int fd, int level, int name, int value) { return result(setsockopt(fd, level, name, &value, sizeof value)); }

static int listen_at(const struct ae_address *a, int backlog) {
    int fd = ae_address_socket(a);
    if (fd < 0) return fd;
    int error = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (!error) error = result(bind(fd, &a->u.any, a->length));
    if (!error) error = result(listen(fd, backlog));
    if (!error) return fd;
    close(fd);
    return error;
}
int aesop_listen_tcp(const char *host, int port, int backlog) {
    struct ae_address a;
    int error = ae_address_ip(&a, host, port);
    return error ? error : listen_at(&a, backlog);
}
int aesop_listen_unix(const char *path, int backlog) {
    struct ae_address a;
    int error = ae_address_unix(&a, path);
    return error ? error : listen_at(&a, backlog);
}
int aesop_socket_port(int fd) {
    struct ae_address a = {.length = sizeof a.u};
    if (getsockname(fd, &a.u.any, &a.length) < 0) return -errno;
    if (a.u.any.sa_family == AF_INET) return ntohs(a.u.in.sin_port);
    if (a.u.any.sa_family == AF_INET6) return ntohs(a.u.in6.sin6_port);
    return -EAFNOSUPPORT;
}

int aesop_tcp_nodelay(int fd, int on) { return set(fd, IPPROTO_TCP, TCP_NODELAY, on != 0); }
int aesop_tcp_cork(int fd, int on) { return set(fd, IPPROTO_TCP, TCP_CORK, on != 0); }
int aesop_tcp_keepalive(int fd, int idle, int interval, int count) {
    if (idle == 0) return set(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
    int error = set(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
    if (!error) error = set(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval);
    if (!error) error = set(fd, IPPROTO_TCP, TCP_KEEPCNT, count);
    return error ? error : set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
}
int aesop_socket_buffers(int fd, int receive, int send) {
    int error = receive ? set(fd, SOL_SOCKET, SO_RCVBUF, receive) : 0;
    return error || !send ? error : set(fd, SOL_SOCKET, SO_SNDBUF, send);
}
int aesop_socket_linger(int fd, int seconds) {
    struct linger l = {.l_onoff = seconds >= 0, .l_linger = seconds >= 0 ? seconds : 0};
    return result(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l));
}
int aesop_shutdown(int fd, int how) { return result(shutdown(fd, how)); }
