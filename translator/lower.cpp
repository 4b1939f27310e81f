// Lowering a unit: point edits everywhere (hidden parameters and arguments, keywords, names), then each aesop function that may wait
// is written anew as
//
//     its prototype;
//     struct f__frame { ... };                          what it keeps while it waits
//     struct f__branch1 { ... };  f__branch1(), ...     its branches, inner ones first
//     f__body(branch, frame, parameters)                the body; frame is null on the first entry
//     f(branch, parameters) { return f__body(branch, 0, parameters); }
//     f__resume(branch, frame)                          what the loop calls
//
// The compiler inlines f__body into both of the last two, so that the first entry carries no trace of the second.
#include "lower.h"

#include "lower_body.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/CharInfo.h"
#include <algorithm>

using namespace clang;

namespace aecc {

// --- FunctionWriter: names and paths ------------------------------------------------------------------------------------------

std::string FunctionWriter::frameType(const Context &c) const {
    return "struct " + name + (c.isBranch() ? "__branch" + std::to_string(c.index) : "__frame");
}
std::string FunctionWriter::bodyName(const Context &c) const {
    return name + (c.isBranch() ? "__branch" + std::to_string(c.index) : "__body");
}
std::string FunctionWriter::resumeName(const Context &c) const {
    return name + (c.isBranch() ? "__branch" + std::to_string(c.index) : "") + "__resume";
}
std::string FunctionWriter::boxType(const Box &b) const { return "struct " + name + "__box" + std::to_string(b.index); }
std::string FunctionWriter::frame(const Context &c) const { return c.isBranch() ? "__ae_m" : "__ae_fr"; }

std::string FunctionWriter::frameOf(const Context &from, const Context &owner) const {
    if (&from == &owner) return frame(from);
    std::string path = "__ae_m->__ae_up";
    for (const Context *c = from.home->owner; c != &owner; c = c->home->owner) path += "->__ae_up";
    return path;
}

std::string FunctionWriter::boxPointer(const Context &c, const Box &b) const {
    std::string pointer = "__ae_x" + std::to_string(b.index);
    bool held = std::find(c.boxes.begin(), c.boxes.end(), &b) != c.boxes.end();
    if (&c == b.owner || held) return c.isBranch() || c.eager ? frame(c) + "->" + pointer : pointer;
    const Context *owner = c.home->owner; // reached through the pwait's owner, which has it in its frame
    std::string path = frameOf(c, *owner);
    while (owner != b.owner && std::find(owner->boxes.begin(), owner->boxes.end(), &b) == owner->boxes.end()) {
        owner = owner->home->owner;
        path += "->__ae_up";
    }
    return path + "->" + pointer;
}

bool FunctionWriter::holdsInFrame(const Context &c, const Variable &v) const { return &c != v.owner && v.pprivate && v.addressed; }

std::string FunctionWriter::holder(const Context &c, const Variable &v) const {
    return v.place == Place::Boxed ? boxPointer(c, *v.box) : frameOf(c, *v.owner);
}

std::string FunctionWriter::dropBox(const Context &c, const Box &b) const {
    std::string type = boxType(b), pointer = boxPointer(c, b), s;
    for (Variable *v : b.variables)
        if (v->sized && v->type()->isArrayType())
            s += "if (" + pointer + "->__ae_refs.refs == 1) __ae_array_free(__ae_b, &" + pointer + "->" + v->name + "); ";
    s += "__ae_box_drop(__ae_b, " + pointer + ", sizeof(" + type + "), _Alignof(" + type + ")); ";
    if (b.block && &c == b.owner && plan.entered.count(b.block)) s += pointer + " = 0; ";
    return s;
}

void FunctionWriter::sizesSeenFrom(const Context &c) {
    types.sizeOf = [this, &c](const VariableArrayType *array) {
        auto number = plan.sizeNumber.find(array);
        if (number == plan.sizeNumber.end()) return edits.text(unit.range(array->getSizeExpr()));
        auto variable = plan.sizeHolder.find(array);
        std::string where = variable != plan.sizeHolder.end() ? holder(c, *variable->second) : frameOf(c, *plan.sizeOwner.at(array));
        return where + "->__ae_n" + std::to_string(number->second);
    };
}

std::string FunctionWriter::access(const Context &c, const Variable &v) {
    if (v.place == Place::Moved) return v.name;
    if (v.sized && (v.place == Place::Frame || v.place == Place::Boxed)) {
        sizesSeenFrom(c);
        std::string pointer = declareType(unit.context().getPointerType(v.type()), "", unit.begin(v.decl->getLocation()));
        return "(*(" + pointer + ")" + (v.type()->isArrayType() ? "" : "&") + holder(c, v) + "->" + v.name + ")";
    }
    if (&c != v.owner && v.pprivate) return v.addressed ? "(__ae_m->" + v.name + ")" : v.name;
    switch (v.place) {
    case Place::Frame: return "(" + frameOf(c, *v.owner) + "->" + v.name + ")";
    case Place::Boxed: return "(" + boxPointer(c, *v.box) + "->" + v.name + ")";
    default: return v.name;
    }
}

void FunctionWriter::complain(std::size_t at) {
    if (std::string problem = types.takeProblem(); !problem.empty()) unit.error(at, problem);
}
std::string FunctionWriter::declareType(QualType type, const std::string &n, std::size_t at) {
    std::string s = types.declare(type, n);
    complain(at);
    return s;
}
std::string FunctionWriter::declareAssignable(QualType type, const std::string &n, std::size_t at) {
    std::string s = types.declareAssignable(type, n);
    complain(at);
    return s;
}
std::string FunctionWriter::frameEnd(const Context &c) const {
    std::string arguments = plan.variadic() ? "__ae_args_end(__ae_b, __ae_args); " : "";
    if (!hasFrame(c)) return arguments;
    return arguments + "__ae_frame_end(__ae_b, __ae_fr, sizeof *__ae_fr, _Alignof(" + frameType(c) + ")); ";
}

namespace {

// --- point edits that every part of the unit needs --------------------------------------------------------------------------------

std::size_t skipSpace(llvm::StringRef text, std::size_t at) {
    for (;; at++) {
        while (at < text.size() && isWhitespace(text[at])) at++;
        if (at >= text.size() || text[at] != '#') return at;
        while (at < text.size() && text[at] != '\n') at++; // a line marker
    }
}

class PointEdits : public RecursiveASTVisitor<PointEdits> {
  public:
    PointEdits(Unit &unit, Edits &edits) : unit(unit), edits(edits) {
        for (auto *f : unit.definitions)
            if (auto t = f->getTypeSourceInfo()->getTypeLoc().IgnoreParens().getAsAdjusted<FunctionTypeLoc>())
                definitions.insert(unit.begin(t.getLParenLoc()));
    }
    bool TraverseFunctionDecl(FunctionDecl *f) {
        FunctionDecl *outer = std::exchange(function, f);
        bool go = RecursiveASTVisitor::TraverseFunctionDecl(f);
        function = outer;
        return go;
    }
    bool VisitFunctionTypeLoc(FunctionTypeLoc t) {
        if (!isAesop(QualType(t.getTypePtr(), 0))) return true;
        std::size_t open = unit.begin(t.getLParenLoc()), close = unit.begin(t.getRParenLoc());
        bool definition = definitions.count(open), old = isa<FunctionNoProtoType>(t.getTypePtr());
        if (old && !definition) return true;
        std::string hidden = definition ? "(struct __ae_branch *__ae_b" : "(struct __ae_branch *";
        auto *prototype = dyn_cast<FunctionProtoType>(t.getTypePtr());
        if (prototype && prototype->isVariadic()) { // the further arguments come in a block
            std::size_t dots = unit.text.slice(open, close).rfind("...");
            if (dots != llvm::StringRef::npos) dots += open;
            if (dots != llvm::StringRef::npos)
                edits.replace(dots, dots + 3, definition ? "struct __ae_args *__ae_args" : "struct __ae_args *");
        }
        if (t.getNumParams() == 0 && !(prototype && prototype->isVariadic()))
            edits.replace(open, close + 1, hidden + ")");
        else
            edits.replace(open, open + 1, hidden + ", ");
        return true;
    }
    bool VisitCallExpr(CallExpr *call) {
        if (call->getBuiltinCallee() == Builtin::BI__builtin_va_start && function && isAesop(function->getType()) &&
            call->getNumArgs() == 2) {
            std::size_t open = skipSpace(unit.text, unit.end(call->getCallee()->getEndLoc()));
            edits.replace(unit.range(call->getCallee()), "__ae_va_start");
            edits.replace(open, open + 1, "(&");
            edits.replace(unit.range(call->getArg(1)), "__ae_args");
            return true;
        }
        if (!isAesopCall(call)) return true;
        std::size_t open = skipSpace(unit.text, unit.end(call->getCallee()->getEndLoc()));
        if (open >= unit.text.size() || unit.text[open] != '(') return true;
        std::string branch = function && isAesop(function->getType()) ? "__ae_b" : "(struct __ae_branch *)0";
        edits.replace(open, open + 1, "(" + branch + (call->getNumArgs() ? ", " : ""));
        return true;
    }

