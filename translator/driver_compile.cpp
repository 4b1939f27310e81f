// From the command line to the output: translates each Aesop source, then leaves the rest to one call of the host compiler.
#include "diagnostics.h"
#include "driver.h"
#include "preprocess.h"
#include "translate.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace aecc {
namespace {

// --- the translation, in a process of its own ----------------------------------------------------------------------------------

void put(std::string &to, std::size_t number) { to.append(reinterpret_cast<const char *>(&number), sizeof number); }
void put(std::string &to, const std::string &text) {
    put(to, text.size());
    to += text;
}

class Reader {
  public:
    explicit Reader(const std::string &from) : text(from) {}
    std::size_t number() {
        std::size_t value = 0;
        if (at + sizeof value > text.size()) throw std::string("short");
        std::memcpy(&value, text.data() + at, sizeof value);
        at += sizeof value;
        return value;
    }
    std::string string() {
        std::size_t size = number();
        if (size > text.size() - at) throw std::string("short");
        at += size;
        return text.substr(at - size, size);
    }

  private:
    const std::string &text;
    std::size_t at = 0;
};

std::string translateToBytes(const void *request) {
    Result result = translate(*static_cast<const Request *>(request));
    std::string bytes;
    put(bytes, static_cast<std::size_t>(result.ok));
    put(bytes, static_cast<std::size_t>(result.changed));
    put(bytes, result.text);
    for (const Diagnostic &diagnostic : result.diagnostics) {
        put(bytes, static_cast<std::size_t>(diagnostic.severity));
        put(bytes, diagnostic.offset);
        put(bytes, diagnostic.message);
        put(bytes, diagnostic.option);
    }
    put(bytes, 3); // no more; severities are 0 to 2
    return bytes;
}

Result resultFromBytes(const std::string &bytes) {
    Reader reader(bytes);
    Result result;
    result.ok = reader.number() != 0;
    result.changed = reader.number() != 0;
    result.text = reader.string();
    for (std::size_t severity = reader.number(); severity != 3; severity = reader.number()) {
        Diagnostic diagnostic;
        diagnostic.severity = static_cast<Severity>(severity);
        diagnostic.offset = reader.number();
        diagnostic.message = reader.string();
        diagnostic.option = reader.string();
        result.diagnostics.push_back(diagnostic);
    }
    return result;
}

void reportInternalError(const std::string &source, int status) {
    std::string how = "ended with status " + std::to_string(WEXITSTATUS(status));
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal) how = "was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
    complain("internal error", "the translator " + how + " while it worked on '" + source + "'");
    std::fprintf(stderr, "This is a defect of aecc, whatever the source says. Please report it, and attach\n"
                         "  - the output of `aecc --version`\n"
                         "  - the preprocessed source: the same command with -E -o preprocessed.aei in place of -c and -o\n"
                         "  - the whole command line\n");
}

const int internalError = 4;

// Returns 0, 1 after errors of the user's, or internalError. `text` becomes plain C.
int translateText(const Options &options, const Host &host, const std::string &source, std::string &text) {
    if (!usesLanguage(text)) return 0;
    Request request;
    request.name = source;
    request.text = std::move(text);
    request.target = host.triple(options);
    request.standard = options.standard;
    request.optimize = options.optimize;
    request.readable = options.mode == Mode::EmitC;
    request.nativeAttributes = host.kind != HostKind::Tcc;
    request.hostIsGcc = host.kind == HostKind::Gcc;
    request.disabledWarnings = options.warnings.disabled;
    request.frameWarning = options.warnings.frameSize;
    std::string bytes;
    int status = runGuarded(translateToBytes, &request, bytes);
    Result result;
    try {
        if (status == 0) result = resultFromBytes(bytes);
    } catch (const std::string &) {
        status = 1 << 8;
    }
    if (status == 0 && !result.ok && std::none_of(result.diagnostics.begin(), result.diagnostics.end(), [](const Diagnostic &d) {
            return d.severity == Severity::Error;
        }))
        status = 1 << 8; // it failed and did not say why
    if (status != 0) {
        reportInternalError(source, status);
        return internalError;
    }
    unsigned errors = showDiagnostics(request.text, result.diagnostics, options, stderr);
    text = result.changed ? std::move(result.text) : std::move(request.text);
    return errors || !result.ok ? 1 : 0;
}

