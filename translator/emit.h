// Emission: the text with point edits, and line markers that keep every line the user's.
//
// Text that the passes build carries position marks: `mark(offset)` says "what follows comes from this place in the source". Newlines in
// copied text advance the line as the C compiler counts it; the serializer compares the two and writes a marker, "# LINE "FILE"", only where they differ.
#pragma once
#include "unit.h"
#include <map>

namespace aecc {

std::string mark(std::size_t offset);
// Between pieces of generated code: a new line for people who read it, a space for compilers, whose lines are the user's.
extern const char softLine;

class Edits {
  public:
    explicit Edits(const Unit &unit) : unit(unit) {}

    // Replaces [begin, end), which is not empty; edits inside it are dropped.
    void replace(std::size_t begin, std::size_t end, std::string with);
    void replace(Range range, std::string with) { replace(range.begin, range.end, std::move(with)); }
    // The text of [begin, end) with the edits in it.
    std::string text(std::size_t begin, std::size_t end) const;
    std::string text(Range range) const { return text(range.begin, range.end); }
    bool empty() const { return edits.empty(); }
    // The same for a piece that is going to stand elsewhere: it carries its column along.
    std::string moved(Range range) const;
    // The whole unit, marks turned into line directives.
    std::string serialize() const;

  private:
    struct Edit {
        std::size_t end;
        std::string with;
    };
    std::string columnMark(std::size_t offset) const;
    const Unit &unit;
    std::map<std::size_t, Edit> edits;
};

} // namespace aecc