  private:
    Unit &unit;
    Edits &edits;
    std::set<std::size_t> definitions;
    FunctionDecl *function = nullptr;
};

// --- local types and declarations, moved in front of the function -------------------------------------------------------------------

class Mover : public RecursiveASTVisitor<Mover> {
  public:
    Mover(FunctionWriter &fn, TypeNames &names, std::set<std::string> &taken) : fn(fn), unit(fn.unit), names(names), taken(taken) {}

    // Chooses names for what moves, and renames their uses.
    void prepare() {
        for (const Decl *d : fn.plan.moved)
            if (auto *tag = dyn_cast<TagDecl>(d)) rename(tag);
        for (const Decl *d : fn.plan.moved)
            if (auto *alias = dyn_cast<TypedefNameDecl>(d)) rename(alias);
        TraverseStmt(fn.plan.function->getBody());
    }
    bool VisitRecordDecl(RecordDecl *record) { // those nested in a moved record have its scope in C
        if (!names.count(record) && record->isCompleteDefinition() && record->getIdentifier() && moves(record)) rename(record);
        return true;
    }
    bool VisitEnumDecl(EnumDecl *e) {
        if (!names.count(e) && e->getIdentifier() && moves(e)) rename(e);
        return true;
    }
    bool VisitTagTypeLoc(TagTypeLoc t) {
        if (auto it = names.find(t.getDecl()); it != names.end() && t.getDecl()->getIdentifier()) rewrite(t.getNameLoc(), it->second);
        return true;
    }
    bool VisitTypedefTypeLoc(TypedefTypeLoc t) {
        if (fn.plan.sizedTypedefs.count(t.getTypedefNameDecl())) sized.push_back(t);
        if (auto it = names.find(t.getTypedefNameDecl()); it != names.end()) rewrite(t.getNameLoc(), it->second);
        return true;
    }
    bool VisitTagDecl(TagDecl *t) {
        if (auto it = names.find(t); it != names.end() && t->getIdentifier()) rewrite(t->getLocation(), it->second);
        return true;
    }
    bool VisitEnumConstantDecl(EnumConstantDecl *c) {
        if (constant(c)) rewrite(c->getLocation(), names[c]);
        return true;
    }
    bool VisitDeclRefExpr(DeclRefExpr *r) {
        if (auto *c = dyn_cast<EnumConstantDecl>(r->getDecl()))
            if (constant(c)) rewrite(r->getLocation(), names[c]);
        return true;
    }

