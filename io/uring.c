/* Engine uring: everything through one ring (liburing), except what the ring cannot do (offloaded calls, ftruncate, syncfs): the pool.
 *
 * Submissions are batched: a turn of the loop costs one system call. Completions are taken when the worker asks for them (DEFER_TASKRUN,
 * Linux 6.1), so no interrupt breaks into a branch. Never SQPOLL: a kernel thread that spins would take a core from the program.
 *
 * The kernel names an operation by the address of its record. A record is therefore freed only when the kernel has answered
 * everything that was sent with that name: the operation, and the cancel if there was one. So a late cancel cannot
 * hit another operation in the same memory, and no generation numbers are needed.
 */
#include "io.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ENTRIES = 512, COMPLETIONS = 4096, BATCH = 128, UNBOUNDED_WORKERS = 64 };

enum { /* op.state */
       IN_POOL = 1,
       IN_KERNEL = 2,       /* its completion will come */
       READINESS = 4,       /* ... and is that of a poll: then try */
       CANCEL_SENT = 8,     /* the cancel's completion will come, too */
       WAITS_TO_START = 16, /* in `later`: the submission queue was full */
       WAITS_TO_CANCEL = 32,
};
enum { TAG_OPERATION, TAG_CANCEL, TAG_WAKE, TAGS = 15 }; /* low bits of user_data */

struct uring {
    struct io_uring ring;
    struct ae_list later;
    uint64_t wakes;        /* what a read of the inbox's descriptor has brought */
    bool listens;          /* that read is in the kernel */
    unsigned long cancels; /* sent and not answered */
};

static struct io_uring_sqe *entry(struct uring *u) {
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);
    if (sqe) return sqe;
    io_uring_submit(&u->ring); /* may fail for now: then the queue stays full */
    return io_uring_get_sqe(&u->ring);
}
static uint64_t name(const struct ae_io_op *op, unsigned tag) { return (uint64_t)(uintptr_t)op | tag; }

/* --- starting --- */

