/* The parts of bench/calls and how they meet.
 *
 * Each thing that is measured is a function that does its work n times and returns a number that depends on all of it. Three kinds
 * stand side by side: plain C, a bare callback, and Aesop. What is called stands in another file than the loop that calls it, in C as
 * in Aesop, and nothing is optimized across files: every call is a call.
 *
 *   rows.ae     loops in Aesop, and main, which measures          plain.c    the same loops in C
 *   callee.ae   what they call, link.ae: a link of a chain        callee.c, link.c: the same in C
 *   leaf.c      what waits at the bottom
 *   callback.c  submit to a queue, loop, indirect call
 */
#ifndef CALLS_H
#define CALLS_H

typedef long plain_row(int n);

/* plain.c; n items each */
plain_row plain_empty, plain_call, plain_chain, plain_address, plain_malloc, plain_mutex, plain_atomic, plain_ladder3, plain_ladder10;
/* callback.c */
plain_row callback_row, callback_batch;

/* callee.c and link.c: plain C */
long add_c(long a, long b);
long fill_c(long *to, long value);
long malloc_c(long a, long b);
long mutex_c(long a, long b);
long atomic_c(long a, long b);
long chain_c1(long a, long b);
long chain_c2(long a, long b);
long step_c1(long depth, long value);
long step_c2(long depth, long value);

/* measure.c */
double now_ns(void);
long resident_bytes(void);

#endif
