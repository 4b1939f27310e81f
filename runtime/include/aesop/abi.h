/* The contract between emitted code and the runtime: every name that the translator writes into its output stands here.
 *
 * aecc puts this header in front of every Aesop source, before the user's first line. It therefore defines no macro,
 * includes nothing, and uses only names that C reserves for the implementation (`__ae_...`), so that it cannot collide
 * with anything in the user's program. The runtime includes it too and gives the structures their everyday names
 * (runtime/runtime.h).
 *
 * How a call works (lazy frames).  `aesop T f(A a)` becomes the C function `T f(struct __ae_branch *, A a)`. It runs on the C stack
 * like any other function. When something below it has to wait, the leaf calls __ae_leaf(), which raises branch->waits,
 * and returns; its value is then meaningless. Each caller sees the flag, allocates its frame, saves what it still
 * needs, hangs the frame on the chain with __ae_push() and returns as well, until the loop is reached. Later the loop enters the chain
 * at branch->leaf, frame by frame, through frame->resume. A result travels between two resumed frames in
 * branch->ret (integers and pointers) or in the worker's wide buffer (everything else, see __ae_wide).
 * While nothing waits, no frame exists and the only cost is one hidden argument and one test of a byte after the call.
 *
 * Three things exist while a program waits:
 *   frame   what one suspended call needs to go on
 *   branch  one strand of control: a chain of frames, a stack of scopes, at most one operation
 *   scope   a statement that can be ended early or that waits for others: pwait, pshield, pdeadline
 *
 * The scopes a branch is inside of form a stack, linked inner to outer from branch->cur. Its floor is branch->home, the pwait
 * that the branch joins; that scope belongs to the branch that started it and lists the branches that wait and have yet to join.
 *
 * Invariants:
 *  EAGER    scope CANCELLED is effective: set exactly when the scope, or anything outside of it up to the nearest shield, was
 *           cancelled. A scope inherits it on entry, a cancel walks down and sets it: "am I cancelled" is one load.
 *  WAITING  a branch is in home->first if and only if it has suspended at least once and has not ended: the list is the join counter.
 *  ONE OP   a branch has at most one operation, and does not go on until the device has given its completion.
 *  NO NEST  nobody resumes a branch but the loop, and only after the branch's suspension has unwound to it.
 *  STACK    deadline and shield scopes are C locals until their function first suspends; then they move into its frame, and the one
 *           pointer that names them is put right through worker->slink. A deadline is armed only when it moves.
 */
#pragma once
#if defined __GNUC__ || defined __clang__
#define __AE_INLINE static __inline __attribute__((always_inline, unused))
#define __AE_UNLIKELY(x) (__builtin_expect((x) != 0, 0) != 0)
#else
#define __AE_INLINE static __inline
#define __AE_UNLIKELY(x) ((x) != 0)
#endif

struct __ae_branch;
struct __ae_worker;
struct __ae_frame;

/* What a resume function answers to the loop. */
enum {
    __AE_DONE, /* the frame's function has returned: go on with frame->parent */
    __AE_WAIT, /* the branch waits again, or has ended and its pwait still waits for others */
    __AE_JOIN, /* the branch has ended as the last of its pwait: worker->joined, the pwait's owner, goes on */
};

struct __ae_frame { /* head of every frame */
    int (*resume)(struct __ae_branch *, struct __ae_frame *);
    struct __ae_frame *parent; /* the caller's frame in the same branch; null in a branch's own frame */
    unsigned state;            /* where to go on: number of the call in its function, from 1 */
};

enum { __AE_PWAIT, __AE_SHIELD, __AE_DEADLINE }; /* scope.kind */
enum {                                           /* scope.flags */
    __AE_CANCELLED = 1,                          /* everything inside is cancelled, own statements included */
    __AE_BRANCHES = 2,                           /* pwait: one of its branches called aesop_cancel_branches() */
    __AE_FIRED = 4,                              /* deadline: its own time was up first */
    __AE_ARMED = 8,                              /* deadline: in the timer heap at `slot` */
    __AE_PARKED = 16,                            /* pwait: the owner waits for the join */
    __AE_SEEN = 32,                              /* deadline: fired, and a wait inside returned -ECANCELED since */
};
struct __ae_scope {
    struct __ae_scope *outer;
    unsigned char kind, flags;
    unsigned slot;
};
struct __ae_pwait { /* always in a frame: branches point at it */
    struct __ae_scope s;
    struct __ae_branch *owner, *first;
};
struct __ae_deadline { /* a C local, then in a frame */
    struct __ae_scope s;
    struct __ae_branch *owner;
    long long when; /* on the loop's clock, ns */
};

