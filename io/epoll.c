/* Engine epoll: waits for readiness, then makes the system call; what has no readiness (files) goes to the pool.
 *
 * Each wait arms its descriptor for one event (EPOLLONESHOT). That is a system call a wait, and it is what makes the engine
 * indifferent to what happens to descriptors outside: one that was closed and opened again behind our back is unknown to epoll,
 * which says so, and is added anew. An event that belongs to an earlier life of the number, or to a duplicate of it, only leads
 * to another attempt.
 */
#include "io.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { PAGE = 256, EVENTS = 256, IN_POOL = 1 /* op.state */ };

struct descriptor {
    struct ae_list in, out;
    unsigned armed; /* events that epoll will still report */
};
struct epoll {
    int fd;
    bool coarse;               /* the kernel counts only milliseconds */
    struct descriptor **pages; /* by number; never moved, because lists point into them */
    size_t count;
    struct epoll_event events[EVENTS];
};
static const uint64_t WAKE = UINT64_MAX;

static struct descriptor *descriptor(struct epoll *e, int fd, bool make) {
    size_t page = (size_t)fd / PAGE;
    if (page >= e->count) {
        if (!make) return NULL;
        size_t count = page + 1 > 2 * e->count ? page + 1 : 2 * e->count;
        struct descriptor **pages = realloc(e->pages, count * sizeof *pages);
        if (!pages) return NULL;
        for (size_t i = e->count; i < count; i++) pages[i] = NULL;
        e->pages = pages;
        e->count = count;
    }
    if (!e->pages[page] && make) e->pages[page] = calloc(PAGE, sizeof **e->pages);
    return e->pages[page] ? &e->pages[page][fd % PAGE] : NULL;
}
static struct ae_list *list_of(struct descriptor *d, const struct ae_io_op *op) {
    return ae_io_events(&op->q) & ~POLLOUT ? &d->in : &d->out;
}
/* Makes sure that epoll reports `events` of fd, besides those that it is to report already. 0 or a negative errno. */
static int arm(struct epoll *e, struct descriptor *d, int fd, unsigned events) {
    if ((d->armed & events) == events) return 0;
    struct epoll_event event = {.events = d->armed | events | EPOLLONESHOT, .data.u64 = (uint64_t)fd};
    if (epoll_ctl(e->fd, EPOLL_CTL_MOD, fd, &event) < 0) {
        if (errno != ENOENT) return -errno;
        if (epoll_ctl(e->fd, EPOLL_CTL_ADD, fd, &event) < 0) return -errno;
    }
    d->armed |= events;
    return 0;
}

/* --- operations --- */

