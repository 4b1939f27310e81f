// Backward data flow over the statements of one context, as in any compiler's textbook, with three particulars:
//  - a pbranch does not end the flow of the context that starts it: control goes on behind it, whatever the branch does;
//  - within one expression the order is not looked at: what is used anywhere in it, outside the call itself, is live at the call;
//  - loops and labels are iterated until nothing changes.
#include "liveness.h"

#include "clang/AST/RecursiveASTVisitor.h"
#include <algorithm>

using namespace clang;

namespace aecc {

namespace {

VariableSet operator+(VariableSet a, const VariableSet &b) {
    a.insert(b.begin(), b.end());
    return a;
}

class Flow {
  public:
    Flow(const Plan &plan, const Context &context) : plan(plan), context(context) {}

    LiveAt run() {
        std::map<const LabelDecl *, VariableSet> before;
        do {
            before = labels;
            statement(context.body, {});
        } while (before != labels);
        return std::move(live);
    }

  private:
    const Plan &plan;
    const Context &context;
    LiveAt live;
    std::map<const LabelDecl *, VariableSet> labels;
    std::vector<VariableSet> breaks, continues;
    VariableSet *cases = nullptr;

    // The register of this context that a reference names, if it is one.
    Variable *reg(const Decl *d) const {
        Variable *v = plan.variable(d);
        if (!v) return nullptr;
        if (v->owner == &context) return v->place == Place::Register ? v : nullptr;
        if (std::find(context.copies.begin(), context.copies.end(), v) != context.copies.end()) return v->addressed ? nullptr : v;
        return nullptr;
    }

    // The register that `v = ...` gives a new value.
    Variable *assigned(const BinaryOperator *b) const {
        auto *r = b->getOpcode() == BO_Assign ? dyn_cast<DeclRefExpr>(b->getLHS()->IgnoreParens()) : nullptr;
        return r ? reg(r->getDecl()) : nullptr;
    }
    // Registers that an expression assigns on every path through it.
    void kills(const Expr *e, VariableSet &found) const {
        if (auto *b = dyn_cast<BinaryOperator>(e)) {
            if (Variable *v = assigned(b)) found.insert(v);
            if (b->isLogicalOp()) return kills(b->getLHS(), found);
        }
        if (auto *c = dyn_cast<AbstractConditionalOperator>(e)) return kills(c->getCond(), found);
        if (isa<StmtExpr>(e) || isa<UnaryExprOrTypeTraitExpr>(e) || isa<GenericSelectionExpr>(e) || isa<ChooseExpr>(e)) return;
        for (const Stmt *child : e->children())
            if (auto *x = dyn_cast_or_null<Expr>(child)) kills(x, found);
    }

    // What an expression uses, but for the parts that have been evaluated.
    using Parts = std::set<const Stmt *>;
    VariableSet uses(const Stmt *s, const Parts &except = {}) const {
        VariableSet found;
        collect(s, except, found);
        return found;
    }
    void collect(const Stmt *s, const Parts &except, VariableSet &found) const {
        if (!s || except.count(s)) return;
        if (auto *b = dyn_cast<BinaryOperator>(s); b && assigned(b)) return collect(b->getRHS(), except, found);
        if (auto *r = dyn_cast<DeclRefExpr>(s))
            if (Variable *v = reg(r->getDecl())) found.insert(v);
        if (auto *list = dyn_cast<InitListExpr>(s); list && list->getSyntacticForm()) s = list->getSyntacticForm();
        if (auto *e = dyn_cast<StmtExpr>(s)) { // what is declared inside lives inside
            Range inside = plan.unit.range(e);
            VariableSet all;
            for (const Stmt *child : e->children()) collect(child, except, all);
            for (Variable *v : all) {
                std::size_t at = plan.unit.begin(v->decl->getLocation());
                if (at < inside.begin || at >= inside.end) found.insert(v);
            }
            return;
        }
        if (auto b = plan.branchOf.find(s); b != plan.branchOf.end()) return branch(b->second, found);
        for (const Stmt *child : s->children()) collect(child, except, found);
    }
    void branch(const Context *started, VariableSet &found) const {
        for (Variable *v : started->copies)
            if (Variable *r = reg(v->decl)) found.insert(r);
    }

