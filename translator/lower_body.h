// The body of one context while it is written: what lower_statement.cpp and lower_expression.cpp share.
#pragma once
#include "emit.h"
#include "liveness.h"
#include "plan.h"

namespace aecc {

// A value between two calls of one expression.
struct Temporary {
    std::string name;
    clang::QualType type;
    bool kept = false; // lives over a wait, so it has a place in the frame
};

// Something that has to be done when control leaves a statement or block, whichever way it goes.
struct Cleanup {
    enum Kind { JoinPwait, LeaveShield, LeaveDeadline, DropBox, CallFunction, FreeArray } kind;
    const clang::Stmt *scope; // the statement or block it belongs to
    Pwait *pwait = nullptr;
    Box *box = nullptr;
    int number = 0;               // of the shield or deadline in its context
    Variable *variable = nullptr; // with __attribute__((cleanup)), or a variable-length array
};

// A whole function while it is lowered.
struct FunctionWriter {
    FunctionWriter(Unit &unit, Edits &edits, Plan &plan, TypeNames &names)
        : unit(unit), edits(edits), plan(plan), types(unit.context(), names), name(plan.function->getNameAsString()) {}

    Unit &unit;
    Edits &edits;
    Plan &plan;
    TypeWriter types;
    std::string name;

    std::string frameType(const Context &c) const;  // "struct f__frame", "struct f__branch1"
    std::string bodyName(const Context &c) const;   // "f__body", "f__branch1"
    std::string resumeName(const Context &c) const; // "f__resume", "f__branch1__resume"
    std::string boxType(const Box &b) const;
    // Expressions, as seen from a context.
    std::string frame(const Context &c) const;                            // its own frame
    std::string frameOf(const Context &from, const Context &owner) const; // that of a context further out
    std::string boxPointer(const Context &c, const Box &b) const;
    std::string access(const Context &c, const Variable &v);
    std::string holder(const Context &c, const Variable &v) const; // the frame or box that a variable lives in
    std::string dropBox(const Context &c, const Box &b) const;
    // Makes `types` write sizes of variable-length arrays as this context reaches them.
    void sizesSeenFrom(const Context &c);
    bool holdsInFrame(const Context &c, const Variable &v) const; // a private copy that lives in the branch's structure
    std::string declareType(clang::QualType type, const std::string &name, std::size_t at);
    std::string declareAssignable(clang::QualType type, const std::string &name, std::size_t at);
    std::string frameEnd(const Context &c) const; // frees the function's frame, if it has one
    static bool hasFrame(const Context &c) { return c.eager || c.isBranch() || !c.suspensions.empty(); }

  private:
    void complain(std::size_t at);
};

// A place where the body can be left and entered again: behind a call that may wait, or at a join.
struct ResumePoint {
    std::string save;    // statements that keep what is needed, and leave
    std::string restore; // statements that bring it back
};

class BodyWriter {
  public:
    BodyWriter(FunctionWriter &fn, Context &context);

    void write();                 // fills the members below
    std::string returnsNothing(); // what a function returns when nobody looks at it

    std::string text;                // of the statements
    std::vector<ResumePoint> points; // by state, from 1
    std::vector<Temporary> temporaries;
    int argumentBlocks = 0;
    std::set<Variable *> kept; // registers with a place in the frame
    std::set<Box *> keptBoxes; // box pointers with a place in the frame
    int shields = 0, deadlines = 0;
    std::set<int> keptShields, keptDeadlines;
    bool endLabel = false; // `goto __ae_end` is used

  private:
    FunctionWriter &fn;
    Unit &unit;
    Edits &edits;
    Plan &plan;
    Context &context;
    LiveAt live;
    std::vector<Cleanup> cleanups;
    std::vector<std::size_t> active; // temporaries whose values are still needed
    struct Loop {
        const clang::Stmt *statement;
        std::size_t depth;         // of cleanups at the loop
        std::string continueLabel; // where `continue` has to go instead, if the loop was rebuilt
        bool used = false;
    };
    std::vector<Loop> breakables, loops;
    int labels = 0;

    bool isFunction() const { return !context.isBranch(); }
    bool lazy() const { return isFunction() && !context.eager; }
    bool waits(const clang::Stmt *s) const { return s && plan.waits.count(s); }
    std::string copy(const clang::Stmt *s) const { return edits.moved(unit.range(s)); }
    void line(const clang::Stmt *s) { text += mark(unit.range(s).begin); }

    // statements
    bool shaped(const clang::Stmt *s); // it cannot be copied as it stands
    void statement(const clang::Stmt *s);
    void braced(const clang::Stmt *s); // as the body of an if or a loop
    void copyStatement(const clang::Stmt *s);
    void compound(const clang::CompoundStmt *s, bool opensBox = true);
    void declaration(const clang::DeclStmt *s);
    void declare(const clang::VarDecl *d, const clang::DeclStmt *alone);
    std::string initialize(const Variable &v);
    void ifStatement(const clang::IfStmt *s);
    void whileStatement(const clang::WhileStmt *s);
    void doStatement(const clang::DoStmt *s);
    void forStatement(const clang::ForStmt *s);
    void switchStatement(const clang::SwitchStmt *s);
    void pwaitStatement(const clang::AttributedStmt *s);
    void pbranchStatement(const clang::AttributedStmt *s);
    void shieldStatement(const clang::AttributedStmt *s, const clang::Stmt *inner);
    void deadlineStatement(const clang::AttributedStmt *s, const clang::IfStmt *inner);
    void returnStatement(const clang::ReturnStmt *s);
    void jump(const clang::Stmt *s, std::size_t depth, const std::string &how);
    void openBox(const clang::Stmt *block);
    void makeBox(const Box &box);
    void boxesAtLabel();
    void evaluateSizes(clang::QualType type);
    void argumentBlock(const clang::CallExpr *call);
    void closeBlock(std::size_t depth);
    void returnValue(const std::string &value);
    std::string leave(const Cleanup &c);
    static std::string saved_value(const std::string &to, const std::string &value, clang::QualType type);
    void unwind(std::size_t depth, const VariableSet &liveAtJoin);
    void join(Pwait *p, const VariableSet &liveAtJoin);
    void returnFrom(Pwait *p, bool always);
    std::size_t depthOf(const clang::LabelDecl *label);

    // expressions: afterwards the text of e holds no resume point
    void hoist(const clang::Expr *e);
    void discard(const clang::Expr *e); // evaluates e for its effects only
    void hoistCall(const clang::CallExpr *call, bool valueNeeded);
    std::string temporary(clang::QualType type, std::size_t at);
    void assign(const std::string &to, clang::QualType type, const std::string &value, std::size_t at);
    std::string operand(const clang::Expr *e) const;
    void replace(const clang::Expr *e, const std::string &with);
    void suspend(const std::string &condition, const VariableSet &liveSet, const std::string &result, clang::QualType type);
    bool reg(Variable *v) const;
};

} // namespace aecc
