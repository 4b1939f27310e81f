// The plan of one aesop function: which strands of control it has, where it may wait, and where each variable lives.
//
// A *context* is a piece of the function that becomes a C function of its own: the function itself, and each pbranch in it.
// Variables that only their own context uses stay C locals; those that live over a wait are saved lazily ("registers").
// The others need memory that outlives the C stack: the context's frame, or a counted box per entry of the block where a
// branch may outlive that block.
#pragma once
#include "types.h"
#include <map>
#include <memory>
#include <set>
#include <unordered_set>

namespace aecc {

struct Context;
struct Variable;

struct Pwait {
    const clang::AttributedStmt *statement;
    Context *owner;
    int index;            // from 1, in the function
    bool returns = false; // a `return` stands inside it: it carries a flag and a value
};

struct Box {
    const clang::Stmt *block; // CompoundStmt or ForStmt; null: the parameters
    Context *owner;
    int index;
    std::vector<Variable *> variables;
};

struct Context {
    int index = 0;                          // 0: the function itself
    Context *parent = nullptr;              // lexically around
    Pwait *home = nullptr;                  // the pwait that the branch joins; null: a lonely branch, or the function
    const clang::Stmt *statement = nullptr; // the pbranch
    const clang::Stmt *body = nullptr;
    std::vector<Variable *> copies;       // pprivate variables, copied when the branch is created
    std::vector<Box *> boxes;             // boxes from outside that the branch holds
    std::vector<std::size_t> suspensions; // offsets of calls that may wait and of joins
    std::vector<Pwait *> pwaits;
    bool eager = false; // function: the frame exists from the entry on
    bool lonely() const { return parent && !home; }
    bool isBranch() const { return parent; }
};

enum class Place {
    Stay,     // declared where the user declared it
    Register, // a C local at the top of its function; saved in the frame while the branch waits
    Frame,    // a member of the context's frame, from the start
    Boxed,    // a member of a box
    Moved,    // not a local object: a static or extern declaration, moved in front of the function
};

struct Variable {
    const clang::VarDecl *decl;
    Context *owner;
    const clang::Stmt *block; // its scope: CompoundStmt, ForStmt, or null for a parameter
    std::string name;         // in the emitted text
    Place place = Place::Stay;
    Box *box = nullptr;
    bool sized = false;     // variably modified: reached through a pointer in its frame or box
    bool addressed = false; // its address may be somewhere: array, &, volatile, _Atomic, asm, cleanup
    bool captured = false;  // used by a branch that is not its owner, and not as a private copy
    bool kept = false;      // a register that lives over some wait, so it has a place in the frame
    bool pprivate = false;
    clang::QualType type() const;
};

struct Label {
    Context *context;
    std::vector<const clang::Stmt *> scopes; // statements with scopes and blocks around it, outside in
};

class Plan {
  public:
    Plan(Unit &unit, clang::FunctionDecl *function, TypeNames &names);

    Unit &unit;
    clang::FunctionDecl *function;
    TypeNames &names;
    std::vector<std::unique_ptr<Context>> contexts;
    std::vector<std::unique_ptr<Pwait>> pwaits;
    std::vector<std::unique_ptr<Box>> boxes;
    std::vector<std::unique_ptr<Variable>> variables; // in order of declaration
    std::map<const clang::Stmt *, Context *> branchOf;
    std::map<const clang::Stmt *, Pwait *> pwaitOf;
    std::map<const clang::Stmt *, Box *> boxOf; // by block; null key: parameters
    std::map<const clang::VarDecl *, Variable *> variableOf;
    std::map<const clang::LabelDecl *, Label> labels;
    std::set<const clang::Stmt *> entered;  // blocks that a label inside lets control enter past their beginning
    std::vector<const clang::Decl *> moved; // local types and declarations, in order
    std::vector<const clang::DeclRefExpr *> references;
    std::map<const clang::DeclRefExpr *, Context *> contextOf;
    std::unordered_set<const clang::Stmt *> waits;            // statements and expressions of a context that contain a resume point of it
    std::unordered_set<const clang::Stmt *> shaped;           // statements that cannot be copied as they stand
    std::vector<const clang::CompoundLiteralExpr *> literals; // compound literals that need a place in the frame
    std::map<const clang::CompoundLiteralExpr *, Context *> literalOwner;

    std::map<const clang::VariableArrayType *, int> sizeNumber;        // sizes of variable-length dimensions that are kept, from 1
    std::map<const clang::VariableArrayType *, Variable *> sizeHolder; // kept beside this variable
    std::map<const clang::VariableArrayType *, Context *> sizeOwner;   // or in this context's frame, for a typedef
    std::set<const clang::TypedefNameDecl *> sizedTypedefs;            // typedefs of variably modified types
    bool usesLabelValues = false;                                      // its labels' addresses are taken: one copy of the body only
    static bool isOldStyle(const clang::FunctionDecl *f);              // int f(a) int a; {...}
    bool variadic() const { return function->isVariadic(); }

    bool lowered() const { return needsLowering; } // false: no resume point, no branch: the text stays, but for hidden arguments
    Context *root() const { return contexts.front().get(); }
    Variable *variable(const clang::Decl *d) const;
    // After liveness: registers that live over no wait go back to where they were declared, then all get their names.
    void settle(const std::set<Variable *> &kept);
    // Whether a context reaches the variable's memory through its home's owner (true) or holds it itself.
    static bool reachesUp(const Unit &unit, const Context *context, const clang::VarDecl *declared);
    bool reachesUp(const Context *context, const Variable *variable) const;
    bool reachesUp(const Context *context, const Box *box) const;

  private:
    struct Walker;
    void name();
    bool needsLowering = false;
    void place();
    void placeOne(Variable &variable);
    void keepSizes(Variable &variable);
    void hold(Context *context, Box *box);
    bool suspendsWithin(const Context *context, std::size_t from, std::size_t to) const;
};

} // namespace aecc
