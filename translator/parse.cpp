// Parsing: Clang's C front end on the host compiler's preprocessed text.
//
// The keywords become macros that only Clang sees. `aesop` is carried by a calling convention, because Clang then treats
// it as part of the function's type and finds wrong conversions itself; statement keywords ride on an attribute that Clang
// keeps on every kind of statement; behind it stands a loop that nobody runs, so that two keywords in a row (pwait pbranch S) are two
// statements. The rest of the shim makes Clang accept what gcc's preprocessor leaves behind.
//
// Clang's opinion counts only where the translator has to understand the text: in aesop functions, and wherever the
// qualifier is concerned. Elsewhere the host compiler judges, since the text reaches it unchanged.
#include "unit.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Lex/Lexer.h"
#include "clang/Tooling/Tooling.h"
#include <map>

using namespace clang;

namespace aecc {

static const char shim[] = R"(
#define __aesop __attribute__((preserve_most))
#define __blocking __attribute__((preserve_most))
#define __aesop_nowait __attribute__((preserve_most, annotate("aesop.nowait")))
#define __pwait [[clang::suppress("aesop.pwait")]] for (;;)
#define __pbranch [[clang::suppress("aesop.pbranch")]] for (;;)
#define __pbreak [[clang::suppress("aesop.pbreak")]]
#define __pshield [[clang::suppress("aesop.pshield")]] for (;;)
#define __pdeadline [[clang::suppress("aesop.pdeadline")]] if
#define __pprivate __attribute__((annotate("aesop.pprivate")))
#define __pshared __attribute__((annotate("aesop.pshared")))
#define __malloc__(...)
#define __atomic_load(p, ...) __atomic_load((__typeof__((void)0, *(p)) *)(p), __VA_ARGS__)
#define __atomic_store(p, ...) __atomic_store((__typeof__((void)0, *(p)) *)(p), __VA_ARGS__)
#define __atomic_exchange(p, ...) __atomic_exchange((__typeof__((void)0, *(p)) *)(p), __VA_ARGS__)
#define __atomic_compare_exchange(p, ...) __atomic_compare_exchange((__typeof__((void)0, *(p)) *)(p), __VA_ARGS__)
)";

// gcc's names for the types of ISO/IEC TS 18661-3. For other compilers glibc declares them itself.
static const char floatNames[] = R"(
#define _Float32 float
#define _Float64 double
#define _Float32x double
#define _Float64x long double
#define _Float128 __float128
)";

static const CallingConv aesopConvention = CC_PreserveMost;

static Keyword keywordOf(llvm::StringRef name) {
    if (!name.starts_with("__")) return Keyword::None;
    static const std::map<llvm::StringRef, Keyword> table = {
        {"__aesop", Keyword::Aesop},     {"__blocking", Keyword::Aesop},      {"__aesop_nowait", Keyword::Nowait},
        {"__pwait", Keyword::Pwait},     {"__pbranch", Keyword::Pbranch},     {"__pbreak", Keyword::Pbreak},
        {"__pshield", Keyword::Pshield}, {"__pdeadline", Keyword::Pdeadline}, {"__pprivate", Keyword::Pprivate},
        {"__pshared", Keyword::Pshared},
    };
    auto it = table.find(name);
    return it == table.end() ? Keyword::None : it->second;
}

std::vector<KeywordUse> findKeywords(llvm::StringRef text) {
    std::vector<KeywordUse> uses;
    bool lineStart = true;
    for (std::size_t i = 0; i < text.size();) {
        char c = text[i];
        if (c == '\n') {
            lineStart = true;
            i++;
        } else if (c == '#' && lineStart) {
            while (i < text.size() && text[i] != '\n') i++;
        } else if (c == '"' || c == '\'') {
            std::size_t j = i + 1;
            while (j < text.size() && text[j] != c && text[j] != '\n') j += text[j] == '\\' ? 2 : 1;
            i = j + 1;
            lineStart = false;
        } else if (isAsciiIdentifierStart(c)) {
            std::size_t j = i;
            while (j < text.size() && isAsciiIdentifierContinue(text[j])) j++;
            if (Keyword k = keywordOf(text.slice(i, j)); k != Keyword::None) uses.push_back({i, j - i, k});
            i = j;
            lineStart = false;
        } else if (isDigit(c)) { // a number, suffixes included
            while (i < text.size() && (isAsciiIdentifierContinue(text[i]) || text[i] == '.')) i++;
            lineStart = false;
        } else {
            if (!isWhitespace(c)) lineStart = false;
            i++;
        }
    }
    return uses;
}

bool isAesop(QualType type) {
    if (type.isNull()) return false;
    if (auto *pointer = type->getAs<PointerType>()) type = pointer->getPointeeType();
    auto *function = type->getAs<FunctionType>();
    return function && function->getCallConv() == aesopConvention;
}