    std::vector<TypedefTypeLoc> sized; // uses of typedefs of variable-length arrays

    // The moved text, in the order of the source.
    std::string text() {
        std::string out;
        for (const Decl *d : fn.plan.moved) {
            std::size_t at = unit.begin(d->getLocation());
            if (auto *tag = dyn_cast<TagDecl>(d)) {
                if (!tag->isCompleteDefinition()) {
                    out += tag->getKindName().str() + " " + nameOf(tag) + ";\n";
                    continue;
                }
                std::size_t end = unit.end(tag->getBraceRange().getEnd());
                out += fn.edits.text(unit.begin(tag->getBeginLoc()), attributesEnd(end)) + ";\n";
            } else if (auto *alias = dyn_cast<TypedefNameDecl>(d)) {
                out += "typedef " + fn.declareType(alias->getUnderlyingType(), nameOf(alias), at) + ";\n";
            } else if (auto *v = dyn_cast<VarDecl>(d)) {
                Variable *variable = fn.plan.variable(v);
                out += v->isStaticLocal() ? "static " : "extern ";
                if (v->getTSCSpec() != TSCS_unspecified) out += "_Thread_local ";
                if (v->hasAttr<AlignedAttr>()) out += "_Alignas(" + std::to_string(unit.context().getDeclAlign(v).getQuantity()) + ") ";
                out += fn.declareType(v->getType(), variable->name, at);
                if (v->getInit()) out += " = " + fn.edits.text(unit.range(v->getInit()));
                out += ";\n";
            } else if (auto *f = dyn_cast<FunctionDecl>(d)) {
                out += fn.declareType(f->getType(), f->getNameAsString(), at) + ";\n";
            }
        }
        return out;
    }

  private:
    FunctionWriter &fn;
    Unit &unit;
    TypeNames &names;
    std::set<std::string> &taken;

