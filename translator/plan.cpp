// Making the plan: one walk over the body collects contexts, waits, variables and uses; then each variable gets its place.
#include "plan.h"

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include <algorithm>

using namespace clang;

namespace aecc {

QualType Variable::type() const {
    // A parameter of type va_list is an array that decayed; its own spelling is the one that can be declared.
    return decl->getType();
}

struct Plan::Walker {
    Plan &plan;
    Unit &unit;
    Context *context;
    Pwait *pwait = nullptr;            // innermost around, in the whole function
    const Stmt *block = nullptr;       // innermost scope for declarations
    std::vector<const Stmt *> scopes;  // statements with scopes and blocks around, outside in
    bool scoped = false;               // a pshield or pdeadline stands in the function
    std::vector<std::size_t> switches; // where in `scopes` the inside of each switch around begins
    std::vector<std::pair<Variable *, Context *>> uses;
    std::vector<std::pair<const CompoundLiteralExpr *, const Stmt *>> addressedLiterals;

    explicit Walker(Plan &p) : plan(p), unit(p.unit) {}

    Variable *declare(const VarDecl *d, const Stmt *scope) {
        auto v = std::make_unique<Variable>();
        v->decl = d;
        v->owner = context;
        v->block = scope;
        v->name = d->getNameAsString();
        v->pprivate = isPprivate(d);
        QualType t = d->getType();
        v->sized = isVariablyModified(t);
        v->addressed = (t->isArrayType() || t.isVolatileQualified() || t->isAtomicType() || d->hasAttr<CleanupAttr>() ||
                        isVaList(unit.context(), t) || d->hasAttr<AlignedAttr>()) &&
                       !(isVaList(unit.context(), t) && t->isPointerType()); // a parameter that was an array: only a pointer
        if (d->isStaticLocal() || d->hasExternalStorage() || d->isLocalExternDecl()) v->place = Place::Moved;
        if (d->isStaticLocal() && d->getInit() && holdsLabels(d->getInit())) v->place = Place::Stay;
        plan.variableOf[d] = v.get();
        plan.variables.push_back(std::move(v));
        return plan.variables.back().get();
    }

    static bool holdsLabels(const Stmt *s) {
        if (isa<AddrLabelExpr>(s)) return true;
        for (const Stmt *child : s->children())
            if (child && holdsLabels(child)) return true;
        return false;
    }

    // Statements that cannot be copied as they stand: a statement expression that holds one is rebuilt as if it waited.
    static bool needsRebuilding(const Stmt *s) {
        if (statementKeyword(s) != Keyword::None) return true;
        if (isa<ReturnStmt>(s) || isa<GotoStmt>(s) || isa<IndirectGotoStmt>(s) || isa<LabelStmt>(s) || isa<BreakStmt>(s) ||
            isa<ContinueStmt>(s))
            return true;
        if (auto *d = dyn_cast<DeclStmt>(s))
            for (const Decl *decl : d->decls()) {
                auto *v = dyn_cast<VarDecl>(decl);
                if (v ? v->isStaticLocal() || v->hasExternalStorage() : !isa<StaticAssertDecl>(decl)) return true;
            }
        for (const Stmt *child : s->children())
            if (child && needsRebuilding(child)) return true;
        return false;
    }

    void suspension(std::size_t offset) { context->suspensions.push_back(offset); }

    // The object whose storage an lvalue lies in, if that is a local variable or a compound literal.
    void markAddressed(const Expr *e) {
        for (;;) {
            e = e->IgnoreParens();
            if (auto *m = dyn_cast<MemberExpr>(e); m && !m->isArrow())
                e = m->getBase();
            else if (auto *s = dyn_cast<ArraySubscriptExpr>(e)) {
                const Expr *base = s->getBase()->IgnoreParens();
                auto *cast = dyn_cast<ImplicitCastExpr>(base);
                if (!cast || cast->getCastKind() != CK_ArrayToPointerDecay) return;
                e = cast->getSubExpr();
            } else if (auto *u = dyn_cast<UnaryOperator>(e); u && (u->getOpcode() == UO_Real || u->getOpcode() == UO_Imag))
                e = u->getSubExpr();
            else if (auto *x = dyn_cast<UnaryOperator>(e); x && x->getOpcode() == UO_Extension)
                e = x->getSubExpr();
            else if (auto *c = dyn_cast<ImplicitCastExpr>(e); c && (c->getCastKind() == CK_NoOp || c->getCastKind() == CK_LValueBitCast))
                e = c->getSubExpr();
            else
                break;
        }
        if (auto *r = dyn_cast<DeclRefExpr>(e)) {
            if (Variable *v = plan.variable(r->getDecl())) v->addressed = true;
        } else if (auto *l = dyn_cast<CompoundLiteralExpr>(e)) {
            if (!l->isFileScope() || true) addressedLiterals.push_back({l, block});
        }
    }

