/* Signals as something that can be read: a signalfd. The waiting itself is in signal.ae. */
#include <aesop/signal.h>
#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

int aesop_signal_block(const sigset_t *set) { return -pthread_sigmask(SIG_BLOCK, set, NULL); }

int aesop_signal_open(const sigset_t *set) {
    int error = aesop_signal_block(set);
    if (error) return error;
    int fd = signalfd(-1, set, SFD_NONBLOCK | SFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}
int aesop_signal_take(int fd) {
    struct signalfd_siginfo info;
    ssize_t n;
    do n = read(fd, &info, sizeof info);
    while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    return n == sizeof info ? (int)info.ssi_signo : -EIO;
}