static void prepare(struct io_uring_sqe *sqe, struct ae_io_op *op) {
    const struct ae_io_request *q = &op->q;
    const uint64_t off = (uint64_t)q->off; /* -1 is the file's own position here, too */
    const unsigned len = q->len < 0x7ffff000 ? (unsigned)q->len : 0x7ffff000;
    switch (q->op) {
    case AE_IO_RECV: io_uring_prep_recv(sqe, q->fd, q->buf, len, q->flags); break;
    case AE_IO_SEND: io_uring_prep_send(sqe, q->fd, q->buf, len, q->flags | MSG_NOSIGNAL); break;
    case AE_IO_RECVV:
        ae_message(ae_io_extra(op), q);
        io_uring_prep_recvmsg(sqe, q->fd, ae_io_extra(op), (unsigned)q->flags);
        break;
    case AE_IO_SENDV:
        ae_message(ae_io_extra(op), q);
        io_uring_prep_sendmsg(sqe, q->fd, ae_io_extra(op), (unsigned)q->flags | MSG_NOSIGNAL);
        break;
    case AE_IO_RECVMSG: io_uring_prep_recvmsg(sqe, q->fd, q->buf, (unsigned)q->flags); break;
    case AE_IO_SENDMSG: io_uring_prep_sendmsg(sqe, q->fd, q->buf, (unsigned)q->flags | MSG_NOSIGNAL); break;
    case AE_IO_ACCEPT: io_uring_prep_accept(sqe, q->fd, q->buf, q->buf ? q->more.length : NULL, q->flags); break;
    case AE_IO_CONNECT: io_uring_prep_connect(sqe, q->fd, q->buf, (socklen_t)q->len); break;
    case AE_IO_POLL: io_uring_prep_poll_add(sqe, q->fd, (unsigned)q->flags); break;
    case AE_IO_READ: io_uring_prep_read(sqe, q->fd, q->buf, len, off); break;
    case AE_IO_WRITE: io_uring_prep_write(sqe, q->fd, q->buf, len, off); break;
    case AE_IO_READV: io_uring_prep_readv(sqe, q->fd, q->buf, len, off); break;
    case AE_IO_WRITEV: io_uring_prep_writev(sqe, q->fd, q->buf, len, off); break;
    case AE_IO_FSYNC: io_uring_prep_fsync(sqe, q->fd, 0); break;
    case AE_IO_FDATASYNC: io_uring_prep_fsync(sqe, q->fd, IORING_FSYNC_DATASYNC); break;
    case AE_IO_FALLOCATE: io_uring_prep_fallocate(sqe, q->fd, q->flags, q->off, (off_t)q->len); break;
    case AE_IO_OPEN: io_uring_prep_openat(sqe, q->fd, q->buf, q->flags, q->mode); break;
    case AE_IO_UNLINK: io_uring_prep_unlinkat(sqe, q->fd, q->buf, q->flags); break;
    case AE_IO_STAT: io_uring_prep_statx(sqe, q->fd, q->buf, q->flags, STATX_BASIC_STATS, ae_io_extra(op)); break;
    default: io_uring_prep_close(sqe, q->fd); break; /* AE_IO_CLOSE: uring_post() lets nothing else through */
    }
}
static void start(struct uring *u, struct ae_io_op *op, unsigned readiness) {
    struct io_uring_sqe *sqe = entry(u);
    if (!sqe) {
        op->state = (unsigned char)(WAITS_TO_START | readiness);
        ae_list_add(&u->later, op);
        return;
    }
    if (readiness)
        io_uring_prep_poll_add(sqe, op->q.fd, (unsigned)ae_io_events(&op->q));
    else
        prepare(sqe, op);
    io_uring_sqe_set_data64(sqe, name(op, TAG_OPERATION));
    op->state = (unsigned char)(IN_KERNEL | readiness);
}
/* Lets the pool's threads wake the worker while it waits in the ring. */
static void listen_to_inbox(struct ae_io *io) {
    struct uring *u = io->state;
    if (u->listens || !io->pool) return;
    struct io_uring_sqe *sqe = entry(u);
    if (!sqe) return; /* tried again before the next wait, which is short as long as `later` is not empty */
    io_uring_prep_read(sqe, io->inbox.fd, &u->wakes, sizeof u->wakes, 0);
    io_uring_sqe_set_data64(sqe, TAG_WAKE);
    u->listens = true;
}
static long uring_post(struct ae_io *io, struct ae_io_op *op) {
    switch (op->q.op) {
    case AE_IO_CALL:
    case AE_IO_FTRUNCATE:
    case AE_IO_SYNCFS: op->state = IN_POOL; return ae_pool_post(io, op);
    default:
        if (op->q.op >= AE_IO_CODES) return -ENOSYS;
        start(io->state, op, 0);
        return AE_IO_PENDING;
    }
}

/* --- ending --- */

