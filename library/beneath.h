/* beneath.h: paths that must not leave a folder, between file.c and file.ae. Not for users of the library. */
#ifndef AE_BENEATH_H
#define AE_BENEATH_H

#include <sys/types.h>

struct ae_beneath {
    int folder;
    const char *path;
    int flags;
    mode_t mode;
};
/* Blocking calls, for aesop_offload(); the argument is a struct ae_beneath. Return a descriptor, 0, or a negative errno: -EACCES when the
 * path leads out of the folder. */
long ae_beneath_open(void *request);
long ae_beneath_unlink(void *request);

#endif
