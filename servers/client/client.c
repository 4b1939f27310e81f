/* file-client: drives a file server with many clients and measures it.
 *
 *     mpirun -np 16 file-client --ip 127.0.0.1 --port 9999 --path data --num-requests 16 --size 4096 --type-w
 *
 * MPI only lines up the processes and gathers what they measured; clients and server talk TCP (servers/file/protocol.h). All processes meet
 * at a barrier, connect, send their requests one after the other, and meet again. The run's time is that of the slowest client, from before
 * it connects to after its last answer; the latency of a request is from before it is sent to after its answer has arrived.
 *
 * A process plays one client with blocking calls, or several (--clients-per-process) with poll(): each client is a small state machine
 * whose steps do as much as they can. With one client no step ever finds that it would have to wait, so poll() is not called, and both
 * modes are the same code.
 *
 * An error ends the client that has it, not the run: all processes still meet at the second barrier, then the run fails.
 */
#define _GNU_SOURCE
#include "client.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(struct client *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct client *c, const char *format, ...) {
    va_list list;
    int n = snprintf(c->error, sizeof c->error, "client %d", c->number);
    if (c->request >= 0 && c->request < c->of->options->requests)
        n += snprintf(c->error + n, sizeof c->error - (size_t)n, ", request %d", c->request);
    n += snprintf(c->error + n, sizeof c->error - (size_t)n, ": ");
    va_start(list, format);
    vsnprintf(c->error + n, sizeof c->error - (size_t)n, format, list);
    va_end(list);
    c->state = FAILED;
}

/* --- what a client sends and expects ------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) { /* splitmix64 */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}
/* Eight bytes of a file's contents: different for each client, request and place, so that no mix-up can go unseen. */
static uint64_t pattern(int client, int request, uint64_t word) {
    return mix(mix((uint64_t)(unsigned)client << 32 | (unsigned)request) + word);
}
static void pattern_fill(unsigned char *to, size_t size, int client, int request) {
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern(client, request, at / 8);
        memcpy(to + at, &word, size - at < 8 ? size - at : 8);
    }
}
/* Offset of the first byte that differs, or size. */
static size_t pattern_check(const unsigned char *from, size_t size, int client, int request) {
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = pattern(client, request, at / 8);
        size_t n = size - at < 8 ? size - at : 8;
        const unsigned char *expected = (const unsigned char *)&word;
        if (memcmp(from + at, expected, n) == 0) continue;
        while (from[at] == *expected) at++, expected++;
        return at;
    }
    return size;
}

static int has_path(unsigned type) { return type == FILE_READ || type == FILE_WRITE; }
static int sends_payload(unsigned type) { return type == FILE_WRITE || type == FILE_WRITE_NULL; }

/* Prepares the next request: header, path and, if it sends one, payload lie one behind the other, so that one call sends them. */
static void begin(struct client *c) {
    const struct options *o = c->of->options;
    struct file_request q = {.type = c->type, .size = o->size};
    char path[FILE_PATH_MAX + 32];
    if (has_path(c->type)) {
        const char *between = o->path[strlen(o->path) - 1] == '/' ? "" : ".";
        q.path_length = (uint32_t)snprintf(path, sizeof path, "%s%s%d.%d", o->path, between, c->number, c->request);
    }
    if (q.path_length > FILE_PATH_MAX) {
        fail(c, "the file's name is longer than %d bytes", FILE_PATH_MAX);
        return;
    }
    file_request_put(c->buffer, &q);
    memcpy(c->buffer + FILE_HEADER, path, q.path_length);
    c->done = 0;
    c->total = FILE_HEADER + q.path_length;
    if (c->type == FILE_WRITE) pattern_fill(c->buffer + c->total, o->size, c->number, c->request);
    if (sends_payload(c->type)) c->total += o->size;
    c->state = SENDING;
    c->begun = now();
}

