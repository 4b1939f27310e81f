/* <aesop/file.h>: files on disks.
 *
 * Results are non-negative, or a negative errno value; the thread's errno means nothing. All functions with __aesop wait for the device
 * while other branches go on, and return, besides the errors of the system call of the same name:
 *   -ECANCELED  cancelled; for reads and writes nothing was transferred by this call, everything else was not begun. A device may be
 *               past the point where it can stop (disks mostly are): then the operation's own result is delivered.
 *   -ENOMEM     no memory to wait with; nothing was started
 * Interruptions (EINTR) are never seen. Buffers, paths and results are used until the call returns. Offsets and sizes are in bytes.
 * The worker's own thread only; the functions without __aesop are thread-safe and can be called from plain C too.
 */
#ifndef AESOP_FILE_H
#define AESOP_FILE_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* O_DIRECT moves data between the disk and the caller's memory without a copy in the kernel. Address, offset and length must then be
 * multiples of AESOP_DIRECT (enough for every common disk); a file system may refuse it, with -EINVAL from open or the first transfer. */
enum { AESOP_DIRECT = 4096 };
/* Memory for it: size bytes, rounded up to a multiple of AESOP_DIRECT, zeros. Straight from the kernel, and given back to it: keep what you
 * use often. (Debian 12's malloc is no good for this: asked for aligned blocks it grows without end, because it does not find again those
 * that were freed.) Null when there is none. aesop_direct_free() takes the size that was asked for, and null too. */
void *aesop_direct_alloc(size_t size);
void aesop_direct_free(void *p, size_t size);

#ifdef __AESOP__
/* Opens a file. flags: O_RDONLY, O_CREAT, O_DIRECT, ... as open(2); O_CLOEXEC is added. mode: permissions of a new file, less the umask.
 * folder: of a relative path, or AT_FDCWD.
 * Return a descriptor. One that was opened when a cancel came is delivered. */
__aesop int aesop_open(const char *path, int flags, mode_t mode);
__aesop int aesop_openat(int folder, const char *path, int flags, mode_t mode);
/* The same for a path from somebody else: refuses with -EACCES whatever lies outside of the folder, be it reached by "..", an absolute path
 * or a symbolic link (links that stay inside are followed). Paths with several components need openat2(2), Linux 5.6; else -ENOSYS. */
__aesop int aesop_open_beneath(int folder, const char *path, int flags, mode_t mode);

/* Read and write at an offset. Return the number of bytes, perhaps fewer than len; 0 from aesop_pread: at or behind the end of the file. */
__aesop long aesop_pread(int fd, void *buf, size_t len, off_t offset);
__aesop long aesop_pwrite(int fd, const void *buf, size_t len, off_t offset);
/* All of it. aesop_pread_all returns the number of bytes, fewer than len only at the end of the file; aesop_pwrite_all returns len. After a
 * negative errno an unknown part has been transferred. With O_DIRECT the last block of a file is read at its true length, although that is
 * no multiple of AESOP_DIRECT. */
__aesop long aesop_pread_all(int fd, void *buf, size_t len, off_t offset);
__aesop long aesop_pwrite_all(int fd, const void *buf, size_t len, off_t offset);

/* Bring data to the disk: of one file with and without its times, or of the whole file system that fd is on. Return 0. */
__aesop int aesop_fsync(int fd);
__aesop int aesop_fdatasync(int fd);
__aesop int aesop_syncfs(int fd);

/* Return 0. size: the new length of the file. mode: 0, or FALLOC_FL_* of <fcntl.h>. */
__aesop int aesop_ftruncate(int fd, off_t size);
__aesop int aesop_fallocate(int fd, int mode, off_t offset, off_t len);
/* What stat(2) says of an open file. Does not wait in practice; on network file systems it may block the worker. Returns 0. */
__aesop int aesop_fstat(int fd, struct stat *to);

/* Remove a name. flags: 0, or AT_REMOVEDIR for an empty folder. Return 0. */
__aesop int aesop_unlink(const char *path);
__aesop int aesop_unlinkat(int folder, const char *path, int flags);
/* As aesop_open_beneath(): -EACCES for what lies outside of the folder. A link is removed itself, not what it points at. */
__aesop int aesop_unlink_beneath(int folder, const char *path);

/* Closes any descriptor at once; see <aesop/socket.h>. aesop_close_file() leaves it to the device and waits, for files whose closing may
 * take long: written ones on a network, the last use of a large deleted one. Both close also in a cancelled branch.
 * Return 0; -EBADF; -EIO, -ENOSPC, -EDQUOT: closed, but data that was written before is lost. */
__aesop int aesop_close(int fd);
__aesop int aesop_close_file(int fd);
#endif

#endif
