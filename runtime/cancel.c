/* Cancelling: flag, walk, ask.
 *
 * A cancel sets the flag of every scope that it reaches and asks for the end of each operation that waits there. It has to visit
 * these branches anyway, so "am I cancelled" needs no look-up later: it is one load, made by calls that are about to wait. It
 * resumes nobody and takes no memory; its cost is one visit for each branch and scope below, outside shields; what was cancelled
 * before is skipped.
 */
#include "runtime.h"

int __ae_cancelled_slow(const ae_branch *b, unsigned flags) {
    if (flags & __AE_CANCELLED) return 1;
    const ae_pwait *p = (const ae_pwait *)(const void *)b->cur; /* __AE_BRANCHES: only a pwait has it */
    return p->owner == b || !b->exempt;                         /* its own statements, or a branch that did not call it */
}

/* A wait of b returns -ECANCELED: the deadlines around it that have fired are told, for their else parts. */
void ae_tell(const ae_branch *b) {
    for (ae_scope *s = b->cur; b; s = s->outer, b = b->home->owner)
        for (; s != &b->home->s; s = s->outer) {
            if (s->kind == __AE_SHIELD) return;
            if (s->flags & __AE_FIRED) s->flags |= __AE_SEEN;
        }
}
long ae_refuse(const ae_branch *b) {
    ae_tell(b);
    return -ECANCELED;
}

/* Asks for the end of b's operation. */
static void ask(ae_branch *b) {
    ae_worker *w = ae_worker_of(b);
    if (b->kind == AE_K_IO) {
        struct ae_io_op *op = b->u.op;
        if (op->q.op == AE_IO_CLOSE) return; /* begun is done: the descriptor must not stay open */
        b->op = AE_OP_CANCELLING;
        op->asked = 1;
        w->io.engine->cancel(&w->io, op);
        return;
    }
    b->op = AE_OP_CANCELLING;
    if (b->kind == AE_K_TIMER)
        ae_timer_remove(w, b->slot);
    else
        ((struct ae_slot *)b->u.op)->waits = NULL;
    ae_complete(b, -ECANCELED);
}

/* The innermost scope of b, within end, that a cancel from outside can see: the one around b's outermost shield. */
static ae_scope *visible(ae_branch *b, ae_scope *end) {
    ae_scope *seen = b->cur;
    for (ae_scope *s = b->cur; s != end; s = s->outer)
        if (s->kind == __AE_SHIELD) seen = s->outer;
    return seen;
}
/* Cancels the scopes of `top` inside `end`, all branches below them, and the operations that these wait in. Goes along the tree's
 * own links: no recursion, since nesting may be deep, and no memory, since a cancel must not fail. Each branch once. */
static void cancel_below(ae_branch *top, ae_scope *end) {
    ae_branch *b = top;
    ae_scope *s = visible(b, end);
    for (;;) {
        if (s == (b == top ? end : &b->home->s)) { /* all scopes of b are done; now its operation */
            if (b->op == AE_OP_POSTED && __ae_is_cancelled(b)) ask(b);
            if (b == top) return;
            if (b->next) {
                b = b->next;
                s = visible(b, &b->home->s);
            } else { /* the last of its pwait: on with the scope around that, which is the owner's */
                s = b->home->s.outer;
                b = b->home->owner;
            }
            continue;
        }
        if (!(s->flags & __AE_CANCELLED)) { /* if set, everything below has it too */
            ae_pwait *p = (ae_pwait *)(void *)s;
            s->flags |= __AE_CANCELLED;
            if (s->kind == __AE_PWAIT && p->first) {
                b = p->first;
                s = visible(b, &p->s);
                continue;
            }
        }
        s = s->outer;
    }
}

int aesop_cancel_branches(ae_branch *self) {
    ae_pwait *p = self->home;
    if (!p->owner) return -EINVAL; /* a lonely branch; the translator refuses it, hand-written C may not */
    if (p->s.flags & __AE_BRANCHES) return -EEXIST;
    p->s.flags |= __AE_BRANCHES; /* branches to come read it there: they are born cancelled */
    self->exempt = 1;
    for (ae_branch *b = p->first; b; b = b->next)
        if (b != self) cancel_below(b, &p->s);
    cancel_below(p->owner, &p->s);
    return 0;
}
int ae_is_cancelled(ae_branch *b) { return __ae_is_cancelled(b); }

void ae_fire(ae_deadline *d) {
    d->s.flags &= (unsigned char)~__AE_ARMED;
    if (d->s.flags & __AE_CANCELLED) return; /* the first cause counts */
    d->s.flags |= __AE_FIRED;
    cancel_below(d->owner, d->s.outer);
}