struct __ae_branch {
    struct __ae_frame *leaf;           /* innermost suspended frame: where the loop enters */
    struct __ae_worker *w;
    long ret;                          /* result for the frame that is resumed next */
    struct __ae_scope *cur;            /* innermost scope */
    struct __ae_pwait *home;           /* the pwait that this branch joins; the worker's root for a lonely branch */
    struct __ae_branch *next, **pprev; /* among the waiting branches of home; pprev is null before the first wait */
    union {
        void *op;                  /* the engine's record of the pending operation */
        long long when;            /* a pending timer: due time, ns on the loop's clock */
        struct __ae_branch *rnext; /* ready: next in the queue */
    } u;
    unsigned slot;              /* a pending timer: its index in the heap; else the engine's */
    unsigned char op;           /* state of the operation (runtime/runtime.h) */
    unsigned char kind;         /* which resource has it (runtime/runtime.h) */
    unsigned char exempt;       /* this branch won aesop_cancel_branches() in home; a bit here, not a pointer there: a
                                   pointer would exempt a later branch in the same memory */
    unsigned char waits;        /* the branch is suspending: callers save and return */
};

/* What emitted code touches of a worker; the rest of it (runtime/runtime.h) follows these members. */
struct __ae_worker {
    struct __ae_frame **link;   /* while a suspension unwinds: where the next frame goes */
    struct __ae_scope **slink;  /* ... and the pointer that names the next scope */
    struct __ae_branch *joined; /* with __AE_JOIN: who goes on */
    long long now;              /* the loop's clock, ns; read once a turn */
    struct __ae_pwait root;     /* home of main and of lonely branches; never cancelled */
};

/* A block of variables that a branch may outlive. One box per entry of the block; the block and each such branch hold it. */
struct __ae_box {
    unsigned refs;
};

/* --- in the runtime -------------------------------------------------------------------------------------------------- */

/* Memory for frames, branches and boxes. Never null: an operation is refused with -ENOMEM before it starts when the frames of its
 * callers could not be saved, and what is then still taken comes out of a reserve (runtime/frame.c).
 * size: bytes; align: of the object, in bytes, a power of two. */
void *__ae_alloc(struct __ae_branch *b, unsigned long size, unsigned long align);
void __ae_free(struct __ae_branch *b, void *p, unsigned long size, unsigned long align);
/* The worker's buffer for results that are neither integers nor pointers; at least size bytes, aligned for any type. */
void *__ae_wide(struct __ae_branch *b, unsigned long size);
int __ae_cancelled_slow(const struct __ae_branch *b, unsigned flags);
void __ae_keep_deadline(struct __ae_branch *b, struct __ae_deadline *home);
void __ae_keep_shield(struct __ae_branch *b, struct __ae_scope *home);
void __ae_disarm(struct __ae_branch *b, struct __ae_deadline *d);
/* Runs `entry` as the program's main branch on a new runtime; its result is the program's exit status. Returns when main
 * and all lonely branches have ended. */
int __ae_main(int (*entry)(struct __ae_branch *, int, char **), int argc, char **argv);
/* Variable-length arrays that live over a wait. *array: null or an earlier array of the same declaration, which is freed. */
void __ae_array_new(struct __ae_branch *b, void **array, unsigned long bytes);
void __ae_array_free(struct __ae_branch *b, void **array);

/* The further arguments of a variadic aesop function: `f(1, x, y)` puts x and y into a block and passes that in place of `...`, because
 * the stack they would be passed on is gone after a wait. The function frees it at its end. Laid out as the target's ABI lays out
 * variable arguments in memory, so that a va_list can walk it (runtime/arguments.c). */
