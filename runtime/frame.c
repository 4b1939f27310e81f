/* Memory for frames, branches, boxes and operations.
 *
 * Why not malloc: a frame lives from a call's first wait to its return, there is one for each call on the way, and they are not freed in
 * stack order. Free lists by size, in steps of 16 bytes, cost a load and a store and no header. What was taken from the system once
 * is kept for the next wave. Larger objects, and those of unusual alignment, go to malloc.
 *
 * Why allocation cannot fail here: a function that suspends has its callers' state on the C stack and nowhere to report to. So
 * the question is asked before: an operation that would have to wait is refused with -ENOMEM unless a reserve is full
 * (ae_may_wait), and if malloc then has nothing for the frames, they come out of the reserve. Only frames larger than the
 * reserve, all together, end the program, with a message, as a stack that overflows would.
 *
 * Under AddressSanitizer, or with -DAE_MALLOC, each object is its own malloc, so that a use after its end is seen.
 */
#include "runtime.h"
#include <stdlib.h>
#include <string.h>

#if !defined AE_MALLOC && defined __SANITIZE_ADDRESS__
#define AE_MALLOC 1
#elif !defined AE_MALLOC && defined __has_feature
#if __has_feature(address_sanitizer)
#define AE_MALLOC 1
#endif
#endif

static uintptr_t align_up(uintptr_t n, uintptr_t align) { return (n + align - 1) & ~(align - 1); }

void *ae_request(ae_worker *w, size_t n, size_t align) {
    w->requests++;
    if (AE_UNLIKELY(w->fail_count) && w->requests - w->fail_first < w->fail_count) return NULL;
    if (align <= sizeof(long double)) return malloc(n);
    return aligned_alloc(align, align_up(n, align));
}

static struct ae_block *block_new(ae_worker *w, size_t n) {
    struct ae_block *block = ae_request(w, n, 16);
    if (block) *block = (struct ae_block){.next = NULL, .end = (char *)block + n};
    return block;
}
static char *block_start(struct ae_block *block) { return (char *)block + align_up(sizeof *block, AE_CLASS_STEP); }

/* --- the reserve --- */

static void reserve_set(ae_worker *w, struct ae_block *block) {
    w->reserve = block;
    w->reserve_at = block_start(block);
}
/* Something was taken from it: a new one, and the old one is kept until the end, as its objects may be in use. */
static bool reserve_refill(ae_worker *w) {
    if (w->reserve_at == block_start(w->reserve)) return true;
    struct ae_block *block = block_new(w, AE_RESERVE);
    if (!block) return false;
    w->reserve->next = w->spent;
    w->spent = w->reserve;
    reserve_set(w, block);
    return true;
}
bool ae_replenish(ae_worker *w) {
    if (!reserve_refill(w) || !ae_timers_grow(w)) return false;
    w->tight = false;
    return true;
}
static void *reserve_take(ae_worker *w, size_t n, size_t align) {
    char *p = (char *)align_up((uintptr_t)w->reserve_at, align);
    if (n > (size_t)(w->reserve->end - w->reserve_at) || p + n > w->reserve->end)
        ae_die("out of memory: no %zu bytes for a waiting call, and the reserve is used up", n);
    w->tight = true;
    w->reserve_at = p + n;
    return p;
}
static bool inside(const struct ae_block *block, const void *p) {
    return (const char *)p > (const char *)block && (const char *)p < block->end;
}
static bool from_reserve(const ae_worker *w, const void *p) {
    if (inside(w->reserve, p)) return true;
    for (const struct ae_block *block = w->spent; block; block = block->next)
        if (inside(block, p)) return true;
    return false;
}

/* --- objects --- */

static __attribute__((noinline)) void *large_new(ae_worker *w, size_t n, size_t align) {
    void *p = ae_request(w, n, align);
    return p ? p : reserve_take(w, n, align < 16 ? 16 : align);
}
static __attribute__((noinline)) void large_free(ae_worker *w, void *p) {
    if (!from_reserve(w, p)) free(p);
}

