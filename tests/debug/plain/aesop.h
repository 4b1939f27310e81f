/* Aesop's words defined away: tests/debug.py compiles warnings.ae as C with it. */
#define aesop
#define pwait
#define pbranch
#define pdeadline(ms) if (ms)
int aesop_timer(int milliseconds);
