/* io.h: the only door to devices.
 *
 * Above it stands the library (the C and Aesop files in library/): it fills in a request and calls ae_io(), the one leaf function. Below it
 * stand the engines: uring.c, epoll.c, and whatever a test plugs in. Neither side knows the other.
 *
 * A leaf function of the library is then a few lines of plain C:
 *
 *     long aesop_recv(struct __ae_branch *b, int fd, void *to, size_t n) {
 *         struct ae_io_request q = {.op = AE_IO_RECV, .fd = fd, .buf = to, .len = n};
 *         return ae_io(b, &q);
 *     }
 *
 * Its result is meaningless when b->waits is set on return: the caller saves itself and returns, and the loop later resumes it
 * with the result. So a leaf must return the value of ae_io() as it is: whatever has to be done with the result belongs
 * into an aesop function around the leaf (written in Aesop), or into the request.
 *
 * What a request points at (buffer, path, address, iovec array, msghdr) is used until the result is delivered, so it must not be a local
 * variable of the leaf. What the caller passed in is fine: a caller's variables live until its call returns. The request itself is copied.
 *
 * Results: as the system call's, negative errno values on errors; never errno. These rules hold for all operations and engines:
 *  - Sockets try first, wait second. A result that is there at once is returned at once, in a cancelled branch too.
 *  - A cancelled branch that would have to wait gets -ECANCELED and nothing is started.
 *  - A cancel is a request. The operation stays the device's until the device lets go of it, and the device's result
 *    decides: one that was reached first is delivered (so no accepted connection or opened file gets lost), otherwise -ECANCELED.
 *    A cancelled read, write, send or receive has transferred nothing. Other operations on files (fsync, fallocate, ...) were not begun, or
 *    have been broken off by the kernel. A cancelled connect may still be under way in the kernel: close the socket.
 *  - -ECANCELED means that and nothing else: should a device or an offloaded function answer so unasked, -EIO is delivered.
 *  - -ENOMEM: no memory for the operation or for its callers' frames; nothing was started.
 *  - EINTR is never seen: the operation is tried again. ECONNABORTED of an accept neither: it waits for the next connection.
 *  - EMFILE and ENFILE of an accept are delivered; the connection stays in the backlog, so wait a little before trying again.
 *  - Results may be short, as the system call's may.
 *  - SIGPIPE is not raised by SEND, SENDV, SENDMSG.
 *  - Descriptors may be blocking or not; nothing here blocks the worker except where it is said below. O_NONBLOCK saves system calls.
 *  - A descriptor must not be closed while a branch waits on it: cancel the branch or shut the socket down first.
 */
#ifndef AE_IO_H
#define AE_IO_H

#ifndef __AESOP__
#include <aesop/abi.h> /* aecc has put it in front already */
#endif
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

enum ae_io_op_code {
    /* Sockets. flags: MSG_* (not MSG_WAITALL: engines differ). Result: bytes; 0 of a receive: the peer has shut down. */
    AE_IO_RECV,    /* fd, buf, len */
    AE_IO_SEND,    /* fd, buf, len */
    AE_IO_RECVV,   /* fd, buf: struct iovec[len] */
    AE_IO_SENDV,   /* fd, buf: struct iovec[len] */
    AE_IO_RECVMSG, /* fd, buf: struct msghdr; addresses, control data */
    AE_IO_SENDMSG, /* fd, buf: struct msghdr */
    AE_IO_ACCEPT,  /* fd, flags: SOCK_CLOEXEC, SOCK_NONBLOCK; buf: struct sockaddr or null, more.length: its socklen_t. Result: descriptor.
                    * Listening sockets should be O_NONBLOCK (hint AE_IO_NONBLOCK): in a blocking one, a connection that its peer takes back
                    * in the wrong microsecond makes accept block the worker until the next one comes. */
    AE_IO_CONNECT, /* fd, buf: struct sockaddr of len bytes. Result: 0. Engine epoll: -EAGAIN if a Unix socket's backlog is full. */
    AE_IO_POLL,    /* fd, flags: POLLIN, POLLOUT, ...: waits until one holds. Result: those that hold, POLLERR and POLLHUP too. */

    /* Files, pipes, whatever read(2) takes. Result: bytes. */
    AE_IO_READ,      /* fd, buf, len, off; off -1: at the file's own position, or a stream */
    AE_IO_WRITE,     /* fd, buf, len, off */
    AE_IO_READV,     /* fd, buf: struct iovec[len], off */
    AE_IO_WRITEV,    /* fd, buf: struct iovec[len], off */
    AE_IO_FSYNC,     /* fd */
    AE_IO_FDATASYNC, /* fd */
    AE_IO_SYNCFS,    /* fd */
    AE_IO_FTRUNCATE, /* fd, off: the new size */
    AE_IO_FALLOCATE, /* fd, flags: mode, off, len */
    AE_IO_OPEN,      /* fd: folder or AT_FDCWD, buf: path, flags: O_*, mode. Result: descriptor */
    AE_IO_UNLINK,    /* fd: folder or AT_FDCWD, buf: path, flags: 0 or AT_REMOVEDIR */
    AE_IO_STAT,      /* fd: folder or AT_FDCWD, buf: path, flags: AT_*, more.stat: where to. AT_EMPTY_PATH with "": fstat(fd),
                      * done at once; with hint AE_IO_MAY_BLOCK by the device, for files on a network. */
    AE_IO_CLOSE,     /* fd. Cannot be cancelled, and is carried out in a cancelled branch too: no descriptor gets lost.
                      * Without hint: close(2) at once, right for sockets. AE_IO_MAY_BLOCK: by the device, right for files on disks. */

