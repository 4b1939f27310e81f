/* <aesop/offload.h>: blocking C functions, called without blocking the other branches. */
#ifndef AESOP_OFFLOAD_H
#define AESOP_OFFLOAD_H

#ifdef __AESOP__
/* Calls fn(arg) on a thread of the runtime's pool (AESOP_POOL, 8 threads by default) and waits for it. fn is an ordinary C function; it may
 * block as long as it likes, must not call aesop functions, and shares memory with other threads: what it touches is its own until it has
 * returned. All signals are blocked on the pool's threads.
 * Waits. Returns what fn returns (-ECANCELED excepted, which becomes -EIO), or
 *   -ECANCELED  cancelled before a thread had begun: fn was not and will not be called. A call that has begun runs to its end
 *               and its result is delivered; fn can be told to hurry through something in *arg.
 *   -ENOMEM, -EAGAIN  no memory, or no thread could be started; fn was not called. */
__aesop long aesop_offload(long (*fn)(void *arg), void *arg);
#endif

#endif
