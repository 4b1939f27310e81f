/* Many operations, cancels that race with completions, no memory, and how programs end:  race-limits uring|epoll [name] */
#include "programs.h"

/* --- many --- */

enum { MANY = 1500 }; /* more than the ring takes at once */
static int many_fd[MANY][2];
static void wake_all(struct node *n) {
    (void)n;
    for (int i = 0; i < MANY; i++) DO(send(many_fd[i][1], "x", 1, 0));
}
static void many_waits(bool cancel) {
    static struct node *kid[MANY], *keep[MANY];
    int done = 0;
    for (int i = 0; i < MANY; i++) {
        pair(many_fd[i], SOCK_STREAM);
        keep[i] = kid[i] = RECV(many_fd[i][0], buf[0], 1);
    }
    struct node *all = many(N_PAR, kid, MANY);
    run(cancel ? PAR(all, then_cancel(timer(20))) : PAR(all, SEQ(timer(20), c(wake_all, NULL))));
    for (int i = 0; i < MANY; i++) {
        done += keep[i]->result == (cancel ? -ECANCELED : 1);
        unpair(many_fd[i]);
    }
    SAME(done, MANY);
}
static void t_many(void) { many_waits(false); }
static void t_many_cancelled(void) { many_waits(true); }
static void t_many_born_cancelled(void) { /* posted and cancelled in the same turn, beyond the size of the ring */
    static struct node *kid[MANY], *keep[MANY];
    int fd[2], done = 0;
    pair(fd, SOCK_STREAM);
    for (int i = 0; i < MANY; i++) keep[i] = kid[i] = RECV(fd[0], buf[0], 1);
    run(PAR(many(N_PAR, kid, MANY), then_cancel(node(N_YIELD))));
    for (int i = 0; i < MANY; i++) done += keep[i]->result == -ECANCELED;
    SAME(done, MANY);
    unpair(fd);
}

/* --- cancel against completion --- */

static long noop(void *arg) {
    (void)arg;
    return 0;
}
static void t_race_recv(void) { /* what was sent is received or still there: never both, never neither */
    int fd[2], got = 0, left = 0;
    pair(fd, SOCK_STREAM);
    for (int i = 0; i < 400; i++) {
        n_nodes = 0;
        struct node *r = RECV(fd[0], buf[0], 1), *wait1 = node(N_SEQ), *wait2 = node(N_SEQ);
        for (int k = 0; k < i % 4; k++) wait1->kid[wait1->kids++] = i % 3 ? node(N_YIELD) : CALL(noop, 0);
        for (int k = 0; k < i / 4 % 4; k++) wait2->kid[wait2->kids++] = i % 5 ? node(N_YIELD) : CALL(noop, 0);
        struct node *s = SEND(fd[1], "x", 1);
        run(PAR(r, SHIELD(SEQ(wait1, s)), then_cancel(wait2)));
        long rest = recv(fd[0], buf[0], 10, MSG_DONTWAIT);
        if (r->result == 1) {
            got++;
            CHECK(rest < 0, rest);
        } else {
            left++;
            SAME(r->result, -ECANCELED);
            SAME(rest, 1);
        }
    }
    CHECK(got > 0 && left > 0, got);
    unpair(fd);
}
static void t_race_accept(void) { /* likewise: a connection is accepted or still in the backlog */
    struct sockaddr_in at;
    int l = listener(&at, SOCK_NONBLOCK), accepted = 0;
    for (int i = 0; i < 150; i++) {
        n_nodes = 0;
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct node *a = IO(.op = AE_IO_ACCEPT, .fd = l), *wait1 = node(N_SEQ), *wait2 = node(N_SEQ);
        for (int k = 0; k < i % 4; k++) wait1->kid[wait1->kids++] = i % 3 ? node(N_YIELD) : CALL(noop, 0);
        for (int k = 0; k < i / 4 % 4; k++) wait2->kid[wait2->kids++] = i % 5 ? node(N_YIELD) : CALL(noop, 0);
        struct node *k = IO(.op = AE_IO_CONNECT, .fd = s, .buf = &at, .len = sizeof at);
        run(PAR(a, SHIELD(SEQ(wait1, k)), then_cancel(wait2)));
        SAME(k->result, 0);
        int rest = accept(l, NULL, NULL);
        CHECK((a->result >= 0) != (rest >= 0), a->result);
        accepted += a->result >= 0;
        if (a->result >= 0) DO(close((int)a->result));
        if (rest >= 0) DO(close(rest));
        DO(close(s));
    }
    CHECK(accepted > 0 && accepted < 150, accepted);
    DO(close(l));
}
static void on_alarm(int number) { (void)number; }
static void t_signals(void) { /* a signal every millisecond: nobody sees EINTR */
    struct sigaction act = {.sa_handler = on_alarm}, old;
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int fd[2];
    pair(fd, SOCK_STREAM);
    DO(sigaction(SIGALRM, &act, &old));
    DO(setitimer(ITIMER_REAL, &often, NULL));
    struct node *r = RECV(fd[0], buf[0], 1), *t = timer(60), *k = CALL(sleeper, 40);
    run(PAR(r, t, k, SEQ(timer(50), SEND(fd[1], "x", 1))));
    DO(setitimer(ITIMER_REAL, &never, NULL));
    DO(sigaction(SIGALRM, &old, NULL));
    SAME(r->result, 1);
    SAME(t->result, 0);
    SAME(k->result, 7);
    unpair(fd);
}