    /* Any blocking C function, on a thread of the pool. */
    AE_IO_CALL, /* more.call(buf). Result: whatever it returns. Cancelled before a thread has begun it: -ECANCELED, else its result. */
    AE_IO_CODES
};

enum {                      /* hint */
       AE_IO_NONBLOCK = 1,  /* fd is O_NONBLOCK for sure */
       AE_IO_MAY_BLOCK = 2, /* CLOSE, STAT: see there */
};

struct stat;
struct ae_io_request {
    unsigned char op;   /* enum ae_io_op_code */
    unsigned char hint; /* what the caller knows of fd; 0 is always right */
    unsigned mode;      /* OPEN: permissions of a new file */
    int fd, flags;
    void *buf;
    size_t len;
    long long off;
    union {
        socklen_t *length;
        struct stat *stat;
        long (*call)(void *);
    } more;
};

/* Carries the request out for branch b, the one that is running. The leaf function: see the top of this file.
 * Returns the result, or waits (b->waits). On the branch's own thread only. */
long ae_io(struct __ae_branch *b, const struct ae_io_request *q);

/* --- between the runtime and the engines --------------------------------------------------------------------------------- */

struct ae_io;

/* One pending operation. Made by ae_io() when the operation has to wait, freed by ae_io_release(). */
struct ae_io_op {
    struct ae_io_request q;
    struct __ae_branch *b;          /* who waits; null after ae_io_complete() */
    struct ae_io_op *next, **pprev; /* the engine's: pprev is null while in no list */
    long result;                    /* the engine's */
    unsigned char state;            /* the engine's; 0 at first */
    unsigned char asked;            /* the engine has been asked to cancel it */
    unsigned short extra;           /* bytes after this structure: ae_io_extra() */
};
/* Memory of the operation that an engine needs besides: a msghdr for RECVV and SENDV, a struct statx for STAT. */
static inline void *ae_io_extra(struct ae_io_op *op) { return op + 1; }

#define AE_IO_PENDING (1L << 62) /* no result yet; an int cannot hold it, so no enum */

/* An engine. All its functions run on the worker's thread. */
struct ae_engine {
    const char *name;
    /* Returns 0, or a negative errno and a reason (a static string) when the engine cannot work here. */
    int (*open)(struct ae_io *io, const char **reason);
    /* Starts op. Returns AE_IO_PENDING, and completes it later; or its result, and forgets it. */
    long (*post)(struct ae_io *io, struct ae_io_op *op);
    /* Asks for the end of a pending operation, once. May complete it at once or later, or let it go on. */
    void (*cancel)(struct ae_io *io, struct ae_io_op *op);
    /* Completes what is complete. If that is nothing, waits up to `timeout` ns, without limit if it is negative, or until
     * the inbox wakes it. */
    void (*wait)(struct ae_io *io, long long timeout);
    void (*close)(struct ae_io *io);
    /* ns on a clock that never goes back; null: CLOCK_MONOTONIC. Simulations bring their own time. */
    long long (*now)(struct ae_io *io);
    /* Tries before anything waits, as ae_io_try(); null: ae_io_try(). */
    long (*attempt)(struct ae_io *io, const struct ae_io_request *q);
};

/* Operations that were completed on other threads come home through here. */
struct ae_inbox {
    _Atomic(struct ae_io_op *) head; /* last in, first out; the worker takes all at once */
    atomic_int asleep;               /* the worker is going to wait: whoever puts something in must wake it */
    int fd;                          /* an eventfd */
};
struct ae_pool;
struct ae_io { /* the devices of one worker */
    const struct ae_engine *engine;
    void *state; /* the engine's */
    struct ae_pool *pool;
    struct ae_inbox inbox;
    unsigned long pending; /* operations posted and not completed */
    int pool_size;         /* threads at most */
};

extern const struct ae_engine ae_engine_uring, ae_engine_epoll;

/* Opens the engine that is asked for; where the kernel refuses it, says so in one line on stderr and takes epoll.
 * wanted: null for the default. Returns 0 or a negative errno. */
int ae_io_open(struct ae_io *io, const struct ae_engine *wanted, int pool_size);
void ae_io_close(struct ae_io *io);
/* Engine of that name, or null. */
const struct ae_engine *ae_engine_named(const char *name);
/* What can be done without waiting: the result, or AE_IO_PENDING if it has to wait or only trying would tell. */
long ae_io_try(const struct ae_io_request *q);
/* The operation as plain system calls, for as long as they take; on threads of the pool. */
long ae_io_block(struct ae_io_op *op);

/* The pool: runs op on a thread; its completion comes through the inbox. Returns AE_IO_PENDING or a negative errno. */
long ae_pool_post(struct ae_io *io, struct ae_io_op *op);
/* True: op had not been begun and will not be; it is nobody's now. False: it is running or has run. */
int ae_pool_cancel(struct ae_io *io, struct ae_io_op *op);
void ae_pool_close(struct ae_io *io);
/* Completes what lies in the inbox. Engines call it in wait(). */
void ae_inbox_take(struct ae_io *io);
/* Around a wait of the kernel. ae_inbox_sleep is false when something lies in the inbox: do not wait then. */
int ae_inbox_sleep(struct ae_inbox *in);
void ae_inbox_awake(struct ae_inbox *in);

/* --- in the runtime: engines call these ------------------------------------------------------------------------------------ */

/* Delivers the result to the branch and makes the branch ready. Runs nothing. */
void ae_io_complete(struct ae_io *io, struct ae_io_op *op, long result);
/* Frees the operation's record, after it is completed and when no device can name it any more. */
void ae_io_release(struct ae_io *io, struct ae_io_op *op);

#endif
