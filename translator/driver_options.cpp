// The command line as data.
//
// aecc knows of each option only three things: whether it takes a word of its own, which step of the host compiler wants
// it, and whether it concerns aecc. An option that no table names is one word and goes to every step: so the options that a
// host compiler learns next year work today.
#include "driver.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace aecc {
namespace {

enum class Form { Exact, Prefix, Separate, JoinedOrSeparate };

struct Rule {
    const char *name;
    Form form;
    unsigned steps;
};

// The longest name that fits wins. Options of one word that go to all steps need no line.
const Rule rules[] = {
    {"-D", Form::JoinedOrSeparate, ToPreprocess},
    {"-U", Form::JoinedOrSeparate, ToPreprocess},
    {"-I", Form::JoinedOrSeparate, ToPreprocess},
    {"-A", Form::JoinedOrSeparate, ToPreprocess},
    {"-include", Form::Separate, ToPreprocess},
    {"-imacros", Form::Separate, ToPreprocess},
    {"-idirafter", Form::JoinedOrSeparate, ToPreprocess},
    {"-iprefix", Form::JoinedOrSeparate, ToPreprocess},
    {"-iwithprefix", Form::JoinedOrSeparate, ToPreprocess},
    {"-iwithprefixbefore", Form::JoinedOrSeparate, ToPreprocess},
    {"-isystem", Form::JoinedOrSeparate, ToPreprocess},
    {"-iquote", Form::JoinedOrSeparate, ToPreprocess},
    {"-isysroot", Form::JoinedOrSeparate, ToAll},
    {"-imultilib", Form::JoinedOrSeparate, ToPreprocess},
    {"-Xpreprocessor", Form::Separate, ToPreprocess},
    {"-Wp,", Form::Prefix, ToPreprocess},
    {"-H", Form::Exact, ToPreprocess},
    {"-undef", Form::Exact, ToPreprocess},
    {"-nostdinc", Form::Exact, ToPreprocess},
    {"-trigraphs", Form::Exact, ToPreprocess},
    {"-remap", Form::Exact, ToPreprocess},
    {"-C", Form::Exact, OnlyWithE},
    {"-CC", Form::Exact, OnlyWithE},
    {"-P", Form::Exact, OnlyWithE},
    {"-P1", Form::Exact, OnlyWithE},
    {"-dM", Form::Exact, OnlyWithE},
    {"-dD", Form::Exact, OnlyWithE},
    {"-dN", Form::Exact, OnlyWithE},
    {"-dI", Form::Exact, OnlyWithE},
    {"-dU", Form::Exact, OnlyWithE},
    {"-fdirectives-only", Form::Exact, OnlyWithE},
    // With -g3 the preprocessor would print the macros' definitions, and the translator's parser would expand them again.
    {"-g", Form::Prefix, ToCompile | ToLink},
    {"-Wa,", Form::Prefix, ToCompile | ToLink},
    {"-Xassembler", Form::Separate, ToCompile | ToLink},
    {"-aux-info", Form::Separate, ToCompile},
    {"-l", Form::JoinedOrSeparate, ToLink},
    {"-L", Form::JoinedOrSeparate, ToLink},
    {"-Wl,", Form::Prefix, ToLink},
    {"-Xlinker", Form::Separate, ToLink},
    {"-T", Form::JoinedOrSeparate, ToLink},
    {"-Tbss", Form::JoinedOrSeparate, ToLink},
    {"-Tdata", Form::JoinedOrSeparate, ToLink},
    {"-Ttext", Form::JoinedOrSeparate, ToLink},
    {"-u", Form::JoinedOrSeparate, ToLink},
    {"-z", Form::JoinedOrSeparate, ToLink},
    {"-e", Form::JoinedOrSeparate, ToLink},
    {"-R", Form::JoinedOrSeparate, ToLink},
    {"-soname", Form::Separate, ToLink},
    {"-s", Form::Exact, ToLink},
    {"-t", Form::Exact, ToLink},
    {"-r", Form::Exact, ToLink},
    {"-shared", Form::Exact, ToLink},
    {"-static", Form::Exact, ToLink},
    {"-static-pie", Form::Exact, ToLink},
    {"-static-libgcc", Form::Exact, ToLink},
    {"-shared-libgcc", Form::Exact, ToLink},
    {"-rdynamic", Form::Exact, ToLink},
    {"-export-dynamic", Form::Exact, ToLink},
    {"-symbolic", Form::Exact, ToLink},
    {"-nostdlib", Form::Exact, ToLink},
    {"-nodefaultlibs", Form::Exact, ToLink},
    {"-nostartfiles", Form::Exact, ToLink},
    {"-nolibc", Form::Exact, ToLink},
    {"-pie", Form::Exact, ToCompile | ToLink},
    {"-no-pie", Form::Exact, ToCompile | ToLink},
    {"-fuse-ld=", Form::Prefix, ToLink},
    {"-B", Form::JoinedOrSeparate, ToAll},
    {"-F", Form::JoinedOrSeparate, ToAll},
    {"-G", Form::JoinedOrSeparate, ToAll},
    {"--param", Form::Separate, ToAll},
    {"--sysroot", Form::Separate, ToAll},
    {"-dumpbase", Form::Separate, ToCompile | ToLink},
    {"-dumpbase-ext", Form::Separate, ToCompile | ToLink},
    {"-dumpdir", Form::Separate, ToCompile | ToLink},
    {"-wrapper", Form::Separate, ToAll},
    {"-target", Form::Separate, ToAll},
    {"-arch", Form::Separate, ToAll},
    {"-mllvm", Form::Separate, ToAll},
    {"-Xclang", Form::Separate, ToAll},
    {"-resource-dir", Form::Separate, ToAll},
    {"-working-directory", Form::Separate, ToAll},
    // Those that concern aecc itself; see apply().
    {"-o", Form::JoinedOrSeparate, OurOwn},
    {"-x", Form::JoinedOrSeparate, OurOwn},
    {"-c", Form::Exact, OurOwn},
    {"-S", Form::Exact, OurOwn},
    {"-E", Form::Exact, OurOwn},
    {"-M", Form::Exact, OurOwn},
    {"-MM", Form::Exact, OurOwn},
    {"-MD", Form::Exact, OurOwn},
    {"-MMD", Form::Exact, OurOwn},
    {"-MP", Form::Exact, OurOwn},
    {"-MG", Form::Exact, ToPreprocess},
    {"-MJ", Form::JoinedOrSeparate, ToCompile},
    {"-MF", Form::JoinedOrSeparate, OurOwn},
    {"-MT", Form::JoinedOrSeparate, OurOwn},
    {"-MQ", Form::JoinedOrSeparate, OurOwn},
    {"-fsyntax-only", Form::Exact, OurOwn},
    {"-save-temps", Form::Exact, OurOwn},
    {"--save-temps", Form::Exact, OurOwn},
    {"-save-temps=", Form::Prefix, OurOwn},
    {"--save-temps=", Form::Prefix, OurOwn},
};

bool startsWith(const std::string &text, const char *prefix) { return text.compare(0, std::strlen(prefix), prefix) == 0; }
bool endsWith(const std::string &text, const char *suffix) {
    std::size_t n = std::strlen(suffix);
    return text.size() >= n && text.compare(text.size() - n, n, suffix) == 0;
}

const Rule *findRule(const std::string &word) {
    const Rule *best = nullptr;
    for (const Rule &rule : rules) {
        bool whole = rule.form == Form::Exact || rule.form == Form::Separate;
        if (whole ? word != rule.name : !startsWith(word, rule.name)) continue;
        if (!best || std::strlen(rule.name) > std::strlen(best->name)) best = &rule;
    }
    return best;
}

// What makes a C source an Aesop one. A plain mention is enough: a source without a keyword comes out unchanged.
const std::vector<std::string> mentions = {"__aesop", "__blocking", "aesop.h", "aesop/"};

Language languageOf(const std::string &file, const std::string &explicitLanguage) {
    if (explicitLanguage == "aesop") return Language::Aesop;
    if (explicitLanguage == "aesop-cpp-output") return Language::AesopOutput;
    if (explicitLanguage.empty() && endsWith(file, ".ae")) return Language::Aesop;
    if (explicitLanguage.empty() && endsWith(file, ".aei")) return Language::AesopOutput;
    bool isC = explicitLanguage == "c" || (explicitLanguage.empty() && endsWith(file, ".c"));
    if (isC && file != "-" && fileMentions(file, mentions)) return Language::Aesop;
    return Language::Other;
}

// Splits a response file into words as gcc does: white space parts them, quotes and backslashes keep it.
std::vector<std::string> splitWords(const std::string &text) {
    std::vector<std::string> words;
    std::string word;
    bool inWord = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); i++) {
        char c = text[i];
        if (c == '\\' && i + 1 < text.size()) {
            word += text[++i];
            inWord = true;
        } else if (quote) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            inWord = true;
        } else if (std::isspace(static_cast<unsigned char>(c))) {
            if (inWord) words.push_back(word);
            word.clear();
            inWord = false;
        } else {
            word += c;
            inWord = true;
        }
    }
    if (inWord) words.push_back(word);
    return words;
}

