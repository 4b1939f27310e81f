/* Which engine: by name, and what happens when the kernel refuses it. */
#include "io.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct ae_engine *const engines[] = {&ae_engine_uring, &ae_engine_epoll};

const struct ae_engine *ae_engine_named(const char *name) {
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i]->name, name) == 0) return engines[i];
    return NULL;
}

int ae_io_open(struct ae_io *io, const struct ae_engine *wanted, int pool_size) {
    const char *reason = "";
    *io = (struct ae_io){.engine = wanted ? wanted : engines[0], .pool_size = pool_size};
    io->inbox.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (io->inbox.fd < 0) return -errno;
    int error = io->engine->open(io, &reason);
    if (error < 0 && io->engine != &ae_engine_epoll) {
        dprintf(STDERR_FILENO, "aesop: engine %s is not available: %s; using epoll\n", io->engine->name, reason);
        io->engine = &ae_engine_epoll;
        error = io->engine->open(io, &reason);
    }
    if (error < 0) close(io->inbox.fd);
    return error;
}
void ae_io_close(struct ae_io *io) {
    ae_pool_close(io);
    io->engine->close(io);
    close(io->inbox.fd);
}
