/* Requests as plain system calls: without waiting, when a descriptor has become ready, or for as long as they take. */
#include "io.h"
#include "system.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* A system call's result as a value; one that would have to wait: AE_IO_PENDING. */
static long outcome(long n) {
    if (n >= 0) return n;
    return errno == EAGAIN || errno == EWOULDBLOCK ? AE_IO_PENDING : -errno;
}
static long poll_once(int fd, int events) {
    struct pollfd p = {.fd = fd, .events = (short)events};
    int n;
    while ((n = poll(&p, 1, 0)) < 0 && errno == EINTR) {
    }
    if (n < 0) return -errno;
    if (n == 0) return AE_IO_PENDING;
    return p.revents & POLLNVAL ? -EBADF : p.revents;
}
static long accept_once(const struct ae_io_request *q) {
    for (;;) {
        if (!(q->hint & AE_IO_NONBLOCK)) { /* a blocking socket must be asked first */
            long ready = poll_once(q->fd, POLLIN);
            if (ready == AE_IO_PENDING || ready < 0) return ready;
        }
        int fd = accept4(q->fd, q->buf, q->buf ? q->more.length : NULL, q->flags);
        if (fd >= 0 || (errno != EINTR && errno != ECONNABORTED)) return outcome(fd);
    }
}

/* Pipes, terminals, event descriptors. ready: poll says that it would not block.
 * RWF_NOWAIT asks the kernel not to block whatever the descriptor's flags are; not all kinds of files know it. */
static long stream_once(const struct ae_io_request *q, bool ready) {
    bool reads = q->op == AE_IO_READ || q->op == AE_IO_READV, many = q->op == AE_IO_READV || q->op == AE_IO_WRITEV;
    struct iovec one = {.iov_base = q->buf, .iov_len = q->len};
    const struct iovec *v = many ? q->buf : &one;
    int count = many ? (int)q->len : 1, events = reads ? POLLIN : POLLOUT;
    ssize_t n;
    do n = reads ? preadv2(q->fd, v, count, -1, RWF_NOWAIT) : pwritev2(q->fd, v, count, -1, RWF_NOWAIT);
    while (n < 0 && errno == EINTR);
    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return outcome(n);
    if (!ready) return AE_IO_PENDING;

    long now = poll_once(q->fd, events); /* the news may be old */
    if (now == AE_IO_PENDING || now < 0) return now;
    if (!reads) { /* a pipe that is ready has room for this much; more would block */
        int flags = fcntl(q->fd, F_GETFL);
        if (flags < 0) return -errno;
        if (!(flags & O_NONBLOCK)) {
            while (count > 1 && v->iov_len == 0) v++, count--;
            one = (struct iovec){.iov_base = v->iov_base, .iov_len = v->iov_len < PIPE_BUF ? v->iov_len : PIPE_BUF};
            v = &one;
            count = 1;
        }
    }
    do n = reads ? readv(q->fd, v, count) : writev(q->fd, v, count);
    while (n < 0 && errno == EINTR);
    return outcome(n);
}

void ae_message(struct msghdr *m, const struct ae_io_request *q) { *m = (struct msghdr){.msg_iov = q->buf, .msg_iovlen = q->len}; }
static long socket_once(const struct ae_io_request *q) {
    struct msghdr local, *m = q->buf;
    int flags = q->flags | MSG_DONTWAIT;
    ssize_t n;
    if (q->op == AE_IO_RECVV || q->op == AE_IO_SENDV) ae_message(m = &local, q);
    do switch (q->op) {
        case AE_IO_RECV: n = recv(q->fd, q->buf, q->len, flags); break;
        case AE_IO_SEND: n = send(q->fd, q->buf, q->len, flags | MSG_NOSIGNAL); break;
        case AE_IO_RECVV:
        case AE_IO_RECVMSG: n = recvmsg(q->fd, m, flags); break;
        default: n = sendmsg(q->fd, m, flags | MSG_NOSIGNAL); break;
        }
    while (n < 0 && errno == EINTR);
    return outcome(n);
}

