// A translator for the tests of the driver: no Clang, and failures on command.
//
// It knows a few magic words in the preprocessed text. Everything else passes with the reserved words blanked out, so that what
// the driver does around a translation can be tested without one.
#include "translate.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace aecc {
namespace {

void report(const Request &request, const char *word, Severity severity, const char *message, const char *option, Result &result) {
    const std::string &text = request.text;
    std::string magic = word;
    for (std::size_t at = text.find(magic); at != std::string::npos; at = text.find(magic, at + 1)) {
        result.diagnostics.push_back({severity, at, message, option});
        if (severity == Severity::Error) result.ok = false;
    }
}

bool has(const Request &request, const char *word) { return request.text.find(word) != std::string::npos; }

}  // namespace

Result translate(const Request &request) {
    if (has(request, "FAKE_SEGV")) {
        std::signal(SIGSEGV, SIG_DFL); // a sanitizer would turn it into an exit
        std::raise(SIGSEGV);
    }
    if (has(request, "FAKE_ABORT")) std::abort();
    if (has(request, "FAKE_EXIT")) std::exit(0);
    if (has(request, "FAKE_THROW")) throw std::runtime_error("thrown by the fake");
    if (has(request, "FAKE_SLEEP")) std::this_thread::sleep_for(std::chrono::seconds(30));
    Result result;
    result.ok = !has(request, "FAKE_SILENT");
    result.changed = true;
    report(request, "FAKE_ERROR", Severity::Error, "an error of the fake; mend it", "", result);
    report(request, "FAKE_WARNING", Severity::Warning, "a warning of the fake", "aesop-fake", result);
    report(request, "FAKE_NOTE", Severity::Note, "a note of the fake", "", result);
    if (has(request, "FAKE_REQUEST")) {
        std::fprintf(stderr, "request name=%s target=%s standard=%s optimize=%d native=%d frame=%u disabled=", request.name.c_str(),
                     request.target.c_str(), request.standard.c_str(), request.optimize, request.nativeAttributes, request.frameWarning);
        for (const std::string &name : request.disabledWarnings) std::fprintf(stderr, "%s,", name.c_str());
        std::fprintf(stderr, "\n");
    }
    result.text = request.text;
    for (const char *word : {"__aesop_nowait", "__aesop", "__pwait", "__pbranch"}) {
        std::string magic = word;
        for (std::size_t at = result.text.find(magic); at != std::string::npos; at = result.text.find(magic, at + 1)) {
            if (at && (std::isalnum(result.text[at - 1]) || result.text[at - 1] == '_')) continue;
            if (result.text.compare(at, 9, "__aesop__") != 0) result.text.replace(at, magic.size(), magic.size(), ' ');
        }
    }
    return result;
}

}  // namespace aecc
