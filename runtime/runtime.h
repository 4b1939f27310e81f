/* runtime.h: the inside of the runtime. One worker: ready branches, timers, devices, memory.
 *
 * The life of a branch through these files: frame.c gives it memory, operation.c and timer.c and slot.c are where it begins to wait,
 * schedule.c brings it back, cancel.c ends its wait early, main.c starts and ends the whole. What is visible to emitted code stands
 * in aesop/abi.h; here its structures get their everyday names.
 *
 * Life of an operation:
 *     NONE --would wait, not cancelled--> POSTED --cancel--> CANCELLING
 *      ^  \--would wait, cancelled: -ECANCELED  |               |
 *      |                                        | completion    | completion: a result, or -ECANCELED
 *      |                                        v               v
 *      +------ the loop resumes the branch -- READY <-----------+
 * Only a completion leaves POSTED and CANCELLING, and its result is the outcome: "both" and "neither" cannot be written down.
 *
 * Everything of a worker is used by its own thread only, except the inbox (io/io.h). There may be several workers in a process, each on
 * a thread of its own; branches do not move between them.
 */
#ifndef AE_RUNTIME_H
#define AE_RUNTIME_H

#include "../io/io.h"
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct __ae_branch ae_branch;
typedef struct __ae_frame ae_frame;
typedef struct __ae_scope ae_scope;
typedef struct __ae_pwait ae_pwait;
typedef struct __ae_deadline ae_deadline;
typedef struct ae_worker ae_worker;

#define AE_UNLIKELY(x) (__builtin_expect((x) != 0, 0) != 0)

enum { AE_OP_NONE, AE_OP_POSTED, AE_OP_CANCELLING, AE_OP_READY, AE_OP_READY_CANCELLED }; /* branch.op; the last: READY with -ECANCELED */
enum { AE_K_IO, AE_K_TIMER, AE_K_SLOT };                                                 /* branch.kind */

enum {
    AE_CLASS_STEP = 16,
    AE_CLASSES = 64,           /* objects up to AE_CLASS_STEP * AE_CLASSES bytes come from free lists */
    AE_CHUNK = 64 * 1024 - 64, /* taken from malloc at once for them */
    AE_RESERVE = 64 * 1024,    /* kept for saving frames when malloc has no more */
    AE_TIMER_RESERVE = 64,     /* ... and so many deadlines */
    AE_BATCH = 256,            /* branches resumed before devices and timers are looked at again */
    AE_OLD_EVERY = 16,         /* one in so many is the branch that has been ready longest, also in the order `hot` */
    AE_EXIT_LEAK = 70,
    AE_EXIT_DEADLOCK = 71,
};

typedef struct {
    long long when;
    uintptr_t who; /* a branch, or a deadline + 1 */
} ae_timer;

struct ae_block { /* head of a chunk, of a used-up reserve */
    struct ae_block *next;
    char *end;
};

struct ae_worker {
    struct __ae_worker a; /* what emitted code knows; first */

    /* schedule.c. hot: a stack. line: a queue, for yields, for the order `fifo`, and for what has been in the stack too long. */
    ae_branch *hot, *line, **line_tail;
    unsigned takes; /* from hot, since one was taken from the line */
    unsigned batch; /* branches to resume in a turn; AE_BATCH but for tests */
    bool fifo;
    bool tight; /* the reserve is not full: nothing may begin to wait before ae_replenish() */
    bool main_ended;
    unsigned char coin; /* AESOP_SUSPEND: percentage */
    uint64_t seed;
    unsigned long resumes;

    /* frame.c */
    size_t pooled; /* objects up to this size come from free lists; 0 in a program with AddressSanitizer */
    void *classes[AE_CLASSES + 1];
    char *chunk, *chunk_end;
    struct ae_block *blocks;  /* all chunks */
    struct ae_block *reserve; /* the one that is full or being used */
    char *reserve_at;         /* where its rest begins */
    struct ae_block *spent;   /* those that large objects were taken from */
    unsigned long live, live_bytes, peak_bytes;
    unsigned long requests, fail_first, fail_count; /* AESOP_FAIL_ALLOC */
    void *wide;
    size_t wide_size;