long ae_io_try(const struct ae_io_request *q) {
    switch (q->op) {
    case AE_IO_RECV:
    case AE_IO_SEND:
    case AE_IO_RECVV:
    case AE_IO_SENDV:
    case AE_IO_RECVMSG:
    case AE_IO_SENDMSG: return socket_once(q);
    case AE_IO_ACCEPT: return accept_once(q);
    case AE_IO_POLL: return poll_once(q->fd, q->flags);
    case AE_IO_READ:
    case AE_IO_WRITE:
    case AE_IO_READV:
    case AE_IO_WRITEV: return q->off == -1 ? stream_once(q, false) : AE_IO_PENDING;
    case AE_IO_STAT:
        if (q->hint & AE_IO_MAY_BLOCK || !(q->flags & AT_EMPTY_PATH) || *(const char *)q->buf) return AE_IO_PENDING;
        return fstatat(q->fd, "", q->more.stat, q->flags) < 0 ? -errno : 0;
    case AE_IO_CLOSE:
        if (q->hint & AE_IO_MAY_BLOCK) return AE_IO_PENDING;
        return close(q->fd) < 0 && errno != EINTR ? -errno : 0; /* Linux: closed even if interrupted */
    default: return AE_IO_PENDING;
    }
}

long ae_io_ready(const struct ae_io_request *q) {
    if (q->op == AE_IO_READ || q->op == AE_IO_WRITE || q->op == AE_IO_READV || q->op == AE_IO_WRITEV) return stream_once(q, true);
    if (q->op != AE_IO_CONNECT) return ae_io_try(q);
    long ready = poll_once(q->fd, POLLOUT); /* without this, an old piece of news would pass for a connection */
    if (ready == AE_IO_PENDING || ready < 0) return ready;
    int error = 0;
    socklen_t n = sizeof error;
    return getsockopt(q->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ? -errno : -error;
}

int ae_io_events(const struct ae_io_request *q) {
    switch (q->op) {
    case AE_IO_RECV:
    case AE_IO_RECVV:
    case AE_IO_RECVMSG:
    case AE_IO_ACCEPT: return POLLIN;
    case AE_IO_SEND:
    case AE_IO_SENDV:
    case AE_IO_SENDMSG:
    case AE_IO_CONNECT: return POLLOUT;
    case AE_IO_POLL: return q->flags | POLLERR; /* never 0; reported whether asked for or not */
    case AE_IO_READ:
    case AE_IO_READV: return q->off == -1 ? POLLIN : 0;
    case AE_IO_WRITE:
    case AE_IO_WRITEV: return q->off == -1 ? POLLOUT : 0;
    default: return 0;
    }
}

static long block_once(const struct ae_io_request *q) {
    const bool here = q->off == -1;
    switch (q->op) {
    case AE_IO_READ: return here ? read(q->fd, q->buf, q->len) : pread(q->fd, q->buf, q->len, q->off);
    case AE_IO_WRITE: return here ? write(q->fd, q->buf, q->len) : pwrite(q->fd, q->buf, q->len, q->off);
    case AE_IO_READV: return preadv2(q->fd, q->buf, (int)q->len, q->off, 0);
    case AE_IO_WRITEV: return pwritev2(q->fd, q->buf, (int)q->len, q->off, 0);
    case AE_IO_FSYNC: return fsync(q->fd);
    case AE_IO_FDATASYNC: return fdatasync(q->fd);
    case AE_IO_SYNCFS: return syncfs(q->fd);
    case AE_IO_FTRUNCATE: return ftruncate(q->fd, q->off);
    case AE_IO_FALLOCATE: return fallocate(q->fd, q->flags, q->off, (off_t)q->len);
    case AE_IO_OPEN: return openat(q->fd, q->buf, q->flags, q->mode);
    case AE_IO_UNLINK: return unlinkat(q->fd, q->buf, q->flags);
    case AE_IO_STAT: return fstatat(q->fd, q->buf, q->more.stat, q->flags);
    default: errno = ENOSYS; return -1;
    }
}
long ae_io_block(struct ae_io_op *op) {
    const struct ae_io_request *q = &op->q;
    long n;
    if (q->op == AE_IO_CALL) return q->more.call(q->buf);
    if (q->op == AE_IO_CLOSE) return close(q->fd) < 0 && errno != EINTR ? -errno : 0;
    do n = block_once(q);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}
long ae_io_cached(const struct ae_io_request *q) {
    if ((q->op != AE_IO_READ && q->op != AE_IO_WRITE) || q->off < 0) return AE_IO_PENDING;
    int flags = fcntl(q->fd, F_GETFL);
    if (flags < 0) return -errno;
    if (flags & O_DIRECT) return AE_IO_PENDING; /* it would wait for the disk in spite of RWF_NOWAIT */
    struct iovec one = {.iov_base = q->buf, .iov_len = q->len};
    ssize_t n = q->op == AE_IO_READ ? preadv2(q->fd, &one, 1, q->off, RWF_NOWAIT) : pwritev2(q->fd, &one, 1, q->off, RWF_NOWAIT);
    return n >= 0 && (size_t)n == q->len ? n : AE_IO_PENDING; /* all, or leave it to a thread, which starts again */
}
