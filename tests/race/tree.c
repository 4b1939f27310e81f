/* The walker, translated by hand. Under each part of the Aesop source stands what the translator makes of it.
 *
 *   aesop long walk(struct node *n) {
 *       long r = 0, x;
 *       switch (n->kind) {
 *       case N_OP:       r = n->io ? ae_io(&n->q) : node_op(n->v); break;
 *       case N_TIMER:    r = aesop_timer(n->v); break;
 *       case N_YIELD:    r = aesop_yield(); break;
 *       case N_SLOT:     r = ae_slot_wait(n->arg); break;
 *       case N_C:        n->c(n); break;
 *       case N_SEQ:      for (int i = 0; i < n->kids; i++) { x = walk(n->kid[i]); r = x < 0 ? x : r + x; } break;
 *       case N_DEADLINE: pdeadline (n->v) r = walk(n->kid[0]); else { note_else(r); r = -ETIMEDOUT; } break;
 *       case N_SHIELD:   pshield r = walk(n->kid[0]); break;
 *       case N_LONELY:   { int count = 0; pprivate int j = 0; for (; j < n->kids; j++) pbranch { walk(n->kid[j]); count++; } } break;
 *       case N_PAR: {
 *           int ended = 0, sum = 0;
 *           pwait {
 *               pprivate int j;
 *               for (j = 0; j < n->kids; j++) {
 *                   pbranch {
 *                       x = walk(n->kid[j]);
 *                       if (x > 0) sum += x;
 *                       ended++;
 *                       if (n->kid[j]->act == ACT_CANCEL) note_cancel(ae_cancel_branches());
 *                       if (n->kid[j]->act == ACT_PBREAK) pbreak;
 *                       if (n->kid[j]->act == ACT_RETURN) return 1000000 + n->kid[j]->id;
 *                       x = node_op(1);
 *                       if (x > 0) sum += x;
 *                   }
 *                   if (n->body) node_op(2);
 *               }
 *           }
 *           note_join(n->kids, ended); r = sum; break; }
 *       }
 *       n->result = r; n->runs++;
 *       return r;
 *   }
 */
#include "tree.h"

enum { ALIGN = 16 };

struct frame {
    ae_frame h;
    struct node *n;
    long r;
    int i, j, ended, has_ret;
    long sum, retv;
    union { /* never open together */
        ae_deadline d;
        ae_scope sh;
        ae_pwait p;
    } u;
};
struct branch {
    ae_branch b;
    ae_frame h;
    struct frame *up;
    int j;
};
struct count {
    struct __ae_box x;
    int count;
};
struct lonely {
    ae_branch b;
    ae_frame h;
    struct node *n;
    struct count *box;
};

/* --- branches of N_PAR --- */

static int branch_run(struct branch *m, int resumed) {
    ae_branch *b = &m->b;
    struct frame *up = m->up;
    const struct node *k = up->n->kid[m->j];
    long x;
    if (resumed) {
        x = b->ret;
        if (m->h.state == 1) goto s1;
        goto s2;
    }
    x = walk(b, up->n->kid[m->j]);
    if (__ae_waits(b)) {
        __ae_push(b, &m->h, 1);
        return __AE_WAIT;
    }
s1:
    if (x > 0) up->sum += x;
    up->ended++;
    if (k->act == ACT_CANCEL) {
        int had = b->home->s.flags & __AE_BRANCHES;
        note_cancel(b, had, aesop_cancel_branches(b));
    }
    if (k->act == ACT_PBREAK) goto end;
    if (k->act == ACT_RETURN) {
        if (!up->has_ret) {
            up->has_ret = 1;
            up->retv = 1000000 + k->id;
        }
        goto end;
    }
    x = node_op(b, 1);
    if (__ae_waits(b)) {
        __ae_push(b, &m->h, 2);
        return __AE_WAIT;
    }
s2:
    if (x > 0) up->sum += x;
end:
    return resumed ? __ae_branch_ended(b, sizeof *m, ALIGN) : __AE_DONE;
}
static int branch_resume(ae_branch *b, ae_frame *f) {
    (void)f;
    return branch_run((struct branch *)(void *)b, 1);
}

/* --- branches of N_LONELY --- */

static int lonely_run(struct lonely *m, int resumed) {
    ae_branch *b = &m->b;
    if (!resumed) {
        walk(b, m->n);
        if (__ae_waits(b)) {
            __ae_push(b, &m->h, 1);
            return __AE_WAIT;
        }
    }
    m->box->count++;
    __ae_box_drop(b, m->box, sizeof *m->box, ALIGN);
    return resumed ? __ae_branch_ended(b, sizeof *m, ALIGN) : __AE_DONE;
}
static int lonely_resume(ae_branch *b, ae_frame *f) {
    (void)f;
    return lonely_run((struct lonely *)(void *)b, 1);
}
static void start_lonely(ae_branch *b, const struct node *n) {
    struct count *box = __ae_box_new(b, sizeof *box, ALIGN);
    box->count = 0;
    for (int j = 0; j < n->kids; j++) {
        struct lonely *m = __ae_branch_new(b, sizeof *m, ALIGN, __ae_root(b), lonely_resume);
        m->n = n->kid[j];
        m->box = __ae_box_keep(box);
        lonely_run(m, 0);
        __ae_branch_started(b, &m->b, sizeof *m, ALIGN);
    }
    __ae_box_drop(b, box, sizeof *box, ALIGN);
}