// A file that cannot be read stays a word, as with gcc. Returns false when files name each other without end.
bool expand(const std::vector<std::string> &in, std::vector<std::string> &out, unsigned depth, bool &found) {
    for (const std::string &word : in) {
        std::string text;
        if (word.size() < 2 || word[0] != '@' || !readFile(word.substr(1), text)) {
            out.push_back(word);
            continue;
        }
        found = true;
        if (depth == 100) {
            complain("error", "too many response files within each other: '" + word + "'");
            return false;
        }
        if (!expand(splitWords(text), out, depth + 1, found)) return false;
    }
    return true;
}

// --- what an option means to aecc ---------------------------------------------------------------------------------------------

void applyOwn(Options &options, const std::string &name, const std::string &value) {
    if (name == "-o") options.output = value;
    // The earlier stop wins, as with gcc: -E before -S before -c.
    else if (name == "-E")
        options.mode = Mode::Preprocess;
    else if (name == "-M" || name == "-MM")
        options.mode = Mode::Depend;
    else if (name == "-S" && (options.mode == Mode::Link || options.mode == Mode::Object))
        options.mode = Mode::Assembly;
    else if (name == "-c" && options.mode == Mode::Link)
        options.mode = Mode::Object;
    else if (name == "-fsyntax-only" && options.mode != Mode::Preprocess)
        options.mode = Mode::SyntaxOnly;
    else if (name == "-MP")
        options.dependPhony = true;
    else if (name == "-MF")
        options.dependFile = value;
    else if (startsWith(name, "-save-temps") || startsWith(name, "--save-temps")) {
        options.saveTemps = true;
        options.saveTempsBesideOutput = endsWith(name, "=obj");
    }
    if (name == "-MT" || name == "-MQ") options.dependTargets.insert(options.dependTargets.end(), {name, value});
    if (name == "-MD" || name == "-MMD") {
        options.makeDepend = true;
        options.dependSystem = name == "-MD";
    }
    if (name == "-MM") options.dependSystem = false;
}