    // Returns whether the tree holds a resume point of the current context.
    bool walkAll(const Stmt *s) {
        bool any = false;
        for (const Stmt *child : s->children())
            if (child) any |= walk(child);
        return any;
    }

    bool walk(const Stmt *s) {
        if (!s) return false;
        bool any = walkOne(s);
        if (any) plan.waits.insert(s);
        return any;
    }

    bool inBlock(const Stmt *newBlock, auto inside) {
        const Stmt *outer = std::exchange(block, newBlock);
        scopes.push_back(newBlock);
        bool any = inside();
        scopes.pop_back();
        block = outer;
        return any;
    }

    bool walkBranch(const AttributedStmt *s) {
        auto made = std::make_unique<Context>();
        Context *branch = made.get();
        branch->index = int(plan.contexts.size());
        branch->parent = context;
        branch->home = pwait;
        branch->statement = s;
        statementKeyword(s, &branch->body);
        plan.contexts.push_back(std::move(made));
        plan.branchOf[s] = branch;
        Context *outer = std::exchange(context, branch);
        scopes.push_back(s);
        walk(branch->body);
        scopes.pop_back();
        context = outer;
        return false; // the creating context does not wait at a pbranch
    }

    bool walkPwait(const AttributedStmt *s) {
        auto made = std::make_unique<Pwait>(Pwait{s, context, int(plan.pwaits.size()) + 1});
        Pwait *inner = made.get();
        plan.pwaits.push_back(std::move(made));
        plan.pwaitOf[s] = inner;
        context->pwaits.push_back(inner);
        Pwait *outer = std::exchange(pwait, inner);
        scopes.push_back(s);
        const Stmt *inside = nullptr;
        statementKeyword(s, &inside);
        walk(inside);
        scopes.pop_back();
        pwait = outer;
        suspension(unit.range(s).end);
        return true;
    }

    bool walkDeclarations(const DeclStmt *s) {
        bool any = false;
        for (const Decl *d : s->decls()) {
            auto *v = dyn_cast<VarDecl>(d);
            if (!v) {
                auto *alias = dyn_cast<TypedefNameDecl>(d);
                if (alias && isVariablyModified(alias->getUnderlyingType())) {
                    plan.sizedTypedefs.insert(alias);
                    for (auto *size : evaluatedSizes(unit.context(), alias->getUnderlyingType())) {
                        any |= walk(size->getSizeExpr());
                        plan.sizeOwner[size] = context;
                        plan.sizeNumber[size] = int(plan.sizeNumber.size()) + 1;
                    }
                } else if (isa<TagDecl>(d) || alias || isa<FunctionDecl>(d)) {
                    plan.moved.push_back(d);
                }
                continue;
            }
            Variable *variable = declare(v, block);
            for (auto *size : evaluatedSizes(unit.context(), v->getType())) any |= walk(size->getSizeExpr());
            if (v->getInit()) any |= walk(v->getInit());
            if (variable->place == Place::Moved) plan.moved.push_back(d);
        }
        return any;
    }