#ifdef AE_MALLOC
void *__ae_alloc(ae_branch *b, unsigned long size, unsigned long align) {
    ae_worker *w = ae_worker_of(b);
    void *p = large_new(w, size, align);
    memset(p, 0xA5, size);
    w->live++;
    w->live_bytes += size;
    return p;
}
void __ae_free(ae_branch *b, void *p, unsigned long size, unsigned long align) {
    ae_worker *w = ae_worker_of(b);
    (void)align;
    memset(p, 0x5A, size);
    w->live--;
    w->live_bytes -= size;
    large_free(w, p);
}
#else
static __attribute__((noinline)) void *class_new(ae_worker *w, size_t n) {
    if (n > (size_t)(w->chunk_end - w->chunk)) {
        struct ae_block *block = block_new(w, AE_CHUNK);
        if (!block) return reserve_take(w, n, AE_CLASS_STEP);
        block->next = w->blocks;
        w->blocks = block;
        w->chunk = block_start(block);
        w->chunk_end = block->end;
    }
    void *p = w->chunk;
    w->chunk += n;
    return p;
}
void *__ae_alloc(ae_branch *b, unsigned long size, unsigned long align) {
    ae_worker *w = ae_worker_of(b);
    w->live++;
    w->live_bytes += size;
    if (AE_UNLIKELY(size > w->pooled || align > AE_CLASS_STEP)) return large_new(w, size, align);
    size_t c = (size + AE_CLASS_STEP - 1) / AE_CLASS_STEP;
    void *p = w->classes[c];
    if (AE_UNLIKELY(!p)) return class_new(w, c * AE_CLASS_STEP);
    memcpy(&w->classes[c], p, sizeof p);
    return p;
}
void __ae_free(ae_branch *b, void *p, unsigned long size, unsigned long align) {
    ae_worker *w = ae_worker_of(b);
    w->live--;
    w->live_bytes -= size;
    if (AE_UNLIKELY(size > w->pooled || align > AE_CLASS_STEP)) {
        large_free(w, p);
        return;
    }
    size_t c = (size + AE_CLASS_STEP - 1) / AE_CLASS_STEP;
    memcpy(p, &w->classes[c], sizeof p);
    w->classes[c] = p;
}
#endif

/* --- results that fit no register --- */

enum { WIDE_ALIGN = 64, WIDE_FIRST = 256 };

void *__ae_wide(ae_branch *b, unsigned long size) {
    ae_worker *w = ae_worker_of(b);
    if (AE_UNLIKELY(size > w->wide_size)) { /* whoever asks for more is about to write: nothing has to be kept */
        size_t n = align_up(size, WIDE_ALIGN);
        void *p = ae_request(w, n, WIDE_ALIGN);
        if (!p) ae_die("out of memory: no %lu bytes for the result of a call", size);
        free(w->wide);
        w->wide = p;
        w->wide_size = n;
    }
    return w->wide;
}

/* Present in a program that was linked with -fsanitize=address, whether or not this file was compiled so. Each object is then its own
 * malloc, and the sanitizer sees what goes wrong in frames. */
extern void __asan_init(void) __attribute__((weak));

int ae_memory_open(ae_worker *w) {
    w->pooled = __asan_init ? 0 : AE_CLASS_STEP * AE_CLASSES;
    struct ae_block *reserve = block_new(w, AE_RESERVE);
    if (!reserve) return -ENOMEM;
    reserve_set(w, reserve);
    w->wide = ae_request(w, WIDE_FIRST, WIDE_ALIGN);
    if (!w->wide) {
        free(reserve);
        return -ENOMEM;
    }
    w->wide_size = WIDE_FIRST;
    return 0;
}
static void blocks_free(struct ae_block *block) {
    while (block) {
        struct ae_block *next = block->next;
        free(block);
        block = next;
    }
}
void ae_memory_close(ae_worker *w) {
    blocks_free(w->blocks);
    blocks_free(w->spent);
    free(w->reserve);
    free(w->wide);
}

/* For back ends without builtins. */
void *__ae_memcpy(void *to, const void *from, unsigned long n) { return memcpy(to, from, n); }
void *__ae_memset(void *to, int byte, unsigned long n) { return memset(to, byte, n); }