    template <class Named>
    std::string nameOf(const Named *d) {
        auto it = names.find(d);
        return it == names.end() ? d->getNameAsString() : it->second;
    }
    void rewrite(SourceLocation at, const std::string &name) {
        std::size_t begin = unit.begin(at), end = unit.end(at);
        if (end > begin) fn.edits.replace(begin, end, name);
    }
    bool free(const std::string &name, DeclarationName spelled) {
        return (spelled.isEmpty() || unit.context().getTranslationUnitDecl()->lookup(spelled).empty()) && taken.insert(name).second;
    }
    std::string unused(const std::string &base) {
        std::string fresh = fn.name + "__" + base;
        for (int i = 2; !taken.insert(fresh).second; i++) fresh = fn.name + "__" + base + std::to_string(i);
        return fresh;
    }
    void rename(const NamedDecl *d) {
        if (names.count(d)) return;
        std::string base = d->getNameAsString();
        if (!base.empty() && free(base, d->getDeclName())) {
            names[d] = base;
            return;
        }
        std::string fresh = unused(base.empty() ? "type" : base);
        names[d] = fresh;
        if (auto *tag = dyn_cast<TagDecl>(d); tag && base.empty()) { // `struct {` becomes `struct f__type {`
            std::size_t brace = unit.begin(tag->getBraceRange().getBegin());
            fn.edits.replace(brace, brace + 1, " " + fresh + " {");
        }
    }
    bool moves(const TagDecl *d) const {
        Range inner = unit.range(d->getSourceRange());
        for (const Decl *outer : fn.plan.moved)
            if (isa<TagDecl>(outer)) {
                Range r = unit.range(outer->getSourceRange());
                if (r.begin <= inner.begin && inner.end <= r.end) return true;
            }
        return false;
    }
    bool constant(const EnumConstantDecl *c) {
        if (names.count(c)) return names[c] != c->getNameAsString();
        auto *e = dyn_cast<EnumDecl>(c->getDeclContext());
        if (!e || !moves(e)) return false;
        if (free(c->getNameAsString(), c->getDeclName()))
            names[c] = c->getNameAsString();
        else
            names[c] = unused(c->getNameAsString());
        return names[c] != c->getNameAsString();
    }
    std::size_t attributesEnd(std::size_t at) {
        for (;;) {
            std::size_t next = skipSpace(unit.text, at);
            if (!unit.text.substr(next).starts_with("__attribute__")) return at;
            next = skipSpace(unit.text, next + 13);
            int depth = 0;
            do {
                if (unit.text[next] == '(') depth++;
                if (unit.text[next] == ')') depth--;
                next++;
            } while (depth && next < unit.text.size());
            at = next;
        }
    }
};

bool isMain(const FunctionDecl *f) { return f->getIdentifier() && f->getName() == "main" && f->isExternallyVisible(); }

// --- one function ------------------------------------------------------------------------------------------------------------------

class Assembler {
  public:
    Assembler(FunctionWriter &fn) : fn(fn), unit(fn.unit), plan(fn.plan), at(unit.begin(plan.function->getLocation())) {}

    std::string write(Mover &mover) {
        referenceEdits();
        for (auto &t : mover.sized) {
            const Context *c = plan.root();
            std::size_t where = unit.begin(t.getNameLoc());
            for (auto &other : plan.contexts)
                if (other->statement && unit.range(other->statement).begin <= where && where < unit.range(other->statement).end)
                    c = other.get();
            fn.sizesSeenFrom(*c);
            fn.edits.replace(where, unit.end(t.getNameLoc()), fn.declareType(t.getType(), "", where));
        }
        fn.sizesSeenFrom(*plan.root());
        std::string moved = mover.text();
        for (auto &c : plan.contexts) bodies.push_back(std::make_unique<BodyWriter>(fn, *c));
        // Branches first: what is around one may replace the text that it stands in.
        for (auto it = bodies.rbegin(); it != bodies.rend(); ++it) (*it)->write();
        Range declarator = {unit.begin(plan.function->getBeginLoc()), unit.begin(plan.function->getBody()->getBeginLoc())};
        std::string head = fn.edits.text(declarator);
        head.erase(0, skipSpace(head, 0));
        while (!head.empty() && isWhitespace(head.back())) head.pop_back();

        std::string again = head;
        bool defines = head.find('{') != std::string::npos; // a type: that can stand only once
        if (defines || Plan::isOldStyle(plan.function)) {
            again = plan.function->getStorageClass() == SC_Static ? "static " : "";
            again += fn.declareAssignable(plan.function->getReturnType(), fn.name == "main" ? "__ae_user_main" : fn.name, at) + "(" +
                     parameters() + ")";
            if (plan.function->getReturnType()->isFunctionPointerType())
                unit.error(at, "give the type in this declaration a declaration of its own");
            if (!defines) head = again;
        }
        std::string out = mark(declarator.begin) + head + ";\n" + moved;
        for (auto &b : plan.boxes) out += box(*b);
        for (auto &c : plan.contexts)
            if (FunctionWriter::hasFrame(*c)) {
                warnOfSize(*c);
                out += structure(*c);
            }
        for (auto &c : plan.contexts) out += prototypes(*c);
        for (std::size_t i = plan.contexts.size(); i-- > 0;) out += function(*plan.contexts[i]);
        out += mark(declarator.begin) + again + mark(declarator.end) + " { " + enter() + " }\n";
        for (auto &c : plan.contexts) out += resume(*c);
        return out;
    }

  private:
    FunctionWriter &fn;
    Unit &unit;
    Plan &plan;
    std::size_t at;
    std::vector<std::unique_ptr<BodyWriter>> bodies;