/* --- the function --- */

static int walk_resume(ae_branch *b, ae_frame *f);
static long operation(ae_branch *b, struct node *n) {
    if (n->c) n->c(n);
    return n->io ? ae_io(b, &n->q) : node_op(b, n->v);
}
#define SAVE(k, KEEP)                                                          \
    do {                                                                       \
        if (!fr) fr = (struct frame *)(void *)__ae_frame_new(b, sizeof *fr, ALIGN, walk_resume); \
        fr->n = n;                                                             \
        fr->r = r;                                                             \
        fr->i = i;                                                             \
        fr->j = j;                                                             \
        KEEP;                                                                  \
        __ae_push(b, &fr->h, k);                                               \
        return 0;                                                              \
    } while (0)
static long body(ae_branch *b, struct frame *fr, struct node *n) {
    long r = 0, x;
    int i = 0, j = 0;
    ae_deadline d;
    ae_scope sh;
    struct branch *m;
    if (fr) {
        n = fr->n;
        r = fr->r;
        i = fr->i;
        j = fr->j;
        switch (fr->h.state) {
        case 1: goto s1;
        case 2: goto s2;
        case 3: goto s3;
        case 4: goto s4;
        case 5: goto s5;
        case 6: goto s6;
        case 7: goto s7;
        case 8: goto s8;
        default: goto s9;
        }
    }
    switch (n->kind) {
    case N_OP:
        r = operation(b, n);
        if (__ae_waits(b)) SAVE(1, (void)0);
        goto t1;
    s1:
        r = b->ret;
    t1:
        note_wait(b, r);
        break;
    case N_TIMER:
        r = aesop_timer(b, n->v);
        if (__ae_waits(b)) SAVE(2, (void)0);
        goto t2;
    s2:
        r = b->ret;
    t2:
        note_wait(b, r);
        break;
    case N_YIELD:
        r = aesop_yield(b);
        if (__ae_waits(b)) SAVE(3, (void)0);
        goto t3;
    s3:
        r = b->ret;
    t3:
        note_wait(b, r);
        break;
    case N_SLOT:
        r = ae_slot_wait(b, n->arg);
        if (__ae_waits(b)) SAVE(9, (void)0);
        goto t9;
    s9:
        r = b->ret;
    t9:
        note_wait(b, r);
        break;
    case N_C: n->c(n); break;
    case N_SEQ:
        for (i = 0; i < n->kids; i++) {
            x = walk(b, n->kid[i]);
            if (__ae_waits(b)) SAVE(4, (void)0);
            goto t4;
        s4:
            x = b->ret;
        t4:
            r = x < 0 ? x : r + x;
        }
        break;
    case N_DEADLINE:
        __ae_deadline_enter(b, &d, n->v);
        r = walk(b, n->kid[0]);
        if (__ae_waits(b)) SAVE(5, __ae_keep_deadline(b, &fr->u.d));
        goto t5;
    s5:
        r = b->ret;
    t5:
        if (__ae_deadline_leave(b)) {
            note_else(r);
            r = -ETIMEDOUT;
        }
        break;
    case N_SHIELD:
        __ae_shield_enter(b, &sh);
        r = walk(b, n->kid[0]);
        if (__ae_waits(b)) SAVE(6, __ae_keep_shield(b, &fr->u.sh));
        goto t6;
    s6:
        r = b->ret;
    t6:
        __ae_shield_leave(b);
        break;
    case N_LONELY: start_lonely(b, n); break;
    case N_PAR:
        if (!fr) fr = (struct frame *)(void *)__ae_frame_new(b, sizeof *fr, ALIGN, walk_resume);
        fr->n = n;
        fr->ended = fr->has_ret = 0;
        fr->sum = 0;
        __ae_pwait_enter(b, &fr->u.p);
        for (j = 0; j < n->kids; j++) {
            m = __ae_branch_new(b, sizeof *m, ALIGN, &fr->u.p, branch_resume);
            m->up = fr;
            m->j = j;
            branch_run(m, 0);
            __ae_branch_started(b, &m->b, sizeof *m, ALIGN);
            if (n->body) {
                node_op(b, 2);
                if (__ae_waits(b)) SAVE(7, __ae_keep_pwait(b, &fr->u.p));
            s7:;
            }
        }
        if (__ae_pwait_parks(b, &fr->u.p)) SAVE(8, __ae_keep_pwait(b, &fr->u.p));
    s8:
        __ae_pwait_leave(b, &fr->u.p);
        note_join(n->kids, fr->ended);
        r = fr->has_ret ? fr->retv : fr->sum;
        break;
    default: break;
    }
    __ae_frame_end(b, fr, sizeof *fr, ALIGN);
    n->result = r;
    n->runs++;
    return r;
}
long walk(ae_branch *b, struct node *n) { return body(b, NULL, n); }
static int walk_resume(ae_branch *b, ae_frame *f) {
    long r = body(b, (struct frame *)(void *)f, NULL);
    if (__ae_waits(b)) return __AE_WAIT;
    b->ret = r;
    return __AE_DONE;
}