    /* timer.c: a heap of four children a node */
    ae_timer *heap;
    unsigned timers, timer_room;

    struct ae_io io;
    ae_branch *main;
    long main_result;
    long long report_after; /* ns */
    bool report_leaks;
};

_Static_assert(sizeof(struct __ae_branch_head) <= 96, "a waiting branch with four words of variables fits 128 bytes");

static inline ae_worker *ae_worker_of(const ae_branch *b) { return (ae_worker *)(void *)b->w; }

/* --- frame.c --- */
int ae_memory_open(ae_worker *w); /* 0 or -ENOMEM */
void ae_memory_close(ae_worker *w);
bool ae_replenish(ae_worker *w);                        /* fills the reserves; false: no memory */
void *ae_request(ae_worker *w, size_t n, size_t align); /* from malloc; may be null */
/* Before anything begins to wait. False: answer -ENOMEM. */
static inline bool ae_may_wait(ae_worker *w) { return !AE_UNLIKELY(w->tight) || ae_replenish(w); }

/* --- schedule.c --- */
void ae_loop(ae_worker *w);
void ae_run(ae_branch *b);
void ae_say(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a line on stderr, after "aesop: " */
_Noreturn void ae_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void ae_line_up(ae_worker *w, ae_branch *b) {
    b->op = AE_OP_READY;
    b->u.rnext = NULL;
    *w->line_tail = b;
    w->line_tail = &b->u.rnext;
}
static inline void ae_ready(ae_worker *w, ae_branch *b) {
    if (w->fifo) {
        ae_line_up(w, b);
        return;
    }
    b->op = AE_OP_READY;
    b->u.rnext = w->hot;
    w->hot = b;
}

/* --- operation.c --- */
/* Delivers a result to a branch that waits: the only way out of POSTED and CANCELLING. */
void ae_complete(ae_branch *b, long result);
/* The result of a call that need not wait. With AESOP_SUSPEND it may be handed over through the ready queue all the same. */
long ae_suspend_by_coin(ae_branch *b, long result);
static inline long ae_maybe_suspend(ae_branch *b, long result) {
    return AE_UNLIKELY(ae_worker_of(b)->coin) ? ae_suspend_by_coin(b, result) : result;
}

/* --- cancel.c --- */
long ae_refuse(const ae_branch *b); /* notes that a wait was refused, and is -ECANCELED */
void ae_tell(const ae_branch *b);   /* a wait of b returns -ECANCELED */
void ae_fire(ae_deadline *d);       /* time is up */
int aesop_cancel_branches(ae_branch *b);
int ae_is_cancelled(ae_branch *b);

/* --- timer.c --- */
long long ae_clock(ae_worker *w);
bool ae_timers_grow(ae_worker *w); /* room for AE_TIMER_RESERVE more */
void ae_timer_remove(ae_worker *w, unsigned at);
void ae_timers_fire(ae_worker *w); /* those that are due by a.now */
int aesop_timer(ae_branch *b, int milliseconds);
int aesop_yield(ae_branch *b);

/* --- slot.c: one branch waits for a value that another branch of the same worker posts --- */
struct ae_slot {
    ae_branch *waits;
    long value;
    bool posted;
};
/* The value; waits until there is one. -ECANCELED, -ENOMEM; -EBUSY if a branch waits already. The slot is empty afterwards. */
long ae_slot_wait(ae_branch *b, struct ae_slot *s);
/* Fills an empty slot. Returns 0, or -EBUSY if it holds a value. */
int ae_slot_post(struct ae_slot *s, long value);

/* --- main.c --- */
int aesop_start(int (*entry)(ae_branch *, int, char **), int argc, char **argv);
void ae_worker_open(ae_worker *w); /* everything but the devices */
void ae_worker_close(ae_worker *w);
/* Runs one entry on a worker whose devices are open; returns its result after all lonely branches have ended. */
int ae_worker_run(ae_worker *w, int (*entry)(ae_branch *, int, char **), int argc, char **argv);

/* --- walk.c: over all waiting branches --- */
/* The branch after b, in the order of a walk from main on; null at the end. b null: the first. */
unsigned long ae_count_branches(const ae_worker *w);
unsigned long ae_count_lonely(const ae_worker *w);

#endif