/* --- memory, ends --- */

static void t_no_memory(void) { /* once the system has none: waits are refused before they begin, what need not wait succeeds */
    int fd[2];
    static struct node *kid[400], *keep[400];
    int refused = 0, received = 0;
    pair(fd, SOCK_SEQPACKET);
    for (int i = 0; i < 400; i++) keep[i] = kid[i] = RECV(fd[0], buf[0], 1);
    setenv("AESOP_FAIL_ALLOC", "4:1000000000", 1); /* the first three are the runtime's own */
    run(DEADLINE(30, many(N_PAR, kid, 400)));
    unsetenv("AESOP_FAIL_ALLOC");
    for (int i = 0; i < 400; i++) {
        refused += keep[i]->result == -ENOMEM;
        received += keep[i]->result == -ECANCELED;
    }
    SAME(refused + received, 400);
    CHECK(refused > 0, refused);
    unpair(fd);
}
static void t_slots(void) {
    static struct ae_slot full = {.posted = true, .value = 5}, empty;
    struct node *a = node(N_SLOT), *b = node(N_SLOT), *busy = node(N_SLOT);
    a->arg = &full;
    b->arg = busy->arg = &empty;
    run(SEQ(a, PAR(b, busy, then_cancel(timer(2)))));
    SAME(a->result, 5);
    SAME(b->result, -ECANCELED);
    SAME(busy->result, -EBUSY);
    SAME(empty.waits == NULL, 1);
}
static struct ae_slot ball[2], patient;
static int rounds, seen_after = -1;
static void throw_ball(struct node *n) {
    rounds++;
    SAME(ae_slot_post(n->arg, 0), 0);
}
static void arrived(struct node *n) {
    (void)n;
    seen_after = rounds;
}
static void t_fair(void) { /* two branches keep each other at the top of the stack; a third, ready since before, gets its turn */
    enum { ROUNDS = 512 };
    static struct node *kid[2][2 * ROUNDS], *wait;
    rounds = 0;
    seen_after = -1;
    for (int i = 0; i < ROUNDS; i++)
        for (int side = 0; side < 2; side++) {
            struct node *catch_ball = node(N_SLOT);
            catch_ball->arg = &ball[side];
            kid[side][2 * i] = catch_ball;
            kid[side][2 * i + 1] = c(throw_ball, &ball[!side]);
        }
    wait = node(N_SLOT);
    wait->arg = &patient;
    struct node *sides[2];
    for (int side = 0; side < 2; side++) sides[side] = many(N_SEQ, kid[side], 2 * ROUNDS);
    /* side 1's last throw fills slot 0, which nobody takes */
    run(PAR(SEQ(wait, c(arrived, NULL)), sides[0], sides[1], SEQ(c(throw_ball, &patient), c(throw_ball, &ball[0]))));
    CHECK(seen_after >= 0 && seen_after < 200, seen_after);
    ball[0].posted = false;
}
static int finished;
static void note_finish(struct node *n) { n->v = ++finished; }
static void t_busy(void) { /* a branch that is always ready keeps nobody from timers, sockets and threads */
    int fd[2];
    pair(fd, SOCK_STREAM);
    finished = 0;
    struct node *yields = node(N_YIELD), *busy = c(note_finish, NULL), *others = c(note_finish, NULL);
    for (int i = 0; i < 7; i++) { /* two million: the same nodes over and over */
        struct node *eight = node(N_SEQ);
        for (int k = 0; k < KIDS; k++) eight->kid[eight->kids++] = yields;
        yields = eight;
    }
    struct node *s = SEQ(timer(1), SEND(fd[1], "x", 1), timer(1), CALL(noop, 0), SEND(fd[1], "y", 1));
    run(PAR(SEQ(yields, busy), s, SEQ(RECV(fd[0], buf[0], 1), RECV(fd[0], buf[0], 1), others)));
    SAME(others->v, 1);
    SAME(busy->v, 2);
    unpair(fd);
}
static struct aesop_stats stats;
static void look(struct node *n) {
    (void)n;
    SAME(aesop_stats(&stats), 0);
}
static void t_stats(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    SAME(aesop_stats(&stats), -EINVAL);
    SAME(aesop_configure(&(struct aesop_config){.engine = "steam"}), -EINVAL);
    SAME(aesop_configure(&(struct aesop_config){.queue = "lifo"}), -EINVAL);
    SAME(aesop_configure(&(struct aesop_config){.pool = -1}), -EINVAL);
    SAME(aesop_configure(&(struct aesop_config){.engine = engine, .queue = "fifo", .pool = 2}), 0);
    struct node *r = RECV(fd[0], buf[0], 1);
    run(SEQ(LONELY(timer(200), timer(200)), PAR(DEADLINE(150, r), timer(100), SEQ(timer(3), c(look, NULL)))));
    SAME(strcmp(stats.engine, engine), 0);
    SAME(strcmp(stats.queue, getenv("AESOP_QUEUE") ? getenv("AESOP_QUEUE") : "fifo"), 0); /* who runs it has the last word */
    SAME(stats.branches, 6);
    SAME(stats.lonely, 2);
    SAME(stats.operations, 1);
    SAME(stats.timers, 4);
    CHECK(stats.objects >= 8 && stats.bytes > 400 && stats.peak_bytes >= stats.bytes, stats.objects);
    SAME(aesop_configure(&(struct aesop_config){.engine = NULL}), 0);
    unpair(fd);
}
static void forbid_uring(void) { /* as containers do */
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    DO(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    DO(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}
static int status_of(struct node *n, char *text, size_t size) { /* in a process of its own; text: what it says on stderr */
    int out[2], status;
    DO(pipe(out));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        dup2(out[1], STDERR_FILENO);
        if (n->arg) forbid_uring();
        close(out[0]);
        close(out[1]);
        root = n;
        _exit(__ae_main(entry, 0, NULL));
    }
    DO(child);
    DO(close(out[1]));
    size_t got = 0;
    for (ssize_t k; got < size - 1 && (k = read(out[0], text + got, size - 1 - got)) > 0;) got += (size_t)k;
    text[got] = 0;
    DO(close(out[0]));
    DO(waitpid(child, &status, 0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
static int leaking(ae_branch *b, int argc, char **argv) {
    (void)argc;
    (void)argv;
    return __ae_alloc(b, 40, 16) == NULL;
}
static void t_ends(void) {
    static struct ae_slot nobody;
    char text[1000];
    struct node *stuck = node(N_SLOT), *late = LONELY(timer(120), timer(1));
    stuck->arg = &nobody;
    SAME(status_of(PAR(stuck, timer(3)), text, sizeof text), 71);
    CHECK(strstr(text, "deadlock"), 0);
    setenv("AESOP_EXIT_REPORT_MS", "20", 1);
    SAME(status_of(SEQ(late), text, sizeof text), 0);
    CHECK(strstr(text, "waiting for 1 lonely branch\n"), 0);
    unsetenv("AESOP_EXIT_REPORT_MS");
    SAME(status_of(SEQ(LONELY(timer(5))), text, sizeof text), 0);
    SAME(text[0], 0);
    setenv("AESOP_ENGINE", "steam", 1);
    fflush(stdout);
    SAME(status_of(timer(1), text, sizeof text), 2);
    CHECK(strstr(text, "steam"), 0);
    setenv("AESOP_ENGINE", engine, 1);
    struct node *refused = timer(1);
    refused->arg = refused;
    SAME(status_of(refused, text, sizeof text), 0);
    CHECK((strcmp(engine, "uring") == 0) == (strstr(text, "aesop: engine uring is not available: not permitted") != NULL), strlen(text));
    fflush(stdout);
    pid_t child = fork();
    int status;
    if (child == 0) {
        close(STDERR_FILENO);
        _exit(__ae_main(leaking, 0, NULL));
    }
    DO(waitpid(child, &status, 0));
    SAME(WEXITSTATUS(status), 70);
}

static const struct test tests[] = {
    T(many), T(many_cancelled), T(many_born_cancelled), T(race_recv), T(race_accept), T(signals), T(no_memory), T(slots), T(fair), T(busy),
    T(stats), T(ends),
};
int main(int argc, char **argv) { return run_tests(argc, argv, tests, sizeof tests / sizeof *tests); }