    void record(const Stmt *at, const VariableSet &set) { live[at] = live[at] + set; }

    // Notes what is live at each call below e; `after`: live behind the whole expression; `whole`: the expression it is part of; `done`: calls
    // in it that come before, in the order in which lowering hoists them.
    void calls(const Expr *e, const VariableSet &after, const Stmt *whole) {
        Parts done;
        calls(e, after, whole, done);
    }
    void calls(const Expr *e, const VariableSet &after, const Stmt *whole, Parts &done) {
        if (!e || !plan.waits.count(e)) return;
        const Expr *self = e;
        if (auto *s = dyn_cast<StmtExpr>(e)) {
            done.insert(self);
            statement(s->getSubStmt(), after + uses(whole, done));
            return;
        }
        if (auto *list = dyn_cast<InitListExpr>(e); list && list->getSyntacticForm()) e = list->getSyntacticForm();
        auto *b = dyn_cast<BinaryOperator>(e);
        if (Variable *target = b ? assigned(b) : nullptr) {
            // Outside of the right-hand side the old value is dead: what used it before is done, what comes behind sees the new one.
            Parts others = done;
            others.insert(b);
            VariableSet behind = after + uses(whole, others);
            behind.erase(target);
            return calls(b->getRHS(), behind, b->getRHS(), done);
        }
        for (const Stmt *child : e->children())
            if (auto *x = dyn_cast_or_null<Expr>(child)) calls(x, after, whole, done);
        if (auto *c = dyn_cast<CallExpr>(e); c && isAesopCall(c) && !isNowait(c)) {
            done.insert(c);
            record(c, after + uses(whole, done));
        }
    }

    // A full expression.
    VariableSet expression(const Expr *e, VariableSet out) {
        if (!e) return out;
        calls(e, out, e);
        VariableSet killed;
        kills(e, killed);
        for (Variable *v : killed) out.erase(v);
        return out + uses(e);
    }

    VariableSet sizes(QualType type, VariableSet out) {
        for (auto *size : evaluatedSizes(plan.unit.context(), type)) {
            calls(size->getSizeExpr(), out, size->getSizeExpr());
            out = out + uses(size->getSizeExpr());
        }
        return out;
    }

    VariableSet declaration(const DeclStmt *s, VariableSet out) {
        std::vector<const Decl *> decls(s->decls().begin(), s->decls().end());
        for (auto it = decls.rbegin(); it != decls.rend(); ++it) {
            auto *d = dyn_cast<VarDecl>(*it);
            if (auto *alias = dyn_cast<TypedefNameDecl>(*it)) out = sizes(alias->getUnderlyingType(), out);
            if (!d) continue;
            if (Variable *v = reg(d)) out.erase(v);
            if (d->getInit() && !d->isStaticLocal()) {
                calls(d->getInit(), out, d->getInit());
                out = out + uses(d->getInit());
            }
            out = sizes(d->getType(), out);
        }
        return out;
    }

    template <class Step>
    VariableSet untilStable(Step step) {
        VariableSet in, next;
        while ((next = step(in) + in) != in) in = next;
        return in;
    }

    VariableSet body(const Stmt *s, const VariableSet &out, const VariableSet &onBreak, const VariableSet &onContinue) {
        breaks.push_back(onBreak);
        continues.push_back(onContinue);
        VariableSet in = statement(s, out);
        breaks.pop_back();
        continues.pop_back();
        return in;
    }

