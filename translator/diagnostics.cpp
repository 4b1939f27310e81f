// Turns a byte of the preprocessed text into a place in the user's source, and shows it as gcc does.
//
// Line markers give file and line, but not the column: the preprocessor collapses white space, drops comments, joins lines and
// expands macros. So both forms of the line are cut into tokens and aligned (longest common subsequence). The token in
// question either has its partner in the source, or lies in a gap: then it comes out of a macro, and the macro's name is
// the identifier that the gap has on the source's side.
#include "diagnostics.h"
#include "preprocess.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace aecc {
namespace {

// --- tokens -----------------------------------------------------------------------------------------------------------------

struct Token {
    std::string text;
    std::size_t begin = 0;
    bool identifier() const { return std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '_' || (text[0] & 0x80); }
};

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80); }

std::size_t endOfString(const std::string &text, std::size_t at) {
    char quote = text[at++];
    while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
}

// A word that goes on behind a backslash at the line's end.
bool splicedWord(const std::string &text, std::size_t at) {
    return text.compare(at, 2, "\\\n") == 0 && at + 2 < text.size() && isWord(text[at + 2]);
}

std::size_t endOfToken(const std::string &text, std::size_t at) {
    static const char *const longer[] = {"<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=",
                                         "&&",  "||",  "*=",  "/=", "%=", "+=", "-=", "&=", "^=", "|=", "##"};
    char c = text[at];
    if (c == '"' || c == '\'') return endOfString(text, at);
    bool number = std::isdigit(static_cast<unsigned char>(c)) ||
                  (c == '.' && at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1])));
    if (number || isWord(c)) {
        for (at++; at < text.size(); at++) {
            if (splicedWord(text, at)) at += 2;
            bool exponentSign = number && (text[at] == '+' || text[at] == '-') && std::strchr("eEpP", text[at - 1]);
            if (!isWord(text[at]) && !(number && text[at] == '.') && !exponentSign) break;
        }
        return at;
    }
    for (const char *word : longer) {
        if (text.compare(at, std::strlen(word), word) == 0) return at + std::strlen(word);
    }
    return at + 1;
}

