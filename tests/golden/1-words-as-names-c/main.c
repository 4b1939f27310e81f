// rule: 1.6 a .c file that uses the words as identifiers compiles, beside one in Aesop
#include <stdio.h>
int aesop(int pwait);
int aesop(int pwait) { int pbranch = pwait + 1; return pbranch; }
int pbreak = 5;
