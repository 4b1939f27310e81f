// aecc, the program: decides who does the work.
#include "driver.h"

#include <cstdio>
#include <exception>

namespace aecc {
namespace {

const char helpText[] = "Usage: aecc [options] file...\n"
                        "Compiles Aesop sources (*.ae) through C; a drop-in for cc. All else goes to the host compiler as it is.\n"
                        "\n"
                        "Options of aecc:\n"
                        "  --emit-c                 write the translation, readable C, to the standard output or to -o FILE\n"
                        "  --cc=COMPILER            host compiler: gcc, clang, tcc, or a command (default: $AESOP_CC, then cc)\n"
                        "  -x aesop                 the files that follow are Aesop, whatever their names\n"
                        "  -x aesop-cpp-output      ... and preprocessed already (*.aei)\n"
                        "  -Wno-aesop-NAME          switch off a warning of the language; -Wno-aesop: all of them\n"
                        "  -Werror=aesop-NAME       make it an error\n"
                        "  -Waesop-frame-size=N     warn about functions that keep more than N bytes while they wait\n"
                        "  -save-temps[=cwd|obj]    keep the preprocessed source (*.aei) and the translation (*.ae.c) too\n"
                        "  --version, --help\n"
                        "\n"
                        "Options of the host compiler, among them:\n"
                        "  -c  -S  -E  -o FILE      compile, or only to assembly, or only preprocess; name the output\n"
                        "  -I -D -U -include        as in C; -M -MM -MD -MMD -MF -MT -MQ -MP: rules for make\n"
                        "  -O2 -g -Wall -std= ...   code, debugging, warnings, standard\n"
                        "  -l -L -Wl, -shared ...   linking; the Aesop runtime is added when an input needs it\n"
                        "  @FILE                    more options and files from FILE\n"
                        "\n"
                        "Status: 0, 1 after an error, 4 after an internal error of the translator.\n"
                        "The manual: man aecc\n";

int showVersion(const Host &host) {
    std::printf("aecc (Aesop) %s\nHost compiler: ", AESOP_VERSION);
    std::vector<std::string> command = host.command;
    command.push_back(host.kind == HostKind::Tcc ? "-v" : "--version");
    return run({command});
}

// What the user has typed, without what only aecc knows.
std::vector<std::string> withoutOwn(const Options &options) {
    if (!options.hasOwn) return options.given; // response files and all
    std::vector<std::string> words;
    for (const Argument &argument : options.arguments) words.insert(words.end(), argument.words.begin(), argument.words.end());
    return words;
}

int start(int argc, char **argv) {
    Options options;
    if (!parseCommandLine(argc, argv, options)) return 1;
    if (options.help) {
        std::fputs(helpText, stdout);
        return std::fflush(stdout) == 0 ? 0 : 1;
    }
    Host host;
    if (!findHost(options, host)) return 1;
    if (options.version) return showVersion(host);
    if (options.arguments.empty() || (options.mode == Mode::EmitC && options.inputs() == 0)) {
        complain("fatal error", "no input files\ncompilation terminated.");
        return 1;
    }
    std::vector<std::string> libraries = runtimeLibraries(options, host, {});
    if (options.hasAesop() || options.mode == Mode::EmitC) return compileAndLink(options, host);
    std::vector<std::string> command = host.command;
    for (const std::string &word : withoutOwn(options)) command.push_back(word);
    for (const std::string &word : libraries) command.push_back(word);
    handOver(command);
}

} // namespace
} // namespace aecc

int main(int argc, char **argv) {
    int status = 4;
    aecc::catchSignals();
    try {
        status = aecc::start(argc, argv);
    } catch (const std::exception &failure) {
        aecc::complain("internal error", failure.what());
    }
    aecc::dieIfInterrupted();
    aecc::cleanUp();
    return status;
}
