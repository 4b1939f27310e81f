// The rules that C's type system does not know. Each rule is a few lines; together they guarantee what lowering relies on: that every
// jump stays within its branch, that every branch knows its pwait, and that nothing lives over a wait that cannot.
#include "check.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/Builtins.h"
#include <algorithm>
#include <map>
#include <vector>

using namespace clang;

namespace aecc {

namespace {

std::string quote(llvm::StringRef s) { return ("'" + s + "'").str(); }

const char *spelling(Keyword k) {
    switch (k) {
    case Keyword::Pwait: return "pwait";
    case Keyword::Pbranch: return "pbranch";
    case Keyword::Pbreak: return "pbreak";
    case Keyword::Pshield: return "pshield";
    case Keyword::Pdeadline: return "pdeadline";
    case Keyword::Pprivate: return "pprivate";
    case Keyword::Pshared: return "pshared";
    default: return "aesop";
    }
}

std::string calleeName(const CallExpr *call) {
    const FunctionDecl *f = call->getDirectCallee();
    return f ? quote(f->getName()) : std::string("through a pointer");
}

// --- rules about types and calls, everywhere -----------------------------------------------------------------------------------

class Everywhere : public RecursiveASTVisitor<Everywhere> {
  public:
    explicit Everywhere(Unit &u) : unit(u) {}

    bool TraverseFunctionDecl(FunctionDecl *f) {
        const FunctionDecl *outer = std::exchange(function, f);
        bool go = RecursiveASTVisitor::TraverseFunctionDecl(f);
        function = outer;
        return go;
    }
    // Operands that are not evaluated may name what they like.
    bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr *) { return true; }
    bool TraverseTypeOfExprTypeLoc(TypeOfExprTypeLoc) { return true; }
    bool TraverseGenericSelectionExpr(GenericSelectionExpr *g) { return g->isResultDependent() ? true : TraverseStmt(g->getResultExpr()); }

    bool VisitFunctionDecl(FunctionDecl *f) {
        if (f->isImplicit()) return true;
        const FunctionDecl *before = f->getPreviousDecl();
        auto *written = f->getTypeSourceInfo();
        if (before && written && isAesop(before->getType()) && !isAesop(written->getType()))
            unit.error(f->getLocation(), quote(f->getName()) + " was declared aesop before; repeat 'aesop' here");
        if (f->doesThisDeclarationHaveABody() && isAesop(f->getType())) definition(f);
        return true;
    }

    bool VisitCallExpr(CallExpr *call) {
        if (!isAesopCall(call) || (function && isAesop(function->getType()))) return true;
        std::string where = function ? "from the plain C function " + quote(function->getName()) : "outside of any function";
        std::string help = function ? "; only aesop functions can call it: declare " + quote(function->getName()) + " aesop" : "";
        unit.error(call->getCallee()->getBeginLoc(), "the aesop function " + calleeName(call) + " is called " + where + help);
        return true;
    }

    bool VisitCStyleCastExpr(CStyleCastExpr *cast) {
        auto functionPointer = [](QualType t) { return t->isFunctionPointerType() || t->isFunctionType(); };
        QualType from = cast->getSubExpr()->IgnoreParenImpCasts()->getType(), to = cast->getType();
        if (functionPointer(from) && functionPointer(to) && isAesop(from) != isAesop(to))
            unit.error(cast->getLParenLoc(),
                       std::string("a pointer to ") + (isAesop(from) ? "an aesop" : "a plain C") + " function is cast to a pointer to " +
                           (isAesop(to) ? "an aesop" : "a plain C") +
                           " function, which is called in another way; convert through 'void *' if you know that it is one");
        return true;
    }

    bool VisitAttributedStmt(AttributedStmt *s) {
        Keyword k = statementKeyword(s);
        if (k == Keyword::None || (function && isAesop(function->getType()))) return true;
        unit.error(s->getBeginLoc(), quote(spelling(k)) + " can only be used in an aesop function" +
                                         (function ? "; declare " + quote(function->getName()) + " aesop" : ""));
        return true;
    }

    bool VisitVarDecl(VarDecl *v) {
        if (!isPprivate(v)) return true;
        if (!function || !isAesop(function->getType()))
            unit.error(v->getLocation(), "'pprivate' can only be used for variables of an aesop function");
        else if (!v->hasLocalStorage())
            unit.error(v->getLocation(), "'pprivate' needs a variable of automatic storage; " + quote(v->getName()) + " exists once");
        return true;
    }

  private:
    Unit &unit;
    const FunctionDecl *function = nullptr;

    void definition(const FunctionDecl *f) {
        if (f->isNoReturn() || f->hasAttr<C11NoReturnAttr>())
            unit.error(f->getLocation(), "an aesop function returns to its caller while it waits, so " + quote(f->getName()) +
                                             " cannot be declared noreturn; remove that");
    }
};

// --- rules about control flow, in one aesop function -----------------------------------------------------------------------------

class Function {
  public:
    Function(Unit &u, FunctionDecl *f) : unit(u), function(f) {}

