// Findings of the translator, shown as the host compiler shows its own: in the user's file, line and column, with the line.
#pragma once
#include "driver.h"
#include "translate.h"

#include <cstdio>

namespace aecc {

// A place in the user's source.
struct Location {
    std::string file;
    unsigned line = 0, column = 0;     // from 1; column in bytes
    unsigned length = 1;               // of the token there
    std::string sourceLine;            // as the user wrote it; empty if the file cannot be read
    std::string macro;                 // the place is inside this macro's expansion; empty for none
    std::vector<std::string> included; // "file:line" of the #includes that lead here, innermost first
};

// offset: a byte of the preprocessed text.
Location locate(const std::string &text, std::size_t offset);

// Applies the warning options, then prints what remains to `out`. Returns the number of errors.
unsigned showDiagnostics(const std::string &text, const std::vector<Diagnostic> &diagnostics, const Options &options, std::FILE *out);

// Prints messages of a host compiler, which name the user's places, and shows the line behind each.
void showMessages(const std::string &messages, std::FILE *out);

} // namespace aecc
