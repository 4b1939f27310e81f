// The host compiler: which one it is, and what it needs to know of our headers and libraries.
#include "driver.h"

#include <algorithm>
#include <cctype>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace aecc {
namespace {

std::string realPath(const std::string &path) {
    char *resolved = realpath(path.c_str(), nullptr);
    std::string result = resolved ? resolved : "";
    std::free(resolved);
    return result;
}

bool isProgram(const std::string &path) {
    struct stat info;
    return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Where execvp would find it, with links resolved; empty when nowhere.
std::string findProgram(const std::string &name) {
    if (name.find('/') != std::string::npos) return isProgram(name) ? realPath(name) : "";
    const char *variable = std::getenv("PATH");
    std::string path = variable ? variable : "/bin:/usr/bin";
    for (std::size_t begin = 0; begin <= path.size();) {
        std::size_t end = std::min(path.find(':', begin), path.size());
        std::string folder = path.substr(begin, end - begin);
        std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (isProgram(candidate)) return realPath(candidate);
        begin = end + 1;
    }
    return "";
}

std::vector<std::string> splitAtSpaces(const std::string &text) {
    std::vector<std::string> words;
    std::string word;
    for (char c : text + " ") {
        if (!std::isspace(static_cast<unsigned char>(c))) {
            word += c;
        } else if (!word.empty()) {
            words.push_back(word);
            word.clear();
        }
    }
    return words;
}

// "clang" is whichever clang there is.
std::vector<std::string> namesFor(const std::string &name) {
    if (name != "clang") return {name};
    std::vector<std::string> names = {"clang"};
    for (int version = 19; version <= 24; version++) names.push_back("clang-" + std::to_string(version));
    for (int version = 18; version >= 13; version--) names.push_back("clang-" + std::to_string(version));
    return names;
}

bool findCommand(const std::string &wish, const std::string &self, Host &host) {
    // A program whose path has spaces, else a program and its first arguments ("ccache gcc", "gcc -m32"), as in CC of a makefile.
    std::vector<std::string> words = findProgram(wish).empty() ? splitAtSpaces(wish) : std::vector<std::string>{wish};
    if (words.empty()) return false;
    for (const std::string &name : namesFor(words[0])) {
        host.path = findProgram(name);
        if (host.path.empty() || host.path == self) continue;
        words[0] = name;
        host.command = words;
        return true;
    }
    return false;
}

HostKind kindOf(const Host &host) {
    std::string names = baseName(host.path);
    for (const std::string &word : host.command) names += " " + baseName(word); // "ccache clang": the later word tells
    if (names.find("clang") != std::string::npos) return HostKind::Clang;
    if (names.find("tcc") != std::string::npos) return HostKind::Tcc;
    return HostKind::Gcc;
}

std::string machine() {
    utsname name;
    return uname(&name) == 0 ? name.machine : "x86_64";
}

const std::vector<std::string> runtimeNames = {"__ae_", "aesop_", ".gnu.lto_"};

// The files that -l would take, among the folders named by -L; those of the system have nothing of ours.
bool libraryMentionsRuntime(const std::string &name, const std::vector<std::string> &folders) {
    std::vector<std::string> files = {"lib" + name + ".so", "lib" + name + ".a"};
    if (!name.empty() && name[0] == ':') files = {name.substr(1)};
    for (const std::string &folder : folders) {
        for (const std::string &file : files) {
            if (fileMentions(folder + "/" + file, runtimeNames)) return true;
        }
    }
    return false;
}

std::string joinedValue(const Argument &argument) { return argument.words.size() > 1 ? argument.words[1] : argument.words[0].substr(2); }

} // namespace

std::string baseName(const std::string &path) { return path.substr(path.rfind('/') + 1); }

std::string withSuffix(const std::string &path, const std::string &suffix) {
    std::size_t dot = path.rfind('.');
    std::size_t slash = path.rfind('/');
    std::size_t first = slash == std::string::npos ? 0 : slash + 1;
    return (dot == std::string::npos || dot <= first ? path : path.substr(0, dot)) + suffix;
}

bool findHost(const Options &options, Host &host) {
    std::string self = realPath("/proc/self/exe");
    std::string home = self.substr(0, self.rfind('/'));
    home = home.substr(0, home.rfind('/'));
    host.includes = home + "/include";
    host.libraries = home + "/lib";

    const char *variable = std::getenv("AESOP_CC");
    std::string wish = !options.compiler.empty() ? options.compiler : variable ? variable : "";
    bool found = false;
    if (!wish.empty()) {
        found = findCommand(wish, self, host);
        if (!found && findProgram(wish) == self) {
            complain("fatal error", "the host compiler '" + wish + "' is aecc itself; name a C compiler with --cc= or AESOP_CC");
            return false;
        }
    } else {
        for (const char *name : {"cc", "gcc", "clang", "tcc"}) found = found || findCommand(name, self, host);
    }
    if (!found) {
        complain("fatal error", wish.empty() ? "no C compiler found (cc, gcc, clang or tcc); name one with --cc= or AESOP_CC"
                                             : "cannot find the host compiler '" + wish + "'");
        return false;
    }
    host.kind = kindOf(host);
    return true;
}

// Asking the compiler costs a process, so its name is asked first: Debian calls it x86_64-linux-gnu-gcc-12.
std::string Host::triple(const Options &options) const {
    if (!options.target.empty()) return options.target;
    std::string name = baseName(path);
    std::size_t end = name.find(kind == HostKind::Clang ? "-clang" : "-gcc");
    if (end != std::string::npos && std::count(name.begin(), name.begin() + static_cast<long>(end), '-') >= 1) return name.substr(0, end);
    if (kind == HostKind::Tcc || name.rfind("clang", 0) == 0) return machine() + "-linux-gnu";
    std::string answer;
    std::vector<std::string> question = command;
    question.push_back("-dumpmachine");
    if (run({question, -1, &answer, true}) != 0 || answer.empty()) return machine() + "-linux-gnu";
    return answer.substr(0, answer.find_first_of(" \n"));
}

std::vector<std::string> runtimeLibraries(const Options &options, const Host &host, const std::vector<std::string> &objects) {
    if (options.noRuntime || options.mode != Mode::Link) return {};
    std::vector<std::string> folders;
    for (const Argument &argument : options.arguments) {
        if (argument.words[0].rfind("-L", 0) == 0) folders.push_back(joinedValue(argument));
    }
    bool needed = false;
    for (const std::string &object : objects) needed = needed || fileMentions(object, runtimeNames);
    for (const Argument &argument : options.arguments) {
        const std::string &word = argument.words[0];
        bool object = argument.isInput && argument.language == Language::Other && argument.explicitLanguage.empty();
        if (object)
            needed = needed || fileMentions(word, runtimeNames);
        else if (word.rfind("-l", 0) == 0)
            needed = needed || libraryMentionsRuntime(joinedValue(argument), folders);
    }
    std::vector<std::string> words;
    if (!needed) return words;
    bool tcc = host.kind == HostKind::Tcc;
    words.push_back("-L" + host.libraries);
    if (options.exportsSymbols) words.push_back(tcc ? "-Wl,-whole-archive" : "-Wl,--whole-archive");
    words.push_back("-laesop");
    if (options.exportsSymbols) words.push_back(tcc ? "-Wl,-no-whole-archive" : "-Wl,--no-whole-archive");
    if (!tcc) words.push_back("-Wl,--push-state,--as-needed");
    words.push_back("-luring");
    words.push_back("-lpthread");
    if (!tcc) words.push_back("-Wl,--pop-state");
    return words;
}

} // namespace aecc
