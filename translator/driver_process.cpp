// Child processes, signals, and files that must not be left half-written or behind.
//
// A signal that would end aecc is only noted, and forwarded to the child that runs, which cleans up after itself. Then the
// main line goes on to its next dieIfInterrupted(), removes what it made, and ends by the same signal: a make or a
// shell above sees what it expects. Almost nothing has a name meanwhile: text travels through pipes and unnamed files (memfd), only
// objects on their way to the linker lie in a temporary folder.
#include "driver.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aecc {
namespace {

const int fatalSignals[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE};
volatile std::sig_atomic_t caught = 0;
volatile pid_t child = 0;
std::string folder;     // for temporary files; empty until needed
std::string unfinished; // a file that is being written under a temporary name

void onSignal(int signal) {
    int saved = errno;
    caught = signal;
    if (child > 0) kill(child, signal);
    errno = saved;
}

void setHandlers(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler; // without SA_RESTART: a read that waits comes back
    sigemptyset(&action.sa_mask);
    for (int signal : fatalSignals) {
        struct sigaction old;
        // What the caller ignores (nohup) stays ignored.
        if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
    }
}

// While it lives no signal is delivered, so that none gets lost between starting a child and knowing its number.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t set;
        sigemptyset(&set);
        for (int signal : fatalSignals) sigaddset(&set, signal);
        sigprocmask(SIG_BLOCK, &set, &before);
    }
    ~SignalsBlocked() { sigprocmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
};

std::vector<char *> wordsOf(const std::vector<std::string> &command) {
    std::vector<char *> words;
    for (const std::string &word : command) words.push_back(const_cast<char *>(word.c_str()));
    words.push_back(nullptr);
    return words;
}

int waitFor(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = 0;
    return status;
}

bool writeAll(int fd, const char *text, std::size_t size) {
    while (size) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR && !caught) continue;
        if (n <= 0) return false;
        text += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

bool readAll(int fd, std::string &text) {
    char buffer[65536];
    for (;;) {
        ssize_t n = read(fd, buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue; // when caught: the child has the signal too and closes its end
        if (n <= 0) return n == 0;
        text.append(buffer, static_cast<std::size_t>(n));
    }
}

void removeFolder(const std::string &path) {
    if (DIR *dir = opendir(path.c_str())) {
        while (dirent *entry = readdir(dir)) {
            std::string name = entry->d_name;
            if (name != "." && name != "..") unlink((path + "/" + name).c_str());
        }
        closedir(dir);
    }
    rmdir(path.c_str());
}

} // namespace

void complain(const char *kind, const std::string &message) {
    std::fflush(stdout);
    std::fprintf(stderr, "aecc: %s: %s\n", kind, message.c_str());
}

std::string joined(const std::vector<std::string> &command) {
    std::string line;
    for (const std::string &word : command) {
        bool plain = !word.empty() && word.find_first_of(" \t\n'\"\\$`&|;<>()*?[]#~!{}") == std::string::npos;
        line += line.empty() ? "" : " ";
        if (plain) {
            line += word;
            continue;
        }
        line += "'";
        for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += "'";
    }
    return line;
}

// --- the ways out -------------------------------------------------------------------------------------------------------------

void catchSignals() { setHandlers(onSignal); }

void cleanUp() {
    if (!unfinished.empty()) unlink(unfinished.c_str());
    if (!folder.empty()) removeFolder(folder);
    unfinished.clear();
    folder.clear();
}

void dieIfInterrupted() {
    int signal = caught;
    if (!signal) return;
    cleanUp();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    _exit(128 + signal);
}

const std::string &temporaryFolder() {
    if (!folder.empty()) return folder;
    const char *parent = std::getenv("TMPDIR");
    std::string path = std::string(parent && *parent ? parent : "/tmp") + "/aecc-XXXXXX";
    SignalsBlocked blocked;
    if (mkdtemp(path.data()))
        folder = path;
    else
        complain("fatal error", "cannot make a temporary folder " + path + ": " + std::strerror(errno));
    return folder;
}

// --- child processes ----------------------------------------------------------------------------------------------------------