// --- one Aesop source -----------------------------------------------------------------------------------------------------------

// Names for the files that some options make beside the object: as cc gives them, from the source and not from our temporary object.
void addAuxiliaryNames(const Options &options, const Host &host, const std::string &source, std::vector<std::string> &command) {
    bool wanted = options.auxiliaryOutputs || options.saveTemps;
    if (!wanted || host.kind == HostKind::Tcc) return;
    std::string prefix;
    if (options.mode == Mode::Link) prefix = options.output.empty() ? "a-" : options.output + "-";
    bool beside = !options.saveTemps || options.saveTempsBesideOutput;
    if (options.mode == Mode::Object && !options.output.empty()) prefix = options.output.substr(0, options.output.rfind('/') + 1);
    if (!beside) prefix = baseName(prefix);
    if (host.kind == HostKind::Clang) {
        if (options.mode == Mode::Link) command.insert(command.end(), {"-dumpdir", prefix});
        return;
    }
    std::string name = baseName(source);
    std::size_t dot = name.rfind('.');
    if (options.mode == Mode::Object && !options.output.empty()) {
        name = withSuffix(baseName(options.output), dot == std::string::npos ? "" : name.substr(dot));
        dot = name.rfind('.');
    }
    command.insert(command.end(), {"-dumpbase", name});
    if (dot != std::string::npos && dot > 0) command.insert(command.end(), {"-dumpbase-ext", name.substr(dot)});
    if (!prefix.empty()) command.insert(command.end(), {"-dumpdir", prefix});
}

std::string savedName(const Options &options, const std::string &source, const char *suffix) {
    std::string folder;
    if (options.saveTempsBesideOutput) folder = options.output.substr(0, options.output.rfind('/') + 1);
    return folder + withSuffix(baseName(source), suffix);
}

// The host compiler reads the C from an unnamed file, so that no name but the markers' gets into its messages or the debug information.
int compileText(const Options &options, const Host &host, const std::string &source, const std::string &text, const std::string &output,
                bool quietFallThrough) {
    std::vector<std::string> command = host.command;
    for (const Argument &argument : options.arguments) {
        if (argument.isInput || !(argument.steps & ToCompile)) continue;
        command.insert(command.end(), argument.words.begin(), argument.words.end());
    }
    if (quietFallThrough && host.kind == HostKind::Gcc) command.push_back("-Wno-implicit-fallthrough");
    // What is wrong with the options themselves, the preprocessor's run has said.
    if (host.kind == HostKind::Clang) {
        // It would expand `linux` and the like once more; gcc does not look for macros in preprocessed text.
        command.insert(command.end(), {"-undef", "-Qunused-arguments", "-Wno-unknown-warning-option", "-Wno-gnu-line-marker"});
        // It would show lines of the text that it compiles; showMessages() shows the user's.
        command.push_back("-fno-caret-diagnostics");
        // gcc takes the compilation unit's name from the first marker, clang has to be told.
        if (source != "-") command.insert(command.end(), {"-Xclang", "-main-file-name", "-Xclang", source});
    }
    // tcc does, and cannot do without its own; these two are no reserved names.
    if (host.kind == HostKind::Tcc) command.insert(command.end(), {"-Ulinux", "-Uunix"});
    addAuxiliaryNames(options, host, source, command);
    command.push_back(host.kind == HostKind::Tcc ? "-xc" : "-xcpp-output");
    if (options.mode == Mode::SyntaxOnly)
        command.push_back("-fsyntax-only");
    else
        command.insert(command.end(), {options.mode == Mode::Assembly ? "-S" : "-c", "-o", output});
    if (options.saveTemps && host.kind != HostKind::Tcc)
        command.push_back(options.saveTempsBesideOutput ? "-save-temps=obj" : "-save-temps");
    std::string named;
    if (options.saveTemps) named = savedName(options, source, ".ae.c");
    // clang names what it makes beside a temporary object after its input.
    else if (options.auxiliaryOutputs && host.kind == HostKind::Clang && options.mode == Mode::Link)
        named = temporaryFolder() + "/" + withSuffix(baseName(source), ".i");
    if (!named.empty() && !writeFile(named, text)) return 1;
    command.push_back(named.empty() ? "-" : named);
    if (options.verbose) complain("running", joined(command));
    MemoryFile file(named.empty() ? text : std::string());
    int input = named.empty() ? file.descriptor() : -1;
    if (host.kind != HostKind::Clang) return run({command, input});
    MemoryFile messages;
    int status = run({command, input, nullptr, false, messages.descriptor()});
    showMessages(messages.read(), stderr);
    return status;
}

