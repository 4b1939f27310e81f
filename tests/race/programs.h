/* programs.h: what the tests on real engines share: trees in a line, running one as a program, and the list of tests as main().
 *
 * Each test is a tree (tree.h) that runs as a program of its own on the engine named, with its leak report on. After each, as many
 * descriptors are open as before.
 */
#ifndef AE_TEST_PROGRAMS_H
#define AE_TEST_PROGRAMS_H

#include "tree.h"
#include <aesop/runtime.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *engine, *test;
static int failures;

#define CHECK(condition, value)                                                                                     \
    do {                                                                                                            \
        if (!(condition)) {                                                                                         \
            printf("FAIL: %s, %s, line %d: %s (%ld)\n", engine, test, __LINE__, #condition, (long)(value));         \
            failures++;                                                                                             \
        }                                                                                                           \
    } while (0)
#define SAME(value, expected) CHECK((value) == (expected), value)

static inline void check_call(long result, int line) {
    if (result >= 0) return;
    printf("FAIL: %s, %s, line %d: errno %d\n", engine, test, line, errno);
    exit(1);
}
#define DO(call) check_call(call, __LINE__)

/* --- programs --- */

long node_op(ae_branch *b, long v) { return ae_maybe_suspend(b, v); }
void note_join(int started, int ended) { CHECK(started == ended, ended); }
void note_cancel(const ae_branch *b, int had, int result) { CHECK(result == (had ? -EEXIST : 0) && (had || b->exempt), result); }
void note_wait(const ae_branch *b, long result) { CHECK(result != -EINTR && result != -EAGAIN && b->op == AE_OP_NONE, result); }
void note_else(long result) { CHECK(result < 0, result); }

static struct node nodes[20000];
static int n_nodes;
static inline struct node *node(int kind) {
    struct node *n = &nodes[n_nodes++];
    *n = (struct node){.kind = kind};
    return n;
}
static inline struct node *io(struct ae_io_request q) {
    struct node *n = node(N_OP);
    n->q = q;
    n->io = 1;
    return n;
}
#define RECV(from, to, n) IO(.op = AE_IO_RECV, .fd = from, .buf = to, .len = n)
#define SEND(to, what, n) IO(.op = AE_IO_SEND, .fd = to, .buf = what, .len = n)
#define IO(...) io((struct ae_io_request){__VA_ARGS__})
static inline struct node *timer(int ms) {
    struct node *n = node(N_TIMER);
    n->v = ms;
    return n;
}
static inline struct node *c(void (*f)(struct node *), void *arg) {
    struct node *n = node(N_C);
    n->c = f;
    n->arg = arg;
    return n;
}
static inline struct node *before(struct node *n, void (*f)(struct node *), void *arg) {
    n->c = f;
    n->arg = arg;
    return n;
}
static inline struct node *group(int kind, int v, ...) { /* kids up to null */
    struct node *n = node(kind), *kid;
    va_list args;
    n->v = v;
    va_start(args, v);
    while ((kid = va_arg(args, struct node *))) n->kid[n->kids++] = kid;
    va_end(args);
    return n;
}
#define SEQ(...) group(N_SEQ, 0, __VA_ARGS__, NULL)
#define PAR(...) group(N_PAR, 0, __VA_ARGS__, NULL)
#define LONELY(...) group(N_LONELY, 0, __VA_ARGS__, NULL)
#define DEADLINE(ms, kid) group(N_DEADLINE, ms, kid, NULL)
#define SHIELD(kid) group(N_SHIELD, 0, kid, NULL)
static inline struct node *then_cancel(struct node *n) {
    n->act = ACT_CANCEL;
    return n;
}
/* Many kids: groups of groups. */
static inline struct node *many(int kind, struct node **kid, int n) {
    while (n > 1) {
        int made = 0;
        for (int i = 0; i < n; i += KIDS) {
            struct node *g = node(kind);
            for (int j = i; j < n && j < i + KIDS; j++) g->kid[g->kids++] = kid[j];
            kid[made++] = g;
        }
        n = made;
    }
    return kid[0];
}

static struct node *root;
static inline int entry(ae_branch *b, int argc, char **argv) {
    (void)argc;
    (void)argv;
    return (int)walk(b, root);
}
static inline long run(struct node *n) {
    root = n;
    int status = __ae_main(entry, 0, NULL);
    SAME(status, (int)n->result);
    SAME(n->runs, 1);
    return n->result;
}
static inline long long now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static inline int open_descriptors(void) {
    int n = 0;
    for (int fd = 0; fd < 8192; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static inline void pair(int fd[2], int kind) { DO(socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, fd)); }
static inline void unpair(const int fd[2]) {
    DO(close(fd[0]));
    DO(close(fd[1]));
}
static inline int listener(struct sockaddr_in *at, int flags) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    socklen_t n = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    DO(fd);
    DO(bind(fd, (struct sockaddr *)at, sizeof *at));
    DO(listen(fd, 16));
    DO(getsockname(fd, (struct sockaddr *)at, &n));
    return fd;
}
static char buf[8][65536];

static atomic_int running, most_running;
static inline long sleeper(void *ms) {
    int now = atomic_fetch_add(&running, 1) + 1;
    if (now > atomic_load(&most_running)) atomic_store(&most_running, now);
    poll(NULL, 0, (int)(intptr_t)ms);
    atomic_fetch_sub(&running, 1);
    return 7;
}
#define CALL(f, x) IO(.op = AE_IO_CALL, .buf = (void *)(intptr_t)(x), .more.call = f)

/* --- main --- */

enum { SKIPPED = 77 };
struct test {
    const char *name;
    void (*run)(void);
};
#define T(name) {#name, t_##name}
static inline int run_tests(int argc, char **argv, const struct test *tests, size_t n_tests) {
    struct rlimit files;
    if (argc < 2) return 2;
    engine = argv[1];
    setenv("AESOP_ENGINE", engine, 1);
    setenv("AESOP_LEAKS", "1", 1);
    setvbuf(stdout, NULL, _IOLBF, 0);
    DO(getrlimit(RLIMIT_NOFILE, &files));
    files.rlim_cur = files.rlim_max;
    DO(setrlimit(RLIMIT_NOFILE, &files));
    struct ae_io probe;
    DO(ae_io_open(&probe, ae_engine_named(engine), 1));
    int other = strcmp(probe.engine->name, engine);
    ae_io_close(&probe);
    if (other) return SKIPPED; /* the kernel refuses it; why, ae_io_open() has said */
    for (size_t i = 0; i < n_tests; i++) {
        if (argc > 2 && strcmp(argv[2], tests[i].name) != 0) continue;
        int before_test = open_descriptors(), bad = failures;
        test = tests[i].name;
        n_nodes = 0;
        tests[i].run();
        SAME(open_descriptors(), before_test);
        printf("%s %s\n", failures == bad ? "ok" : "FAILED", test);
    }
    return failures != 0;
}

#endif
