/* tree.h: a program as a tree of nodes, and the aesop function that runs it.
 *
 * The tests of the runtime must not depend on the translator. So one aesop function is translated by hand (tree.c): it walks a tree whose
 * nodes are the statements of the language. Tests build trees, by hand or at random, instead of translating more functions.
 */
#ifndef AE_TEST_TREE_H
#define AE_TEST_TREE_H

#include "../../runtime/runtime.h"

enum node_kind { N_OP, N_TIMER, N_YIELD, N_SEQ, N_DEADLINE, N_SHIELD, N_PAR, N_KINDS, N_LONELY, N_C, N_SLOT };
enum node_act { ACT_NONE, ACT_CANCEL, ACT_PBREAK, ACT_RETURN }; /* what a branch does after its node */
enum { KIDS = 8 };

struct node {
    int kind;                  /* enum node_kind */
    int v;                     /* OP: the value; TIMER, DEADLINE: ms */
    int act;                   /* as the child of a PAR */
    int body;                  /* PAR: its own statements wait, too */
    int id, kids;
    struct node *kid[KIDS];
    struct ae_io_request q;    /* OP: the request, used if `io` is set */
    int io;
    void (*c)(struct node *);  /* C: called; OP: called before, may fill in q */
    void *arg;                 /* for c; SLOT: the slot */
    long result;               /* of the last run */
    int runs;
};

long walk(ae_branch *b, struct node *n);
/* The operation of the random programs: yields v. Given by the test. */
long node_op(ae_branch *b, long v);
/* Told about each end of a wait, each join, each cancel. Given by the test. */
void note_wait(const ae_branch *b, long result);
void note_join(int started, int ended);
void note_cancel(const ae_branch *b, int had, int result); /* had: whether somebody had cancelled there before */
void note_else(long result);

#endif
