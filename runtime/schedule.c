/* The loop: resumes ready branches, and when there are none, waits for devices and time.
 *
 * Order. `hot` is a stack: the branch whose operation was completed last goes on first, while what it works on is still in the
 * caches. A stack starves those at its bottom, so every AE_OLD_EVERY-th branch is the one that has been ready longest: the whole
 * stack is then turned over into the line, oldest first, which costs each branch one more store. The line is also where yields
 * go, and everything in the order `fifo`.
 *
 * A turn resumes at most so many branches (AE_BATCH) before it looks at devices and timers again, so branches that never wait for
 * anything outside cannot keep others from their results.
 */
#include "runtime.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __attribute__((noinline)) void turn_over(ae_worker *w) {
    ae_branch *last = w->hot, *first = NULL;
    for (ae_branch *b = w->hot, *older; b; b = older) {
        older = b->u.rnext;
        b->u.rnext = first;
        first = b;
    }
    *w->line_tail = first;
    if (last) w->line_tail = &last->u.rnext;
    w->hot = NULL;
}
static ae_branch *take(ae_worker *w) {
    ae_branch *b = w->hot;
    if (b && ++w->takes < AE_OLD_EVERY) {
        w->hot = b->u.rnext;
        return b;
    }
    w->takes = 0;
    if (!w->line) turn_over(w);
    b = w->line;
    if (b && !(w->line = b->u.rnext)) w->line_tail = &w->line;
    return b;
}

/* Resumes b, and whoever goes on because of it, without nesting: only the loop resumes. */
void ae_run(ae_branch *b) {
    struct __ae_worker *w = b->w; /* before: the branch may be freed when it has ended */
    for (;;) {
        ae_frame *f = b->leaf;
        for (;;) {
            ae_frame *parent = f->parent; /* before: f frees itself */
            b->waits = 0;
            int answer = f->resume(b, f);
            if (answer == __AE_DONE) { /* never a branch's own frame, so there is a parent */
                f = parent;
                continue;
            }
            if (answer == __AE_WAIT) return;
            b = w->joined;
            break;
        }
    }
}

/* --- when nothing is ready --- */

static void deadlock(ae_worker *w) {
    unsigned long branches = ae_count_branches(w), lonely = ae_count_lonely(w);
    fflush(stdout);
    ae_say("deadlock: %lu branch%s wait%s (%lu lonely), but no operation is pending and no timer runs", branches, branches == 1 ? "" : "es",
           branches == 1 ? "s" : "", lonely);
    exit(AE_EXIT_DEADLOCK);
}
static bool ended(const ae_worker *w) { return w->main_ended && !w->a.root.first; }

void ae_loop(ae_worker *w) {
    long long report = -1; /* when to say what is still waited for */
    for (;;) {
        const unsigned batch = w->batch;
        unsigned n = batch;
        for (ae_branch *b; n && (b = take(w)); n--) {
            if (AE_UNLIKELY(b->op == AE_OP_READY_CANCELLED)) ae_tell(b); /* only now does its wait return */
            b->op = AE_OP_NONE;
            ae_run(b);
        }
        w->resumes += batch - n;
        if (w->live_bytes > w->peak_bytes) w->peak_bytes = w->live_bytes;
        bool busy = w->hot || w->line;
        if (!busy && ended(w)) return;
        w->a.now = ae_clock(w);

        long long timeout = 0;
        if (!busy) {
            timeout = -1;
            if (w->timers) timeout = w->heap[0].when > w->a.now ? w->heap[0].when - w->a.now : 0;
            if (!w->timers && !w->io.pending) deadlock(w);
            if (w->main_ended && w->report_after >= 0) {
                if (report < 0) report = w->a.now + w->report_after;
                if (report <= w->a.now) {
                    unsigned long lonely = ae_count_lonely(w);
                    ae_say("main has ended; waiting for %lu lonely branch%s", lonely, lonely == 1 ? "" : "es");
                    w->report_after = -1;
                } else if (timeout < 0 || report - w->a.now < timeout)
                    timeout = report - w->a.now;
            }
        }
        if (timeout != 0 || w->io.pending) {
            w->io.engine->wait(&w->io, timeout);
            if (timeout != 0) w->a.now = ae_clock(w);
        }
        if (w->timers) ae_timers_fire(w);
    }
}

/* --- messages --- */

static void say(const char *format, va_list args) {
    char line[512];
    int n = snprintf(line, sizeof line, "aesop: ");
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
    line[n++] = '\n';
    for (char *at = line; n > 0;) { /* one write if possible: lines of several processes stay whole */
        ssize_t done = write(STDERR_FILENO, at, (size_t)n);
        if (done <= 0) return;
        at += done;
        n -= (int)done;
    }
}
void ae_say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}
void ae_die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    abort();
}