static void release(struct ae_io *io, struct ae_io_op *op) {
    if (!(op->state & (IN_KERNEL | CANCEL_SENT))) ae_io_release(io, op);
}
static void finish(struct ae_io *io, struct ae_io_op *op, long result) {
    struct uring *u = io->state;
    if (op->state & (WAITS_TO_START | WAITS_TO_CANCEL)) ae_list_remove(&u->later, op);
    ae_io_complete(io, op, result);
    release(io, op);
}
static void send_cancel(struct uring *u, struct ae_io_op *op) {
    struct io_uring_sqe *sqe = entry(u);
    if (!sqe) {
        op->state |= WAITS_TO_CANCEL;
        ae_list_add(&u->later, op);
        return;
    }
    io_uring_prep_cancel64(sqe, name(op, TAG_OPERATION), 0);
    io_uring_sqe_set_data64(sqe, name(op, TAG_CANCEL));
    op->state |= CANCEL_SENT;
    u->cancels++;
}
static void uring_cancel(struct ae_io *io, struct ae_io_op *op) {
    if (op->state & IN_POOL) {
        if (ae_pool_cancel(io, op)) finish(io, op, -ECANCELED);
    } else if (op->state & WAITS_TO_START)
        finish(io, op, -ECANCELED);
    else
        send_cancel(io->state, op);
}
static void unstat(struct stat *to, const struct statx *x) {
    memset(to, 0, sizeof *to);
    to->st_dev = makedev(x->stx_dev_major, x->stx_dev_minor);
    to->st_ino = x->stx_ino;
    to->st_mode = x->stx_mode;
    to->st_nlink = x->stx_nlink;
    to->st_uid = x->stx_uid;
    to->st_gid = x->stx_gid;
    to->st_rdev = makedev(x->stx_rdev_major, x->stx_rdev_minor);
    to->st_size = (off_t)x->stx_size;
    to->st_blksize = (blksize_t)x->stx_blksize;
    to->st_blocks = (blkcnt_t)x->stx_blocks;
    to->st_atim = (struct timespec){x->stx_atime.tv_sec, x->stx_atime.tv_nsec};
    to->st_mtim = (struct timespec){x->stx_mtime.tv_sec, x->stx_mtime.tv_nsec};
    to->st_ctim = (struct timespec){x->stx_ctime.tv_sec, x->stx_ctime.tv_nsec};
}
/* The kernel has let go of op. Delivers the result, or goes on with it. */
static void ended(struct ae_io *io, struct ae_io_op *op, long result) {
    struct uring *u = io->state;
    bool readiness = (op->state & READINESS) != 0, again = false;
    op->state &= (unsigned char)~(IN_KERNEL | READINESS);
    if (readiness && result >= 0) {
        result = ae_io_ready(&op->q);
        readiness = result == AE_IO_PENDING;
        again = readiness;
    } else if (result == -EAGAIN && op->q.op != AE_IO_CONNECT && ae_io_events(&op->q)) {
        readiness = again = true; /* how older kernels answer for an O_NONBLOCK descriptor */
    } else if (result == -EINTR && op->q.op == AE_IO_CLOSE) {
        result = 0; /* Linux: closed even if interrupted */
    } else if (result == -EINTR && op->q.op == AE_IO_CONNECT) {
        readiness = again = true; /* it goes on by itself */
    } else if (result == -EINTR || (result == -ECONNABORTED && op->q.op == AE_IO_ACCEPT))
        again = true;
    if (again && !op->asked) {
        start(u, op, readiness ? READINESS : 0);
        return;
    }
    if (again) result = -ECANCELED;
    if (op->q.op == AE_IO_STAT && result == 0) unstat(op->q.more.stat, ae_io_extra(op));
    finish(io, op, result);
}
static void completion(struct ae_io *io, uint64_t user_data, long result) {
    struct uring *u = io->state;
    struct ae_io_op *op = (struct ae_io_op *)(uintptr_t)(user_data & ~(uint64_t)TAGS);
    switch (user_data & TAGS) {
    case TAG_WAKE: u->listens = false; break;
    case TAG_CANCEL: /* whether it had an effect, the operation's own result says */
        op->state &= (unsigned char)~CANCEL_SENT;
        u->cancels--;
        if (!op->b)
            release(io, op);
        else if (result == -ENOENT) /* the kernel did not find it, yet has it: it was on its way from one list to another */
            send_cancel(u, op);
        break;
    default: ended(io, op, result);
    }
}

/* --- waiting --- */

/* Sends what found the submission queue full. */
static void catch_up(struct uring *u) {
    while (u->later.first && io_uring_sq_space_left(&u->ring)) {
        struct ae_io_op *op = u->later.first;
        unsigned char state = op->state;
        ae_list_remove(&u->later, op);
        op->state &= (unsigned char)~(WAITS_TO_START | WAITS_TO_CANCEL);
        if (state & WAITS_TO_CANCEL)
            send_cancel(u, op);
        else
            start(u, op, state & READINESS);
    }
}
static void reap(struct ae_io *io) {
    struct uring *u = io->state;
    struct io_uring_cqe *cqes[BATCH];
    struct {
        uint64_t user_data;
        long result;
    } seen[BATCH];
    for (unsigned n = BATCH; n == BATCH;) {
        n = io_uring_peek_batch_cqe(&u->ring, cqes, BATCH); /* enters the kernel only if it has something to hand over */
        for (unsigned i = 0; i < n; i++) {
            seen[i].user_data = cqes[i]->user_data;
            seen[i].result = cqes[i]->res;
        }
        io_uring_cq_advance(&u->ring, n); /* before handling, which may submit and so need room */
        for (unsigned i = 0; i < n; i++) completion(io, seen[i].user_data, seen[i].result);
    }
}
static void uring_wait(struct ae_io *io, long long timeout) {
    struct uring *u = io->state;
    int error = 0;
    catch_up(u);
    listen_to_inbox(io);
    if (timeout != 0 && !io_uring_cq_ready(&u->ring) && ae_inbox_sleep(&io->inbox)) {
        struct __kernel_timespec t;
        struct io_uring_cqe *cqe;
        if (u->later.first && (timeout < 0 || timeout > 1000000)) timeout = 1000000; /* the kernel is short of memory */
        t = (struct __kernel_timespec){.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
        error = io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, timeout < 0 ? NULL : &t, NULL);
        ae_inbox_awake(&io->inbox);
    } else if (io_uring_sq_ready(&u->ring))
        error = io_uring_submit_and_get_events(&u->ring);
    if ((error == -EAGAIN || error == -EBUSY) && !io_uring_cq_ready(&u->ring)) poll(NULL, 0, 1); /* likewise: let others give some back */
    reap(io);
    ae_inbox_take(io);
}

