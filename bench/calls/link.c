/* One link of a chain of calls with locals that live over the call. Compiled several times with other names, so that caller and callee
 * never stand in one file:
 *   chain: -DCHAIN=chain_c1 -DNEXT=chain_c2, -DCHAIN=chain_c2 -DNEXT=add_c      loop -> chain_c1 -> chain_c2 -> add_c
 *   step:  -DSTEP=step_c1 -DNEXT=step_c2 and the other way round: as deep as its first argument says */
#include "calls.h"

#ifdef CHAIN
long CHAIN(long a, long b) {
    long x = a * 3, y = a ^ b;
    long r = NEXT(a + 1, b);
    return r + x - y;
}
#else
long STEP(long depth, long value) {
    long x = value * 3;
    long r = depth > 1 ? NEXT(depth - 1, value + 1) : add_c(value, 1);
    return r + x;
}
#endif
