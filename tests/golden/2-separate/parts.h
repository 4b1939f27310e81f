#include <aesop.h>
typedef aesop int (*unary)(int);
struct box { int n[3]; double d; };
aesop int twice(int v);
aesop int ping(int n);
aesop int pong(int n);
aesop int apply(unary f, int v);
aesop struct box fill(int v);
aesop void note_later(int ms, const char *s);
unary pick(int i);
void note(const char *s);
extern unary registry[2];