/* --- opening --- */

static const char *missing(struct uring *u, const struct io_uring_params *p) {
    static const unsigned char needed[] = {
        IORING_OP_READV,  IORING_OP_WRITEV,  IORING_OP_FSYNC,        IORING_OP_POLL_ADD,  IORING_OP_SENDMSG, IORING_OP_RECVMSG,
        IORING_OP_ACCEPT, IORING_OP_CONNECT, IORING_OP_ASYNC_CANCEL, IORING_OP_FALLOCATE, IORING_OP_OPENAT,  IORING_OP_CLOSE,
        IORING_OP_STATX,  IORING_OP_READ,    IORING_OP_WRITE,        IORING_OP_SEND,      IORING_OP_RECV,    IORING_OP_UNLINKAT,
    };
    const unsigned features =
        IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_RW_CUR_POS | IORING_FEAT_FAST_POLL | IORING_FEAT_EXT_ARG;
    if ((p->features & features) != features) return "the kernel is too old (5.11 has all that is needed)";
    struct io_uring_probe *probe = io_uring_get_probe_ring(&u->ring);
    const char *reason = probe ? NULL : "the kernel does not say what it can do";
    for (size_t i = 0; probe && i < sizeof needed; i++)
        if (!io_uring_opcode_supported(probe, needed[i])) reason = "the kernel is too old (5.11 has all that is needed)";
    io_uring_free_probe(probe);
    return reason;
}
static const char *refusal(int error) {
    switch (error) {
    case -ENOSYS: return "the kernel has no io_uring, or a filter hides it";
    case -EPERM:
    case -EACCES: return "not permitted (kernel.io_uring_disabled, or a container's filter)";
    case -ENOMEM: return "not enough locked memory (ulimit -l)";
    case -EMFILE:
    case -ENFILE: return "too many open files";
    default: return strerror(-error);
    }
}
static int uring_open(struct ae_io *io, const char **reason) {
    static const unsigned best[] = {
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG, /* Linux 6.1 */
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,                               /* 5.19 */
        0,
    };
    struct uring *u = calloc(1, sizeof *u);
    struct io_uring_params p;
    int error = -EINVAL;
    *reason = "no memory";
    if (!u) return -ENOMEM;
    for (size_t i = 0; i < sizeof best / sizeof *best && error == -EINVAL; i++) {
        p = (struct io_uring_params){.flags = best[i] | IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP, .cq_entries = COMPLETIONS};
        error = io_uring_queue_init_params(ENTRIES, &u->ring, &p);
    }
    if (error < 0) {
        *reason = refusal(error);
        free(u);
        return error;
    }
    *reason = missing(u, &p);
    if (*reason) {
        io_uring_queue_exit(&u->ring);
        free(u);
        return -ENOSYS;
    }
    unsigned workers[2] = {(unsigned)io->pool_size, UNBOUNDED_WORKERS}; /* bounded: files */
    io_uring_register_iowq_max_workers(&u->ring, workers);              /* 5.15; older kernels have their own limits */
    io->state = u;
    return 0;
}
static void uring_close(struct ae_io *io) {
    struct uring *u = io->state;
    while (u->cancels) { /* their records are still named */
        int error = io_uring_submit_and_wait(&u->ring, 1);
        if (error < 0 && error != -EINTR && error != -EAGAIN && error != -EBUSY) break;
        reap(io);
    }
    io_uring_queue_exit(&u->ring);
    free(u);
}

const struct ae_engine ae_engine_uring = {
    .name = "uring", .open = uring_open, .post = uring_post, .cancel = uring_cancel, .wait = uring_wait, .close = uring_close};
