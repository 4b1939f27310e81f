// The translator's one entry: preprocessed Aesop text in, plain C11 text or diagnostics out.
//
// The driver (driver.cpp) owns everything outside: command line, host preprocessor, temporary files, host compiler.
// Behind this door the passes run in order: parse -> check -> (per function) liveness -> lower -> emit.
#pragma once
#include <string>
#include <vector>

namespace aecc {

enum class Severity { Error, Warning, Note };

// A finding, located in the preprocessed text. diagnostics.cpp turns it into the user's file, line and column and shows the line.
struct Diagnostic {
    Severity severity = Severity::Error;
    std::size_t offset = 0; // byte in Request::text
    std::string message;    // one sentence; says what is wrong and, after a semicolon, what to do
    std::string option;     // for a warning: the -W name that switches it off, without "-W"
};

struct Request {
    std::string name;             // main source file as the user named it
    std::string text;             // as `cc -E -include aesop/abi.h` printed it, line markers included
    std::string target;           // the host compiler's triple, e.g. "x86_64-linux-gnu"
    std::string standard;         // value of -std=, "gnu17" if the user gave none
    bool optimize = false;        // -O1 or more: emit the forced inlining that makes a call cost a C call
    bool nativeAttributes = true; // the host compiler knows __attribute__((always_inline)) (gcc, clang); tcc does not
    bool hostIsGcc = false;       // the host compiler is gcc itself and knows its attributes (noipa)
    bool readable = false; // for people (--emit-c): generated code on lines of its own. Otherwise every line and column is the user's
    std::vector<std::string> disabledWarnings; // from -Wno-aesop-...
    unsigned frameWarning = 0;                 // bytes; warn about larger frames; 0: the default
};

struct Result {
    bool ok = false;      // no errors; text is complete
    bool changed = false; // false: nothing of the language was used, text equals Request::text
    std::string text;
    std::vector<Diagnostic> diagnostics;
};

Result translate(const Request &request);

} // namespace aecc
