// Runs the host's preprocessor, so that an Aesop source sees the macros, headers and search paths that a C source would.
//
// Its output stays in memory. The rule for make that -MD asks for is made in the same run, into an unnamed file: it names the source and
// its headers because those are what the preprocessor has read, and gets the object's name from us because -E knows of none.
#include "preprocess.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <strings.h>

namespace aecc {
namespace {

std::string contractHeader(const Host &host) { return host.includes + "/aesop/abi.h"; }

std::string quoted(const std::string &file) {
    std::string result = "\"";
    for (char c : file) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

// Makes the contract a system header in the markers: the user's warning options are not meant for it.
void markContract(std::string &text, const std::string &file) {
    std::string name = " " + quoted(file);
    std::size_t at = text.find("\n# 1" + name + " 1\n");
    if (at == std::string::npos) return;
    std::string marked;
    std::size_t end = ++at;
    while (end < text.size()) {
        std::size_t next = std::min(text.find('\n', end), text.size() - 1) + 1;
        bool marker = text.compare(end, 2, "# ") == 0;
        if (marker && text.compare(text.find(' ', end + 2), name.size(), name) != 0) break;
        marked.append(text, end, next - end - 1);
        marked += marker ? " 3\n" : "\n";
        end = next;
    }
    text.replace(at, end - at, marked);
}

std::vector<std::string> dependOptions(const Options &options, const std::string &file) {
    std::vector<std::string> words = {options.dependSystem ? "-MD" : "-MMD", "-MF", file};
    if (options.dependPhony) words.push_back("-MP");
    words.insert(words.end(), options.dependTargets.begin(), options.dependTargets.end());
    bool object = options.mode == Mode::Link || options.mode == Mode::Object || options.mode == Mode::Assembly;
    if (options.dependTargets.empty() && !options.output.empty() && object) {
        words.push_back("-MQ");
        words.push_back(options.output);
    }
    return words;
}

// As make reads it.
std::string forMake(const std::string &name) {
    std::string result;
    for (char c : name) {
        if (c == ' ' || c == '#' || c == '\t') result += '\\';
        if (c == '$') result += '$';
        result += c;
    }
    return result;
}

bool hasFallThrough(const std::string &text) {
    for (const char *at = text.c_str(); (at = strcasestr(at, "fall")) != nullptr; at += 4) {
        const char *rest = at + 4;
        if (strncasecmp(rest, "s", 1) == 0) rest++;
        while (*rest == ' ' || *rest == '\t' || *rest == '-') rest++;
        if (strncasecmp(rest, "thr", 3) == 0) return true;
    }
    return false;
}

} // namespace

std::vector<std::string> languageOptions(const Host &host) {
    return {"-D__AESOP__=1", "-I", host.includes, "-include", contractHeader(host)};
}

Preprocessed preprocess(const Options &options, const Host &host, const Argument &input) {
    Preprocessed result;
    const std::string &source = input.words[0];
    if (input.language == Language::AesopOutput && source != "-") {
        if (!readFile(source, result.text)) {
            complain("error", source + ": " + std::strerror(errno));
            result.status = 1;
        }
        return result;
    }
    bool tcc = host.kind == HostKind::Tcc;
    std::vector<std::string> command = host.command;
    command.push_back("-E");
    for (const std::string &word : languageOptions(host)) command.push_back(word);
    for (const Argument &argument : options.arguments) {
        if (argument.isInput || !(argument.steps & ToPreprocess)) continue;
        command.insert(command.end(), argument.words.begin(), argument.words.end());
    }
    if (host.kind == HostKind::Clang) command.push_back("-Qunused-arguments");
    MemoryFile rule;
    if (options.makeDepend && !tcc) {
        for (const std::string &word : dependOptions(options, rule.path())) command.push_back(word);
    }
    command.push_back(input.language == Language::AesopOutput ? "-xcpp-output" : "-xc");
    command.push_back(source);
    if (options.verbose) complain("running", joined(command));
    result.status = run({command, -1, &result.text});
    if (options.makeDepend) result.dependencies = tcc ? dependenciesFromMarkers(result.text, source, options) : rule.read();
    if (!tcc) markContract(result.text, contractHeader(host));
    return result;
}

bool usesLanguage(const std::string &text) {
    static const char *const words[] = {"__aesop",   "__blocking",  "__pwait",    "__pbranch", "__pbreak",
                                        "__pshield", "__pdeadline", "__pprivate", "__pshared"};
    for (const char *word : words) {
        if (text.find(word) != std::string::npos) return true;
    }
    return false;
}

bool readMarker(const std::string &text, std::size_t begin, Marker &marker) {
    std::size_t at = begin;
    auto blanks = [&] {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) at++;
    };
    auto number = [&] {
        unsigned value = 0;
        while (at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])))
            value = value * 10 + static_cast<unsigned>(text[at++] - '0');
        return value;
    };
    if (at >= text.size() || text[at] != '#') return false;
    at++;
    blanks();
    if (text.compare(at, 5, "line ") == 0) at += 5;
    blanks();
    if (at >= text.size() || !std::isdigit(static_cast<unsigned char>(text[at]))) return false;
    marker = {};
    marker.line = number();
    blanks();
    if (at >= text.size() || text[at] != '"') return true;
    for (at++; at < text.size() && text[at] != '"' && text[at] != '\n'; at++) {
        if (text[at] != '\\' || at + 1 >= text.size()) {
            marker.file += text[at];
        } else if (text[at + 1] >= '0' && text[at + 1] <= '7') { // gcc writes bytes outside ASCII in octal
            unsigned byte = 0;
            for (int digits = 0; digits < 3 && text[at + 1] >= '0' && text[at + 1] <= '7'; digits++)
                byte = byte * 8 + static_cast<unsigned>(text[++at] - '0');
            marker.file += static_cast<char>(byte);
        } else {
            marker.file += text[++at];
        }
    }
    for (at++; at < text.size() && text[at] != '\n';) {
        blanks();
        if (at >= text.size() || !std::isdigit(static_cast<unsigned char>(text[at]))) break;
        unsigned flag = number();
        marker.enters |= flag == 1;
        marker.returns |= flag == 2;
        marker.system |= flag == 3;
    }
    return true;
}