struct __ae_args {
    unsigned long size, used; /* bytes of the whole object; bytes of arguments so far */
    long double first[1];     /* where the arguments begin, aligned for any of them */
};
struct __ae_args *__ae_args_new(struct __ae_branch *b, unsigned long bytes);
void *__ae_args_put(struct __ae_args *args, unsigned long size, unsigned long align);
void __ae_args_free(struct __ae_branch *b, struct __ae_args *args);
/* va_start. list: address of a va_list object. */
void __ae_va_start(void *list, struct __ae_args *args);

void *__ae_memcpy(void *to, const void *from, unsigned long n);
void *__ae_memset(void *to, int byte, unsigned long n);

/* --- suspending ------------------------------------------------------------------------------------------------------ */

__AE_INLINE int __ae_waits(const struct __ae_branch *b) { return __AE_UNLIKELY(b->waits); }
/* Start of a suspension, called by the leaf that waits. */
__AE_INLINE void __ae_leaf(struct __ae_branch *b) {
    b->w->link = &b->leaf;
    b->w->slink = &b->cur;
    b->waits = 1;
}
/* Hangs a frame on the chain of the suspension that is unwinding. Scopes that are open in the function are kept before it. */
__AE_INLINE void __ae_push(struct __ae_branch *b, struct __ae_frame *f, unsigned state) {
    f->state = state;
    *b->w->link = f;
    b->w->link = &f->parent;
}
__AE_INLINE void *__ae_frame_new(struct __ae_branch *b, unsigned long size, unsigned long align,
                                 int (*resume)(struct __ae_branch *, struct __ae_frame *)) {
    struct __ae_frame *f = (struct __ae_frame *)__ae_alloc(b, size, align);
    f->resume = resume;
    f->parent = 0;
    return f;
}
__AE_INLINE void __ae_frame_end(struct __ae_branch *b, void *f, unsigned long size, unsigned long align) {
    if (f) __ae_free(b, f, size, align);
}
/* An upper bound of what an argument of `size` bytes takes in a block. */
__AE_INLINE unsigned long __ae_args_slot(unsigned long size) { return size + 31; }
__AE_INLINE void __ae_args_end(struct __ae_branch *b, struct __ae_args *args) {
    if (args) __ae_args_free(b, args);
}
/* Copies a whole object and returns where it went; for objects that C cannot assign (arrays, const members). */
__AE_INLINE void *__ae_copy(void *to, const void *from, unsigned long n) {
#if defined __GNUC__ || defined __clang__
    return __builtin_memcpy(to, from, n);
#else
    return __ae_memcpy(to, from, n);
#endif
}
__AE_INLINE void *__ae_zero(void *to, unsigned long n) {
#if defined __GNUC__ || defined __clang__
    return __builtin_memset(to, 0, n);
#else
    return __ae_memset(to, 0, n);
#endif
}

/* --- cancellation and scopes ------------------------------------------------------------------------------------------- */

__AE_INLINE int __ae_is_cancelled(const struct __ae_branch *b) {
    unsigned f = b->cur->flags & (__AE_CANCELLED | __AE_BRANCHES);
    return __AE_UNLIKELY(f) && __ae_cancelled_slow(b, f);
}
__AE_INLINE void __ae_pwait_enter(struct __ae_branch *b, struct __ae_pwait *p) {
    p->s.outer = b->cur;
    p->s.kind = __AE_PWAIT;
    p->s.flags = (unsigned char)__ae_is_cancelled(b);
    p->owner = b;
    p->first = 0;
    b->cur = &p->s;
}
/* At the end of a pwait's statements: true when branches have yet to join. The owner is then parked and suspends. */
__AE_INLINE int __ae_pwait_parks(struct __ae_branch *b, struct __ae_pwait *p) {
    if (!p->first) return 0;
    p->s.flags |= __AE_PARKED;
    __ae_leaf(b);
    return 1;
}
__AE_INLINE void __ae_pwait_leave(struct __ae_branch *b, struct __ae_pwait *p) { b->cur = p->s.outer; }
/* While a suspension unwinds: a pwait's scope does not move, but the pointer to the scope outside of it comes next. */
__AE_INLINE void __ae_keep_pwait(struct __ae_branch *b, struct __ae_pwait *p) { b->w->slink = &p->s.outer; }

__AE_INLINE void __ae_shield_enter(struct __ae_branch *b, struct __ae_scope *s) {
    s->outer = b->cur;
    s->kind = __AE_SHIELD;
    s->flags = 0;
    b->cur = s;
}
/* The scope that ends is always cur, wherever it lives by now. */
__AE_INLINE void __ae_shield_leave(struct __ae_branch *b) { b->cur = b->cur->outer; }

