// The translation unit as the passes see it: the preprocessed text, Clang's tree of it, and what was found on the way.
//
// Positions are byte offsets into the text everywhere outside this file. Clang's own locations are turned into offsets
// here and nowhere else, because a location may lie in the expansion of one of our keyword macros.
#pragma once
#include "translate.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "clang/Frontend/ASTUnit.h"
#include <memory>

namespace aecc {

enum class Keyword { None, Aesop, Nowait, Pwait, Pbranch, Pbreak, Pshield, Pdeadline, Pprivate, Pshared };

// A keyword of the language in the text.
struct KeywordUse {
    std::size_t offset, length;
    Keyword keyword;
};
// The keywords in the text, in order; strings, comments and line markers are skipped.
std::vector<KeywordUse> findKeywords(llvm::StringRef text);

struct Range {
    std::size_t begin = 0, end = 0;
};

class Unit {
  public:
    explicit Unit(const Request &request);
    // Parses. False: the text could not be read at all; diagnostics say why.
    bool parse();

    const Request &request;
    llvm::StringRef text;
    std::vector<KeywordUse> keywords;
    std::vector<Diagnostic> diagnostics;

    clang::ASTContext &context() const { return ast->getASTContext(); }
    std::size_t begin(clang::SourceLocation location) const; // of the token there
    std::size_t end(clang::SourceLocation location) const;   // behind the token there
    Range range(const clang::Stmt *statement) const;
    Range range(clang::SourceRange range) const;
    // First offset at or after `from` that holds the character, outside parentheses opened since.
    std::size_t line(std::size_t offset) const; // line of the user's file
    std::string file(std::size_t offset) const;

    void error(std::size_t offset, std::string message);
    void error(clang::SourceLocation location, std::string message) { error(begin(location), std::move(message)); }
    void note(std::size_t offset, std::string message);
    void warn(std::size_t offset, std::string option, std::string message);
    bool failed() const;

    std::vector<clang::FunctionDecl *> definitions; // aesop functions with a body, in order

  private:
    std::unique_ptr<clang::ASTUnit> ast;
    void keepErrors();
    struct Found;
    std::vector<Diagnostic> found;
};

// Types and calls of the language.
bool isAesop(clang::QualType type); // an aesop function, or a pointer to one
bool isAesopCall(const clang::CallExpr *call);
bool isNowait(const clang::CallExpr *call); // known not to wait: needs the hidden argument but no resume point
// The statement keyword in front of a statement; `inner` receives the statement behind it.
Keyword statementKeyword(const clang::Stmt *statement, const clang::Stmt **inner = nullptr);
bool isPprivate(const clang::VarDecl *variable);

} // namespace aecc
