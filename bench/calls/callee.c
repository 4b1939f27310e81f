/* What the plain loops call. In a file of its own: the compiler of the caller must not see it. */
#include "calls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

long add_c(long a, long b) { return a + b; }

long fill_c(long *to, long value) {
    *to += value;
    return value;
}

/* The three rows that the original's evaluation added to give its call a scale: what a call costs that allocates, and one that also
 * takes a lock or executes an atomic instruction. */
long malloc_c(long a, long b) {
    long *p = malloc(64);
    if (!p) abort();
    *(volatile long *)p = a + b;
    a = *(volatile long *)p;
    free(p);
    return a;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
long mutex_c(long a, long b) {
    long r;
    pthread_mutex_lock(&lock);
    r = malloc_c(a, b);
    pthread_mutex_unlock(&lock);
    return r;
}

static atomic_long word;
long atomic_c(long a, long b) {
    long r = malloc_c(a, b), old = atomic_load_explicit(&word, memory_order_relaxed);
    atomic_compare_exchange_strong(&word, &old, r);
    return r;
}
