/* Files: the leaves, each one request to io.h, and the blocking calls behind paths that must not leave a folder. The rest stands in
 * file.ae.
 *
 * The functions with a struct __ae_branch * in front are those that <aesop/file.h> declares with __aesop: aecc adds that parameter. */
#include "../io/io.h"
#include <aesop/file.h>
#include <errno.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "beneath.h"

/* --- leaves --- */

int aesop_openat(struct __ae_branch *b, int folder, const char *path, int flags, mode_t mode) {
    struct ae_io_request q = {.op = AE_IO_OPEN, .mode = mode, .fd = folder, .flags = flags | O_CLOEXEC, .buf = (void *)(size_t)path};
    return (int)ae_io(b, &q);
}
int aesop_open(struct __ae_branch *b, const char *path, int flags, mode_t mode) { return aesop_openat(b, AT_FDCWD, path, flags, mode); }

/* An offset below zero would mean "the file's own position" to io.h. */
long aesop_pread(struct __ae_branch *b, int fd, void *buf, size_t len, off_t offset) {
    struct ae_io_request q = {.op = AE_IO_READ, .fd = fd, .buf = buf, .len = len, .off = offset};
    return offset < 0 ? -EINVAL : ae_io(b, &q);
}
long aesop_pwrite(struct __ae_branch *b, int fd, const void *buf, size_t len, off_t offset) {
    struct ae_io_request q = {.op = AE_IO_WRITE, .fd = fd, .buf = (void *)(size_t)buf, .len = len, .off = offset};
    return offset < 0 ? -EINVAL : ae_io(b, &q);
}
int aesop_fsync(struct __ae_branch *b, int fd) {
    struct ae_io_request q = {.op = AE_IO_FSYNC, .fd = fd};
    return (int)ae_io(b, &q);
}
int aesop_fdatasync(struct __ae_branch *b, int fd) {
    struct ae_io_request q = {.op = AE_IO_FDATASYNC, .fd = fd};
    return (int)ae_io(b, &q);
}
int aesop_syncfs(struct __ae_branch *b, int fd) {
    struct ae_io_request q = {.op = AE_IO_SYNCFS, .fd = fd};
    return (int)ae_io(b, &q);
}
int aesop_ftruncate(struct __ae_branch *b, int fd, off_t size) {
    struct ae_io_request q = {.op = AE_IO_FTRUNCATE, .fd = fd, .off = size};
    return (int)ae_io(b, &q);
}
int aesop_fallocate(struct __ae_branch *b, int fd, int mode, off_t offset, off_t len) {
    struct ae_io_request q = {.op = AE_IO_FALLOCATE, .fd = fd, .flags = mode, .off = offset, .len = (size_t)len};
    return len < 0 ? -EINVAL : (int)ae_io(b, &q);
}
int aesop_fstat(struct __ae_branch *b, int fd, struct stat *to) {
    struct ae_io_request q = {.op = AE_IO_STAT, .fd = fd, .flags = AT_EMPTY_PATH, .buf = (char *)(size_t)"", .more.stat = to};
    return (int)ae_io(b, &q);
}
int aesop_unlinkat(struct __ae_branch *b, int folder, const char *path, int flags) {
    struct ae_io_request q = {.op = AE_IO_UNLINK, .fd = folder, .flags = flags, .buf = (void *)(size_t)path};
    return (int)ae_io(b, &q);
}
int aesop_unlink(struct __ae_branch *b, const char *path) { return aesop_unlinkat(b, AT_FDCWD, path, 0); }
int aesop_close_file(struct __ae_branch *b, int fd) {
    struct ae_io_request q = {.op = AE_IO_CLOSE, .hint = AE_IO_MAY_BLOCK, .fd = fd};
    return (int)ae_io(b, &q);
}

/* --- without waiting --- */

static size_t direct_size(size_t size) { return size ? (size + AESOP_DIRECT - 1) / AESOP_DIRECT * AESOP_DIRECT : AESOP_DIRECT; }
void *aesop_direct_alloc(size_t size) {
    if (size > PTRDIFF_MAX - AESOP_DIRECT) return NULL;
    void *p = mmap(NULL, direct_size(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}
void aesop_direct_free(void *p, size_t size) {
    if (p) munmap(p, direct_size(size));
}

/* --- blocking, on a thread of the pool --- */

enum { ATTEMPTS = 16 }; /* openat2 answers EAGAIN when somebody renames a folder while ".." is being resolved */

static int open_beneath(int folder, const char *path, int flags, mode_t mode) {
    struct open_how how = {.flags = (unsigned)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    if (flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) how.mode = mode & 07777; /* openat2 refuses what open ignores */
    long fd = -1;
    for (int i = 0; i < ATTEMPTS; i++) {
        fd = syscall(SYS_openat2, folder, path, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
    }
    if (fd >= 0) return (int)fd;
    return errno == EXDEV ? -EACCES : -errno;
}
long ae_beneath_open(void *request) {
    const struct ae_beneath *q = request;
    return open_beneath(q->folder, q->path, q->flags, q->mode);
}
/* The folder is opened first and the name is removed there, so that nobody can exchange a folder for a link in between. */
long ae_beneath_unlink(void *request) {
    const struct ae_beneath *q = request;
    const char *slash = strrchr(q->path, '/'), *name = slash ? slash + 1 : q->path;
    if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) return -EINVAL;
    char *folder_name = slash ? strndup(q->path, (size_t)(slash - q->path) + 1) : strdup(".");
    if (!folder_name) return -ENOMEM;
    int folder = open_beneath(q->folder, folder_name, O_PATH | O_DIRECTORY, 0);
    free(folder_name);
    if (folder < 0) return folder;
    long result = unlinkat(folder, name, 0) < 0 ? -errno : 0;
    close(folder);
    return result;
}
