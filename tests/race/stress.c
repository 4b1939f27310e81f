/* Random programs on a simulated device, against an oracle:  stress [first_seed [seeds]]
 *
 * The device is an engine like any other: it decides by a seeded coin whether an operation has to wait, when it completes, in
 * which order, whether a cancel is honoured at once, later or not at all, and when it lets go of the record. Time is virtual. The
 * order of the ready queue and the length of the loop's turns change at random: nobody may depend on them.
 *
 * Checked for each seed, at 0, 50 and 100 % waiting:
 *   cancellation  for each pending, ready and timed branch, the flags against the definition, by looking up the whole tree; a cancel
 *                 reaches only what is cancelled; nothing is started in a cancelled scope; each pending operation of a cancelled branch
 *                 was asked, once
 *   operations    begun = completed + cancelled; a result is what the device said
 *   results       against the same program as plain C where the order cannot matter
 *   joins         no pwait goes on early (branches count), none hangs
 *   memory        nothing is left at the end; also when the system's memory fails in the middle
 */
#include "tree.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ae_worker W;
static uint64_t seed_now, device_seed;
static int percent;
static bool starved; /* this run's memory fails at times */
static const char *what = "";

static _Noreturn void fail(const char *why) {
    fprintf(stderr, "FAIL: seed %llu, %d %%, %s: %s\n", (unsigned long long)seed_now, percent, what, why);
    abort();
}
static unsigned rnd(unsigned n) {
    uint64_t s = device_seed;
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    device_seed = s;
    return (unsigned)((s * 0x2545F4914F6CDD1Dull) >> 33) % n;
}

/* --- the oracle: cancelled, by definition instead of by flag --- */

static int look_up(const ae_branch *b, const ae_scope *s) {
    while (b) {
        for (; s != &b->home->s; s = s->outer) {
            if (s->kind == __AE_SHIELD) return 0;
            if (s->kind == __AE_DEADLINE && (s->flags & __AE_FIRED)) return 1;
            if (s->kind == __AE_PWAIT && (s->flags & __AE_BRANCHES)) return 1;
        }
        if ((s->flags & __AE_BRANCHES) && !b->exempt) return 1;
        s = s->outer;
        b = b->home->owner; /* on with what is around the pwait, in its owner */
    }
    return 0;
}
static int oracle(const ae_branch *b) { return look_up(b, b->cur); }
static void check_branch(ae_branch *b) {
    int want = oracle(b);
    if (__ae_is_cancelled(b) != want) fail("flag differs from look-up");
    if (want && b->op == AE_OP_POSTED) fail("pending operation of a cancelled branch got no cancel");
    for (; b; b = b->home->owner) /* each open scope above, too */
        for (ae_scope *s = b->cur; s != &b->home->s; s = s->outer) {
            int flag = s->flags & __AE_CANCELLED;
            if (s->kind == __AE_PWAIT && !flag) flag = s->flags & __AE_BRANCHES;
            if ((flag != 0) != look_up(b, s)) fail("flag of an outer scope differs from look-up");
        }
}

/* --- the device --- */

enum { DEVICE = 4096 };
static struct ae_io_op *device[DEVICE], *zombies[DEVICE];
static int n_device, n_zombies;
static long long virtual_now;
static long begun, completed, cancelled, total_ops, total_cancelled, total_asked, total_time;