// Without comments and directives.
std::vector<Token> tokenize(const std::string &text) {
    std::vector<Token> tokens;
    bool lineStart = true;
    for (std::size_t at = 0; at < text.size();) {
        char c = text[at];
        if (text.compare(at, 2, "/*") == 0) {
            at = std::min(text.find("*/", at + 2), text.size() - 2) + 2;
        } else if (text.compare(at, 2, "//") == 0 || (c == '#' && lineStart)) {
            while (at < text.size() && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
        } else if (std::isspace(static_cast<unsigned char>(c)) || (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n')) {
            lineStart = lineStart || c == '\n';
            at++;
        } else {
            std::size_t end = endOfToken(text, at);
            std::string token = text.substr(at, end - at);
            for (std::size_t splice = 0; (splice = token.find("\\\n", splice)) != std::string::npos;) token.erase(splice, 2);
            tokens.push_back({token, at});
            at = end;
            lineStart = false;
        }
    }
    return tokens;
}

// The spellings that <aesop.h> gives the reserved words are no macros to the user.
std::string plainSpelling(const std::string &token) {
    if (token == "ae_cancel_branches") return "aesop_cancel_branches";
    for (const char *word : {"aesop", "pwait", "pbranch", "pbreak", "pshield", "pdeadline", "pprivate", "pshared"}) {
        if (token == std::string("__") + word) return word;
    }
    return token;
}

bool same(const Token &a, const Token &b) { return plainSpelling(a.text) == plainSpelling(b.text); }

// --- alignment ----------------------------------------------------------------------------------------------------------------

const std::size_t none = static_cast<std::size_t>(-1);

// partner[i]: the index in `source` that belongs to expanded[i], or none. Words count more than punctuation, and pairs that follow
// each other more than scattered ones, so that an expansion that happens to hold the same token does not attract it.
std::vector<std::size_t> align(const std::vector<Token> &expanded, const std::vector<Token> &source) {
    std::vector<std::size_t> partner(expanded.size(), none);
    std::size_t rows = expanded.size(), columns = source.size();
    // Equal beginnings and ends need no table.
    std::size_t head = 0;
    while (head < rows && head < columns && same(expanded[head], source[head])) {
        partner[head] = head;
        head++;
    }
    while (rows > head && columns > head && same(expanded[rows - 1], source[columns - 1])) partner[--rows] = --columns;
    rows -= head;
    columns -= head;
    if (rows * columns > 4000000) return partner; // generated code; the gap's macro is as good as one gets
    std::size_t width = columns + 1;
    std::vector<unsigned> best((rows + 1) * width), paired((rows + 1) * width);
    for (std::size_t i = rows; i-- > 0;) {
        for (std::size_t j = columns; j-- > 0;) {
            std::size_t here = i * width + j, after = here + width + 1;
            if (!same(expanded[head + i], source[head + j])) continue;
            unsigned weight = std::ispunct(static_cast<unsigned char>(source[head + j].text[0])) && !source[head + j].identifier() ? 2 : 6;
            paired[here] = weight + std::max(best[after], paired[after] ? paired[after] + 1 : 0);
        }
        for (std::size_t j = columns; j-- > 0;) {
            std::size_t here = i * width + j;
            best[here] = std::max({best[here + width], best[here + 1], paired[here]});
        }
    }
    bool run = false; // the pair before was taken: a pair that follows it is worth one more
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
        std::size_t here = i * width + j;
        unsigned pair = paired[here] ? paired[here] + (run ? 1 : 0) : 0;
        if (pair && pair >= best[here]) {
            partner[head + i++] = head + j++;
            run = true;
        } else {
            run = false;
            if (best[here + width] >= best[here + 1])
                i++;
            else
                j++;
        }
    }
    return partner;
}

// --- the line ------------------------------------------------------------------------------------------------------------------

// What the markers say about the text's lines, and the tokens that begin with those of the offset's line. A macro call that is spread
// over lines expands on its first; what follows it stands on its last. Hence tokens of some more lines: they anchor the alignment.
struct Place {
    std::string file;
    unsigned line = 0;
    unsigned endLine = 0;      // the tokens come from the lines before this one; 0: unknown
    std::vector<Token> tokens; // of this line and the next ones; begin: byte in the whole text
    std::vector<std::string> included;
};

void enter(const Marker &marker, Place &now, std::vector<std::pair<std::string, unsigned>> &stack) {
    if (marker.enters)
        stack.push_back({now.file, now.line});
    else if (marker.returns && !stack.empty())
        stack.pop_back();
    if (!marker.file.empty()) now.file = marker.file;
    now.line = marker.line;
}

Place findPlace(const std::string &text, std::size_t offset) {
    Place now, found;
    std::vector<std::pair<std::string, unsigned>> stack; // where each #include stands
    bool passed = false;                                 // the offset's line has been read
    const unsigned anchorLines = 3;
    unsigned more = 0; // lines with tokens read since
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = std::min(text.find('\n', begin), text.size());
        Marker marker;
        if (text[begin] == '#' && readMarker(text, begin, marker)) {
            enter(marker, now, stack);
        } else {
            std::vector<Token> tokens = tokenize(text.substr(begin, end - begin));
            for (Token &token : tokens) token.begin += begin;
            bool here = found.file == now.file && found.line == now.line;
            if (passed && !here && !tokens.empty()) {
                bool further = found.file == now.file && now.line > found.line;
                if (further && more == anchorLines) found.endLine = now.line;
                if (!further || more++ == anchorLines) break;
            }
            if (!here && !passed) {
                found.tokens.clear();
                found.file = now.file;
                found.line = now.line;
            }
            found.tokens.insert(found.tokens.end(), tokens.begin(), tokens.end());
            if (!passed && offset <= end) {
                passed = true;
                for (auto from = stack.rbegin(); from != stack.rend(); ++from) {
                    if (from->first.empty() || from->first[0] == '<') continue;
                    found.included.push_back(from->first + ":" + std::to_string(from->second));
                }
            }
            now.line++;
        }
        begin = end + 1;
    }
    return found;
}

// The lines [first, end) of a file; end 0: to a dozen lines further.
std::string sourceLines(const std::string &file, unsigned first, unsigned end) {
    std::string text;
    if (file.empty() || first == 0 || !readFile(file, text)) return "";
    std::size_t at = 0;
    for (unsigned line = 1; line < first && at != std::string::npos; line++) {
        at = text.find('\n', at);
        if (at != std::string::npos) at++;
    }
    if (at == std::string::npos || at >= text.size()) return "";
    if (end <= first || end > first + 200) end = first + 12;
    std::size_t stop = at;
    for (unsigned line = first; line < end && stop < text.size(); line++) stop = std::min(text.find('\n', stop), text.size() - 1) + 1;
    return text.substr(at, stop - at);
}

void pointAt(Location &location, const std::string &source, const Token &token) {
    std::size_t lineBegin = 0;
    for (std::size_t at = 0; at < token.begin; at++) {
        if (source[at] != '\n') continue;
        lineBegin = at + 1;
        location.line++;
    }
    location.column = static_cast<unsigned>(token.begin - lineBegin + 1);
    location.length = static_cast<unsigned>(token.text.size());
    std::size_t end = std::min(source.find('\n', lineBegin), source.size());
    location.sourceLine = source.substr(lineBegin, end - lineBegin);
    if (!location.sourceLine.empty() && location.sourceLine.back() == '\r') location.sourceLine.pop_back();
}

