/* Memory of calls: blocks of variable arguments, and variable-length arrays that live over a wait.
 *
 * A va_list is walked by the C compiler's own va_arg, so a block must look like the part of the stack on which the target's ABI
 * passes variable arguments once all argument registers are used up. What a va_list of that kind looks like stands in
 *   x86-64:  System V ABI, AMD64 supplement, 3.5.7 "Variable Argument Lists"
 *   AArch64: Procedure Call Standard for the Arm 64-bit Architecture, appendix B
 *   i386:    a va_list is the address of the next argument.
 */
#include "runtime.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

_Static_assert(offsetof(struct __ae_args, first) % 16 == 0 || sizeof(void *) == 4, "the first argument is aligned for any");

struct __ae_args *__ae_args_new(struct __ae_branch *b, unsigned long bytes) {
    unsigned long size = offsetof(struct __ae_args, first) + bytes;
    struct __ae_args *args = __ae_alloc(b, size, 16);
    args->size = size;
    args->used = 0;
    return args;
}

void *__ae_args_put(struct __ae_args *args, unsigned long size, unsigned long align) {
    const unsigned long slot = sizeof(void *);
    if (align > slot && sizeof(void *) == 8) args->used = (args->used + 15) & ~15ul;
    void *at = (char *)args->first + args->used;
    args->used += (size + slot - 1) & ~(slot - 1);
    return at;
}

void __ae_args_free(struct __ae_branch *b, struct __ae_args *args) { __ae_free(b, args, args->size, 16); }

void __ae_va_start(void *list, struct __ae_args *args) {
    void *first = args ? args->first : NULL;
#if defined __x86_64__
    struct {
        unsigned gp_offset, fp_offset;
        void *overflow_arg_area, *reg_save_area;
    } walk = {48, 176, first, NULL}; /* both register areas are used up */
#elif defined __aarch64__
    struct {
        void *stack, *gr_top, *vr_top;
        int gr_offs, vr_offs;
    } walk = {first, NULL, NULL, 0, 0};
#elif defined __i386__
    void *walk = first;
#else
#error "this target's va_list is not known here; see the comment at the top"
#endif
    _Static_assert(sizeof walk == sizeof(va_list), "layout of va_list");
    memcpy(list, &walk, sizeof walk);
}

/* In front of an array stands its size in bytes, header included; 16 bytes keep the array aligned. */
enum { HEADER = 16 };

void __ae_array_free(struct __ae_branch *b, void **array) {
    if (!*array) return;
    char *whole = (char *)*array - HEADER;
    unsigned long size;
    memcpy(&size, whole, sizeof size);
    __ae_free(b, whole, size, HEADER);
    *array = NULL;
}

void __ae_array_new(struct __ae_branch *b, void **array, unsigned long bytes) {
    __ae_array_free(b, array);
    unsigned long size = bytes + HEADER;
    char *whole = __ae_alloc(b, size, HEADER);
    memcpy(whole, &size, sizeof size);
    *array = whole + HEADER;
}
