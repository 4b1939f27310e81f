#include <aesop.h>
typedef aesop int (*unary)(int);
aesop int lib_twice(int v);
aesop int lib_apply(unary f, int v);
extern unary lib_default;
