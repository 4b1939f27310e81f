#include "emit.h"

#include "clang/AST/ASTContext.h"

namespace aecc {

// A mark is the offset between two control characters that no C text contains.
static const char markBegin = '\x01', markEnd = '\x02', columnBegin = '\x04';
const char softLine = '\x03';

std::string mark(std::size_t offset) { return markBegin + std::to_string(offset) + markEnd; }

void Edits::replace(std::size_t begin, std::size_t end, std::string with) {
    for (auto it = edits.lower_bound(begin); it != edits.end() && it->first < end;) it = edits.erase(it);
    edits[begin] = {end, std::move(with)};
}

// Only compilers mind columns.
std::string Edits::columnMark(std::size_t offset) const {
    bool wanted = !unit.request.readable && unit.request.nativeAttributes;
    return wanted ? columnBegin + std::to_string(offset) + markEnd : "";
}

std::string Edits::moved(Range range) const { return columnMark(range.begin) + text(range); }

std::string Edits::text(std::size_t begin, std::size_t end) const {
    std::string out;
    std::size_t at = begin;
    for (auto it = edits.lower_bound(begin); it != edits.end() && it->first < end; ++it) {
        if (it->first < at) continue;
        out += unit.text.slice(at, it->first);
        out += it->second.with;
        at = it->second.end;
        if (at < end) out += columnMark(at); // what follows has another column now
    }
    if (at < end) out += unit.text.slice(at, end);
    return out;
}

namespace {
// Where the C compiler will believe it is.
struct Position {
    std::string file;
    std::size_t line = 1;
};

std::string quoted(const std::string &file) {
    std::string s;
    for (char c : file) {
        if (c == '"' || c == '\\') s += '\\';
        s += c;
    }
    return s;
}
} // namespace

std::string Edits::serialize() const {
    std::string in = text(0, unit.text.size()), out;
    out.reserve(in.size() + in.size() / 8);
    Position now;
    bool lineStart = true;
    for (std::size_t i = 0; i < in.size();) {
        char c = in[i];
        if (c == softLine) {
            out += unit.request.readable ? '\n' : ' ';
            if (unit.request.readable) now.line++, lineStart = true;
            i++;
            continue;
        }
        if (c == columnBegin) {
            std::size_t stop = in.find(markEnd, i), offset = std::stoul(in.substr(i + 1, stop - i - 1));
            i = stop + 1;
            std::size_t start = unit.text.rfind('\n', offset ? offset - 1 : 0), line = out.rfind('\n');
            std::size_t wanted = offset - (start == llvm::StringRef::npos ? 0 : start + 1);
            std::size_t column = out.size() - (line == std::string::npos ? 0 : line + 1);
            if (wanted == column || unit.text[offset] == '\n') continue;
            out += "\n# " + std::to_string(now.line) + " \"" + quoted(now.file) + "\"\n" + std::string(wanted, ' ');
            lineStart = false;
            continue;
        }
        if (c == markBegin) {
            std::size_t stop = in.find(markEnd, i);
            std::size_t offset = std::stoul(in.substr(i + 1, stop - i - 1));
            i = stop + 1;
            std::size_t line = unit.line(offset);
            std::string file = unit.file(offset);
            if (file != now.file || line < now.line || line > now.line + 6) {
                while (!out.empty() && (out.back() == ' ' || out.back() == '\t')) out.pop_back();
                if (!out.empty() && out.back() != '\n') out += '\n';
                out += "# " + std::to_string(line) + " \"" + quoted(file) + "\"\n";
                lineStart = true;
            } else {
                out.append(line - now.line, '\n');
                lineStart |= line > now.line;
            }
            if (lineStart) { // as the user indented this line
                std::size_t start = unit.text.rfind('\n', offset);
                start = start == llvm::StringRef::npos ? 0 : start + 1;
                if (out.empty() || out.back() == '\n')
                    out += unit.text.slice(
                        start, unit.text.find_first_not_of(" \t", start) < offset + 1 ? unit.text.find_first_not_of(" \t", start) : start);
            }
            now = {file, line};
            continue;
        }
        if (c == '#' && lineStart) { // a line marker of the preprocessor, or a #pragma
            std::size_t stop = in.find('\n', i);
            if (stop == std::string::npos) stop = in.size();
            std::string directive = in.substr(i, stop - i);
            std::size_t digits = directive.find_first_not_of("# \t");
            if (digits != std::string::npos && std::isdigit((unsigned char)directive[digits])) {
                std::size_t quote = directive.find('"'), last = directive.rfind('"');
                now.line = std::stoul(directive.substr(digits)) - 1; // the newline behind it counts
                if (quote != std::string::npos && last > quote) {
                    std::string name;
                    for (std::size_t k = quote + 1; k < last; k++) {
                        if (directive[k] == '\\' && k + 1 < last) k++;
                        name += directive[k];
                    }
                    now.file = name;
                }
            }
            out += directive;
            i = stop;
            continue;
        }
        if (c == '\n') {
            now.line++;
            lineStart = true;
        } else if (c != ' ' && c != '\t') {
            lineStart = false;
        }
        out += c;
        i++;
    }
    return out;
}

} // namespace aecc