__AE_INLINE void __ae_deadline_enter(struct __ae_branch *b, struct __ae_deadline *d, long long ms) {
    unsigned f = __ae_is_cancelled(b) ? __AE_CANCELLED : 0;
    if (__AE_UNLIKELY(ms <= 0) && !f) f = __AE_CANCELLED | __AE_FIRED; /* do it if it need not wait */
    if (__AE_UNLIKELY(ms > 4000000000000)) ms = 4000000000000;         /* 126 years; keeps the product in range */
    d->s.outer = b->cur;
    d->s.kind = __AE_DEADLINE;
    d->s.flags = (unsigned char)f;
    d->owner = b;
    d->when = b->w->now + ms * 1000000;
    b->cur = &d->s;
}
/* True: the else part runs. */
__AE_INLINE int __ae_deadline_leave(struct __ae_branch *b) {
    struct __ae_scope *s = b->cur;
    if (__AE_UNLIKELY(s->flags & __AE_ARMED)) __ae_disarm(b, (struct __ae_deadline *)(void *)s);
    b->cur = s->outer;
    return (s->flags & __AE_SEEN) != 0;
}

/* --- branches ---------------------------------------------------------------------------------------------------------- */

__AE_INLINE struct __ae_pwait *__ae_root(struct __ae_branch *b) { return &b->w->root; }

/* Memory for a branch that joins `home`, about to be started by `by`. The object begins with struct __ae_branch and then a
 * struct __ae_frame, the branch's own. */
struct __ae_branch_head {
    struct __ae_branch b;
    struct __ae_frame h;
};
__AE_INLINE void *__ae_branch_new(struct __ae_branch *by, unsigned long size, unsigned long align, struct __ae_pwait *home,
                                  int (*resume)(struct __ae_branch *, struct __ae_frame *)) {
    struct __ae_branch_head *m = (struct __ae_branch_head *)__ae_alloc(by, size, align);
    m->b.w = by->w;
    m->b.cur = &home->s;
    m->b.home = home;
    m->b.pprev = 0;
    m->b.op = 0;
    m->b.exempt = 0;
    m->b.waits = 0;
    m->h.resume = resume;
    m->h.parent = 0;
    return m;
}
/* After a new branch was run for the first time: it waits now (first wait: it enters its pwait's list) or has ended. */
__AE_INLINE void __ae_branch_started(struct __ae_branch *by, struct __ae_branch *b, unsigned long size, unsigned long align) {
    struct __ae_pwait *p;
    if (!b->waits) {
        __ae_free(by, b, size, align);
        return;
    }
    p = b->home;
    if ((b->next = p->first) != 0) b->next->pprev = &b->next;
    p->first = b;
    b->pprev = &p->first;
}
/* A resumed branch has ended: it leaves its pwait and is freed. The value is what its resume function returns. */
__AE_INLINE int __ae_branch_ended(struct __ae_branch *b, unsigned long size, unsigned long align) {
    struct __ae_pwait *p = b->home;
    struct __ae_worker *w = b->w;
    if ((*b->pprev = b->next) != 0) b->next->pprev = b->pprev;
    __ae_free(b, b, size, align);
    if (p->first || !(p->s.flags & __AE_PARKED)) return __AE_WAIT;
    p->s.flags &= (unsigned char)~__AE_PARKED;
    w->joined = p->owner;
    return __AE_JOIN;
}

/* --- boxes --------------------------------------------------------------------------------------------------------------- */

__AE_INLINE void *__ae_box_new(struct __ae_branch *b, unsigned long size, unsigned long align) {
    struct __ae_box *x = (struct __ae_box *)__ae_alloc(b, size, align);
    x->refs = 1;
    return x;
}
__AE_INLINE void *__ae_box_keep(void *x) {
    ((struct __ae_box *)x)->refs++;
    return x;
}
__AE_INLINE void __ae_box_drop(struct __ae_branch *b, void *x, unsigned long size, unsigned long align) {
    if (--((struct __ae_box *)x)->refs == 0) __ae_free(b, x, size, align);
}

#undef __AE_INLINE
#undef __AE_UNLIKELY