void erase(std::vector<std::string> &list, const std::string &word) { list.erase(std::remove(list.begin(), list.end(), word), list.end()); }

// -Waesop-NAME, -Wno-aesop-NAME, -Werror=aesop-NAME, -Wno-error=aesop-NAME, -Waesop-frame-size=N. Returns false for any other option.
bool applyOwnWarning(WarningOptions &warnings, const std::string &word) {
    const char *frame = "-Waesop-frame-size=";
    if (startsWith(word, frame)) {
        warnings.frameSize = static_cast<unsigned>(std::strtoul(word.c_str() + std::strlen(frame), nullptr, 10));
    } else if (startsWith(word, "-Werror=aesop")) {
        std::string name = word.substr(8);
        warnings.errors.push_back(name);
        erase(warnings.notErrors, name);
        erase(warnings.disabled, name);
    } else if (startsWith(word, "-Wno-error=aesop")) {
        std::string name = word.substr(11);
        warnings.notErrors.push_back(name);
        erase(warnings.errors, name);
    } else if (startsWith(word, "-Wno-aesop")) {
        warnings.disabled.push_back(word.substr(5));
    } else if (startsWith(word, "-Waesop")) {
        std::string name = word.substr(2);
        erase(warnings.disabled, name);
        if (name == "aesop") warnings.disabled.clear();
    } else {
        return false;
    }
    return true;
}

void applyDiagnosticOption(Options &options, const std::string &word) {
    WarningOptions &warnings = options.warnings;
    if (word == "-w")
        warnings.none = true;
    else if (word == "-Werror")
        warnings.allErrors = true;
    else if (word == "-Wno-error")
        warnings.allErrors = false;
    else if (word == "-Wextra" || word == "-W" || startsWith(word, "-Wimplicit-fallthrough"))
        options.fallthroughWarned = true;
    else if (word == "-Wfatal-errors")
        options.errorLimit = 1;
    else if (startsWith(word, "-fmax-errors="))
        options.errorLimit = static_cast<unsigned>(std::strtoul(word.c_str() + 13, nullptr, 10));
    else if (startsWith(word, "-ferror-limit="))
        options.errorLimit = static_cast<unsigned>(std::strtoul(word.c_str() + 14, nullptr, 10));
    else if (word == "-fdiagnostics-color" || word == "-fdiagnostics-color=always")
        options.colour = 1;
    else if (word == "-fno-diagnostics-color" || word == "-fdiagnostics-color=never")
        options.colour = 0;
    else if (word == "-fcolor-diagnostics")
        options.colour = 1; // clang's spellings
    else if (word == "-fno-color-diagnostics")
        options.colour = 0;
    else if (word == "-fdiagnostics-color=auto")
        options.colour = -1;
}