int run(const Run &what) {
    int ends[2] = {-1, -1};
    if (what.output && pipe2(ends, O_CLOEXEC) < 0) {
        complain("fatal error", std::string("cannot make a pipe: ") + std::strerror(errno));
        return 1;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    if (what.input >= 0) posix_spawn_file_actions_adddup2(&files, what.input, 0);
    if (what.output) posix_spawn_file_actions_adddup2(&files, ends[1], 1);
    if (what.errors >= 0) posix_spawn_file_actions_adddup2(&files, what.errors, 2);
    if (what.quiet) posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    pid_t pid = 0;
    int error = 0;
    std::fflush(stdout);
    {
        SignalsBlocked blocked;
        if (!caught) {
            posix_spawnattr_setsigmask(&attributes, &blocked.before);
            posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
            error = posix_spawnp(&pid, what.command[0].c_str(), &files, &attributes, wordsOf(what.command).data(), environ);
            if (!error) child = pid;
        }
    }
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (ends[1] >= 0) close(ends[1]);
    bool complete = true;
    if (what.output && pid && !error) complete = readAll(ends[0], *what.output);
    if (ends[0] >= 0) close(ends[0]);
    if (error) {
        complain("fatal error", "cannot run '" + what.command[0] + "': " + std::strerror(error));
        return 1;
    }
    int status = pid ? waitFor(pid) : 0;
    dieIfInterrupted();
    if (WIFSIGNALED(status)) {
        complain("fatal error", std::string(strsignal(WTERMSIG(status))) + " signal terminated program " + what.command[0]);
        return 1;
    }
    if (!complete) {
        complain("fatal error", "cannot read what '" + what.command[0] + "' writes");
        return 1;
    }
    return WEXITSTATUS(status);
}

int runGuarded(std::string (*function)(const void *), const void *argument, std::string &answer) {
    MemoryFile channel;
    std::fflush(nullptr);
    pid_t pid;
    {
        SignalsBlocked blocked;
        pid = fork();
        if (pid == 0) {
            setHandlers(SIG_DFL);
            prctl(PR_SET_PDEATHSIG, SIGKILL); // should aecc be killed hard, the translation does not go on alone
            const rlimit noCore = {0, 0};
            setrlimit(RLIMIT_CORE, &noCore);
            sigprocmask(SIG_SETMASK, &blocked.before, nullptr);
            int status = 1;
            try {
                std::string text = function(argument);
                status = writeAll(channel.descriptor(), text.data(), text.size()) ? 0 : 1;
            } catch (const std::exception &failure) {
                std::fprintf(stderr, "%s\n", failure.what());
            }
            std::fflush(stderr);
            _exit(status);
        }
        if (pid > 0) child = pid;
    }
    if (pid < 0) {
        complain("fatal error", std::string("cannot start a process: ") + std::strerror(errno));
        return 1 << 8;
    }
    int status = waitFor(pid);
    dieIfInterrupted();
    answer = channel.read();
    return status;
}

void handOver(const std::vector<std::string> &command) {
    std::fflush(stdout);
    execvp(command[0].c_str(), wordsOf(command).data());
    complain("fatal error", "cannot run '" + command[0] + "': " + std::strerror(errno));
    cleanUp();
    _exit(1);
}

// --- files --------------------------------------------------------------------------------------------------------------------

MemoryFile::MemoryFile(const std::string &text) : fd(memfd_create("aecc", MFD_CLOEXEC)) {
    if (fd >= 0 && writeAll(fd, text.data(), text.size()) && lseek(fd, 0, SEEK_SET) == 0) return;
    dieIfInterrupted();
    complain("fatal error", std::string("cannot keep a text in memory: ") + std::strerror(errno));
    cleanUp();
    _exit(1);
}

MemoryFile::~MemoryFile() { close(fd); }

std::string MemoryFile::path() const { return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(fd); }

std::string MemoryFile::read() const {
    std::string text;
    lseek(fd, 0, SEEK_SET);
    readAll(fd, text);
    return text;
}

bool readFile(const std::string &path, std::string &text) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    text.clear();
    bool ok = readAll(fd, text);
    int error = errno;
    close(fd);
    errno = error;
    return ok;
}

// A regular file is written under another name beside it and then renamed, so that nobody ever sees a part of it. Devices, pipes
// and files in a folder that does not let us make a second one are written as they are.
bool writeFile(const std::string &path, const std::string &text) {
    struct stat info;
    bool exists = path != "-" && stat(path.c_str(), &info) == 0;
    std::string real = path;
    if (exists) {
        if (char *resolved = realpath(path.c_str(), nullptr)) { // a symbolic link stays one
            real = resolved;
            std::free(resolved);
        }
    }
    int fd = -1;
    if (path != "-" && (!exists || (S_ISREG(info.st_mode) && access(real.c_str(), W_OK) == 0))) {
        std::size_t slash = real.rfind('/');
        std::string beside = (slash == std::string::npos ? "" : real.substr(0, slash + 1)) + ".aecc-" + std::to_string(getpid());
        SignalsBlocked blocked;
        fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? info.st_mode & 0777 : 0666);
        if (fd >= 0) unfinished = beside;
    }
    if (fd < 0) fd = path == "-" ? dup(1) : open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && writeAll(fd, text.data(), text.size());
    int error = errno;
    if (fd >= 0 && close(fd) < 0 && ok) {
        ok = false;
        error = errno;
    }
    dieIfInterrupted();
    if (ok && !unfinished.empty()) {
        SignalsBlocked blocked;
        ok = std::rename(unfinished.c_str(), real.c_str()) == 0;
        error = errno;
        if (ok) unfinished.clear();
    }
    if (!unfinished.empty()) unlink(unfinished.c_str());
    unfinished.clear();
    if (!ok) complain("fatal error", "cannot write '" + path + "': " + std::strerror(error));
    return ok;
}

bool fileMentions(const std::string &path, const std::vector<std::string> &words) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    struct stat info;
    bool found = false;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        std::size_t size = static_cast<std::size_t>(info.st_size);
        void *text = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text != MAP_FAILED) {
            for (const std::string &word : words) found = found || memmem(text, size, word.data(), word.size());
            munmap(text, size);
        }
    }
    close(fd);
    return found;
}

} // namespace aecc