bool isAesopCall(const CallExpr *call) { return isAesop(call->getCallee()->getType()); }

bool isNowait(const CallExpr *call) {
    const FunctionDecl *function = call->getDirectCallee();
    if (!function) return false;
    for (auto *attribute : function->specific_attrs<AnnotateAttr>())
        if (attribute->getAnnotation() == "aesop.nowait") return true;
    return false;
}

bool isPprivate(const VarDecl *variable) {
    for (auto *attribute : variable->specific_attrs<AnnotateAttr>())
        if (attribute->getAnnotation() == "aesop.pprivate") return true;
    return false;
}

Keyword statementKeyword(const Stmt *statement, const Stmt **inner) {
    auto *attributed = dyn_cast_or_null<AttributedStmt>(statement);
    if (!attributed) return Keyword::None;
    Keyword found = Keyword::None;
    for (const Attr *attribute : attributed->getAttrs())
        if (auto *suppress = dyn_cast<SuppressAttr>(attribute))
            for (llvm::StringRef name : suppress->diagnosticIdentifiers())
                if (name.consume_front("aesop.")) found = keywordOf(("__" + name).str());
    if (inner) {
        *inner = attributed->getSubStmt();
        if (found == Keyword::Pwait || found == Keyword::Pbranch || found == Keyword::Pshield) {
            auto *carrier = dyn_cast<ForStmt>(*inner);
            *inner = carrier ? carrier->getBody() : nullptr;
        }
    }
    return found;
}

Unit::Unit(const Request &r) : request(r), text(r.text) { keywords = findKeywords(text); }

std::size_t Unit::begin(SourceLocation location) const {
    auto &manager = context().getSourceManager();
    return manager.getFileOffset(manager.getFileLoc(location));
}

std::size_t Unit::end(SourceLocation location) const {
    auto &manager = context().getSourceManager();
    while (location.isMacroID())
        location = manager.isMacroArgExpansion(location) ? manager.getImmediateSpellingLoc(location)
                                                         : manager.getImmediateExpansionRange(location).getEnd();
    return manager.getFileOffset(location) + Lexer::MeasureTokenLength(location, manager, context().getLangOpts());
}

Range Unit::range(const Stmt *s) const { return {begin(s->getBeginLoc()), end(s->getEndLoc())}; }
Range Unit::range(SourceRange r) const { return {begin(r.getBegin()), end(r.getEnd())}; }

static PresumedLoc presumed(const ASTContext &context, std::size_t offset) {
    auto &manager = context.getSourceManager();
    return manager.getPresumedLoc(manager.getLocForStartOfFile(manager.getMainFileID()).getLocWithOffset(int(offset)));
}
std::size_t Unit::line(std::size_t offset) const { return presumed(context(), offset).getLine(); }
std::string Unit::file(std::size_t offset) const { return presumed(context(), offset).getFilename(); }

void Unit::error(std::size_t offset, std::string message) { diagnostics.push_back({Severity::Error, offset, std::move(message), ""}); }
void Unit::note(std::size_t offset, std::string message) { diagnostics.push_back({Severity::Note, offset, std::move(message), ""}); }
void Unit::warn(std::size_t offset, std::string option, std::string message) {
    for (auto &disabled : request.disabledWarnings)
        if (disabled == option || disabled == "aesop") return;
    diagnostics.push_back({Severity::Warning, offset, std::move(message), std::move(option)});
}
bool Unit::failed() const {
    for (auto &d : diagnostics)
        if (d.severity == Severity::Error) return true;
    return false;
}

// Clang's words for the carriers of our keywords, put back into the user's.
static std::string inUsersWords(std::string message) {
    auto replace = [&](llvm::StringRef from, llvm::StringRef to) {
        for (std::size_t at; (at = message.find(from.str())) != std::string::npos;) message.replace(at, from.size(), to.str());
    };
    // 'int (*)(int) __attribute__((preserve_most))' -> 'aesop int (*)(int)'
    const std::string carrier = " __attribute__((preserve_most))";
    for (std::size_t at; (at = message.find(carrier)) != std::string::npos;) {
        message.erase(at, carrier.size());
        std::size_t quote = message.rfind('\'', at ? at - 1 : 0);
        message.insert(quote == std::string::npos ? 0 : quote + 1, "aesop ");
    }
    replace("__aesop ", "");
    replace("aesop aesop ", "aesop ");
    for (std::string stars = "*"; stars.size() < 4; stars += '*') replace("((" + stars + "))", "(" + stars + ")");
    replace("__attribute__((preserve_most))", "aesop");
    replace("preserve_most", "aesop");
    replace("'clang::suppress' attribute", "this keyword");
    replace("'suppress' attribute", "this keyword");
    return message;
}

