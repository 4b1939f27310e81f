#include <stdio.h>
void note(const char *s);
void note(const char *s) { printf("%s\n", s); }
