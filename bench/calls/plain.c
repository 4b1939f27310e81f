/* The loops in plain C. */
#include "calls.h"

/* What the loop itself costs; the empty asm keeps it from being folded into a multiplication. */
long plain_empty(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) {
        s += i;
        __asm__ volatile("" : "+r"(s));
    }
    return s;
}
long plain_call(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += add_c(i, 7);
    return s;
}
long plain_chain(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += chain_c1(i, 7);
    return s;
}
long plain_address(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) {
        long local = i;
        s += fill_c(&local, 7);
        s += local;
    }
    return s;
}
long plain_malloc(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += malloc_c(i, 7);
    return s;
}
long plain_mutex(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += mutex_c(i, 7);
    return s;
}
long plain_atomic(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += atomic_c(i, 7);
    return s;
}
long plain_ladder3(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += step_c1(3, i);
    return s;
}
long plain_ladder10(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) s += step_c1(10, i);
    return s;
}
