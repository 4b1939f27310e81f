/* Counting the branches that wait, by going through the tree. */
#include "runtime.h"

/* All branches below the scopes of `top`, itself not included. The same walk as a cancel makes, along the tree's own links. */
static unsigned long below(const ae_branch *top) {
    const ae_branch *b = top;
    const ae_scope *s = b->cur;
    for (unsigned long n = 0;;) {
        if (s == &b->home->s) {
            if (b == top) return n;
            if (b->next) {
                b = b->next;
                n++;
                s = b->cur;
            } else {
                s = b->home->s.outer;
                b = b->home->owner;
            }
            continue;
        }
        const ae_pwait *p = (const ae_pwait *)(const void *)s;
        if (s->kind == __AE_PWAIT && p->first) {
            b = p->first;
            n++;
            s = b->cur;
        } else
            s = s->outer;
    }
}
unsigned long ae_count_branches(const ae_worker *w) {
    unsigned long n = 0;
    if (!w->main_ended) n = 1 + below(w->main);
    for (const ae_branch *b = w->a.root.first; b; b = b->next) n += 1 + below(b);
    return n;
}
unsigned long ae_count_lonely(const ae_worker *w) {
    unsigned long n = 0;
    for (const ae_branch *b = w->a.root.first; b; b = b->next) n++;
    return n;
}