// The files that the markers name, in order, each once. Files of the preprocessor's own, like <built-in>, are left out.
static std::vector<std::string> filesOf(const std::string &text, bool systemToo) {
    std::vector<std::string> files;
    for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size() - 1) + 1) {
        Marker marker;
        if (text[at] != '#' || !readMarker(text, at, marker) || marker.file.empty() || marker.file[0] == '<') continue;
        // tcc's markers do not tell system headers.
        if (!systemToo && (marker.system || marker.file.rfind("/usr/", 0) == 0)) continue;
        bool known = false;
        for (const std::string &file : files) known = known || file == marker.file;
        if (!known) files.push_back(marker.file);
    }
    return files;
}

std::string dependenciesFromMarkers(const std::string &text, const std::string &source, const Options &options) {
    std::string targets;
    for (std::size_t i = 0; i + 1 < options.dependTargets.size(); i += 2) {
        const std::string &name = options.dependTargets[i + 1];
        targets += (targets.empty() ? "" : " ") + (options.dependTargets[i] == "-MQ" ? forMake(name) : name);
    }
    bool named = !options.output.empty() && options.mode != Mode::Depend;
    if (targets.empty()) targets = forMake(named ? options.output : withSuffix(baseName(source), ".o"));
    std::string rule = targets + ": " + forMake(source), phony;
    for (const std::string &file : filesOf(text, options.dependSystem)) {
        if (file == source) continue;
        rule += " \\\n " + forMake(file);
        phony += "\n" + forMake(file) + ":\n";
    }
    return rule + "\n" + (options.dependPhony ? phony : "");
}

bool saysFallThrough(const std::string &text) {
    for (const std::string &file : filesOf(text, false)) {
        std::string source;
        if (readFile(file, source) && hasFallThrough(source)) return true;
    }
    return false;
}

} // namespace aecc
