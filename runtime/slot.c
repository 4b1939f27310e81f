/* Slots: the smallest thing to wait for. One branch waits, another one of the same worker posts a value. */
#include "runtime.h"

long ae_slot_wait(ae_branch *b, struct ae_slot *s) {
    ae_worker *w = ae_worker_of(b);
    if (s->posted) {
        s->posted = false;
        return ae_maybe_suspend(b, s->value);
    }
    if (__ae_is_cancelled(b)) return ae_refuse(b);
    if (s->waits) return -EBUSY;
    if (!ae_may_wait(w)) return -ENOMEM;
    b->op = AE_OP_POSTED;
    b->kind = AE_K_SLOT;
    b->u.op = s;
    s->waits = b;
    __ae_leaf(b);
    return 0;
}

int ae_slot_post(struct ae_slot *s, long value) {
    ae_branch *b = s->waits;
    if (b) {
        s->waits = NULL;
        ae_complete(b, value);
        return 0;
    }
    if (s->posted) return -EBUSY;
    s->posted = true;
    s->value = value;
    return 0;
}