std::string dependName(const Options &options, const std::string &source) {
    if (!options.dependFile.empty()) return options.dependFile;
    return withSuffix(options.output.empty() ? baseName(source) : options.output, ".d");
}

int compileOne(const Options &options, const Host &host, const Argument &input, const std::string &output) {
    const std::string &source = input.words[0];
    Preprocessed preprocessed = preprocess(options, host, input);
    if (preprocessed.status != 0) return preprocessed.status;
    std::string &text = preprocessed.text;
    if (options.saveTemps && !writeFile(savedName(options, source, ".aei"), text)) return 1;
    bool quietFallThrough = options.fallthroughWarned && host.kind == HostKind::Gcc && saysFallThrough(text);
    if (int status = translateText(options, host, source, text)) return status;
    int status = 0;
    if (options.mode == Mode::EmitC)
        status = writeFile(output, text) ? 0 : 1;
    else
        status = compileText(options, host, source, text, output, quietFallThrough);
    if (status == 0 && options.makeDepend && !writeFile(dependName(options, source), preprocessed.dependencies)) status = 1;
    return status;
}

// --- the host compiler's last call ------------------------------------------------------------------------------------------------

// Whether the host compiler has to compile this input, rather than to link it.
bool isSource(const Argument &argument) {
    if (!argument.isInput || argument.language != Language::Other) return false;
    if (!argument.explicitLanguage.empty() || argument.words[0] == "-") return true;
    std::string name = baseName(argument.words[0]);
    std::size_t dot = name.rfind('.');
    std::string suffix = dot == std::string::npos ? "" : name.substr(dot);
    bool object = suffix == ".o" || suffix == ".lo" || suffix == ".a" || suffix == ".so" || name.find(".so.") != std::string::npos;
    return !suffix.empty() && !object;
}

// Above what any kernel takes as arguments the words go through a response file, as they have come.
std::vector<std::string> shortened(const std::vector<std::string> &command, std::size_t fixed) {
    std::size_t size = 0;
    for (const std::string &word : command) size += word.size() + 1;
    if (size < 500000) return command;
    std::string text;
    for (std::size_t i = fixed; i < command.size(); i++) {
        if (command[i].empty()) text += "\"\"";
        for (char c : command[i]) {
            if (c == '\\' || c == '"' || c == '\'' || std::isspace(static_cast<unsigned char>(c))) text += '\\';
            text += c;
        }
        text += '\n';
    }
    static MemoryFile file(text);         // lives as long as the program
    fcntl(file.descriptor(), F_SETFD, 0); // and in the program that takes its place
    std::vector<std::string> words(command.begin(), command.begin() + static_cast<long>(fixed));
    words.push_back("@" + file.path());
    return words;
}

// The user's words with the Aesop sources replaced. replacement: an object for each; empty: the source itself, as C.
std::vector<std::string> hostWords(const Options &options, const std::vector<std::string> &objects, bool dropAesop) {
    std::vector<std::string> words;
    bool compiles = std::any_of(options.arguments.begin(), options.arguments.end(), isSource) || (objects.empty() && !dropAesop);
    std::size_t next = 0;
    std::string language = "none";
    for (const Argument &argument : options.arguments) {
        bool aesop = argument.isInput && argument.language != Language::Other;
        if (argument.isLanguage) continue; // each input says its own
        if (argument.isInput) {
            std::string wanted = argument.explicitLanguage.empty() ? "none" : argument.explicitLanguage;
            if (aesop && dropAesop) continue;
            if (aesop) wanted = objects.empty() ? "c" : "none";
            if (wanted != language) words.insert(words.end(), {"-x", wanted});
            language = wanted;
            words.push_back(aesop && !objects.empty() ? objects[next++] : argument.words[0]);
            continue;
        }
        bool forSources = argument.steps == ToPreprocess || argument.steps == OnlyWithE || argument.words[0].rfind("-M", 0) == 0;
        if (forSources && !compiles) continue;
        words.insert(words.end(), argument.words.begin(), argument.words.end());
    }
    return words;
}