    bool walkOne(const Stmt *s) {
        const Stmt *inner = nullptr;
        switch (statementKeyword(s, &inner)) {
        case Keyword::Pbranch: return walkBranch(cast<AttributedStmt>(s));
        case Keyword::Pwait: return walkPwait(cast<AttributedStmt>(s));
        case Keyword::Pbreak: return false;
        case Keyword::Pshield: {
            scoped = true;
            scopes.push_back(s);
            bool any = walk(inner);
            scopes.pop_back();
            return any;
        }
        case Keyword::Pdeadline: {
            scoped = true;
            auto *body = cast<IfStmt>(inner);
            bool any = walk(body->getCond());
            scopes.push_back(s);
            any |= walk(body->getThen());
            scopes.pop_back();
            any |= walk(body->getElse());
            if (any) plan.waits.insert(inner);
            return any;
        }
        default: break;
        }
        if (auto *c = dyn_cast<CompoundStmt>(s)) return inBlock(c, [&] { return walkAll(c); });
        if (auto *f = dyn_cast<ForStmt>(s)) return inBlock(f, [&] { return walkAll(f); });
        if (auto *d = dyn_cast<DeclStmt>(s)) return walkDeclarations(d);
        if (auto *l = dyn_cast<LabelStmt>(s)) {
            plan.labels[l->getDecl()] = {context, scopes};
            plan.entered.insert(scopes.begin(), scopes.end());
            return walkAll(s);
        }
        if (isa<SwitchCase>(s)) {
            if (!switches.empty())
                for (std::size_t i = switches.back(); i < scopes.size(); i++) plan.entered.insert(scopes[i]);
            return walkAll(s);
        }
        if (auto *w = dyn_cast<SwitchStmt>(s)) {
            bool any = walk(w->getCond());
            switches.push_back(scopes.size() + isa<CompoundStmt>(w->getBody())); // the body itself is entered before the switch
            any |= walk(w->getBody());
            switches.pop_back();
            return any;
        }
        if (isa<ReturnStmt>(s)) {
            if (pwait)
                for (Pwait *p = pwait; p;) { // a return inside a branch becomes one of the branch around it, and so on
                    p->returns = true;
                    Context *c = p->owner;
                    const Stmt *at = p->statement;
                    p = enclosing(at, c);
                }
            return walkAll(s);
        }
        if (auto *r = dyn_cast<DeclRefExpr>(s)) {
            if (Variable *v = plan.variable(r->getDecl())) {
                plan.references.push_back(r);
                plan.contextOf[r] = context;
                uses.push_back({v, context});
            } else if (isa<EnumConstantDecl>(r->getDecl())) {
                plan.references.push_back(r);
                plan.contextOf[r] = context;
            }
            return false;
        }
        if (auto *u = dyn_cast<UnaryExprOrTypeTraitExpr>(s)) {
            // Of a variable-length array type, sizeof evaluates the size; that is all its children are.
            if (u->isArgumentType() && isVariablyModified(u->getArgumentType())) return walkAll(u);
            unevaluated(u);
            return false;
        }
        if (auto *g = dyn_cast<GenericSelectionExpr>(s)) {
            for (const Expr *e : g->getAssocExprs())
                if (g->isResultDependent() || e != g->getResultExpr()) unevaluated(e);
            if (g->isExprPredicate()) unevaluated(g->getControllingExpr());
            return walk(g->getResultExpr());
        }
        if (auto *c = dyn_cast<ChooseExpr>(s)) {
            unevaluated(c->isConditionTrue() ? c->getRHS() : c->getLHS());
            return walk(c->getChosenSubExpr());
        }
        if (isa<AddrLabelExpr>(s)) plan.usesLabelValues = true;
        if (auto *u = dyn_cast<UnaryOperator>(s); u && u->getOpcode() == UO_AddrOf) markAddressed(u->getSubExpr());
        if (auto *c = dyn_cast<ImplicitCastExpr>(s); c && c->getCastKind() == CK_ArrayToPointerDecay) markAddressed(c->getSubExpr());
        if (auto *a = dyn_cast<GCCAsmStmt>(s)) {
            for (const Expr *e : a->outputs()) markAddressed(e);
            for (unsigned i = 0; i < a->getNumInputs(); i++)
                if (a->getInputConstraint(i).find('m') != std::string::npos) markAddressed(a->getInputExpr(i));
        }
        if (auto *list = dyn_cast<InitListExpr>(s))
            if (auto *syntactic = list->getSyntacticForm()) return walkAll(syntactic);
        bool any = walkAll(s);
        if (auto *e = dyn_cast<StmtExpr>(s); e && !any) any = needsRebuilding(e);
        if (auto *call = dyn_cast<CallExpr>(s); call && isAesopCall(call) && !isNowait(call)) {
            suspension(unit.range(call).begin);
            any = true;
        }
        return any;
    }

    // The innermost pwait around a statement of context c (which may lie further out than c).
    Pwait *enclosing(const Stmt *statement, const Context *c) {
        Pwait *found = nullptr;
        Range inner = unit.range(statement);
        for (auto &p : plan.pwaits) {
            if (p->statement == statement) continue;
            Range r = unit.range(p->statement);
            if (r.begin <= inner.begin && inner.end <= r.end) found = p.get(); // later ones lie further in
        }
        (void)c;
        return found;
    }

