// First step of an Aesop source: the host's preprocessor.
#pragma once
#include "driver.h"

namespace aecc {

struct Preprocessed {
    int status = 0; // the host compiler's exit status; it has reported what was wrong
    std::string text;
    std::string dependencies; // the rule for make, when the options ask for one
};

Preprocessed preprocess(const Options &options, const Host &host, const Argument &input);

// The options that make any C source see the language: where our headers are, the runtime's contract, __AESOP__.
std::vector<std::string> languageOptions(const Host &host);

// False: the text has no reserved word of the language, so the translator has nothing to do.
bool usesLanguage(const std::string &text);

// The make rule from the text's line markers, for a preprocessor that cannot write one (tcc). Target: the object.
std::string dependenciesFromMarkers(const std::string &text, const std::string &source, const Options &options);

// Whether the source or one of its own headers has a comment such as "fall through".
bool saysFallThrough(const std::string &text);

// One line marker, `# 12 "file" 1 3` or `#line 12 "file"`.
struct Marker {
    unsigned line = 0;
    std::string file; // empty: as before
    bool enters = false, returns = false, system = false;
};
// Reads the line of the text that begins at `begin`. Returns false if it is no marker.
bool readMarker(const std::string &text, std::size_t begin, Marker &marker);

} // namespace aecc
