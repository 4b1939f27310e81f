/* What the programs of tree.py begin with. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AESOP__
#include <aesop.h>
#else
#define aesop
/* Whether the code that runs now is cancelled, and where the deadline that did it notes that a wait saw it. */
static struct region {
    int cancelled, *seen;
} region;
static int ae_is_cancelled(void) { return region.cancelled; }
static int aesop_yield(void) {
    if (!region.cancelled) return 0;
    if (region.seen) *region.seen = 1;
    return -ECANCELED;
}
static int aesop_timer(int ms) { return ms <= 0 ? 0 : aesop_yield(); }
static int aesop_cancel_branches(void) { return 0; }
#endif

enum E { E0, E1, E2, E3 };
struct S1 {
    int a;
    signed char b;
};
struct S2 {
    long a;
    double b;
    unsigned char c[5];
};
struct Bits {
    unsigned a : 5;
    int b : 7;
    unsigned long c : 33;
};
union U {
    unsigned long a;
    unsigned char b[12];
};
static unsigned long G[8];

aesop unsigned long w(unsigned long x) {
    (void)aesop_yield();
    return x;
}
aesop unsigned long w0(unsigned long x) {
    (void)aesop_timer(0);
    return x;
}
aesop unsigned long wc(unsigned long x) { return aesop_yield() + x; }
aesop unsigned long ww(unsigned long x) { return w(w0(x)) + w0(0); }
aesop unsigned char wb(unsigned char x) { return (unsigned char)(w(x) + 1); }
aesop double wd(double x) {
    double half = x / 2;
    (void)aesop_timer(0);
    return half + wb(3);
}
aesop struct S1 mk1(unsigned long x) {
    struct S1 s = {(int)(x & 65535), 1};
    (void)aesop_timer(0);
    s.b = (signed char)(x & 127);
    return s;
}
aesop struct S1 ws1(struct S1 s) {
    (void)aesop_yield();
    s.a ^= 1;
    return s;
}
aesop struct S2 mk2(unsigned long x) {
    struct S2 s = {(long)(x & 0xffffff), wd(1), {1, 2, (unsigned char)x, wb(4), 5}};
    return s;
}
aesop unsigned long h1(struct S1 s) { return w0((unsigned long)s.a) * 3 + (unsigned long)s.b; }
aesop unsigned long h2(struct S2 s) { return w((unsigned long)s.a) + (unsigned long)(s.b * 4) + s.c[w0(3)]; }
aesop unsigned long sum_of(int n, ...) {
    va_list list;
    unsigned long sum = 0;
    va_start(list, n);
    while (n-- > 0) sum = sum * 3 + w0(va_arg(list, unsigned long));
    va_end(list);
    return sum;
}
aesop unsigned long deep(int n, unsigned long x) { return n > 0 ? deep(n - 1, x + 1) * 2 + w0(1) : wc(x); }
aesop void tally(unsigned long x) {
    (void)aesop_timer(0);
    G[1] += x;
}
aesop unsigned long wt(unsigned long x) {
    (void)aesop_timer(1 + (int)(x % 3));
    return x;
}
aesop void put_int(int *to, unsigned long x) {
    *to ^= 1;
    *to = (int)w(x);
    (void)aesop_timer(0);
}
aesop void put_s2(struct S2 *to, struct S2 s) {
    (void)aesop_timer(0);
    *to = s;
    to->c[w(1)]++;
}
