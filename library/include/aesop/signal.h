/* <aesop/signal.h>: waiting for signals. */
#ifndef AESOP_SIGNAL_H
#define AESOP_SIGNAL_H

#include <signal.h>

/* Blocks the signals of the set in the calling thread: from here on they do not interrupt, they stay pending until somebody waits for them.
 * Call it first thing in main, before other threads exist, so that all of them inherit it (the runtime's own threads block every signal
 * anyway). A signal that is not blocked in every thread may be delivered there and never be seen by aesop_signal_wait().
 * Does not wait. Returns 0 or a negative errno. */
int aesop_signal_block(const sigset_t *set);

/* What aesop_signal_wait() is made of: blocks the signals of the set in the calling thread and opens a descriptor that becomes readable
 * when one of them is pending (a signalfd; O_CLOEXEC, O_NONBLOCK).
 * Does not wait. Returns the descriptor, to be closed by the caller, or a negative errno. */
int aesop_signal_open(const sigset_t *set);
/* Takes one pending signal from such a descriptor.
 * Does not wait. Returns its number, or a negative errno: -EAGAIN if none is pending. */
int aesop_signal_take(int fd);

#ifdef __AESOP__
/* Waits for a signal of the set. Blocks the signals as aesop_signal_block() does, and leaves them blocked. If several branches wait for the
 * same signal, one of them gets it.
 * Returns the signal's number or a negative errno; -ECANCELED: no signal was taken, a pending one stays pending. */
__aesop int aesop_signal_wait(const sigset_t *set);
#endif

#endif