/* An answer is complete. */
static void end(struct client *c) {
    const struct options *o = c->of->options;
    if (!c->checking) c->latency[c->request] = now() - c->begun;
    if (c->answer.size != o->size) {
        fail(c, "the server %s %llu bytes, not %zu", sends_payload(c->type) ? "took" : "has", (unsigned long long)c->answer.size, o->size);
        return;
    }
    if (o->verify && c->type == FILE_READ) {
        size_t at = pattern_check(c->buffer, o->size, c->number, c->request);
        if (at < o->size) {
            fail(c, "the data differ from what was written, first at byte %zu", at);
            return;
        }
    }
    if (++c->request < o->requests) {
        begin(c);
        return;
    }
    if (!c->checking) c->ended = now();
    if (o->verify && c->type == FILE_WRITE) { /* once more from the start, reading */
        c->state = WRITTEN;
        return;
    }
    c->state = FINISHED;
}

/* --- steps ------------------------------------------------------------------------------------------------------------------ */

/* A call has failed: would it have to wait? A time limit on a blocking socket looks the same, but there poll() then finds nothing. */
static int waits(struct client *c, const char *what) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 1;
    if (errno == EINTR) return 0;
    fail(c, "%s: %s", what, strerror(errno));
    return 1;
}

static int step_connect(struct client *c) {
    int error = 0, one = 1;
    socklen_t size = sizeof error;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
    if (error) {
        fail(c, "connecting: %s", strerror(error));
        return 1;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    begin(c);
    return 0;
}
static int step_send(struct client *c) {
    ssize_t n = send(c->fd, c->buffer + c->done, c->total - c->done, MSG_NOSIGNAL);
    if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) { /* the server may have said why before it closed */
        c->state = RECEIVING_HEADER;
        c->done = 0;
        return 0;
    }
    if (n < 0) return waits(c, "sending");
    c->done += (size_t)n;
    if (c->done < c->total) return 0;
    c->state = RECEIVING_HEADER;
    c->done = 0;
    return 0;
}
static int receive(struct client *c, unsigned char *to, size_t size) {
    ssize_t n = recv(c->fd, to + c->done, size - c->done, 0);
    if (n < 0) return waits(c, "receiving");
    if (n == 0) {
        fail(c, "the server closed the connection in the middle of %s",
             c->state == RECEIVING_HEADER && !c->done ? "a request" : "an answer");
        return 1;
    }
    c->done += (size_t)n;
    return 0;
}
static int step_header(struct client *c) {
    if (receive(c, c->header, FILE_HEADER)) return 1;
    if (c->done < FILE_HEADER) return 0;
    c->done = 0;
    if (file_response_get(&c->answer, c->header)) {
        fail(c, "the server's answer is not of this protocol");
    } else if (c->answer.status) {
        fail(c, "the server answers %d (%s)", c->answer.status, strerror(-c->answer.status));
    } else if (c->answer.type != c->type || c->answer.size > c->of->options->size) {
        fail(c, "the server's answer does not belong to the request");
    } else if (!sends_payload(c->type) && c->answer.size > 0) {
        c->state = RECEIVING_PAYLOAD;
        return 0;
    } else {
        end(c);
        return 0;
    }
    return 1;
}
static int step_payload(struct client *c) {
    if (receive(c, c->buffer, (size_t)c->answer.size)) return 1;
    if (c->done == c->answer.size) end(c);
    return 0;
}

static int rests(const struct client *c) { return c->state == FINISHED || c->state == FAILED || c->state == WRITTEN; }

/* As much as can be done without waiting. */
static void advance(struct client *c) {
    while (!rests(c)) {
        int stop = 1;
        switch (c->state) {
        case CONNECTING: stop = step_connect(c); break;
        case SENDING: stop = step_send(c); break;
        case RECEIVING_HEADER: stop = step_header(c); break;
        case RECEIVING_PAYLOAD: stop = step_payload(c); break;
        default: break;
        }
        if (stop) return;
    }
}

