/* client.h: the clients of one process (client.c), and what main.c asks of them. */
#ifndef FILE_CLIENT_H
#define FILE_CLIENT_H

#include "../file/protocol.h"
#include <stddef.h>

struct pollfd;

struct options {
    const char *ip, *path;
    int port;
    int requests; /* of each client */
    size_t size;  /* bytes in each */
    unsigned type;
    int clients; /* of this process */
    int timeout; /* s without any progress */
    int verify, json;
};

enum client_state {
    CONNECTING,
    SENDING,
    RECEIVING_HEADER,
    RECEIVING_PAYLOAD,
    WRITTEN, /* all requests are answered, the files are to be read back */
    FINISHED,
    FAILED, /* error says why */
};
struct client {
    struct process *of;
    enum client_state state;
    int fd, number, request;
    unsigned type;
    int checking;          /* reads back what it has written: not measured */
    unsigned char *buffer; /* request: header, path, payload; answer: payload */
    size_t done, total;    /* of what is being sent or received */
    unsigned char header[FILE_HEADER];
    struct file_response answer;
    double started, begun, ended; /* s: before connecting, of this request, after the last answer */
    double *latency;              /* of each request, s */
    char error[1536];
};
struct process {
    const struct options *options;
    struct client *clients;
    struct pollfd *polls;
    struct client **polled;
    double *latencies; /* of all clients, one after the other */
};

/* Returns 0 or -ENOMEM; process_close() in both cases. */
int process_open(struct process *p, const struct options *o, int rank);
/* Connects all clients and lets them send their requests. */
void process_run(struct process *p);
/* --verify of a write: reads every file back. */
void process_check(struct process *p);
void process_close(struct process *p);

#endif