// The name in the source between the partners around expanded[index].
const Token *macroAround(const std::vector<Token> &source, const std::vector<std::size_t> &partner, std::size_t index) {
    std::size_t before = index, after = index;
    while (before > 0 && partner[before - 1] == none) before--;
    while (after + 1 < partner.size() && partner[after + 1] == none) after++;
    std::size_t first = before > 0 ? partner[before - 1] + 1 : 0;
    std::size_t last = after + 1 < partner.size() ? partner[after + 1] : source.size();
    for (std::size_t i = first; i < last && i < source.size(); i++) {
        if (source[i].identifier()) return &source[i];
    }
    // An argument's token can be inside of the expansion: the macro's name is then further left, the nearest without a partner.
    for (std::size_t i = std::min(first, source.size()); i-- > 0;) {
        if (source[i].identifier() && std::find(partner.begin(), partner.end(), i) == partner.end()) return &source[i];
    }
    return nullptr;
}

} // namespace

Location locate(const std::string &text, std::size_t offset) {
    Place place = findPlace(text, std::min(offset, text.size()));
    Location location;
    location.file = place.file;
    location.line = place.line;
    location.included = place.included;
    // The token at the offset, or the last one before the end.
    std::size_t index = 0;
    while (index + 1 < place.tokens.size() && place.tokens[index].begin + place.tokens[index].text.size() <= offset) index++;
    std::string lines = sourceLines(place.file, place.line, place.endLine);
    std::vector<Token> source = tokenize(lines);
    if (place.tokens.empty() || source.empty()) {
        location.column = 1;
        pointAt(location, lines, {"", 0});
        return location;
    }
    std::vector<std::size_t> partner = align(place.tokens, source);
    if (partner[index] != none) {
        pointAt(location, lines, source[partner[index]]);
        return location;
    }
    if (const Token *macro = macroAround(source, partner, index)) {
        pointAt(location, lines, *macro);
        location.macro = macro->text;
    } else {
        pointAt(location, lines, source[0]);
    }
    return location;
}

// --- showing --------------------------------------------------------------------------------------------------------------------

namespace {

struct Style {
    bool colour = false;
    std::string paint(const char *code, const std::string &text) const {
        return colour ? std::string("\33[") + code + "m\33[K" + text + "\33[m\33[K" : text;
    }
};

const char *const boldCode = "01", *const caretCode = "01;32";

const char *severityCode(Severity severity) {
    return severity == Severity::Error ? "01;31" : severity == Severity::Warning ? "01;35" : "01;36";
}

std::string severityName(Severity severity) {
    return severity == Severity::Error ? "error: " : severity == Severity::Warning ? "warning: " : "note: ";
}

void showLine(const Location &location, const Style &style, const char *code, std::FILE *out) {
    if (location.sourceLine.empty()) return;
    std::string indent;
    for (unsigned i = 0; i + 1 < location.column && i < location.sourceLine.size(); i++) {
        char c = location.sourceLine[i];
        if ((c & 0xC0) == 0x80) continue; // the later bytes of one character
        indent += c == '\t' ? '\t' : ' ';
    }
    std::string mark = "^" + std::string(location.length > 1 ? location.length - 1 : 0, '~');
    std::size_t rest = location.sourceLine.size() >= location.column ? location.sourceLine.size() - location.column + 1 : 1;
    if (mark.size() > rest) mark.resize(std::max<std::size_t>(rest, 1));
    std::size_t at = std::min<std::size_t>(location.column - 1, location.sourceLine.size());
    std::string painted = location.sourceLine.substr(0, at) + style.paint(code, location.sourceLine.substr(at, mark.size()));
    if (at + mark.size() < location.sourceLine.size()) painted += location.sourceLine.substr(at + mark.size());
    std::fprintf(out, "%5u | %s\n", location.line, (style.colour ? painted : location.sourceLine).c_str());
    std::fprintf(out, "      | %s%s\n", indent.c_str(), style.paint(code, mark).c_str());
}

void showIncludes(const Location &location, std::vector<std::string> &shown, const Style &style, std::FILE *out) {
    if (location.included == shown) return;
    shown = location.included;
    for (std::size_t i = 0; i < shown.size(); i++) {
        const char *lead = i ? ",\n                 from " : "In file included from ";
        std::fprintf(out, "%s%s", lead, style.paint(boldCode, shown[i]).c_str());
    }
    if (!shown.empty()) std::fprintf(out, ":\n");
}

std::string place(const Location &location) {
    return location.file + ":" + std::to_string(location.line) + ":" + std::to_string(location.column) + ":";
}

void showOne(const Diagnostic &diagnostic, const Location &location, const Style &style, const std::string &option, std::FILE *out) {
    const char *code = severityCode(diagnostic.severity);
    std::string tail = option.empty() ? "" : " [" + style.paint(code, "-W" + option) + "]";
    std::string kind = style.paint(code, severityName(diagnostic.severity));
    std::fprintf(out, "%s %s%s%s\n", style.paint(boldCode, place(location)).c_str(), kind.c_str(), diagnostic.message.c_str(),
                 tail.c_str());
    showLine(location, style, code, out);
    if (location.macro.empty()) return;
    std::fprintf(out, "%s %sin expansion of macro '%s'\n", style.paint(boldCode, place(location)).c_str(),
                 style.paint(severityCode(Severity::Note), severityName(Severity::Note)).c_str(), location.macro.c_str());
}

bool has(const std::vector<std::string> &list, const std::string &word) { return std::find(list.begin(), list.end(), word) != list.end(); }

// The name as it stands after -W, whether the pass has written its prefix or not.
std::string optionName(const Diagnostic &diagnostic) {
    if (diagnostic.option.empty() || diagnostic.option.rfind("aesop", 0) == 0) return diagnostic.option;
    return "aesop-" + diagnostic.option;
}

bool isOff(const WarningOptions &warnings, const std::string &option) {
    return warnings.none || has(warnings.disabled, option) || has(warnings.disabled, "aesop");
}

bool isError(const WarningOptions &warnings, const std::string &option) {
    if (has(warnings.errors, option)) return true;
    return (warnings.allErrors || has(warnings.errors, "aesop")) && !has(warnings.notErrors, option) && !has(warnings.notErrors, "aesop");
}

bool wantsColour(const Options &options) {
    if (options.colour >= 0) return options.colour == 1;
    const char *terminal = std::getenv("TERM");
    const char *no = std::getenv("NO_COLOR");
    return isatty(2) && terminal && std::strcmp(terminal, "dumb") != 0 && !(no && *no);
}

} // namespace

