/* The leaves of the waiting rows.
 * wait_value: an operation whose completion is there before the suspension has unwound. It is begun and completed as the runtime's own
 * operations are, and goes through the ready queue and the loop like any other. What is measured is waiting and resuming, and no device:
 * the counterpart of the bare callback's submit().
 * wait_slot: the same through a slot, the primitive for waiting for another branch; the leaf itself fills it. */
#include "runtime.h"

long wait_value(ae_branch *b, long v);
long wait_value(ae_branch *b, long v) {
    if (__ae_is_cancelled(b)) return ae_refuse(b);
    if (!ae_may_wait(ae_worker_of(b))) return -ENOMEM;
    b->op = AE_OP_POSTED;
    b->kind = AE_K_SLOT;
    __ae_leaf(b);
    ae_complete(b, v);
    return 0;
}

long wait_slot(ae_branch *b, long v);
long wait_slot(ae_branch *b, long v) {
    static struct ae_slot slot;
    long r = ae_slot_wait(b, &slot);
    if (b->waits) ae_slot_post(&slot, v);
    return r;
}