    VariableSet loop(const Stmt *init, const Expr *cond, const Expr *inc, const Stmt *inside, const VariableSet &out) {
        VariableSet top = untilStable([&](const VariableSet &in) {
            VariableSet behind = expression(inc, in);
            return expression(cond, body(inside, behind, out, behind) + (cond ? out : VariableSet{}));
        });
        return init ? statement(init, top) : top;
    }

    VariableSet statement(const Stmt *s, const VariableSet &out) {
        if (!s) return out;
        const Stmt *inner = nullptr;
        switch (statementKeyword(s, &inner)) {
        case Keyword::Pbranch: {
            VariableSet in = out;
            branch(plan.branchOf.at(s), in);
            return in;
        }
        case Keyword::Pwait: record(s, out); return statement(inner, out);
        case Keyword::Pbreak: record(s, {}); return {};
        case Keyword::Pshield: return statement(inner, out);
        case Keyword::Pdeadline: {
            auto *d = cast<IfStmt>(inner);
            return expression(d->getCond(), statement(d->getThen(), out + statement(d->getElse(), out)));
        }
        default: break;
        }
        if (auto *e = dyn_cast<Expr>(s)) return expression(e, out);
        if (auto *a = dyn_cast<AttributedStmt>(s)) return statement(a->getSubStmt(), out);
        if (auto *d = dyn_cast<DeclStmt>(s)) return declaration(d, out);
        if (auto *c = dyn_cast<CompoundStmt>(s)) {
            VariableSet in = out;
            for (auto it = c->body_rbegin(); it != c->body_rend(); ++it) in = statement(*it, in);
            return in;
        }
        if (auto *i = dyn_cast<IfStmt>(s)) return expression(i->getCond(), statement(i->getThen(), out) + statement(i->getElse(), out));
        if (auto *w = dyn_cast<WhileStmt>(s)) return loop(nullptr, w->getCond(), nullptr, w->getBody(), out);
        if (auto *f = dyn_cast<ForStmt>(s)) return loop(f->getInit(), f->getCond(), f->getInc(), f->getBody(), out);
        if (auto *d = dyn_cast<DoStmt>(s))
            return untilStable([&](const VariableSet &in) {
                VariableSet test = expression(d->getCond(), in + out);
                return body(d->getBody(), test, out, test);
            });
        if (auto *w = dyn_cast<SwitchStmt>(s)) {
            VariableSet heads, *outer = std::exchange(cases, &heads);
            bool all = false;
            for (const SwitchCase *c = w->getSwitchCaseList(); c; c = c->getNextSwitchCase()) all |= isa<DefaultStmt>(c);
            breaks.push_back(out);
            statement(w->getBody(), out);
            breaks.pop_back();
            cases = outer;
            return expression(w->getCond(), all ? heads : heads + out);
        }
        if (auto *c = dyn_cast<SwitchCase>(s)) {
            VariableSet in = statement(c->getSubStmt(), out);
            if (cases) *cases = *cases + in;
            return in;
        }
        if (auto *l = dyn_cast<LabelStmt>(s)) return labels[l->getDecl()] = labels[l->getDecl()] + statement(l->getSubStmt(), out);
        if (auto *g = dyn_cast<GotoStmt>(s)) {
            record(s, labels[g->getLabel()]);
            return labels[g->getLabel()];
        }
        if (isa<BreakStmt>(s)) {
            VariableSet in = breaks.empty() ? VariableSet{} : breaks.back();
            record(s, in);
            return in;
        }
        if (isa<ContinueStmt>(s)) {
            VariableSet in = continues.empty() ? VariableSet{} : continues.back();
            record(s, in);
            return in;
        }
        if (auto *r = dyn_cast<ReturnStmt>(s)) {
            record(s, {});
            return expression(r->getRetValue(), {});
        }
        return out + uses(s); // asm and the like
    }
};

} // namespace

LiveAt liveness(const Plan &plan, const Context &context) { return Flow(plan, context).run(); }

} // namespace aecc