void applyCodeOption(Options &options, const std::string &word, const std::string &value) {
    if (startsWith(word, "-O"))
        options.optimize = word != "-O0";
    else if (word == "-ansi")
        options.standard = "c90";
    else if (startsWith(word, "-std="))
        options.standard = word.substr(5);
    else if (startsWith(word, "--std="))
        options.standard = word.substr(6);
    else if (startsWith(word, "--target="))
        options.target = word.substr(9);
    else if (word == "-target")
        options.target = value;
    else if (word == "-m32")
        options.target = "i386-linux-gnu";
    else if (word == "-mx32")
        options.target = "x86_64-linux-gnux32";
    else if (word == "-v")
        options.verbose = true;
    else if (word == "-###")
        options.dryRun = true;
    if (word == "-gsplit-dwarf" || word == "--coverage" || word == "-coverage" || word == "-ftest-coverage" || word == "-fprofile-arcs" ||
        word == "-fstack-usage" || startsWith(word, "-fdump-") || startsWith(word, "-fcallgraph-info") || startsWith(word, "-ftime-trace"))
        options.auxiliaryOutputs = true;
}

void applyLinkOption(Options &options, const std::string &word, const std::string &value) {
    if (word == "-nostdlib" || word == "-nodefaultlibs" || word == "-shared" || word == "-r") options.noRuntime = true;
    for (const char *name : {"-rdynamic", "-export-dynamic", "-Wl,-E", "-Wl,--export-dynamic", "-Wl,-export-dynamic"})
        options.exportsSymbols |= word == name;
    if (word == "-Xlinker" && (value == "-E" || value == "--export-dynamic")) options.exportsSymbols = true;
}

// Options that only aecc has. They never reach the host compiler.
bool applyAeccOption(Options &options, const std::string &word) {
    if (word == "--emit-c")
        options.mode = Mode::EmitC;
    else if (startsWith(word, "--cc="))
        options.compiler = word.substr(5);
    else if (word == "--help")
        options.help = true;
    else if (word == "--version")
        options.version = true;
    else
        return applyOwnWarning(options.warnings, word);
    options.hasOwn = true;
    return true;
}

} // namespace

bool Options::hasAesop() const {
    return std::any_of(arguments.begin(), arguments.end(), [](const Argument &a) { return a.isInput && a.language != Language::Other; });
}

unsigned Options::inputs() const {
    return static_cast<unsigned>(std::count_if(arguments.begin(), arguments.end(), [](const Argument &a) { return a.isInput; }));
}

bool parseCommandLine(int argc, char **argv, Options &options) {
    options.given.assign(argv + 1, argv + argc);
    std::vector<std::string> words;
    if (!expand(options.given, words, 0, options.hasResponseFile)) return false;
    std::string language; // of the inputs that follow, as -x said
    for (std::size_t i = 0; i < words.size(); i++) {
        const std::string &word = words[i];
        Argument argument;
        argument.words = {word};
        if (word.empty() || word[0] != '-' || word == "-") {
            argument.isInput = true;
            argument.explicitLanguage = language;
            argument.language = languageOf(word, language);
            options.arguments.push_back(argument);
            continue;
        }
        if (applyAeccOption(options, word)) {
            options.hasOwn = true;
            continue;
        }
        const Rule *rule = findRule(word);
        std::string name = word, value;
        if (rule) {
            argument.steps = rule->steps;
            if (rule->form == Form::JoinedOrSeparate) name = rule->name;
            if (rule->form == Form::JoinedOrSeparate && word != rule->name) {
                value = word.substr(name.size());
            } else if (rule->form == Form::JoinedOrSeparate || rule->form == Form::Separate) {
                if (i + 1 == words.size()) {
                    complain("error", "missing argument to '" + word + "'");
                    return false;
                }
                value = words[++i];
                argument.words.push_back(value);
            }
        }
        argument.isLanguage = name == "-x";
        if (argument.isLanguage) language = value == "none" ? "" : value;
        if (argument.steps == OurOwn) {
            applyOwn(options, name, value);
        } else {
            applyDiagnosticOption(options, word);
            applyCodeOption(options, word, value);
            applyLinkOption(options, word, value);
        }
        options.arguments.push_back(argument);
    }
    return true;
}

} // namespace aecc