[[noreturn]] void handOverAsC(const Options &options, const Host &host) {
    std::vector<std::string> command = host.command;
    for (const std::string &word : languageOptions(host)) command.push_back(word);
    std::size_t fixed = host.command.size();
    for (const std::string &word : hostWords(options, {}, false)) command.push_back(word);
    handOver(shortened(command, fixed));
}

// tcc writes no make rules for a source that it only preprocesses.
int dependByMarkers(const Options &options, const Host &host) {
    std::string rules;
    for (const Argument &argument : options.arguments) {
        if (!argument.isInput) continue;
        Preprocessed preprocessed = preprocess(options, host, argument);
        if (preprocessed.status != 0) return preprocessed.status;
        rules += dependenciesFromMarkers(preprocessed.text, argument.words[0], options);
    }
    std::string file = !options.dependFile.empty() ? options.dependFile : !options.output.empty() ? options.output : "-";
    return writeFile(file, rules) ? 0 : 1;
}

int link(const Options &options, const Host &host, const std::vector<std::string> &objects) {
    std::vector<std::string> libraries = runtimeLibraries(options, host, objects);
    std::vector<std::string> command = host.command;
    if (host.kind == HostKind::Clang) command.push_back("-Qunused-arguments");
    std::size_t fixed = host.command.size();
    for (const std::string &word : hostWords(options, objects, false)) command.push_back(word);
    for (const std::string &word : libraries) command.push_back(word);
    if (options.verbose) complain("running", joined(command));
    return run({shortened(command, fixed)});
}

std::string defaultOutput(const Options &options, const std::string &source, std::size_t number) {
    std::string base = source == "-" ? "-" : baseName(source);
    switch (options.mode) {
    case Mode::Link: return temporaryFolder() + "/" + std::to_string(number) + "-" + withSuffix(base, ".o");
    case Mode::EmitC: return options.output.empty() ? "-" : options.output;
    case Mode::Assembly: return options.output.empty() ? withSuffix(base, ".s") : options.output;
    default: return options.output.empty() ? withSuffix(base, ".o") : options.output;
    }
}

} // namespace

int compileAndLink(const Options &options, const Host &host) {
    if (options.mode == Mode::Depend && host.kind == HostKind::Tcc) return dependByMarkers(options, host);
    if (options.mode == Mode::Preprocess || options.mode == Mode::Depend || options.dryRun) handOverAsC(options, host);
    if (!options.output.empty() && options.mode != Mode::Link && options.inputs() > 1) {
        complain("fatal error", "cannot specify '-o' with '-c', '-S', '-E' or '--emit-c' with multiple files\ncompilation terminated.");
        return 1;
    }
    // For our objects, and for what the host compiler's programs forget when a signal ends them.
    if (temporaryFolder().empty()) return 1;
    setenv("TMPDIR", temporaryFolder().c_str(), 1);
    int worst = 0;
    std::vector<std::string> objects;
    for (const Argument &argument : options.arguments) {
        if (!argument.isInput || (argument.language == Language::Other && options.mode != Mode::EmitC)) continue;
        std::string output = defaultOutput(options, argument.words[0], objects.size());
        worst = std::max(worst, compileOne(options, host, argument, output));
        objects.push_back(output);
    }
    if (options.mode == Mode::EmitC) return worst;
    if (options.mode == Mode::Link) return worst ? worst : link(options, host, objects);
    if (std::any_of(options.arguments.begin(), options.arguments.end(), isSource)) {
        std::vector<std::string> command = host.command;
        for (const std::string &word : hostWords(options, {}, true)) command.push_back(word);
        worst = std::max(worst, run({command}));
    }
    return worst;
}

} // namespace aecc