    BodyWriter &body(const Context &c) { return *bodies[std::size_t(c.index)]; }
    static const std::string &inlined(const Request &r) {
        static const std::string forced = "static __inline __attribute__((always_inline)) ", plain = "static ";
        return r.optimize && r.nativeAttributes ? forced : plain;
    }
    // A function whose labels' addresses are taken must exist once: they would not be the same in another copy.
    static std::string singleCopy(const Request &r) {
        return r.hostIsGcc ? "static __attribute__((noipa)) " : r.nativeAttributes ? "static __attribute__((noinline)) " : "static ";
    }

    void referenceEdits() {
        for (auto *r : plan.references) {
            Variable *v = plan.variable(r->getDecl());
            if (!v) continue;
            std::string to = fn.access(*plan.contextOf.at(r), *v);
            if (to != v->decl->getNameAsString()) fn.edits.replace(unit.range(r), to);
        }
        int number = 0;
        for (auto *l : plan.literals) {
            std::string member = fn.frame(*plan.literalOwner.at(l)) + "->__ae_l" + std::to_string(++number);
            Range r = unit.range(l);
            fn.edits.replace(r.begin, r.begin + 1,
                             "(*(" + fn.declareType(unit.context().getPointerType(l->getType().getUnqualifiedType()), "", at) +
                                 ")__ae_copy(&" + member + ", &(");
            fn.edits.replace(r.end - 1, r.end, "}, sizeof " + member + "))");
        }
    }

    std::string member(const Variable &v) {
        std::string sizes;
        for (auto &[size, holder] : plan.sizeHolder)
            if (holder == &v) sizes += "    unsigned long __ae_n" + std::to_string(plan.sizeNumber.at(size)) + ";\n";
        if (v.sized) return "    void *" + v.name + ";\n" + sizes;
        if (isVaList(unit.context(), v.type()) && v.type()->isPointerType()) return "    void *" + v.name + ";\n";
        std::string align =
            v.decl->hasAttr<AlignedAttr>() ? "_Alignas(" + std::to_string(unit.context().getDeclAlign(v.decl).getQuantity()) + ") " : "";
        return "    " + align + fn.declareAssignable(v.type(), v.name, unit.begin(v.decl->getLocation())) + ";\n";
    }

    // What the context keeps while it waits, padding aside.
    std::size_t bytesKept(const Context &c) {
        ASTContext &context = unit.context();
        auto size = [&](QualType t) { return std::size_t(context.getTypeSizeInChars(t).getQuantity()); };
        std::size_t sum = c.isBranch() ? 96 : 24;
        for (auto &v : plan.variables)
            if (v->owner == &c && !v->sized && (v->place == Place::Frame || body(c).kept.count(v.get()))) sum += size(v->type());
        for (Variable *v : c.copies) sum += size(v->type());
        for (auto &t : body(c).temporaries)
            if (t.kept) sum += size(t.type);
        return sum;
    }
    void warnOfSize(const Context &c) {
        const unsigned usual = 64 * 1024;
        unsigned limit = unit.request.frameWarning ? unit.request.frameWarning : usual;
        std::size_t bytes = bytesKept(c);
        if (bytes <= limit) return;
        std::string what = c.isBranch() ? "this branch of '" + fn.name + "'" : "'" + fn.name + "'";
        unit.warn(c.isBranch() ? unit.range(c.statement).begin : at, "aesop-frame-size",
                  what + " keeps " + std::to_string(bytes) + " bytes while it waits, more than " + std::to_string(limit) +
                      "; allocate what is large, or end its block before the wait");
    }

    std::string box(const Box &b) {
        std::string s = fn.boxType(b) + " {\n    struct __ae_box __ae_refs;\n";
        for (Variable *v : b.variables) s += member(*v);
        return s + "};\n";
    }

