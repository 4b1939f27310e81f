/* Operations: how a branch begins to wait for a device, and how the device's result comes back.
 *
 * One record an operation, separate from the branch: a device may hold on to it after its result was delivered (a cancel that came too
 * late is still on its way to the kernel), and branches that wait for time or for each other need none.
 */
#include "runtime.h"
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

void ae_complete(ae_branch *b, long result) {
    bool cancelled = result == -ECANCELED && b->op == AE_OP_CANCELLING;
    b->ret = result;
    ae_ready(ae_worker_of(b), b);
    if (cancelled) b->op = AE_OP_READY_CANCELLED;
}

static unsigned xorshift(ae_worker *w) {
    uint64_t s = w->seed;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    w->seed = s;
    return (unsigned)((s * 0x2545F4914F6CDD1Du) >> 33);
}
long ae_suspend_by_coin(ae_branch *b, long result) {
    ae_worker *w = ae_worker_of(b);
    if (xorshift(w) % 100 >= w->coin || __ae_is_cancelled(b) || !ae_may_wait(w)) return result;
    b->ret = result;
    ae_ready(w, b);
    __ae_leaf(b);
    return result;
}

/* --- the leaf --- */

static unsigned short extra(const struct ae_io_request *q) {
    if (q->op == AE_IO_RECVV || q->op == AE_IO_SENDV) return sizeof(struct msghdr);
    if (q->op == AE_IO_STAT) return sizeof(struct statx);
    return 0;
}
static __attribute__((noinline)) long begin(ae_branch *b, const struct ae_io_request *q) {
    ae_worker *w = ae_worker_of(b);
    long result;
    if (AE_UNLIKELY(__ae_is_cancelled(b))) {
        if (q->op != AE_IO_CLOSE) return ae_refuse(b);
    } else if (ae_may_wait(w)) {
        unsigned short more = extra(q);
        struct ae_io_op *op = __ae_alloc(b, sizeof *op + more, 16);
        *op = (struct ae_io_op){.q = *q, .b = b, .extra = more};
        b->op = AE_OP_POSTED;
        b->kind = AE_K_IO;
        b->u.op = op;
        result = w->io.engine->post(&w->io, op);
        if (result == AE_IO_PENDING) {
            w->io.pending++;
            __ae_leaf(b);
            return 0;
        }
        b->op = AE_OP_NONE;
        __ae_free(b, op, sizeof *op + more, 16);
        return ae_maybe_suspend(b, result == -ECANCELED ? -EIO : result);
    } else if (q->op != AE_IO_CLOSE)
        return -ENOMEM;
    return close(q->fd) < 0 && errno != EINTR ? -errno : 0; /* Linux: closed even if interrupted */
}
long ae_io(ae_branch *b, const struct ae_io_request *q) {
    ae_worker *w = ae_worker_of(b);
    const struct ae_engine *engine = w->io.engine;
    long result = AE_UNLIKELY(engine->attempt) ? engine->attempt(&w->io, q) : ae_io_try(q);
    if (result == AE_IO_PENDING) return begin(b, q);
    return ae_maybe_suspend(b, result);
}

/* --- from the engines --- */

void ae_io_complete(struct ae_io *io, struct ae_io_op *op, long result) {
    ae_branch *b = op->b;
    if (b->op == AE_OP_CANCELLING) {
        if (result == -EINTR && op->q.op != AE_IO_CALL) result = -ECANCELED; /* how a blocking call looks that a cancel has broken off */
    } else if (result == -ECANCELED) {
        result = -EIO;
    }
    op->b = NULL;
    io->pending--;
    ae_complete(b, result);
}
void ae_io_release(struct ae_io *io, struct ae_io_op *op) {
    ae_worker *w = (ae_worker *)(void *)((char *)io - offsetof(ae_worker, io));
    __ae_free(w->main, op, sizeof *op + op->extra, 16); /* any branch of the worker names its memory */
}