namespace {
class Collector : public DiagnosticConsumer {
  public:
    explicit Collector(std::vector<Diagnostic> &to) : to(to) {}
    void HandleDiagnostic(DiagnosticsEngine::Level level, const clang::Diagnostic &info) override {
        DiagnosticConsumer::HandleDiagnostic(level, info);
        if (level < DiagnosticsEngine::Error) return;
        llvm::SmallString<256> message;
        info.FormatDiagnostic(message);
        std::size_t offset = 0;
        if (info.hasSourceManager() && info.getLocation().isValid()) {
            auto &manager = info.getSourceManager();
            SourceLocation at = manager.getFileLoc(info.getLocation());
            if (manager.isInMainFile(at) || manager.getFileID(at) == manager.getMainFileID()) offset = manager.getFileOffset(at);
        }
        to.push_back({Severity::Error, offset, std::string(message), ""});
    }

  private:
    std::vector<Diagnostic> &to;
};

// aesop functions with a body, in order of the text.
class Definitions : public RecursiveASTVisitor<Definitions> {
  public:
    explicit Definitions(Unit &unit) : unit(unit) {}
    bool VisitFunctionDecl(FunctionDecl *f) {
        if (f->doesThisDeclarationHaveABody() && isAesop(f->getType())) unit.definitions.push_back(f);
        return true;
    }
    Unit &unit;
};
} // namespace

bool Unit::parse() {
    std::vector<std::string> arguments = {"-x",
                                          "c",
                                          "-std=" + (request.standard.empty() ? std::string("gnu17") : request.standard),
                                          "-undef",
                                          "-fsyntax-only",
                                          "-ffreestanding", // main is a function like others: an aesop main keeps its type
                                          "-Wno-everything",
                                          "-Wsystem-headers",
                                          "-Werror=incompatible-function-pointer-types",
                                          "-Werror=incompatible-pointer-types",
                                          "-Werror=compare-distinct-pointer-types",
                                          "-Werror=pointer-type-mismatch",
                                          "-Werror=ignored-attributes",
                                          "-ferror-limit=0",
                                          "-Werror=typecheck-convert-incompatible-pointer",
                                          "-Wno-unknown-warning-option",
                                          "-include",
                                          "/aesop-shim.h"};
    if (!request.target.empty()) arguments.push_back("--target=" + request.target);
    Collector collector(found);
    bool declaresFloats = text.contains("typedef float _Float32;");
    tooling::FileContentMappings files = {{"/aesop-shim.h", declaresFloats ? shim : std::string(shim) + floatNames}};
    ast = tooling::buildASTFromCodeWithArgs(request.text, arguments, request.name.empty() || request.name == "-" ? "input.c" : request.name,
                                            "aecc", std::make_shared<PCHContainerOperations>(),
                                            tooling::getClangStripDependencyFileAdjuster(), files, &collector);
    if (!ast) {
        error(0, "the text could not be parsed");
        return false;
    }
    Definitions(*this).TraverseDecl(context().getTranslationUnitDecl());
    keepErrors();
    return true;
}

// Of Clang's errors, keeps those that are ours to report.
void Unit::keepErrors() {
    class Plain : public RecursiveASTVisitor<Plain> {
      public:
        Plain(Unit &u, std::vector<Range> &r) : unit(u), ranges(r) {}
        bool VisitFunctionDecl(FunctionDecl *f) {
            if (f->doesThisDeclarationHaveABody() && !isAesop(f->getType())) ranges.push_back(unit.range(f->getBody()));
            return true;
        }
        Unit &unit;
        std::vector<Range> &ranges;
    };
    std::vector<Range> plain;
    if (!found.empty()) Plain(*this, plain).TraverseDecl(context().getTranslationUnitDecl());
    auto &manager = context().getSourceManager();
    for (auto &d : found) {
        bool ours = d.message.find("preserve_most") != std::string::npos || d.message.find("suppress") != std::string::npos;
        bool pointerKind = d.message.find("pointer") != std::string::npos && d.message.find("distinct") != std::string::npos;
        if (!ours) {
            if (d.message.find("incompatible pointer types") != std::string::npos || pointerKind ||
                d.message.find("pointer type mismatch") != std::string::npos || d.message.find("attribute") != std::string::npos)
                continue;
            bool inPlain = false;
            for (auto &r : plain) inPlain |= r.begin <= d.offset && d.offset < r.end;
            SourceLocation at = manager.getLocForStartOfFile(manager.getMainFileID()).getLocWithOffset(int(d.offset));
            if (inPlain || manager.isInSystemHeader(at)) continue;
        }
        std::string message = d.message;
        if (message.find("was previously declared without calling convention") != std::string::npos)
            message = "this function was declared as a plain C function before; declare it aesop everywhere or nowhere";
        if (message.find("only applies to function types") != std::string::npos)
            message = "'aesop' qualifies functions only; remove it here";
        error(d.offset, inUsersWords(message));
    }
}

} // namespace aecc