    std::string structure(const Context &c) {
        BodyWriter &w = body(c);
        std::string s = fn.frameType(c) + " {\n";
        if (c.isBranch()) {
            s += "    struct __ae_branch __ae_branch;\n    struct __ae_frame __ae_h;\n";
            if (c.home) s += "    " + fn.frameType(*c.home->owner) + " *__ae_up;\n";
            for (Box *b : c.boxes) s += "    " + fn.boxType(*b) + " *__ae_x" + std::to_string(b->index) + ";\n";
            for (Variable *v : c.copies) s += member(*v);
        } else {
            s += "    struct __ae_frame __ae_h;\n";
        }
        for (auto &v : plan.variables)
            if (v->owner == &c && (v->place == Place::Frame || (v->place == Place::Register && w.kept.count(v.get())))) s += member(*v);
        for (auto &b : plan.boxes)
            if (b->owner == &c && (c.isBranch() || c.eager || w.keptBoxes.count(b.get())))
                s += "    " + fn.boxType(*b) + " *__ae_x" + std::to_string(b->index) + ";\n";
        for (auto &t : w.temporaries)
            if (t.kept) s += "    " + fn.declareAssignable(t.type, t.name, at) + ";\n";
        for (Pwait *p : c.pwaits) {
            std::string n = "__ae_p" + std::to_string(p->index);
            s += "    struct __ae_pwait " + n + ";\n";
            if (p->returns) {
                s += "    int " + n + "_returned;\n";
                if (!plan.function->getReturnType()->isVoidType())
                    s += "    " + fn.declareAssignable(plan.function->getReturnType(), n + "_value", at) + ";\n";
            }
        }
        for (auto &[size, owner] : plan.sizeOwner)
            if (owner == &c) s += "    unsigned long __ae_n" + std::to_string(plan.sizeNumber.at(size)) + ";\n";
        if (!c.isBranch() && plan.variadic()) s += "    struct __ae_args *__ae_args;\n";
        for (int i : w.keptShields) s += "    struct __ae_scope __ae_s" + std::to_string(i) + ";\n";
        for (int i : w.keptDeadlines) s += "    struct __ae_deadline __ae_d" + std::to_string(i) + ";\n";
        int number = 0;
        for (auto *l : plan.literals)
            if (number++; plan.literalOwner.at(l) == &c)
                s += "    " + fn.declareAssignable(l->getType(), "__ae_l" + std::to_string(number), at) + ";\n";
        // An array at the end would pass for one without bounds, and -fsanitize=bounds would not look at it.
        std::size_t last = s.rfind('\n', s.size() - 2);
        if (s.find('[', last) != std::string::npos) s += "    char __ae_end[];\n";
        return s + "};\n";
    }

    std::string bodyHead(const Context &c) {
        if (c.isBranch()) return "static void " + fn.bodyName(c) + "(" + fn.frameType(c) + " *__ae_m, int __ae_resumed)";
        std::string all = parameters(FunctionWriter::hasFrame(c) ? ", " + fn.frameType(c) + " *__ae_fr, int __ae_resumed" : "");
        // gcc refuses to inline what walks variable arguments.
        return (plan.usesLabelValues ? singleCopy(unit.request)
                : plan.variadic()    ? "static "
                                     : inlined(unit.request)) +
               fn.declareAssignable(plan.function->getReturnType(), fn.bodyName(c) + "(" + all + ")", at);
    }
    std::string parameters(const std::string &own = "") {
        std::string s = "struct __ae_branch *__ae_b" + own;
        for (auto *p : plan.function->parameters())
            if (Variable *v = p->getIdentifier() ? plan.variable(p) : nullptr)
                s += ", " + (v->sized && v->place != Place::Stay
                                 ? "void *" + v->name
                                 : fn.declareAssignable(parameterType(p), p->getNameAsString(), unit.begin(p->getLocation())));
        return s + (plan.variadic() ? ", struct __ae_args *__ae_args" : "");
    }
    QualType parameterType(const ParmVarDecl *p) { return isVaList(unit.context(), p->getType()) ? p->getOriginalType() : p->getType(); }

    std::string prototypes(const Context &c) {
        std::string s;
        if (FunctionWriter::hasFrame(c)) s += "static int " + fn.resumeName(c) + "(struct __ae_branch *, struct __ae_frame *);\n";
        if (c.isBranch()) s += bodyHead(c) + ";\n";
        return s;
    }

    // Where a body is entered again (at its top), and where it is left (behind its statements). Both carry the line of the function's
    // header, so that a breakpoint on a call has one place, the call.
    std::string entries(const BodyWriter &w, const std::string &frame) {
        if (w.points.empty()) return soft("    (void)__ae_resumed;");
        std::string s = soft("    if (__ae_resumed) {") + soft("        switch (" + frame + "->__ae_h.state) {");
        for (std::size_t i = 0; i < w.points.size(); i++) {
            std::string number = std::to_string(i + 1);
            s += soft("        " + (i + 1 == w.points.size() ? "default" : "case " + number) + ": " + w.points[i].restore + "goto __ae_" +
                      number + ";");
        }
        return s + soft("        }") + soft("    }");
    }
    std::string exits(const BodyWriter &w) {
        if (w.points.empty()) return "";
        std::string s = soft("    if (0) {");
        for (std::size_t i = 0; i < w.points.size(); i++) s += soft("    __ae_wait" + std::to_string(i + 1) + ": " + w.points[i].save);
        return s + soft("    }");
    }
    static std::string soft(const std::string &line) { return line + softLine; }

