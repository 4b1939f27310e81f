/* Blocking C functions on the runtime's pool; see <aesop/offload.h>. */
#include "../io/io.h"
#include <aesop/offload.h>

long aesop_offload(struct __ae_branch *b, long (*fn)(void *), void *arg) {
    struct ae_io_request q = {.op = AE_IO_CALL, .buf = arg, .more.call = fn};
    return ae_io(b, &q);
}
