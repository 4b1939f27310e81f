/* <aesop.h>: the spellings of the Aesop language and the two waits that need no resource.
 *
 * The keywords are reserved words of aecc under the names __aesop, __pwait, ...; this header gives them their everyday
 * spellings, as <stdbool.h> does for _Bool. See docs/language.md.
 */
#ifndef AESOP_H
#define AESOP_H

#ifndef __AESOP__
#error "this file uses the Aesop language: compile it with aecc, not with a C compiler"
#endif

#define aesop __aesop
#define pwait __pwait
#define pbranch __pbranch
#define pbreak __pbreak
#define pshield __pshield
#define pdeadline __pdeadline
#define pprivate __pprivate
#define pshared __pshared

enum {
    AE_SUCCESS = 0,
    AE_ERR_EXIST = -17, /* -EEXIST: another branch of the same pwait has cancelled already */
};

/* Waits.
 * milliseconds: time to wait; zero or less does not wait.
 * Returns 0 when the time has passed, -ECANCELED when cancelled before. */
__aesop int aesop_timer(int milliseconds);

/* Lets other ready branches run first.
 * Returns 0, or -ECANCELED in a cancelled branch. */
__aesop int aesop_yield(void);

/* Cancels everything else inside the pwait that the lexically innermost branch joins: its other branches and all below them,
 * branches still to come, and the pwait's own statements until it has joined. Does not wait. Only inside a pbranch of a pwait.
 * Returns AE_SUCCESS, or AE_ERR_EXIST when a branch of the same pwait has done so already. */
__aesop_nowait int aesop_cancel_branches(void);
#define ae_cancel_branches aesop_cancel_branches

/* Whether the calling branch is cancelled. Does not wait.
 * Returns 1 or 0. */
__aesop_nowait int ae_is_cancelled(void);

/* A main of another name:  aesop_main_set(serve);  at file scope defines the program's main, which starts the runtime and
 * runs  aesop int serve(int argc, char **argv)  in it. With an init, int init(int argc, char **argv), a plain C function, is called
 * first; if it does not return 0, that is the program's exit status. */
int aesop_start(__aesop int (*entry)(int argc, char **argv), int argc, char **argv);
#define aesop_main_set(entry) \
    int main(int argc, char **argv) { return aesop_start(entry, argc, argv); }
#define aesop_main_set_with_init(init, entry)       \
    int main(int argc, char **argv) {               \
        int aesop_status_ = init(argc, argv);       \
        return aesop_status_ ? aesop_status_ : aesop_start(entry, argc, argv); \
    }

#endif