    // Names are used, but nothing is evaluated and nothing waits.
    void unevaluated(const Stmt *s) {
        struct Names : RecursiveASTVisitor<Names> {
            explicit Names(Walker &w) : walker(w) {}
            bool VisitDeclRefExpr(DeclRefExpr *r) {
                if (Variable *v = walker.plan.variable(r->getDecl())) {
                    walker.plan.references.push_back(r);
                    walker.plan.contextOf[r] = walker.context;
                    walker.uses.push_back({v, walker.context});
                } else if (isa<EnumConstantDecl>(r->getDecl())) {
                    walker.plan.references.push_back(r);
                    walker.plan.contextOf[r] = walker.context;
                }
                return true;
            }
            Walker &walker;
        };
        Names(*this).TraverseStmt(const_cast<Stmt *>(s));
    }
};

Variable *Plan::variable(const Decl *d) const {
    auto *v = dyn_cast<VarDecl>(d);
    if (!v) return nullptr;
    auto it = variableOf.find(v);
    return it == variableOf.end() ? nullptr : it->second;
}

Plan::Plan(Unit &u, FunctionDecl *f, TypeNames &n) : unit(u), function(f), names(n) {
    contexts.push_back(std::make_unique<Context>());
    contexts.front()->body = f->getBody();
    Walker walker(*this);
    walker.context = contexts.front().get();
    for (auto *p : f->parameters())
        if (p->getIdentifier()) walker.declare(p, nullptr);
    walker.walk(f->getBody());

    // typeof and the like name variables in places that the walk over statements does not visit.
    struct Types : RecursiveASTVisitor<Types> {
        explicit Types(Plan &p) : plan(p) {}
        bool VisitDeclRefExpr(DeclRefExpr *r) {
            if (plan.contextOf.count(r)) return true;
            if (!plan.variable(r->getDecl()) && !isa<EnumConstantDecl>(r->getDecl())) return true;
            Context *innermost = plan.root();
            std::size_t at = plan.unit.begin(r->getLocation());
            for (auto &c : plan.contexts)
                if (c->statement) {
                    Range range = plan.unit.range(c->statement);
                    if (range.begin <= at && at < range.end) innermost = c.get();
                }
            plan.references.push_back(r);
            plan.contextOf[r] = innermost;
            return true;
        }
        Plan &plan;
    };
    Types(*this).TraverseStmt(f->getBody());

    needsLowering = f->isVariadic() || isOldStyle(f) || walker.scoped;
    for (auto &c : contexts) needsLowering |= !c->suspensions.empty() || c->isBranch();
    if (!needsLowering) return;

    // Uses from other contexts: private copies, or shared memory.
    for (auto &[variable, context] : walker.uses) {
        if (variable->place == Place::Moved || variable->owner == context) continue;
        if (variable->pprivate) {
            for (Context *c = context; c != variable->owner; c = c->parent)
                if (std::find(c->copies.begin(), c->copies.end(), variable) == c->copies.end()) c->copies.push_back(variable);
            continue;
        }
        variable->captured = true;
        for (Context *c = context; c != variable->owner; c = c->parent)
            if (!reachesUp(c, variable)) variable->place = Place::Boxed;
    }
    for (auto &[literal, block] : walker.addressedLiterals) {
        Context *owner = root();
        std::size_t at = unit.range(literal).begin;
        for (auto &c : contexts)
            if (c->statement && unit.range(c->statement).begin <= at && at < unit.range(c->statement).end) owner = c.get();
        Range around = block ? unit.range(block) : unit.range(function->getBody());
        if (!suspendsWithin(owner, around.begin, around.end)) continue;
        literals.push_back(literal);
        literalOwner[literal] = owner;
        if (!owner->isBranch()) owner->eager = true;
    }
    place();
    for (auto &[variable, context] : walker.uses)
        if (variable->place == Place::Boxed && context != variable->owner) hold(context, variable->box);
}

void Plan::settle(const std::set<Variable *> &kept) {
    for (auto &v : variables)
        if (v->place == Place::Register && !kept.count(v.get()) && !isa<ParmVarDecl>(v->decl)) v->place = Place::Stay;
    name();
}

bool Plan::isOldStyle(const FunctionDecl *f) { return f->getNumParams() && !f->hasWrittenPrototype(); }

bool Plan::reachesUp(const Unit &unit, const Context *context, const VarDecl *declared) {
    if (!context->home) return false;
    Range r = unit.range(context->home->statement);
    std::size_t at = unit.begin(declared->getLocation());
    return at < r.begin || at >= r.end;
}
bool Plan::reachesUp(const Context *context, const Variable *v) const { return reachesUp(unit, context, v->decl); }
bool Plan::reachesUp(const Context *context, const Box *box) const { return reachesUp(context, box->variables.front()); }

bool Plan::suspendsWithin(const Context *context, std::size_t from, std::size_t to) const {
    for (std::size_t at : context->suspensions)
        if (from <= at && at <= to) return true;
    return false;
}

void Plan::placeOne(Variable &v) {
    if (v.place == Place::Moved) return;
    if (v.place == Place::Boxed) {
        Box *&box = boxOf[v.block];
        if (!box) {
            boxes.push_back(std::make_unique<Box>(Box{v.block, v.owner, int(boxes.size()) + 1, {}}));
            box = boxes.back().get();
        }
        box->variables.push_back(&v);
        v.box = box;
        keepSizes(v);
        return;
    }
    if (v.captured) {
        v.place = Place::Frame;
        keepSizes(v);
        return;
    }
    Range around = v.block ? unit.range(v.block) : unit.range(function->getBody());
    std::size_t from = v.block ? unit.begin(v.decl->getLocation()) : around.begin;
    for (auto &[decl, label] : labels) // a jump back may come before the declaration while the object lives
        if (label.context == v.owner && std::find(label.scopes.begin(), label.scopes.end(), v.block) != label.scopes.end())
            from = around.begin;
    // tcc restores the stack at the end of a block with such an array from a slot that a jump past the block's beginning leaves unset.
    bool tcc = !unit.request.nativeAttributes && !v.owner->suspensions.empty();
    if (!suspendsWithin(v.owner, from, around.end) && !(v.sized && (tcc || !sizedTypedefs.empty()))) return;
    v.place = v.addressed || v.sized ? Place::Frame : Place::Register;
    keepSizes(v);
}

void Plan::keepSizes(Variable &v) {
    if (!v.sized) return;
    if (v.pprivate) unit.error(v.decl->getLocation(), "a variable-length array cannot be 'pprivate'; declare it inside the branch");
    for (auto *size : evaluatedSizes(unit.context(), v.decl->getType())) {
        sizeHolder[size] = &v;
        sizeNumber[size] = int(sizeNumber.size()) + 1;
    }
}

void Plan::place() {
    for (auto &v : variables) {
        placeOne(*v);
        if (v->place == Place::Frame && !v->owner->isBranch()) v->owner->eager = true;
    }
    for (auto &p : pwaits)
        if (!p->owner->isBranch()) p->owner->eager = true;
    for (auto &[size, owner] : sizeOwner)
        if (!owner->isBranch()) owner->eager = true;
}

void Plan::hold(Context *context, Box *box) {
    if (context == box->owner) return;
    if (reachesUp(context, box)) return hold(context->home->owner, box);
    if (std::find(context->boxes.begin(), context->boxes.end(), box) == context->boxes.end()) context->boxes.push_back(box);
    hold(context->parent, box);
}

// Variables that move to the top of their function, or into a structure, must not meet another of the same name there, nor hide one
// that the user's text means.
void Plan::name() {
    std::map<std::string, int> taken;
    for (auto &v : variables) {
        if (v->place == Place::Stay || v->place == Place::Moved) {
            if (!v->decl->isStaticLocal()) taken[v->name]++;
            continue;
        }
    }
    auto *file = unit.context().getTranslationUnitDecl();
    std::set<std::string> used;
    for (auto &v : variables) {
        if (v->place == Place::Stay || v->name.empty()) continue;
        if (v->place == Place::Moved) {
            if (v->decl->isStaticLocal())
                v->name = function->getNameAsString() + "__" + v->name;
            else
                continue;
        }
        std::string base = v->name;
        bool clash = v->place != Place::Moved && v->block && (taken.count(base) || !file->lookup(v->decl->getDeclName()).empty());
        for (int i = 2; clash || used.count(v->name); i++, clash = false) v->name = base + "__" + std::to_string(i);
        used.insert(v->name);
    }
}

} // namespace aecc