static void check_all(void) {
    for (int i = 0; i < n_device; i++) check_branch(device[i]->b);
    for (unsigned i = 0; i < W.timers; i++) {
        uintptr_t who = W.heap[i].who;
        if (i && W.heap[(i - 1) / 4].when > W.heap[i].when) fail("heap order");
        if (who & 1) {
            if (((ae_deadline *)(who - 1))->s.slot != i) fail("heap index of a deadline");
        } else {
            if (((ae_branch *)who)->slot != i) fail("heap index of a timer");
            check_branch((ae_branch *)who);
        }
    }
    for (ae_branch *b = W.hot; b; b = b->u.rnext) check_branch(b);
    for (ae_branch *b = W.line; b; b = b->u.rnext) check_branch(b);
}
static void finish(struct ae_io *io, int at, bool honour) {
    struct ae_io_op *op = device[at];
    device[at] = device[--n_device];
    if (honour)
        cancelled++;
    else
        completed++;
    if (honour && op->b->op != AE_OP_CANCELLING) fail("cancelled unasked");
    ae_io_complete(io, op, honour ? -ECANCELED : (long)op->q.off);
    if (rnd(3) == 0 && n_zombies < DEVICE)
        zombies[n_zombies++] = op; /* the device still holds the record */
    else
        ae_io_release(io, op);
}
static int sim_open(struct ae_io *io, const char **reason) {
    (void)io;
    (void)reason;
    return 0;
}
static long sim_attempt(struct ae_io *io, const struct ae_io_request *q) {
    (void)io;
    return percent == 0 || (percent < 100 && (int)rnd(100) >= percent) ? (long)q->off : AE_IO_PENDING;
}
static long sim_post(struct ae_io *io, struct ae_io_op *op) {
    (void)io;
    if (oracle(op->b)) fail("operation started in a cancelled scope");
    if (n_device == DEVICE) fail("the device is full");
    if (rnd(16) == 0) return (long)op->q.off; /* complete at once after all */
    begun++;
    device[n_device++] = op;
    return AE_IO_PENDING;
}
static void sim_cancel(struct ae_io *io, struct ae_io_op *op) {
    int at = 0;
    total_asked++;
    if (!oracle(op->b)) fail("cancel of an operation that nobody cancelled, or through a shield");
    if (op->state++) fail("cancelled twice");
    if (!op->asked) fail("asked, but not marked");
    while (at < n_device && device[at] != op) at++;
    if (at == n_device) fail("cancel of what is not pending");
    if (rnd(4) == 0) finish(io, at, rnd(4) != 0);
}
static void sim_wait(struct ae_io *io, long long timeout) {
    check_all();
    W.fifo = rnd(2);
    if (rnd(4) == 0) W.takes = AE_OLD_EVERY - 1 - rnd(4);
    W.batch = rnd(4) ? 1 + rnd(3) : AE_BATCH;
    if (n_zombies && rnd(2)) ae_io_release(io, zombies[--n_zombies]);
    if (timeout == 0 && rnd(2)) return;
    if (n_device && (timeout < 0 || rnd(4))) {
        for (unsigned n = 1 + rnd(3); n && n_device; n--) {
            int at = (int)rnd((unsigned)n_device);
            finish(io, at, device[at]->asked && rnd(4));
        }
        check_all();
    } else if (timeout > 0) {
        virtual_now += timeout;
        total_time += (long)timeout;
    } else if (timeout < 0)
        fail("hang: nothing is pending and no timer runs");
}
static void sim_close(struct ae_io *io) {
    while (n_zombies) ae_io_release(io, zombies[--n_zombies]);
}
static long long sim_now(struct ae_io *io) {
    (void)io;
    return virtual_now;
}
static const struct ae_engine sim = {.name = "sim", .open = sim_open, .post = sim_post, .cancel = sim_cancel, .wait = sim_wait,
                                     .close = sim_close, .now = sim_now, .attempt = sim_attempt};

/* --- what the programs call --- */

long node_op(ae_branch *b, long v) {
    struct ae_io_request q = {.op = AE_IO_READ, .off = v};
    return ae_io(b, &q);
}
void note_join(int started, int ended) {
    if (started != ended) fail("joined early");
}
void note_cancel(const ae_branch *b, int had, int result) {
    if (result != (had ? -EEXIST : 0)) fail("result of aesop_cancel_branches");
    if (!had && !b->exempt) fail("the canceller is cancelled");
}
void note_wait(const ae_branch *b, long result) {
    if (result != -ECANCELED) return;
    if (!oracle(b)) fail("told -ECANCELED though not cancelled");
    for (const ae_scope *s = b->cur; b; s = s->outer, b = b->home->owner)
        for (; s != &b->home->s; s = s->outer) {
            if (s->kind == __AE_SHIELD) return;
            if ((s->flags & (__AE_FIRED | __AE_SEEN)) == __AE_FIRED) fail("a deadline was not told that a wait inside ended by it");
        }
}
void note_else(long result) { (void)result; }

/* --- one run --- */

static struct node *program;
static long wide_result;
static int entry(ae_branch *b, int argc, char **argv) {
    (void)argc;
    (void)argv;
    wide_result = walk(b, program);
    if (b->waits && *W.a.slink != &W.a.root.s) fail("a scope was left behind by an unwinding");
    return (int)wide_result;
}
static int run(struct node *n) {
    memset(&W, 0, sizeof W);
    n_device = n_zombies = 0;
    begun = completed = cancelled = 0;
    device_seed = seed_now * 0x9E3779B97F4A7C15u | 1;
    rnd(2);
    W.report_after = -1;
    if (percent == 50) { /* some that need not wait do so all the same */
        W.coin = 20;
        W.seed = device_seed;
    }
    ae_worker_open(&W);
    W.io.engine = &sim;
    if (starved) {
        W.fail_first = 4 + rnd(40);
        W.fail_count = 1 + rnd(200);
    }
    program = n;
    int result = ae_worker_run(&W, entry, 0, NULL);
    ae_branch last = {.w = &W.a};
    W.main = &last;
    sim_close(&W.io);
    if (W.a.root.first) fail("a lonely branch never ended");
    if (W.live || W.live_bytes) fail("leak");
    if (W.timers || n_device || W.hot || W.line || W.io.pending) fail("something is still armed");
    if (begun != completed + cancelled) fail("operations got lost");
    ae_worker_close(&W);
    total_ops += begun;
    total_cancelled += cancelled;
    return result;
}

