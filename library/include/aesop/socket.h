/* <aesop/socket.h>: sockets and other streams.
 *
 * Results are non-negative, or a negative errno value; the thread's errno means nothing. Functions with __aesop may wait, in the branch
 * that calls them; the rest never does and can be called from plain C too. All that may wait return, besides what is said below:
 *   -ECANCELED  the branch was cancelled while it waited, or was cancelled and would have had to wait; nothing was transferred by this call
 *   -ENOMEM     no memory to wait with; nothing was started
 * A result that was reached before the cancel is delivered. SIGPIPE is not raised by sending on sockets; a closed peer is -EPIPE.
 * Buffers, addresses and paths are used until the call returns. Descriptors may be blocking or not (O_NONBLOCK saves system calls; those
 * that come from here are O_NONBLOCK and O_CLOEXEC). One branch may receive while another one sends; two that receive at once share the
 * stream. A descriptor must not be closed while a branch waits on it: cancel that branch, or aesop_shutdown() the socket, first.
 * The worker's own thread only, like all of the runtime; the functions that do not wait are thread-safe.
 */
#ifndef AESOP_SOCKET_H
#define AESOP_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>

/* --- without waiting ------------------------------------------------------------------------------------------------------ */

/* Listens on a TCP address. host: an IPv4 or IPv6 address in numbers ("127.0.0.1", "::1"), no name; null: all IPv4 addresses. port: 0 to
 * 65535, 0 lets the kernel choose (see aesop_socket_port). backlog: connections that may wait to be accepted; the kernel limits it
 * (net.core.somaxconn). SO_REUSEADDR is set.
 * Returns a descriptor; -EINVAL for a host or port that is none; -EADDRINUSE, -EACCES, -EMFILE, ... as socket(2) and bind(2). */
int aesop_listen_tcp(const char *host, int port, int backlog);

/* Listens on a Unix socket at the given path, which must not exist: the caller removes it afterwards, or before if nobody listens there.
 * Returns a descriptor; -ENAMETOOLONG (108 bytes with the NUL), -EADDRINUSE, ... as bind(2). */
int aesop_listen_unix(const char *path, int backlog);

/* The port that a TCP socket is bound to at this end, or a negative errno; -EAFNOSUPPORT if it is not of an internet family. */
int aesop_socket_port(int fd);

/* Options. Each returns 0 or a negative errno. */
int aesop_tcp_nodelay(int fd, int on); /* send small segments at once (Nagle's algorithm off) */
int aesop_tcp_cork(int fd, int on);    /* hold partial segments back until off, 200 ms at most */
/* Probes a silent peer after `idle` seconds, every `interval` seconds, `count` times, then gives it up (-ETIMEDOUT). idle 0: no probes. */
int aesop_tcp_keepalive(int fd, int idle, int interval, int count);
/* Sizes of the kernel's buffers in bytes; 0 leaves one as it is. The kernel doubles and limits them. For a large window, set it before
 * listening or connecting. */
int aesop_socket_buffers(int fd, int receive, int send);
/* What closing does with data that is not yet sent: -1: the kernel goes on sending (the default); 0: it is dropped and the peer gets a
 * reset; more: closing blocks the worker up to so many seconds. */
int aesop_socket_linger(int fd, int seconds);

/* Ends one or both directions. how: SHUT_RD, SHUT_WR, SHUT_RDWR. A branch that waits to receive gets 0, one that waits to send -EPIPE.
 * Returns 0 or a negative errno. */
int aesop_shutdown(int fd, int how);

#ifdef __AESOP__
/* --- connections: all wait -------------------------------------------------------------------------------------------------- */

/* Accepts a connection. addr: where to put the peer's address, with *len the room there in bytes, afterwards its size; both null: no.
 * Returns a descriptor; -EMFILE, -ENFILE: descriptors are exhausted, the connection stays in the backlog, try again a little
 * later; others as accept(2). Connections that their peers have taken back, and interruptions, are passed over. */
__aesop int aesop_accept(int fd, struct sockaddr *addr, socklen_t *len);

/* Connects a socket of the caller's to an address of len bytes.
 * Returns 0; -ECONNREFUSED, -ETIMEDOUT, ... as connect(2). After an error, -ECANCELED included, it is good only for closing. */
__aesop int aesop_connect(int fd, const struct sockaddr *addr, socklen_t len);

/* A new connection. ip: in numbers, as for aesop_listen_tcp(). port: 1 to 65535.
 * Return a descriptor, or a negative errno and none. A Unix socket whose backlog is full is tried again until there is room. */
__aesop int aesop_connect_tcp(const char *ip, int port);
__aesop int aesop_connect_unix(const char *path);

/* --- transfer: all wait ----------------------------------------------------------------------------------------------------- */

/* Receives what is there, len bytes at most. flags: MSG_PEEK and the like, not MSG_WAITALL.
 * Returns the number of bytes, 0 when the peer has shut down its side; -ECONNRESET, ... as recv(2). */
__aesop long aesop_recv(int fd, void *buf, size_t len, int flags);
/* Sends what there is room for. flags: MSG_MORE and the like.
 * Returns the number of bytes, perhaps fewer than len; -EPIPE, -ECONNRESET, ... as send(2). */
__aesop long aesop_send(int fd, const void *buf, size_t len, int flags);

/* Receives len bytes. Returns their number, fewer only at the end of the stream, or a negative errno: then an unknown part has been
 * received already (so after -ECANCELED the stream is of no use to a protocol with messages). */
__aesop long aesop_recv_all(int fd, void *buf, size_t len);
/* Sends len bytes. Returns len, or a negative errno: then an unknown part has been sent. */
__aesop long aesop_send_all(int fd, const void *buf, size_t len);

/* The same for any stream: pipes, terminals, sockets, event descriptors, files at their own position. Partial, as read(2) and write(2).
 * Writing to a pipe that nobody reads raises SIGPIPE, as in C; programs ignore it. */
__aesop long aesop_read(int fd, void *buf, size_t len);
__aesop long aesop_write(int fd, const void *buf, size_t len);

/* Waits until one of the events holds: POLLIN, POLLOUT, POLLPRI, POLLRDHUP of <poll.h>.
 * Returns those that hold, POLLERR and POLLHUP too, whether asked for or not; -EBADF. */
__aesop int aesop_poll(int fd, int events);

/* Closes any descriptor, at once: right for sockets and pipes, and for files whose closing does not block. Also in a cancelled branch: it
 * is always closed.
 * Returns 0; -EBADF; -EIO, -ENOSPC, -EDQUOT: closed, but data that was written before is lost. See aesop_close_file() in <aesop/file.h>. */
__aesop int aesop_close(int fd);
#endif

#endif
