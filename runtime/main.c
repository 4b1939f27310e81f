/* The start and the end: settings, the main branch, and what is checked when all is over.
 *
 * A runtime lives exactly as long as __ae_main() runs. The only state outside of it is what aesop_configure() was told, and which
 * worker the thread runs.
 */
#include "runtime.h"
#include <aesop/runtime.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_DEFAULT = 8, POOL_MOST = 1024, EXIT_USAGE = 2 };

static struct {
    const struct ae_engine *engine; /* null: the default */
    bool fifo;
    int pool;
} chosen = {.pool = POOL_DEFAULT};
static ae_worker *running;

/* --- settings --- */

static int queue_named(const char *name, bool *fifo) {
    if (strcmp(name, "hot") != 0 && strcmp(name, "fifo") != 0) return -EINVAL;
    *fifo = name[0] == 'f';
    return 0;
}
int aesop_configure(const struct aesop_config *config) {
    const struct ae_engine *engine = config->engine ? ae_engine_named(config->engine) : NULL;
    bool fifo = false;
    if (config->engine && !engine) return -EINVAL;
    if (config->queue && queue_named(config->queue, &fifo) < 0) return -EINVAL;
    if (config->pool < 0 || config->pool > POOL_MOST) return -EINVAL;
    chosen.engine = engine;
    chosen.fifo = fifo;
    chosen.pool = config->pool ? config->pool : POOL_DEFAULT;
    return 0;
}

static _Noreturn void wrong(const char *name, const char *value, const char *right) {
    ae_say("%s=%s: this is not %s", name, value, right);
    exit(EXIT_USAGE);
}
static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}
/* "A" or "A:B", A at least low and at most high. False if it is neither. */
static bool numbers(const char *text, unsigned long low, unsigned long high, unsigned long *a, unsigned long *b) {
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9') return false;
    *a = strtoul(text, &end, 10);
    if (*end == ':' && b && end[1] >= '0' && end[1] <= '9') *b = strtoul(end + 1, &end, 10);
    return *end == 0 && errno == 0 && *a >= low && *a <= high;
}
struct wanted {
    const struct ae_engine *engine;
    int pool;
};
static struct wanted settings(ae_worker *w) {
    struct wanted wanted = {chosen.engine, chosen.pool};
    const char *value;
    unsigned long n, more;
    w->fifo = chosen.fifo;
    w->report_after = 1000000000;
    if ((value = setting("AESOP_ENGINE")) && !(wanted.engine = ae_engine_named(value)))
        wrong("AESOP_ENGINE", value, "an engine; there are uring and epoll");
    if ((value = setting("AESOP_QUEUE")) && queue_named(value, &w->fifo) < 0)
        wrong("AESOP_QUEUE", value, "an order; there are hot and fifo");
    if ((value = setting("AESOP_POOL"))) {
        if (!numbers(value, 1, POOL_MOST, &n, NULL)) wrong("AESOP_POOL", value, "a number of threads from 1 to 1024");
        wanted.pool = (int)n;
    }
    if ((value = setting("AESOP_SUSPEND"))) {
        more = 1;
        if (!numbers(value, 0, 100, &n, &more)) wrong("AESOP_SUSPEND", value, "PERCENT or PERCENT:SEED");
        w->coin = (unsigned char)n;
        w->seed = (more + 1) * 0x9E3779B97F4A7C15u | 1;
    }
    if ((value = setting("AESOP_FAIL_ALLOC"))) {
        more = 1;
        if (!numbers(value, 1, ULONG_MAX, &n, &more)) wrong("AESOP_FAIL_ALLOC", value, "FIRST or FIRST:COUNT");
        w->fail_first = n;
        w->fail_count = more;
    }
    if ((value = setting("AESOP_EXIT_REPORT_MS"))) {
        if (!numbers(value, 0, 1000000000, &n, NULL)) wrong("AESOP_EXIT_REPORT_MS", value, "a number of milliseconds");
        w->report_after = (long long)n * 1000000;
    }
#ifdef AE_DEBUG
    w->report_leaks = true;
#endif
    if ((value = setting("AESOP_LEAKS"))) w->report_leaks = strcmp(value, "0") != 0;
    return wanted;
}

/* --- a worker --- */

void ae_worker_open(ae_worker *w) {
    w->line_tail = &w->line;
    w->batch = AE_BATCH;
    w->a.root.s.kind = __AE_PWAIT;
    if (ae_memory_open(w) < 0 || !ae_timers_grow(w)) {
        ae_say("no memory for the runtime");
        exit(1);
    }
}
void ae_worker_close(ae_worker *w) {
    free(w->heap);
    ae_memory_close(w);
}

/* main's own frame: the end of the chain. */
struct main_branch {
    ae_branch b;
    ae_frame h;
};
static int main_resumed(ae_branch *b, ae_frame *f) {
    ae_worker *w = ae_worker_of(b);
    (void)f;
    w->main_result = b->ret;
    w->main_ended = true;
    return __AE_WAIT; /* it has ended and nobody joins it */
}
int ae_worker_run(ae_worker *w, int (*entry)(ae_branch *, int, char **), int argc, char **argv) {
    struct main_branch m = {.b = {.w = &w->a, .cur = &w->a.root.s, .home = &w->a.root}, .h = {.resume = main_resumed}};
    ae_worker *outer = running;
    running = w;
    w->main = &m.b;
    w->main_ended = false;
    w->a.now = ae_clock(w);
    w->main_result = entry(&m.b, argc, argv);
    if (m.b.waits)
        __ae_push(&m.b, &m.h, 0);
    else
        w->main_ended = true;
    ae_loop(w);
    running = outer;
    return (int)w->main_result;
}

/* --- a program --- */

static int leaks(const ae_worker *w) {
    if (!w->live && !w->io.pending && !w->timers) return 0;
    ae_say("leak: at the end %lu objects (%lu bytes), %lu operations, %lu timers are left", w->live, w->live_bytes, w->io.pending,
           (unsigned long)w->timers);
    return 1;
}
int __ae_main(int (*entry)(ae_branch *, int, char **), int argc, char **argv) {
    ae_worker worker = {.main = NULL}, *w = &worker;
    struct wanted wanted = settings(w);
    ae_worker_open(w);
    int error = ae_io_open(&w->io, wanted.engine, wanted.pool);
    if (error < 0) {
        ae_say("no engine works here: %s", strerror(-error));
        exit(1);
    }
    int result = ae_worker_run(w, entry, argc, argv);
    ae_branch last = {.w = &w->a}; /* the main branch is gone, but memory is named by a branch */
    w->main = &last;
    ae_io_close(&w->io);
    if (w->report_leaks && leaks(w)) result = AE_EXIT_LEAK;
    ae_worker_close(w);
    return result;
}
int aesop_start(int (*entry)(ae_branch *, int, char **), int argc, char **argv) { return __ae_main(entry, argc, argv); }

int aesop_stats(struct aesop_stats *to) {
    const ae_worker *w = running;
    if (!w) return -EINVAL;
    *to = (struct aesop_stats){
        .engine = w->io.engine->name,
        .queue = w->fifo ? "fifo" : "hot",
        .branches = ae_count_branches(w),
        .lonely = ae_count_lonely(w),
        .operations = w->io.pending,
        .timers = w->timers,
        .objects = w->live,
        .bytes = w->live_bytes,
        .peak_bytes = w->peak_bytes > w->live_bytes ? w->peak_bytes : w->live_bytes,
        .resumes = w->resumes,
    };
    return 0;
}