/* --- random programs --- */

static uint64_t gen;
static struct node pool[4096];
static int nodes, most;
static bool pure; /* no time, no cancel: the result is certain */
static unsigned g(unsigned n) {
    gen = gen * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(gen >> 33) % n;
}
static struct node *make(int depth, bool root) {
    struct node *n = &pool[nodes];
    memset(n, 0, sizeof *n);
    n->id = nodes++;
    n->kind = depth <= 0 || nodes > most ? (int)g(3) : (int)g(N_KINDS + 6);
    if (root && n->kind < N_DEADLINE) n->kind = N_PAR;
    if (n->kind >= N_KINDS) n->kind = n->kind == N_KINDS + 5 ? N_LONELY : n->kind >= N_KINDS + 3 ? N_SHIELD : N_PAR;
    if (pure && (n->kind == N_TIMER || n->kind == N_DEADLINE)) n->kind = N_SEQ;
    if (depth <= 0 && n->kind == N_SEQ) n->kind = N_OP;
    n->v = n->kind == N_DEADLINE ? (int)g(60) - 3 : n->kind == N_TIMER ? (int)g(50) : (int)g(9);
    n->act = pure ? (g(4) ? ACT_NONE : ACT_PBREAK) : g(2) ? ACT_NONE : (int)g(4);
    n->body = g(3) == 0;
    switch (n->kind) {
    case N_PAR: n->kids = (int)g(6); break;
    case N_LONELY: n->kids = (int)g(3); break;
    case N_SEQ: n->kids = (int)g(4); break;
    case N_DEADLINE:
    case N_SHIELD: n->kids = 1; break;
    default: break;
    }
    for (int i = 0; i < n->kids; i++) n->kid[i] = make(depth - 1, false);
    return n;
}
/* The same program without waiting, as plain C. */
static long plain(const struct node *n) {
    long r = 0, sum = 0, ret = 0;
    switch (n->kind) {
    case N_OP: return n->v;
    case N_SEQ:
        for (int i = 0; i < n->kids; i++) {
            long x = plain(n->kid[i]);
            r = x < 0 ? x : r + x;
        }
        return r;
    case N_DEADLINE:
    case N_SHIELD: return plain(n->kid[0]);
    case N_PAR:
        for (int i = 0; i < n->kids; i++) {
            long x = plain(n->kid[i]);
            if (x > 0) sum += x;
            if (n->kid[i]->act == ACT_PBREAK) continue;
            if (n->kid[i]->act == ACT_RETURN) {
                if (!ret) ret = 1000000 + n->kid[i]->id;
                continue;
            }
            sum++;
        }
        return ret ? ret : sum;
    default: return 0;
    }
}
static int expect_runs(const struct node *n) { /* each node once, however it is cancelled */
    int bad = n->runs != 1;
    for (int i = 0; i < n->kids; i++) bad += expect_runs(n->kid[i]);
    return bad;
}
static void one_seed(uint64_t seed) {
    static const int percents[] = {0, 50, 100};
    for (int k = 0; k < 3; k++)
        for (int t = 0; t < 6; t++) {
            percent = percents[k];
            seed_now = seed;
            gen = seed * 31 + (uint64_t)(k * 7 + t);
            for (int i = 0; i < 4; i++) g(2);
            pure = t == 0;
            starved = t == 5;
            what = pure ? "pure" : starved ? "without memory" : "random";
            nodes = 0;
            most = starved ? 60 : 400;
            struct node *root = make(3 + (int)g(6), true);
            long result = run(root);
            if (pure && result != plain(root)) fail("result differs from the plain program's");
            if (expect_runs(root)) fail("a statement ran twice or never");
        }
}
int main(int argc, char **argv) {
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1, count = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000;
    for (uint64_t s = first; s < first + count; s++) one_seed(s ? s : 1);
    printf("ok: %llu seeds, %ld operations, %ld of %ld cancelled, %ld s of virtual time\n", (unsigned long long)count, total_ops,
           total_cancelled, total_asked, total_time / 1000000000);
    return 0;
}
