#ifndef ONE_H
#define ONE_H
#include <aesop.h>
int plain(int v);
static inline aesop int one(int v) { return aesop_timer(1) ? -1 : v + 1; }
#endif
