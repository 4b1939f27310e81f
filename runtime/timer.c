/* Time: aesop_timer, deadlines, and yielding.
 *
 * One heap holds the timers of waiting branches and the armed deadlines, nearest first, four children a node (half as deep as a
 * binary one, and a node's children share a cache line). Each entry's owner knows its index, so that a cancel or the end of a
 * deadline removes it at once.
 *
 * Nothing ends too early. The loop's clock (a.now) stands still while branches run, however long they compute, so a timer reads the
 * time afresh. A deadline notes a.now on entry, because entering costs next to nothing, and is put right when it is armed: it
 * counts from the first wait inside it, which is also the first moment at which it could have had an effect.
 */
#include "runtime.h"
#include <stdlib.h>
#include <time.h>

long long ae_clock(ae_worker *w) {
    if (AE_UNLIKELY(w->io.engine->now)) return w->io.engine->now(&w->io);
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- the heap --- */

static void put(ae_worker *w, unsigned at, ae_timer t) {
    w->heap[at] = t;
    if (t.who & 1)
        ((ae_deadline *)(t.who - 1))->s.slot = at;
    else
        ((ae_branch *)t.who)->slot = at;
}
static void up(ae_worker *w, unsigned at, ae_timer t) {
    while (at) {
        unsigned above = (at - 1) / 4;
        if (w->heap[above].when <= t.when) break;
        put(w, at, w->heap[above]);
        at = above;
    }
    put(w, at, t);
}
static void down(ae_worker *w, unsigned at, ae_timer t) {
    for (;;) {
        unsigned first = 4 * at + 1, last = first + 4 < w->timers ? first + 4 : w->timers, least = first;
        if (first >= w->timers) break;
        for (unsigned i = first + 1; i < last; i++)
            if (w->heap[i].when < w->heap[least].when) least = i;
        if (w->heap[least].when >= t.when) break;
        put(w, at, w->heap[least]);
        at = least;
    }
    put(w, at, t);
}
bool ae_timers_grow(ae_worker *w) {
    if (w->timer_room - w->timers >= AE_TIMER_RESERVE) return true;
    unsigned room = w->timer_room ? 2 * w->timer_room : 2 * AE_TIMER_RESERVE;
    ae_timer *heap = ae_request(w, room * sizeof *heap, 16);
    if (!heap) return false;
    for (unsigned i = 0; i < w->timers; i++) heap[i] = w->heap[i];
    free(w->heap);
    w->heap = heap;
    w->timer_room = room;
    return true;
}
static void push(ae_worker *w, long long when, uintptr_t who) {
    if (AE_UNLIKELY(w->timer_room - w->timers <= AE_TIMER_RESERVE) && !ae_timers_grow(w)) {
        w->tight = true;
        if (w->timers == w->timer_room) ae_die("out of memory: too many deadlines begin to wait at once");
    }
    up(w, w->timers++, (ae_timer){when, who});
}
void ae_timer_remove(ae_worker *w, unsigned at) {
    ae_timer last = w->heap[--w->timers];
    if (at == w->timers) return;
    if (at && w->heap[(at - 1) / 4].when > last.when)
        up(w, at, last);
    else
        down(w, at, last);
}
void ae_timers_fire(ae_worker *w) {
    while (w->timers && w->heap[0].when <= w->a.now) {
        uintptr_t who = w->heap[0].who;
        ae_timer_remove(w, 0);
        if (who & 1)
            ae_fire((ae_deadline *)(who - 1));
        else
            ae_complete((ae_branch *)who, 0);
    }
}

/* --- scopes that move into a frame while their function suspends --- */

void __ae_keep_shield(ae_branch *b, ae_scope *home) {
    ae_scope *s = *b->w->slink;
    if (s != home) {
        *home = *s;
        *b->w->slink = home;
    }
    b->w->slink = &home->outer;
}
void __ae_keep_deadline(ae_branch *b, ae_deadline *home) {
    ae_deadline *d = (ae_deadline *)(void *)*b->w->slink;
    if (d != home) {
        *home = *d;
        *b->w->slink = &home->s;
    }
    if (!(home->s.flags & (__AE_ARMED | __AE_CANCELLED))) { /* its first wait: a.now is still what it was on entry */
        ae_worker *w = ae_worker_of(b);
        home->when += ae_clock(w) - w->a.now;
        home->s.flags |= __AE_ARMED;
        push(w, home->when, (uintptr_t)home + 1);
    }
    b->w->slink = &home->s.outer;
}
void __ae_disarm(ae_branch *b, ae_deadline *d) { ae_timer_remove(ae_worker_of(b), d->s.slot); }

/* --- waits --- */

int aesop_timer(ae_branch *b, int milliseconds) {
    ae_worker *w = ae_worker_of(b);
    if (milliseconds <= 0) return (int)ae_maybe_suspend(b, 0);
    if (__ae_is_cancelled(b)) return (int)ae_refuse(b);
    if (!ae_may_wait(w)) return -ENOMEM;
    b->op = AE_OP_POSTED;
    b->kind = AE_K_TIMER;
    b->u.when = ae_clock(w) + (long long)milliseconds * 1000000;
    push(w, b->u.when, (uintptr_t)b);
    __ae_leaf(b);
    return 0;
}

int aesop_yield(ae_branch *b) {
    ae_worker *w = ae_worker_of(b);
    if (__ae_is_cancelled(b)) return (int)ae_refuse(b);
    if (!ae_may_wait(w)) return -ENOMEM;
    b->ret = 0;
    ae_line_up(w, b); /* behind all others in every order; it goes on after this suspension has unwound to the loop */
    __ae_leaf(b);
    return 0;
}
