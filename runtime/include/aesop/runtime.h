/* <aesop/runtime.h>: how the runtime is set up, and what it is doing. Plain C; for C and Aesop programs alike.
 *
 * What the program says here can be overruled by whoever runs it, through the environment:
 *   AESOP_ENGINE=uring|epoll   who drives devices. Where the kernel refuses io_uring, one line on stderr says why and epoll is used.
 *   AESOP_QUEUE=hot|fifo       which ready branch goes on next: the one that became ready last (caches are still warm), or first
 *   AESOP_POOL=N               threads at most for blocking calls, 1 to 1024
 * A value that does not exist ends the program at its start, with exit status 2. And for tests:
 *   AESOP_SUSPEND=PERCENT[:SEED]    so many of the calls that need not wait suspend anyway, chosen by a seeded coin
 *   AESOP_LEAKS=1                   at the end, report what was not given back and make the exit status 70 (always in debug builds)
 *   AESOP_EXIT_REPORT_MS=N          when main has ended: after so long, say how many lonely branches are still waited for (1000)
 *   AESOP_FAIL_ALLOC=FIRST[:COUNT]  the runtime's FIRST-th request for memory fails, and COUNT - 1 after it
 * Exit status 71 with a message: branches remain, but nothing that any of them waits for can ever happen.
 */
#ifndef AESOP_RUNTIME_H
#define AESOP_RUNTIME_H

#ifdef __cplusplus
extern "C" {
#endif

struct aesop_config {
    const char *engine; /* "uring", "epoll"; null: uring where it works */
    const char *queue;  /* "hot", "fifo"; null: hot */
    int pool;           /* threads at most for blocking calls; 0: 8 */
};
/* Settings for the runtime that starts next; call it before (in the init of aesop_main_set_with_init, for example). The strings are copied.
 * Returns 0, or -EINVAL for a value that does not exist; nothing is changed then. Not thread-safe. */
int aesop_configure(const struct aesop_config *config);

struct aesop_stats {
    const char *engine;         /* the one in use */
    const char *queue;
    unsigned long branches;     /* waiting branches, main and lonely ones included; the calling branch counts if it has waited before */
    unsigned long lonely;       /* of these, lonely ones */
    unsigned long operations;   /* pending at devices */
    unsigned long timers;       /* timers and deadlines that run */
    unsigned long objects;      /* frames, branches, boxes, operations in memory */
    unsigned long bytes;        /* their size */
    unsigned long peak_bytes;   /* the most that `bytes` has been */
    unsigned long resumes;      /* how often the loop has resumed a branch */
};
/* What the calling thread's runtime is doing. Counts by walking over all branches.
 * Returns 0, or -EINVAL when the thread runs none. */
int aesop_stats(struct aesop_stats *to);

#ifdef __cplusplus
}
#endif
#endif
