/* The floor of every system with an event loop: submit an operation to a queue, return to the loop, which calls what was registered.
 * Nothing is saved and nothing is allocated: the operation and its context are the caller's. */
#include "calls.h"

struct operation {
    struct operation *next;
    void (*done)(void *context, long result);
    void *context;
    long result;
};
static struct operation *first, **last = &first;

__attribute__((noinline)) static void submit(struct operation *o) {
    o->next = 0;
    *last = o;
    last = &o->next;
}
__attribute__((noinline)) static void run(void) {
    struct operation *o;
    while ((o = first) != 0) {
        if (!(first = o->next)) last = &first;
        o->done(o->context, o->result);
    }
}
static void add_up(void *context, long result) { *(long *)context += result; }

/* One operation a turn of the loop. */
long callback_row(int n) {
    long s = 0;
    for (int i = 0; i < n; i++) {
        struct operation o = {.done = add_up, .context = &s, .result = i + 7};
        submit(&o);
        run();
    }
    return s;
}

/* Many operations a turn. */
long callback_batch(int n) {
    static struct operation pool[64];
    long s = 0;
    for (int i = 0; i < n;) {
        for (int k = 0; k < 64 && i < n; k++, i++) {
            pool[k] = (struct operation){.done = add_up, .context = &s, .result = i + 7};
            submit(&pool[k]);
        }
        run();
    }
    return s;
}