    void run() {
        collectLabels(function->getBody());
        around.clear();
        walk(function->getBody());
        impossible();
    }

  private:
    struct Around {
        enum Kind { Branch, Pwait, Shield, Deadline, Loop, Switch } kind;
        const Stmt *statement;
        bool lonely = false;
    };
    Unit &unit;
    FunctionDecl *function;
    std::vector<Around> around;
    std::map<const LabelDecl *, std::vector<Around>> labels;
    bool waits = false, scopes = false;
    std::vector<SourceLocation> indirect;                             // computed gotos
    std::vector<std::pair<SourceLocation, std::string>> notOverAWait; // errors if the function waits anywhere

    // Runs `inside` with what statement s puts around its parts.
    template <class Inside>
    void enter(Around::Kind kind, const Stmt *s, Inside inside, bool lonely = false) {
        around.push_back({kind, s, lonely});
        inside();
        around.pop_back();
    }
    bool inPwait() const {
        for (auto &a : around)
            if (a.kind == Around::Pwait) return true;
        return false;
    }
    const Around *branch() const {
        for (auto it = around.rbegin(); it != around.rend(); ++it)
            if (it->kind == Around::Branch) return &*it;
        return nullptr;
    }
    static const char *kindName(Around::Kind k) {
        switch (k) {
        case Around::Branch: return "pbranch";
        case Around::Pwait: return "pwait";
        case Around::Shield: return "pshield";
        default: return "pdeadline";
        }
    }

    // Calls visit for each part of s. In a text with errors, parts may be missing.
    template <class Visit>
    void within(const Stmt *s, Visit visit) {
        const Stmt *inner = nullptr;
        auto each = [&](const Stmt *part) {
            if (part) visit(part);
        };
        auto children = [&](const Stmt *of) {
            for (const Stmt *child : of->children()) each(child);
        };
        switch (statementKeyword(s, &inner)) {
        case Keyword::Pbranch: return enter(Around::Branch, s, [&] { each(inner); }, !inPwait());
        case Keyword::Pwait: return enter(Around::Pwait, s, [&] { each(inner); });
        case Keyword::Pshield: return enter(Around::Shield, s, [&] { each(inner); });
        case Keyword::Pdeadline: {
            auto *d = dyn_cast_or_null<IfStmt>(inner);
            if (!d) return;
            each(d->getCond());
            enter(Around::Deadline, s, [&] { each(d->getThen()); });
            each(d->getElse());
            return;
        }
        default: break;
        }
        if (isa<WhileStmt>(s) || isa<DoStmt>(s) || isa<ForStmt>(s)) return enter(Around::Loop, s, [&] { children(s); });
        if (auto *w = dyn_cast<SwitchStmt>(s)) {
            each(w->getCond());
            return enter(Around::Switch, s, [&] { each(w->getBody()); });
        }
        if (isa<UnaryExprOrTypeTraitExpr>(s)) return;
        if (auto *g = dyn_cast<GenericSelectionExpr>(s)) return each(g->getResultExpr());
        if (auto *list = dyn_cast<InitListExpr>(s); list && list->getSyntacticForm()) return children(list->getSyntacticForm());
        children(s);
    }

    void collectLabels(const Stmt *s) {
        if (auto *l = dyn_cast<LabelStmt>(s)) labels[l->getDecl()] = around;
        within(s, [&](const Stmt *child) { collectLabels(child); });
    }

    void walk(const Stmt *s) {
        look(s);
        within(s, [&](const Stmt *child) { walk(child); });
    }

    void look(const Stmt *s) {
        SourceLocation at = s->getBeginLoc();
        switch (statementKeyword(s)) {
        case Keyword::Pbreak:
            if (!branch()) unit.error(at, "'pbreak' outside of a pbranch; there is no branch that it could end");
            return;
        case Keyword::Pbranch: return lookAtBranch(s);
        case Keyword::Pwait: waits = scopes = true; return;
        case Keyword::Pshield:
        case Keyword::Pdeadline: scopes = true; return;
        default: break;
        }
        if (isa<ReturnStmt>(s)) {
            for (auto &a : around)
                if (a.lonely)
                    return unit.error(at, "'return' in a lonely branch: nobody waits for its value; end the branch with 'pbreak'");
        } else if (isa<BreakStmt>(s) || isa<ContinueStmt>(s)) {
            lookAtBreak(s, isa<ContinueStmt>(s));
        } else if (auto *g = dyn_cast<GotoStmt>(s)) {
            lookAtGoto(g);
        } else if (isa<SwitchCase>(s)) {
            for (auto it = around.rbegin(); it != around.rend() && it->kind != Around::Switch; ++it)
                if (it->kind != Around::Loop)
                    return unit.error(at, "the switch around would jump into this " + quote(kindName(it->kind)) +
                                              "; move the label out of it, or the switch into it");
        } else if (isa<IndirectGotoStmt>(s)) {
            indirect.push_back(at);
        } else if (auto *call = dyn_cast<CallExpr>(s)) {
            lookAtCall(call);
        } else if (auto *d = dyn_cast<DeclStmt>(s)) {
            for (const Decl *decl : d->decls())
                if (auto *v = dyn_cast<VarDecl>(decl); v && v->getStorageClass() == SC_Register && v->hasAttr<AsmLabelAttr>())
                    notOverAWait.push_back(
                        {v->getLocation(), "the register variable " + quote(v->getName()) +
                                               " cannot keep its register while its function waits; use an ordinary variable, "
                                               "and the register in a plain C function"});
        }
    }

