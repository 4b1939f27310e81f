/* Each kind of operation on real descriptors:  race-engines uring|epoll [name]
 *
 * A test says what it does in its first comment, or in its name.
 */
#include "programs.h"

/* --- time --- */

static void t_timer(void) { /* not too early, not much too late; and two at once take as long as one */
    long long t = now_ms();
    SAME(run(PAR(timer(30), timer(50))), 2);
    t = now_ms() - t;
    CHECK(t >= 50 && t < 500, t);
}
static void spin(struct node *n) {
    for (long long end = now_ms() + *(int *)n->arg; now_ms() < end;) {}
}
static void t_timer_after_work(void) { /* the loop's clock is old when a branch has computed: neither timer nor deadline may be early */
    static int work = 60;
    long long t = now_ms();
    struct node *inner = timer(20), *d = DEADLINE(45, inner);
    SAME(run(SEQ(c(spin, &work), timer(40), c(spin, &work), d)), 0);
    SAME(d->result, 0);
    t = now_ms() - t;
    CHECK(t >= 180, t);
}
static void t_cancel_timer(void) {
    struct node *slow = timer(60000);
    long long t = now_ms();
    run(PAR(slow, then_cancel(timer(5))));
    SAME(slow->result, -ECANCELED);
    CHECK(now_ms() - t < 5000, now_ms() - t);
}

static void t_first_cause(void) { /* cancelled first, time up later, and the other way round: what came first counts */
    struct node *late = DEADLINE(200, SEQ(SHIELD(timer(400)), timer(60000))), *early = DEADLINE(5, SEQ(SHIELD(timer(400)), timer(60000)));
    run(SEQ(PAR(late, then_cancel(timer(5))), PAR(early, then_cancel(timer(200)))));
    SAME(late->result, -ECANCELED);
    SAME(early->result, -ETIMEDOUT);
    struct node *done = DEADLINE(5, SHIELD(timer(20))); /* time was up, but nothing was lost by it */
    SAME(run(done), 0);
}

/* --- sockets --- */