    std::string locals(const Context &c) {
        BodyWriter &w = body(c);
        std::string s;
        auto local = [&](const std::string &declaration) { s += "    " + declaration + std::string(";") + softLine; };
        if (c.isBranch()) local("struct __ae_branch *const __ae_b = &__ae_m->__ae_branch");
        for (auto &v : plan.variables) {
            bool copied = std::find(c.copies.begin(), c.copies.end(), v.get()) != c.copies.end() && !v->addressed;
            bool own = v->owner == &c && v->place == Place::Register && !isa<ParmVarDecl>(v->decl);
            if (own || copied) local(fn.declareAssignable(v->type(), v->name, unit.begin(v->decl->getLocation())));
        }
        for (int i = 1; i <= w.argumentBlocks; i++) local("struct __ae_args *__ae_a" + std::to_string(i));
        for (auto &t : w.temporaries) local(fn.declareAssignable(t.type, t.name, at));
        if (!c.isBranch() && !c.eager)
            for (auto &b : plan.boxes)
                if (b->owner == &c) local(fn.boxType(*b) + " *__ae_x" + std::to_string(b->index));
        for (int i = 1; i <= w.shields; i++) local("struct __ae_scope __ae_s" + std::to_string(i));
        for (int i = 1; i <= w.deadlines; i++) local("struct __ae_deadline __ae_d" + std::to_string(i));
        return s + "    (void)__ae_b; " + softLine;
    }

    // What a first entry does before the user's statements.
    std::string begin(const Context &c) {
        std::string s, frame = fn.frame(c);
        auto set = [&](const std::string &to, const std::string &from, QualType type) {
            s += "    " + (assignable(type) ? to + " = " + from : "__ae_copy(&" + to + ", &" + from + ", sizeof " + to + ")") +
                 std::string(";") + softLine;
        };
        for (Variable *v : c.copies)
            if (!v->addressed) set(v->name, "__ae_m->" + v->name, v->type());
        if (c.eager && !c.isBranch())
            s += "    __ae_fr = (" + fn.frameType(c) + " *)__ae_frame_new(__ae_b, sizeof *__ae_fr, _Alignof(" + fn.frameType(c) + "), " +
                 fn.resumeName(c) + "); " + softLine;
        for (auto &v : plan.variables) {
            auto *p = dyn_cast<ParmVarDecl>(v->decl);
            if (!p || c.isBranch()) continue;
            if (v->sized && v->place == Place::Frame) {
                fn.sizesSeenFrom(c);
                for (auto *size : evaluatedSizes(unit.context(), p->getType()))
                    s += "    " + fn.types.sizeOf(size) + " = (unsigned long)(" + fn.edits.text(unit.range(size->getSizeExpr())) + "); " +
                         softLine;
                s += "    __ae_fr->" + v->name + " = (void *)" + v->name + std::string(";") + softLine;
            } else if (v->place == Place::Frame) {
                set(fn.access(c, *v), p->getNameAsString(), v->type());
            }
            if (p->hasAttr<UnusedAttr>()) s += "    (void)" + p->getNameAsString() + std::string(";") + softLine;
        }
        for (auto &b : plan.boxes)
            if (b->owner == &c && b->block && plan.entered.count(b->block)) s += "    " + fn.boxPointer(c, *b) + " = 0; " + softLine;
        for (auto &v : plan.variables)
            if (v->owner == &c && v->place == Place::Frame && v->sized && v->type()->isArrayType())
                s += "    " + frame + "->" + v->name + " = 0; " + softLine;
        return s;
    }

    // What stands behind the user's statements.
    std::string end(const Context &c) {
        BodyWriter &w = body(c);
        if (!c.isBranch()) {
            bool returnsAtJoin = false; // the C compiler cannot see that a join always returns
            for (auto &p : plan.pwaits) returnsAtJoin |= p->returns;
            return fn.frameEnd(c) + (isMain(plan.function) || returnsAtJoin ? w.returnsNothing() : "");
        }
        std::string s = w.endLabel ? "__ae_end:; " : "";
        for (Box *b : c.boxes) s += fn.dropBox(c, *b);
        return s;
    }

    std::string function(const Context &c) {
        std::size_t where = c.isBranch() ? unit.range(c.statement).begin : at;
        bool resumes = c.isBranch() || FunctionWriter::hasFrame(c);
        std::string head = mark(where) + bodyHead(c) + softLine + "{" + softLine + locals(c);
        if (resumes) head += entries(body(c), fn.frame(c));
        return head + begin(c) + mark(where) + body(c).text + end(c) + mark(where) + softLine + exits(body(c)) + "}\n";
    }

    // The C function itself.
    std::string enter() {
        const Context &root = *plan.root();
        std::string arguments = "__ae_b";
        if (FunctionWriter::hasFrame(root)) arguments += ", 0, 0";
        for (auto *p : plan.function->parameters())
            if (Variable *v = p->getIdentifier() ? plan.variable(p) : nullptr)
                arguments += (v->sized && v->place != Place::Stay ? ", (void *)" : ", ") + p->getNameAsString();
        if (plan.variadic()) arguments += ", __ae_args";
        return (plan.function->getReturnType()->isVoidType() ? "" : "return ") + fn.bodyName(root) + "(" + arguments + ");";
    }