unsigned showDiagnostics(const std::string &text, const std::vector<Diagnostic> &diagnostics, const Options &options, std::FILE *out) {
    Style style{wantsColour(options)};
    std::vector<std::string> included;
    unsigned errors = 0;
    bool shown = true; // the finding that the notes after it belong to
    for (Diagnostic diagnostic : diagnostics) {
        std::string option = optionName(diagnostic);
        if (diagnostic.severity == Severity::Warning) {
            shown = !isOff(options.warnings, option);
            if (shown && isError(options.warnings, option)) {
                diagnostic.severity = Severity::Error;
                option = option.empty() ? "error" : "error=" + option;
            }
        } else if (diagnostic.severity == Severity::Error) {
            shown = true;
        }
        if (!shown) continue;
        if (diagnostic.severity == Severity::Error) {
            if (options.errorLimit && errors == options.errorLimit) {
                std::fprintf(out, "compilation terminated due to -fmax-errors=%u.\n", options.errorLimit);
                break;
            }
            errors++;
        }
        Location location = locate(text, diagnostic.offset);
        showIncludes(location, included, style, out);
        showOne(diagnostic, location, style, option, out);
    }
    std::fflush(out);
    return errors;
}

void showMessages(const std::string &messages, std::FILE *out) {
    for (std::size_t at = 0; at < messages.size();) {
        std::size_t end = std::min(messages.find('\n', at), messages.size());
        std::string line = messages.substr(at, end - at);
        at = end + 1;
        std::fprintf(out, "%s\n", line.c_str());
        std::size_t kind = std::min({line.find(": warning: "), line.find(": error: "), line.find(": note: ")});
        if (kind == std::string::npos) continue;
        std::size_t column = line.rfind(':', kind - 1), number = column == 0 ? column : line.rfind(':', column - 1);
        if (column == std::string::npos || number == std::string::npos) continue;
        Location location;
        location.file = line.substr(0, number);
        location.line = static_cast<unsigned>(std::strtoul(line.c_str() + number + 1, nullptr, 10));
        location.column = static_cast<unsigned>(std::strtoul(line.c_str() + column + 1, nullptr, 10));
        if (location.line == 0 || location.column == 0) continue;
        location.sourceLine = sourceLines(location.file, location.line, location.line + 1);
        while (!location.sourceLine.empty() && location.sourceLine.back() == '\n') location.sourceLine.pop_back();
        if (location.column <= location.sourceLine.size()) showLine(location, Style(), "", out);
    }
}

} // namespace aecc
