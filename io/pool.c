/* The pool: a bounded number of threads that carry out what blocks. Started when there is work and none is free; they stay.
 *
 * One lock over a queue: a job costs a system call or two anyway, and most often a disk. A queued job can be taken back; one that was begun
 * runs to its end, because nothing in POSIX ends a blocking call of another thread safely. Results go to the worker's inbox.
 */
#include "io.h"
#include "system.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct ae_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct ae_list queue;
    struct ae_inbox *inbox;
    unsigned long queued;
    int threads, idle, most;
    bool stop;
    pthread_t ids[];
};

/* --- inbox --- */

static void inbox_put(struct ae_inbox *in, struct ae_io_op *op) {
    struct ae_io_op *head = atomic_load_explicit(&in->head, memory_order_relaxed);
    do op->next = head;
    while (!atomic_compare_exchange_weak(&in->head, &head, op)); /* sequentially consistent, as the next line: the worker sees op in */
    if (atomic_exchange(&in->asleep, 0)) { /* ae_inbox_sleep(), or we see that it sleeps. Never neither. */
        uint64_t one = 1;
        while (write(in->fd, &one, sizeof one) < 0 && errno == EINTR) {
        } /* EAGAIN: it is full, so the worker is woken */
    }
}
int ae_inbox_sleep(struct ae_inbox *in) {
    atomic_store(&in->asleep, 1);
    if (!atomic_load(&in->head)) return 1;
    atomic_store(&in->asleep, 0);
    return 0;
}
void ae_inbox_awake(struct ae_inbox *in) { atomic_store_explicit(&in->asleep, 0, memory_order_relaxed); }

void ae_inbox_take(struct ae_io *io) {
    if (!atomic_load_explicit(&io->inbox.head, memory_order_relaxed)) return;
    struct ae_io_op *op = atomic_exchange_explicit(&io->inbox.head, NULL, memory_order_acquire), *oldest = NULL, *next;
    for (; op; op = next) { /* turned over: in the order in which they were completed */
        next = op->next;
        op->next = oldest;
        oldest = op;
    }
    for (op = oldest; op; op = next) {
        next = op->next;
        ae_io_complete(io, op, op->result);
        ae_io_release(io, op);
    }
}

/* --- threads --- */

static void *serve(void *arg) {
    struct ae_pool *p = arg;
    pthread_mutex_lock(&p->lock);
    for (;;) {
        struct ae_io_op *op = p->queue.first;
        if (op) {
            ae_list_remove(&p->queue, op);
            p->queued--;
            pthread_mutex_unlock(&p->lock);
            op->result = ae_io_block(op);
            inbox_put(p->inbox, op);
            pthread_mutex_lock(&p->lock);
        } else if (p->stop) {
            break;
        } else {
            p->idle++;
            pthread_cond_wait(&p->work, &p->lock);
            p->idle--;
        }
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}
static int start_thread(struct ae_pool *p) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the program's own threads' business */
    int error = pthread_create(&p->ids[p->threads], NULL, serve, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!error) p->threads++;
    return error;
}
static struct ae_pool *pool_open(struct ae_io *io) {
    struct ae_pool *p = calloc(1, sizeof *p + (size_t)io->pool_size * sizeof *p->ids);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL); /* cannot fail on Linux, nor can the next */
    pthread_cond_init(&p->work, NULL);
    p->inbox = &io->inbox;
    p->most = io->pool_size;
    return p;
}

long ae_pool_post(struct ae_io *io, struct ae_io_op *op) {
    if (!io->pool && !(io->pool = pool_open(io))) return -ENOMEM;
    struct ae_pool *p = io->pool;
    int error = 0;
    pthread_mutex_lock(&p->lock);
    ae_list_add(&p->queue, op);
    p->queued++;
    if (p->queued > (unsigned long)p->idle && p->threads < p->most) error = start_thread(p);
    if (error && p->threads == 0) { /* with one thread at least, the job's turn will come */
        ae_list_remove(&p->queue, op);
        p->queued--;
    } else {
        error = 0;
        pthread_cond_signal(&p->work);
    }
    pthread_mutex_unlock(&p->lock);
    return error ? -error : AE_IO_PENDING;
}
int ae_pool_cancel(struct ae_io *io, struct ae_io_op *op) {
    struct ae_pool *p = io->pool;
    pthread_mutex_lock(&p->lock);
    bool queued = op->pprev != NULL;
    if (queued) {
        ae_list_remove(&p->queue, op);
        p->queued--;
    }
    pthread_mutex_unlock(&p->lock);
    return queued;
}
void ae_pool_close(struct ae_io *io) {
    struct ae_pool *p = io->pool;
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->threads; i++) pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p);
    io->pool = NULL;
}
