/* system.h: what the engines of io/ share and nobody else needs. */
#ifndef AE_IO_SYSTEM_H
#define AE_IO_SYSTEM_H

#include "io.h"

/* The request, after its descriptor was said to be ready: its result, or AE_IO_PENDING if that was not so. Does not block. */
long ae_io_ready(const struct ae_io_request *q);
/* POLL* that the request waits for; 0 if it is not one that waits for readiness. */
int ae_io_events(const struct ae_io_request *q);
/* READ and WRITE at an offset: the result if the page cache alone can do it whole, else AE_IO_PENDING. */
long ae_io_cached(const struct ae_io_request *q);
/* The msghdr of a RECVV or SENDV. */
void ae_message(struct msghdr *m, const struct ae_io_request *q);

/* Lists of operations, first in first out. An operation is in at most one; pprev says whether. */
struct ae_list {
    struct ae_io_op *first, **last; /* last: where the next one's address goes; null while the list was never used */
};
static inline void ae_list_add(struct ae_list *l, struct ae_io_op *op) {
    if (!l->first) l->last = &l->first;
    op->next = NULL;
    op->pprev = l->last;
    *l->last = op;
    l->last = &op->next;
}
static inline void ae_list_remove(struct ae_list *l, struct ae_io_op *op) {
    if ((*op->pprev = op->next))
        op->next->pprev = op->pprev;
    else
        l->last = op->pprev;
    op->pprev = NULL;
}

#endif