    void lookAtBranch(const Stmt *s) {
        scopes = true;
        if (!inPwait()) return;
        for (auto it = around.rbegin(); it != around.rend() && it->kind != Around::Pwait; ++it) {
            if (it->kind == Around::Branch) return;
            if (it->kind == Around::Shield || it->kind == Around::Deadline)
                return unit.error(s->getBeginLoc(), "this branch joins the pwait outside of the " + quote(kindName(it->kind)) +
                                                        " around it, which would end before the branch; put a pwait inside the " +
                                                        kindName(it->kind) + ", or the " + kindName(it->kind) + " inside the branch");
        }
    }

    void lookAtBreak(const Stmt *s, bool isContinue) {
        for (auto it = around.rbegin(); it != around.rend(); ++it) {
            if (it->kind == Around::Loop || (it->kind == Around::Switch && !isContinue)) return;
            if (it->kind == Around::Branch)
                return unit.error(s->getBeginLoc(), std::string("'") + (isContinue ? "continue" : "break") +
                                                        "' would leave its branch; end the branch with 'pbreak'");
        }
        unit.error(s->getBeginLoc(),
                   std::string("'") + (isContinue ? "continue' outside of a loop" : "break' outside of a loop or switch"));
    }

    void lookAtGoto(const GotoStmt *g) {
        auto it = labels.find(g->getLabel());
        if (it == labels.end()) return;
        auto &there = it->second;
        std::size_t common = 0;
        while (common < there.size() && common < around.size() && there[common].statement == around[common].statement) common++;
        for (std::size_t i = common; i < around.size(); i++)
            if (around[i].kind == Around::Branch)
                return unit.error(g->getBeginLoc(),
                                  "'goto " + g->getLabel()->getName().str() + "' would leave its branch; end the branch with 'pbreak'");
        for (std::size_t i = common; i < there.size(); i++)
            if (there[i].kind != Around::Loop && there[i].kind != Around::Switch)
                return unit.error(g->getBeginLoc(), "'goto " + g->getLabel()->getName().str() + "' would jump into a " +
                                                        quote(kindName(there[i].kind)) + "; enter it from its top");
    }

    void lookAtCall(const CallExpr *call) {
        if (isAesopCall(call) && !isNowait(call)) waits = true;
        const FunctionDecl *f = call->getDirectCallee();
        if (!f || !f->getIdentifier()) return;
        llvm::StringRef name = f->getName();
        SourceLocation at = call->getBeginLoc();
        if (name == "aesop_cancel_branches") {
            const Around *b = branch();
            if (!b || b->lonely)
                unit.error(at, "'aesop_cancel_branches' outside of a branch of a pwait in this function: there is nothing that it "
                               "could cancel; call it in a pbranch of the pwait that is meant");
        } else if (name == "setjmp" || name == "_setjmp" || name == "sigsetjmp" || name == "__sigsetjmp") {
            notOverAWait.push_back({at, quote(name) + " in a function that may wait: the stack it saves is gone after a wait; return error "
                                                      "values, or call it in a plain C function"});
        } else if (name == "alloca" || name == "__builtin_alloca" || name == "__builtin_alloca_with_align") {
            notOverAWait.push_back({at, "memory of 'alloca' does not live over a wait; use an array, or malloc and free"});
        }
    }

    void impossible() {
        for (SourceLocation at : indirect)
            if (scopes)
                unit.error(
                    at, "a computed goto in a function with pwait, pbranch, pshield or pdeadline: it is not known which of them it would "
                        "leave; use a switch");
        if (!waits) return;
        for (auto &[at, message] : notOverAWait) unit.error(at, message);
    }
};

} // namespace

void check(Unit &unit) {
    Everywhere(unit).TraverseDecl(unit.context().getTranslationUnitDecl());
    for (FunctionDecl *f : unit.definitions) Function(unit, f).run();
    std::stable_sort(unit.diagnostics.begin(), unit.diagnostics.end(),
                     [](const Diagnostic &a, const Diagnostic &b) { return a.offset < b.offset; });
}

} // namespace aecc