static long to_pool(struct ae_io *io, struct ae_io_op *op) {
    op->state = IN_POOL;
    return ae_pool_post(io, op);
}
/* connect(2) without blocking. AE_IO_PENDING: it is under way. */
static long begin_connect(const struct ae_io_request *q) {
    int flags = fcntl(q->fd, F_GETFL);
    if (flags < 0) return -errno;
    if (!(flags & O_NONBLOCK) && fcntl(q->fd, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
    long result = connect(q->fd, q->buf, (socklen_t)q->len) < 0 ? -errno : 0;
    if (!(flags & O_NONBLOCK)) fcntl(q->fd, F_SETFL, flags);
    return result == -EINPROGRESS || result == -EINTR ? AE_IO_PENDING : result;
}
static long epoll_post(struct ae_io *io, struct ae_io_op *op) {
    struct epoll *e = io->state;
    const struct ae_io_request *q = &op->q;
    int events = ae_io_events(q), fd = q->fd;
    if (!events) {
        long result = ae_io_cached(q);
        return result == AE_IO_PENDING ? to_pool(io, op) : result;
    }
    if (fd < 0) return -EBADF;
    if (q->op == AE_IO_CONNECT) {
        long result = begin_connect(q);
        if (result != AE_IO_PENDING) return result;
    }
    struct descriptor *d = descriptor(e, fd, true);
    if (!d) return -ENOMEM;
    if (!d->in.first && !d->out.first) d->armed = 0; /* whether the number still means the same file is unknown */
    int error = arm(e, d, fd, (unsigned)events);     /* EPOLL* and POLL* are the same bits */
    if (error == -EPERM) return to_pool(io, op);     /* a regular file, read or written at its own position */
    if (error) return error;
    ae_list_add(list_of(d, op), op);
    return AE_IO_PENDING;
}
static void finish(struct ae_io *io, struct ae_io_op *op, long result) {
    ae_io_complete(io, op, result);
    ae_io_release(io, op);
}
static void epoll_cancel(struct ae_io *io, struct ae_io_op *op) {
    if (op->state == IN_POOL) {
        if (ae_pool_cancel(io, op)) finish(io, op, -ECANCELED);
        return;
    }
    struct descriptor *d = descriptor(io->state, op->q.fd, false);
    ae_list_remove(list_of(d, op), op);
    finish(io, op, -ECANCELED);
}

/* --- events --- */

/* Everyone in the list whom the events concern tries again, in the order of arrival. Returns the events still wanted. */
static unsigned serve(struct ae_io *io, struct ae_list *list, unsigned events) {
    unsigned wanted = 0;
    for (struct ae_io_op *op = list->first, *next; op; op = next) {
        unsigned mine = (unsigned)ae_io_events(&op->q);
        next = op->next;
        long result = events & (mine | EPOLLERR | EPOLLHUP) ? ae_io_ready(&op->q) : AE_IO_PENDING;
        if (result == AE_IO_PENDING) {
            wanted |= mine;
            continue;
        }
        ae_list_remove(list, op);
        finish(io, op, result);
    }
    return wanted;
}
static void fail(struct ae_io *io, struct ae_list *list, int error) {
    while (list->first) {
        struct ae_io_op *op = list->first;
        ae_list_remove(list, op);
        finish(io, op, error);
    }
}
static void event(struct ae_io *io, const struct epoll_event *event) {
    struct epoll *e = io->state;
    int fd = (int)event->data.u64;
    struct descriptor *d = descriptor(e, fd, false);
    if (!d) return;
    d->armed = 0;
    unsigned wanted = serve(io, &d->in, event->events) | serve(io, &d->out, event->events);
    int error = wanted ? arm(e, d, fd, wanted) : 0;
    if (error) { /* closed while somebody waits: those learn it */
        fail(io, &d->in, error);
        fail(io, &d->out, error);
    }
}
static int wait_for(struct epoll *e, long long timeout) {
    if (!e->coarse) {
        struct timespec t = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
        int n = epoll_pwait2(e->fd, e->events, EVENTS, timeout < 0 ? NULL : &t, NULL);
        if (n >= 0 || errno != ENOSYS) return n;
        e->coarse = true; /* Linux before 5.11 */
    }
    long long ms = timeout < 0 ? -1 : (timeout + 999999) / 1000000;
    return epoll_wait(e->fd, e->events, EVENTS, ms > 1000000000 ? 1000000000 : (int)ms);
}
static void epoll_wait_(struct ae_io *io, long long timeout) {
    struct epoll *e = io->state;
    if (timeout != 0 && !ae_inbox_sleep(&io->inbox)) timeout = 0;
    int n = wait_for(e, timeout);
    if (timeout != 0) ae_inbox_awake(&io->inbox);
    for (int i = 0; i < n; i++) {
        if (e->events[i].data.u64 == WAKE) {
            uint64_t count;
            (void)!read(io->inbox.fd, &count, sizeof count); /* fails only if it is empty already */
        } else
            event(io, &e->events[i]);
    }
    ae_inbox_take(io);
}

static int epoll_open(struct ae_io *io, const char **reason) {
    struct epoll *e = calloc(1, sizeof *e);
    *reason = "no memory";
    if (!e) return -ENOMEM;
    e->fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event wake = {.events = EPOLLIN, .data.u64 = WAKE};
    if (e->fd < 0 || epoll_ctl(e->fd, EPOLL_CTL_ADD, io->inbox.fd, &wake) < 0) {
        int error = -errno;
        *reason = "epoll_create fails";
        if (e->fd >= 0) close(e->fd);
        free(e);
        return error;
    }
    io->state = e;
    return 0;
}
static void epoll_close(struct ae_io *io) {
    struct epoll *e = io->state;
    for (size_t i = 0; i < e->count; i++) free(e->pages[i]);
    free(e->pages);
    close(e->fd);
    free(e);
}

const struct ae_engine ae_engine_epoll = {
    .name = "epoll", .open = epoll_open, .post = epoll_post, .cancel = epoll_cancel, .wait = epoll_wait_, .close = epoll_close};