/* --- a process's clients ---------------------------------------------------------------------------------------------------- */

static void connect_client(struct client *c, const struct sockaddr *address, socklen_t length, int blocking) {
    struct timeval limit = {.tv_sec = c->of->options->timeout};
    c->started = now();
    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0);
    if (c->fd < 0) {
        fail(c, "no socket: %s", strerror(errno));
        return;
    }
    if (blocking) {
        setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    c->state = CONNECTING;
    int n = connect(c->fd, address, length);
    if (n < 0 && errno == EINPROGRESS && !blocking) return;
    if (n < 0)
        fail(c, "connecting to %s port %d: %s", c->of->options->ip, c->of->options->port,
             strerror(errno == EINPROGRESS ? ETIMEDOUT : errno));
    else
        advance(c);
}

/* Polls until all clients rest. With a blocking socket the time limit has passed already when this is called for it. */
static void drive(struct process *p) {
    const struct options *o = p->options;
    for (;;) {
        nfds_t n = 0;
        for (int i = 0; i < o->clients; i++) {
            struct client *c = &p->clients[i];
            if (rests(c)) continue;
            p->polled[n] = c;
            p->polls[n++] = (struct pollfd){.fd = c->fd, .events = c->state == CONNECTING || c->state == SENDING ? POLLOUT : POLLIN};
        }
        if (n == 0) return;
        int ready = poll(p->polls, n, o->clients == 1 ? 0 : o->timeout * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            for (nfds_t i = 0; i < n; i++) fail(p->polled[i], "no answer within %d s", o->timeout);
            return;
        }
        for (nfds_t i = 0; i < n; i++)
            if (p->polls[i].revents) advance(p->polled[i]);
    }
}

int process_open(struct process *p, const struct options *o, int rank) {
    size_t most = FILE_HEADER + FILE_PATH_MAX + 8 + o->size;
    p->options = o;
    p->clients = calloc((size_t)o->clients, sizeof *p->clients);
    p->polls = calloc((size_t)o->clients, sizeof *p->polls);
    p->polled = calloc((size_t)o->clients, sizeof(struct client *));
    p->latencies = calloc((size_t)o->clients * (size_t)o->requests, sizeof *p->latencies);
    if (!p->clients || !p->polls || !p->polled || !p->latencies) return -ENOMEM;
    for (int i = 0; i < o->clients; i++) {
        struct client *c = &p->clients[i];
        *c = (struct client){.of = p, .fd = -1, .number = rank * o->clients + i, .type = o->type, .buffer = malloc(most)};
        c->latency = p->latencies + (size_t)i * (size_t)o->requests;
        if (!c->buffer) return -ENOMEM;
    }
    return 0;
}
void process_run(struct process *p) {
    const struct options *o = p->options;
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)o->port)};
    int four = inet_pton(AF_INET, o->ip, &in.sin_addr) == 1;
    if (!four) inet_pton(AF_INET6, o->ip, &in6.sin6_addr); /* the options were checked */
    for (int i = 0; i < o->clients; i++)
        connect_client(&p->clients[i], four ? (struct sockaddr *)&in : (struct sockaddr *)&in6, four ? sizeof in : sizeof in6,
                       o->clients == 1);
    drive(p);
}
void process_check(struct process *p) {
    for (int i = 0; i < p->options->clients; i++) {
        struct client *c = &p->clients[i];
        if (c->state != WRITTEN) continue;
        c->type = FILE_READ;
        c->checking = 1;
        c->request = 0;
        begin(c);
        advance(c);
    }
    drive(p);
}
void process_close(struct process *p) {
    for (int i = 0; p->clients && i < p->options->clients; i++) {
        if (p->clients[i].fd >= 0) close(p->clients[i].fd);
        free(p->clients[i].buffer);
    }
    free(p->clients);
    free(p->polls);
    free(p->polled);
    free(p->latencies);
}