    std::string resume(const Context &c) {
        if (!FunctionWriter::hasFrame(c)) return "";
        std::string type = fn.frameType(c);
        std::string out = mark(unit.begin(plan.function->getBeginLoc())) + "static int " + fn.resumeName(c) +
                          "(struct __ae_branch *__ae_b, struct __ae_frame *__ae_f) { ";
        if (c.isBranch())
            return out + type + " *__ae_m = (" + type + " *)(void *)__ae_b; (void)__ae_f; " + fn.bodyName(c) +
                   "(__ae_m, 1); if (__ae_waits(__ae_b)) return __AE_WAIT; return __ae_branch_ended(__ae_b, sizeof *__ae_m, _Alignof(" +
                   type + ")); }\n";
        std::string call = fn.bodyName(c) + "(__ae_b, (" + type + " *)(void *)__ae_f, 1";
        for (auto *p : plan.function->parameters()) {
            if (!p->getIdentifier()) continue;
            QualType t = p->getType();
            if (t->isScalarType() || t->isAnyComplexType() || isVaList(unit.context(), t))
                call += ", 0";
            else
                call += ", (" + fn.declareAssignable(t, "", at) + "){0}";
        }
        call += plan.variadic() ? ", 0)" : ")";
        QualType result = plan.function->getReturnType();
        if (result->isVoidType()) return out + call + "; return __ae_waits(__ae_b) ? __AE_WAIT : __AE_DONE; }\n";
        out += fn.declareAssignable(result, "__ae_value", at) + " = " + call + "; if (__ae_waits(__ae_b)) return __AE_WAIT; ";
        if (travelsInRegister(result))
            out += "__ae_b->ret = (long)__ae_value; ";
        else
            out += "__ae_copy(__ae_wide(__ae_b, sizeof __ae_value), &__ae_value, sizeof __ae_value); ";
        return out + "return __AE_DONE; }\n";
    }
};

class FunctionNames : public RecursiveASTVisitor<FunctionNames> {
  public:
    FunctionNames(Unit &u, Edits &e, std::string n) : unit(u), edits(e), name(std::move(n)) {}
    bool VisitPredefinedExpr(PredefinedExpr *e) {
        edits.replace(unit.range(e), "\"" + name + "\"");
        return true;
    }
    Unit &unit;
    Edits &edits;
    std::string name;
};

// A main that is an aesop function is called from a C main, which starts the runtime.
std::string mainOf(const Unit &unit, const FunctionDecl *f) {
    std::string arguments = "__ae_b";
    if (f->getNumParams() >= 1) arguments += ", argc";
    if (f->getNumParams() >= 2) arguments += ", argv";
    std::string call = "__ae_user_main(" + arguments + ")";
    return mark(unit.begin(f->getBeginLoc())) +
           "static int __ae_entry(struct __ae_branch *__ae_b, int argc, char **argv) { (void)argc; (void)argv; " +
           (f->getReturnType()->isVoidType() ? call + "; return 0;" : "return " + call + ";") + " }\n" +
           mark(unit.begin(f->getBeginLoc())) + "int main(int argc, char **argv) { return __ae_main(__ae_entry, argc, argv); }\n";
}

} // namespace

void lower(Unit &unit, Edits &edits) {
    PointEdits(unit, edits).TraverseDecl(unit.context().getTranslationUnitDecl());
    for (auto &k : unit.keywords)
        if (k.keyword == Keyword::Aesop || k.keyword == Keyword::Nowait || k.keyword == Keyword::Pprivate || k.keyword == Keyword::Pshared)
            edits.replace(k.offset, k.offset + k.length, "");

    TypeNames names;
    std::set<std::string> taken;
    for (FunctionDecl *f : unit.definitions) {
        Plan plan(unit, f, names);
        Range whole = {unit.begin(f->getBeginLoc()), unit.range(f->getBody()).end};
        bool startsProgram = isMain(f);
        if (startsProgram) edits.replace(unit.begin(f->getLocation()), unit.end(f->getLocation()), "__ae_user_main");
        std::string behind = mark(whole.end - 1);
        if (startsProgram) FunctionNames(unit, edits, "main").TraverseStmt(f->getBody());
        if (startsProgram) behind = mainOf(unit, f) + behind;
        if (!plan.lowered()) {
            std::size_t brace = unit.begin(f->getBody()->getBeginLoc());
            edits.replace(brace, brace + 1, "{ (void)__ae_b; ");
            if (startsProgram) {
                std::string text = edits.text(whole);
                edits.replace(whole, text + "\n" + behind);
            }
            continue;
        }
        std::set<Variable *> kept;
        for (auto &c : plan.contexts)
            for (auto &[where, set] : liveness(plan, *c)) kept.insert(set.begin(), set.end());
        plan.settle(kept);
        FunctionWriter fn(unit, edits, plan, names);
        FunctionNames(unit, edits, fn.name).TraverseStmt(f->getBody());
        Mover mover(fn, names, taken);
        mover.prepare();
        std::string text = Assembler(fn).write(mover);
        if (!unit.failed()) edits.replace(whole, text + behind);
    }
}

} // namespace aecc