static void sockets(int flags) { /* receive waits for a send */
    int fd[2];
    pair(fd, SOCK_STREAM | flags);
    struct node *r = RECV(fd[0], buf[0], 100);
    struct node *s = SEND(fd[1], "hello", 5);
    run(PAR(r, SEQ(timer(5), s)));
    SAME(r->result, 5);
    SAME(s->result, 5);
    SAME(memcmp(buf[0], "hello", 5), 0);
    unpair(fd);
}
static void t_sockets(void) { sockets(0); }
static void t_sockets_nonblocking(void) { sockets(SOCK_NONBLOCK); }
static void t_end_of_stream(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct node *r = RECV(fd[0], buf[0], 100);
    run(PAR(r, SEQ(timer(5), IO(.op = AE_IO_CLOSE, .fd = fd[1]))));
    SAME(r->result, 0);
    struct node *s = SEND(fd[0], "x", 1); /* and no SIGPIPE */
    SAME(run(s), -EPIPE);
    DO(close(fd[0]));
}
static void t_cancel_recv(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct node *r = RECV(fd[0], buf[0], 100);
    struct node *again = RECV(fd[0], buf[0], 100);
    run(SEQ(PAR(r, then_cancel(timer(5))), SEND(fd[1], "abc", 3), again));
    SAME(r->result, -ECANCELED);
    SAME(again->result, 3); /* and the descriptor is as good as before */
    unpair(fd);
}
static void t_deadline_recv(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct node *r = RECV(fd[0], buf[0], 100);
    struct node *shielded = RECV(fd[0], buf[0], 100);
    struct node *d = DEADLINE(10, SEQ(r, RECV(fd[0], buf[0], 100)));
    run(PAR(SEQ(d, DEADLINE(5, SHIELD(shielded))), SEQ(timer(60), SEND(fd[1], "x", 1))));
    SAME(d->result, -ETIMEDOUT);
    SAME(r->result, -ECANCELED);
    SAME(shielded->result, 1);
    unpair(fd);
}
/* In a cancelled branch: what is there is delivered, what would wait is not begun, a close is carried out. */
static void t_refused_or_ready(void) {
    int fd[2], other[2];
    pair(fd, SOCK_STREAM);
    pair(other, SOCK_STREAM);
    DO(send(fd[1], "xy", 2, 0));
    struct node *ready = RECV(fd[0], buf[0], 100);
    struct node *waits = RECV(fd[0], buf[0], 100), *time = timer(1000), *none = timer(0);
    struct node *shut = IO(.op = AE_IO_CLOSE, .fd = other[0]), *slow = IO(.op = AE_IO_CLOSE, .hint = AE_IO_MAY_BLOCK, .fd = other[1]);
    struct node *call = IO(.op = AE_IO_FSYNC, .fd = fd[0]);
    run(DEADLINE(0, SEQ(ready, waits, time, none, shut, slow, call)));
    SAME(ready->result, 2);
    SAME(waits->result, -ECANCELED);
    SAME(time->result, -ECANCELED);
    SAME(none->result, 0);
    SAME(shut->result, 0);
    SAME(slow->result, 0);
    SAME(call->result, -ECANCELED);
    CHECK(fcntl(other[0], F_GETFD) < 0 && fcntl(other[1], F_GETFD) < 0, other[0]);
    unpair(fd);
}
static void t_both_directions(void) { /* one descriptor: two readers and a writer wait at once */
    int fd[2], size = 8192;
    pair(fd, SOCK_STREAM);
    DO(setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
    while (send(fd[0], buf[0], sizeof buf[0], MSG_DONTWAIT) > 0) {}
    struct node *w = SEND(fd[0], buf[1], 1000);
    struct node *r1 = RECV(fd[0], buf[2], 1), *r2 = RECV(fd[0], buf[3], 1);
    struct node *drain[8];
    for (int i = 0; i < 8; i++) drain[i] = RECV(fd[1], buf[4], sizeof buf[4]);
    run(PAR(w, r1, r2,
            SEQ(timer(5), SEND(fd[1], "1", 1), timer(5), DEADLINE(20, many(N_SEQ, drain, 8)),
                SEND(fd[1], "2", 1))));
    CHECK(w->result > 0, w->result);
    SAME(r1->result, 1);
    SAME(r2->result, 1);
    SAME(buf[2][0] + buf[3][0], '1' + '2');
    unpair(fd);
}
static void t_duplicates(void) { /* a descriptor and its duplicate: each waiter gets one message */
    int fd[2];
    pair(fd, SOCK_SEQPACKET);
    int twin = dup(fd[0]);
    struct node *a = RECV(fd[0], buf[0], 10), *b = RECV(twin, buf[1], 10);
    run(PAR(a, b, SEQ(timer(5), SEND(fd[1], "1", 1), SEND(fd[1], "23", 2))));
    SAME(a->result + b->result, 3);
    DO(close(twin));
    unpair(fd);
}
static void reopen(struct node *n) { /* behind the engine's back: the number now means another pair */
    int *fd = n->arg, fresh[2];
    DO(close(fd[0]));
    DO(close(fd[1]));
    pair(fresh, SOCK_STREAM);
    if (fresh[0] != fd[0]) {
        DO(dup2(fresh[0], fd[0]));
        DO(close(fresh[0]));
    }
    fd[1] = fresh[1];
}
static void send_one(struct node *n) { DO(send(((int *)n->arg)[1], "x", 1, 0)); }
static void t_number_reused(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct node *a = RECV(fd[0], buf[0], 10), *b = RECV(fd[0], buf[0], 10);
    struct node *cancelled = RECV(fd[0], buf[0], 10);
    struct node *first = PAR(a, SEQ(timer(2), c(send_one, fd))), *last = PAR(b, SEQ(timer(2), c(send_one, fd)));
    run(SEQ(first, PAR(cancelled, then_cancel(timer(2))), c(reopen, fd), last));
    SAME(a->result, 1);
    SAME(cancelled->result, -ECANCELED);
    SAME(b->result, 1);
    unpair(fd);
}
static void t_vectors(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct iovec out[2] = {{"abc", 3}, {"defg", 4}}, in[3] = {{buf[0], 2}, {buf[1], 1}, {buf[2], 10}}, control[1] = {{buf[3], 10}};
    struct node *r = IO(.op = AE_IO_RECVV, .fd = fd[0], .buf = in, .len = 3), *s = IO(.op = AE_IO_SENDV, .fd = fd[1], .buf = out, .len = 2);
    struct node *v = IO(.op = AE_IO_SENDV, .fd = fd[0], .buf = out, .len = 1), *m;
    struct msghdr message = {.msg_iov = control, .msg_iovlen = 1};
    m = IO(.op = AE_IO_RECVMSG, .fd = fd[1], .buf = &message);
    run(SEQ(PAR(r, SEQ(timer(3), s)), PAR(m, SEQ(timer(3), v))));
    SAME(r->result, 7);
    SAME(s->result, 7);
    SAME(memcmp(buf[0], "ab", 2) | memcmp(buf[1], "c", 1) | memcmp(buf[2], "defg", 4), 0);
    SAME(m->result, 3);
    SAME(memcmp(buf[3], "abc", 3), 0);
    unpair(fd);
}

/* --- connections --- */

static void connections(int flags, int hint) {
    struct sockaddr_in at, from;
    socklen_t n = sizeof from;
    int l = listener(&at, flags), s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct node *cancelled = IO(.op = AE_IO_ACCEPT, .hint = (unsigned char)hint, .fd = l, .flags = SOCK_CLOEXEC);
    struct node *a = IO(.op = AE_IO_ACCEPT, .hint = (unsigned char)hint, .fd = l, .flags = SOCK_CLOEXEC, .buf = &from, .more.length = &n);
    struct node *k = IO(.op = AE_IO_CONNECT, .fd = s, .buf = &at, .len = sizeof at);
    run(SEQ(PAR(cancelled, then_cancel(timer(5))), PAR(a, SEQ(timer(5), k))));
    SAME(cancelled->result, -ECANCELED);
    SAME(k->result, 0);
    CHECK(a->result >= 0, a->result);
    SAME(from.sin_family, AF_INET);
    CHECK(fcntl(s, F_GETFL) >= 0 && !(fcntl(s, F_GETFL) & O_NONBLOCK), fcntl(s, F_GETFL)); /* as it was */
    DO(close((int)a->result));
    DO(close(s));
    DO(close(l));
}
static void t_connections(void) { connections(0, 0); }
static void t_connections_nonblocking(void) { connections(SOCK_NONBLOCK, 0); }
static void t_connections_hint(void) { connections(SOCK_NONBLOCK, AE_IO_NONBLOCK); }
static void t_connect_refused(void) {
    struct sockaddr_in at;
    DO(close(listener(&at, 0)));
    for (int flags = 0; flags <= SOCK_NONBLOCK; flags += SOCK_NONBLOCK) {
        int s = socket(AF_INET, SOCK_STREAM | flags, 0);
        SAME(run(IO(.op = AE_IO_CONNECT, .fd = s, .buf = &at, .len = sizeof at)), -ECONNREFUSED);
        DO(close(s));
    }
}
static void t_no_descriptors_left(void) { /* accept without a free number: -EMFILE, and the connection is still there afterwards */
    struct sockaddr_in at;
    struct rlimit old, low;
    int l = listener(&at, SOCK_NONBLOCK), s = socket(AF_INET, SOCK_STREAM, 0), top;
    DO(connect(s, (struct sockaddr *)&at, sizeof at));
    DO(getrlimit(RLIMIT_NOFILE, &old));
    struct node *a = IO(.op = AE_IO_ACCEPT, .hint = AE_IO_NONBLOCK, .fd = l), *b = IO(.op = AE_IO_ACCEPT, .hint = AE_IO_NONBLOCK, .fd = l);
    top = dup(l); /* the runtime needs two: its own */
    DO(top);
    DO(close(top));
    low = (struct rlimit){.rlim_cur = (rlim_t)top + 2, .rlim_max = old.rlim_max};
    DO(setrlimit(RLIMIT_NOFILE, &low));
    run(a);
    DO(setrlimit(RLIMIT_NOFILE, &old));
    SAME(a->result, -EMFILE);
    CHECK(run(b) >= 0, b->result);
    DO(close((int)b->result));
    DO(close(s));
    DO(close(l));
}

/* --- other descriptors --- */

static void t_poll(void) {
    int fd[2];
    pair(fd, SOCK_STREAM);
    struct node *out = IO(.op = AE_IO_POLL, .fd = fd[0], .flags = POLLOUT), *in = IO(.op = AE_IO_POLL, .fd = fd[0], .flags = POLLIN);
    struct node *either = IO(.op = AE_IO_POLL, .fd = fd[0], .flags = POLLIN | POLLOUT);
    struct node *never = IO(.op = AE_IO_POLL, .fd = fd[1], .flags = POLLIN);
    struct node *bad = IO(.op = AE_IO_POLL, .fd = 5000, .flags = POLLIN);
    run(SEQ(out, either, PAR(in, SEQ(timer(5), SEND(fd[1], "x", 1))), DEADLINE(5, never), bad));
    SAME(out->result, POLLOUT);
    SAME(either->result, POLLOUT);
    SAME(in->result & POLLIN, POLLIN);
    SAME(never->result, -ECANCELED);
    SAME(bad->result, -EBADF);
    unpair(fd);
}
static void pipes(int flags) {
    int fd[2];
    DO(pipe2(fd, O_CLOEXEC | flags));
    struct node *r = IO(.op = AE_IO_READ, .fd = fd[0], .buf = buf[0], .len = 100, .off = -1);
    struct node *w = IO(.op = AE_IO_WRITE, .fd = fd[1], .buf = "pipe", .len = 4, .off = -1);
    struct node *fill = IO(.op = AE_IO_WRITE, .fd = fd[1], .buf = buf[1], .len = 65536, .off = -1);
    struct iovec v[2] = {{buf[2], 0}, {buf[2], 60000}}, in[2] = {{buf[3], 10}, {buf[4], 65000}};
    struct node *full = IO(.op = AE_IO_WRITEV, .fd = fd[1], .buf = v, .len = 2, .off = -1);
    struct node *empty = IO(.op = AE_IO_READV, .fd = fd[0], .buf = in, .len = 2, .off = -1);
    struct node *never = IO(.op = AE_IO_READ, .fd = fd[0], .buf = buf[0], .len = 100, .off = -1);
    struct node *cancelled = IO(.op = AE_IO_WRITE, .fd = fd[1], .buf = buf[1], .len = 65536, .off = -1);
    run(SEQ(PAR(r, SEQ(timer(5), w)), DEADLINE(5, never), fill, DEADLINE(5, cancelled), PAR(full, SEQ(timer(5), empty))));
    SAME(r->result, 4);
    SAME(never->result, -ECANCELED);
    CHECK(fill->result > 0, fill->result);
    CHECK(full->result > 0 && full->result <= 60000, full->result);
    CHECK(empty->result > 4096, empty->result);
    unpair(fd);
}
static void t_pipes(void) { pipes(0); }
static void t_pipes_nonblocking(void) { pipes(O_NONBLOCK); }
static void t_event_descriptor(void) {
    int fd = eventfd(0, EFD_CLOEXEC);
    uint64_t one = 1, seen = 0;
    struct node *r = IO(.op = AE_IO_READ, .fd = fd, .buf = &seen, .len = 8, .off = -1);
    run(PAR(r, SEQ(timer(5), IO(.op = AE_IO_WRITE, .fd = fd, .buf = &one, .len = 8, .off = -1))));
    SAME(r->result, 8);
    SAME(seen, 1);
    DO(close(fd));
}

/* --- files --- */

static char path[64];
static int file;
static void take_file(struct node *n) { n->q.fd = file; }
static void keep_file(struct node *n) { file = (int)((struct node *)n->arg)->result; }
#define FILE_IO(...) before(IO(__VA_ARGS__), take_file, NULL)
static void t_files(void) {
    static struct stat by_path, by_fd, slow, missing;
    struct iovec v[2] = {{buf[2], 4}, {buf[3], 100}};
    snprintf(path, sizeof path, "/tmp/aesop-race-%d", (int)getpid());
    memset(buf[1], 'z', 40000);
    const int create = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    struct node *o = IO(.op = AE_IO_OPEN, .fd = AT_FDCWD, .buf = path, .flags = create, .mode = 0600), *n[20];
    struct node *excl = IO(.op = AE_IO_OPEN, .fd = AT_FDCWD, .buf = path, .flags = O_RDWR | O_CREAT | O_EXCL, .mode = 0600);
    n[0] = FILE_IO(.op = AE_IO_WRITE, .buf = buf[1], .len = 40000, .off = 100);
    n[1] = FILE_IO(.op = AE_IO_READ, .buf = buf[0], .len = 50000, .off = 50);
    n[2] = FILE_IO(.op = AE_IO_FSYNC);
    n[3] = FILE_IO(.op = AE_IO_FDATASYNC);
    n[4] = IO(.op = AE_IO_STAT, .fd = AT_FDCWD, .buf = path, .more.stat = &by_path);
    n[5] = FILE_IO(.op = AE_IO_STAT, .buf = "", .flags = AT_EMPTY_PATH, .more.stat = &by_fd);
    n[6] = FILE_IO(.op = AE_IO_STAT, .hint = AE_IO_MAY_BLOCK, .buf = "", .flags = AT_EMPTY_PATH, .more.stat = &slow);
    n[7] = FILE_IO(.op = AE_IO_FTRUNCATE, .off = 105);
    n[8] = FILE_IO(.op = AE_IO_READV, .buf = v, .len = 2, .off = 98);
    n[9] = FILE_IO(.op = AE_IO_FALLOCATE, .flags = 0, .off = 0, .len = 5000);
    n[10] = FILE_IO(.op = AE_IO_WRITEV, .buf = v, .len = 1, .off = 4996);
    n[11] = FILE_IO(.op = AE_IO_READ, .buf = buf[0], .len = 10, .off = 5000);
    n[12] = FILE_IO(.op = AE_IO_SYNCFS);
    n[13] = FILE_IO(.op = AE_IO_READ, .buf = buf[4], .len = 60000, .off = -1); /* at the file's own position */
    n[14] = FILE_IO(.op = AE_IO_READ, .buf = buf[4], .len = 60000, .off = -1);
    n[15] = FILE_IO(.op = AE_IO_CLOSE, .hint = AE_IO_MAY_BLOCK);
    n[16] = IO(.op = AE_IO_UNLINK, .fd = AT_FDCWD, .buf = path);
    n[17] = IO(.op = AE_IO_STAT, .fd = AT_FDCWD, .buf = path, .more.stat = &missing);
    n[18] = IO(.op = AE_IO_OPEN, .fd = AT_FDCWD, .buf = path, .flags = O_RDONLY);
    n[19] = IO(.op = AE_IO_UNLINK, .fd = AT_FDCWD, .buf = path);
    struct node *seq[22] = {o, c(keep_file, o), excl};
    static const long expected[20] = {40000, 40000 + 50, 0, 0, 0, 0, 0, 0, 4 + 3, 0, 4, 0, 0, 5000, 0, 0, 0, -ENOENT, -ENOENT, -ENOENT};
    for (int i = 0; i < 19; i++) seq[3 + i] = n[i];
    run(SEQ(many(N_SEQ, seq, 22), n[19]));
    CHECK(o->result >= 0, o->result);
    SAME(excl->result, -EEXIST);
    for (int i = 0; i < 20; i++)
        if (n[i]->result != expected[i]) {
            printf("FAIL: %s, files, step %d: %ld, not %ld\n", engine, i, n[i]->result, expected[i]);
            failures++;
        }
    SAME(buf[0][49] | buf[2][0], 0);
    SAME(buf[0][50], 'z');
    SAME(by_path.st_size, 40100);
    SAME(by_path.st_mode, S_IFREG | 0600);
    SAME(by_fd.st_size, 40100);
    SAME(slow.st_size, 40100);
    CHECK(slow.st_dev == by_fd.st_dev && slow.st_ino == by_fd.st_ino && slow.st_nlink == 1 && slow.st_mtim.tv_sec == by_fd.st_mtim.tv_sec &&
              slow.st_blocks == by_fd.st_blocks && slow.st_uid == by_fd.st_uid && slow.st_blksize == by_fd.st_blksize,
          slow.st_ino);
}
static void t_bad_descriptors(void) {
    static const unsigned char codes[] = {AE_IO_RECV, AE_IO_SEND, AE_IO_ACCEPT, AE_IO_CONNECT, AE_IO_READ,
                                          AE_IO_WRITE, AE_IO_FSYNC, AE_IO_FTRUNCATE, AE_IO_CLOSE};
    for (size_t i = 0; i < sizeof codes; i++) {
        SAME(run(IO(.op = codes[i], .fd = 5000, .buf = buf[0], .len = 16)), -EBADF);
        SAME(run(IO(.op = codes[i], .fd = -1, .buf = buf[0], .len = 16)), -EBADF);
    }
    SAME(run(IO(.op = AE_IO_CODES, .fd = 0)), -ENOSYS);
}

/* --- offload --- */

static long says_cancelled(void *arg) {
    (void)arg;
    return -ECANCELED;
}
static void t_offload(void) { /* never more threads than asked for; the worker goes on meanwhile */
    long long t = now_ms();
    setenv("AESOP_POOL", "2", 1);
    struct node *tick = timer(20);
    run(PAR(CALL(sleeper, 60), CALL(sleeper, 60), CALL(sleeper, 60), CALL(sleeper, 60), tick));
    t = now_ms() - t;
    CHECK(t >= 120, t);
    SAME(atomic_load(&most_running), 2);
    SAME(tick->result, 0);
    SAME(run(CALL(says_cancelled, 0)), -EIO); /* the word has one meaning */
    unsetenv("AESOP_POOL");
}
static void t_cancel_offload(void) { /* queued: taken back. Running: its result. */
    setenv("AESOP_POOL", "1", 1);
    struct node *first = CALL(sleeper, 50), *second = CALL(sleeper, 50), *file_op = IO(.op = AE_IO_SYNCFS, .fd = 0);
    run(PAR(first, SEQ(timer(5), second), SEQ(timer(5), file_op), then_cancel(timer(15))));
    SAME(first->result, 7);
    SAME(second->result, -ECANCELED);
    SAME(file_op->result, -ECANCELED);
    unsetenv("AESOP_POOL");
}
static void t_many_offloads(void) {
    static struct node *kid[600];
    for (int i = 0; i < 600; i++) kid[i] = CALL(sleeper, 0);
    int each = 0;
    static struct node *keep[600];
    memcpy(keep, kid, sizeof keep);
    run(many(N_PAR, kid, 600));
    for (int i = 0; i < 600; i++) each += keep[i]->result == 7;
    SAME(each, 600);
}

static const struct test tests[] = {
    T(timer), T(timer_after_work), T(cancel_timer), T(first_cause), T(sockets), T(sockets_nonblocking), T(end_of_stream),
    T(cancel_recv), T(deadline_recv), T(refused_or_ready), T(both_directions), T(duplicates), T(number_reused), T(vectors),
    T(connections), T(connections_nonblocking), T(connections_hint), T(connect_refused), T(no_descriptors_left), T(poll),
    T(pipes), T(pipes_nonblocking), T(event_descriptor), T(files), T(bad_descriptors), T(offload), T(cancel_offload),
    T(many_offloads),
};
int main(int argc, char **argv) { return run_tests(argc, argv, tests, sizeof tests / sizeof *tests); }
