// Statements of one context. What needs no change is copied; the rest is rebuilt around copied pieces.
//
// Everything that has to happen when control leaves a statement (joining a pwait, ending a shield or deadline, dropping a box) stands on a
// stack of cleanups while the statement is written; a jump writes out those between itself and its target, inner first.
#include "lower_body.h"

#include "clang/AST/Attr.h"
#include <algorithm>

using namespace clang;

namespace aecc {

BodyWriter::BodyWriter(FunctionWriter &f, Context &c)
    : fn(f), unit(f.unit), edits(f.edits), plan(f.plan), context(c), live(liveness(f.plan, c)) {}

void BodyWriter::write() {
    if (isFunction()) openBox(nullptr);
    if (auto *block = dyn_cast<CompoundStmt>(context.body))
        compound(block);
    else
        braced(context.body);
    closeBlock(0);
}

// --- what can be copied --------------------------------------------------------------------------------------------------

bool BodyWriter::shaped(const Stmt *s) {
    if (!s) return false;
    if (plan.waits.count(s) || statementKeyword(s) != Keyword::None) return true;
    if (isa<ReturnStmt>(s) || isa<GotoStmt>(s) || isa<LabelStmt>(s) || isa<BreakStmt>(s) || isa<ContinueStmt>(s) ||
        isa<IndirectGotoStmt>(s))
        return true;
    if (plan.boxOf.count(s) || (isa<SwitchCase>(s) && !plan.boxes.empty())) return true;
    if (auto *d = dyn_cast<DeclStmt>(s))
        for (const Decl *decl : d->decls()) {
            auto *v = plan.variable(decl);
            if (v ? v->place != Place::Stay : isa<TagDecl>(decl) || isa<TypedefNameDecl>(decl) || isa<FunctionDecl>(decl)) return true;
        }
    for (const Stmt *child : s->children())
        if (child && shaped(child)) return true;
    return false;
}

// The statement as the user wrote it, with its semicolon.
void BodyWriter::copyStatement(const Stmt *s) {
    text += copy(s);
    for (const Stmt *last = s;;) {
        if (auto *i = dyn_cast<IfStmt>(last))
            last = i->getElse() ? i->getElse() : i->getThen();
        else if (auto *w = dyn_cast<WhileStmt>(last))
            last = w->getBody();
        else if (auto *f = dyn_cast<ForStmt>(last))
            last = f->getBody();
        else if (auto *w = dyn_cast<SwitchStmt>(last))
            last = w->getBody();
        else if (auto *c = dyn_cast<SwitchCase>(last))
            last = c->getSubStmt();
        else if (auto *l = dyn_cast<LabelStmt>(last))
            last = l->getSubStmt();
        else if (auto *a = dyn_cast<AttributedStmt>(last))
            last = a->getSubStmt();
        else {
            bool closed = isa<CompoundStmt>(last) || isa<NullStmt>(last) || isa<DeclStmt>(last);
            text += closed ? " " : "; ";
            return;
        }
    }
}

void BodyWriter::statement(const Stmt *s) {
    if (!s) return;
    const Stmt *inner = nullptr;
    Keyword keyword = statementKeyword(s, &inner);
    if (!isa<CompoundStmt>(s)) line(s);
    switch (keyword) {
    case Keyword::Pwait: return pwaitStatement(cast<AttributedStmt>(s));
    case Keyword::Pbranch: return pbranchStatement(cast<AttributedStmt>(s));
    case Keyword::Pshield: return shieldStatement(cast<AttributedStmt>(s), inner);
    case Keyword::Pdeadline: return deadlineStatement(cast<AttributedStmt>(s), cast<IfStmt>(inner));
    case Keyword::Pbreak: endLabel = true; return jump(s, 0, "goto __ae_end;");
    default: break;
    }
    if (auto *a = dyn_cast<AttributedStmt>(s)) {
        for (const Attr *attribute : a->getAttrs())
            if (isa<FallThroughAttr>(attribute)) {
                text += unit.request.nativeAttributes ? "__attribute__((fallthrough)); " : "; ";
                return;
            }
        return statement(a->getSubStmt());
    }
    if (!shaped(s)) return copyStatement(s);
    if (auto *c = dyn_cast<CompoundStmt>(s)) return compound(c);
    if (auto *d = dyn_cast<DeclStmt>(s)) return declaration(d);
    if (auto *i = dyn_cast<IfStmt>(s)) return ifStatement(i);
    if (auto *w = dyn_cast<WhileStmt>(s)) return whileStatement(w);
    if (auto *d = dyn_cast<DoStmt>(s)) return doStatement(d);
    if (auto *f = dyn_cast<ForStmt>(s)) return forStatement(f);
    if (auto *w = dyn_cast<SwitchStmt>(s)) return switchStatement(w);
    if (auto *r = dyn_cast<ReturnStmt>(s)) return returnStatement(r);
    if (auto *e = dyn_cast<Expr>(s)) {
        std::size_t outer = active.size();
        discard(e);
        active.resize(std::min(outer, active.size()));
        return;
    }
    if (auto *c = dyn_cast<CaseStmt>(s)) {
        text += "case " + edits.text(unit.range(c->getLHS())) + (c->getRHS() ? " ... " + copy(c->getRHS()) : "") + ":; ";
        if (!isa<SwitchCase>(c->getSubStmt())) boxesAtLabel();
        return statement(c->getSubStmt());
    }
    if (auto *d = dyn_cast<DefaultStmt>(s)) {
        text += "default:; ";
        boxesAtLabel();
        return statement(d->getSubStmt());
    }
    if (auto *l = dyn_cast<LabelStmt>(s)) {
        text += l->getDecl()->getNameAsString() + ":; ";
        boxesAtLabel();
        return statement(l->getSubStmt());
    }
    if (auto *g = dyn_cast<IndirectGotoStmt>(s)) {
        std::size_t outer = active.size();
        hoist(g->getTarget());
        text += "goto *" + copy(g->getTarget()) + "; ";
        return active.resize(std::min(outer, active.size()));
    }
    if (auto *g = dyn_cast<GotoStmt>(s)) return jump(s, depthOf(g->getLabel()), "goto " + g->getLabel()->getNameAsString() + ";");
    if (isa<BreakStmt>(s)) {
        if (breakables.empty()) return copyStatement(s); // outside a loop: the host compiler says so
        return jump(s, breakables.back().depth, "break;");
    }
    if (isa<ContinueStmt>(s)) {
        if (loops.empty()) return copyStatement(s);
        Loop &l = loops.back();
        l.used = true;
        return jump(s, l.depth, l.continueLabel.empty() ? "continue;" : "goto " + l.continueLabel + ";");
    }
    unit.error(unit.range(s).begin, std::string("this statement cannot be translated in an aesop function yet (") + s->getStmtClassName() +
                                        "); move it into a plain C function");
}

void BodyWriter::braced(const Stmt *s) {
    if (isa<CompoundStmt>(s)) return statement(s);
    text += "{ ";
    statement(s);
    text += "} ";
}

void BodyWriter::openBox(const Stmt *block) {
    for (auto &v : plan.variables)
        if (v->sized && v->place == Place::Frame && v->owner == &context && v->block == block && v->type()->isArrayType()) {
            Cleanup c{Cleanup::FreeArray, block};
            c.variable = v.get();
            cleanups.push_back(c);
        }
    auto it = plan.boxOf.find(block);
    if (it == plan.boxOf.end()) return;
    Box *box = it->second;
    cleanups.push_back({Cleanup::DropBox, block, nullptr, box});
    makeBox(*box);
}

// At a label: blocks that control may enter here, past their beginning, get their boxes now.
void BodyWriter::boxesAtLabel() {
    for (auto &c : cleanups)
        if (c.kind == Cleanup::DropBox && plan.entered.count(c.scope)) {
            text += "if (!" + fn.boxPointer(context, *c.box) + ") { ";
            makeBox(*c.box);
            text += "} ";
        }
}

void BodyWriter::makeBox(const Box &made) {
    const Box *box = &made;
    std::string type = fn.boxType(*box);
    text += fn.boxPointer(context, *box) + " = (" + type + " *)__ae_box_new(__ae_b, sizeof(" + type + "), _Alignof(" + type + ")); ";
    for (Variable *v : box->variables)
        if (v->sized && v->type()->isArrayType())
            text += fn.boxPointer(context, *box) + "->" + v->name + " = 0; ";
        else if (v->sized && isa<ParmVarDecl>(v->decl)) {
            evaluateSizes(v->type());
            text += fn.boxPointer(context, *box) + "->" + v->name + " = " + v->name + "; ";
        } else if (isa<ParmVarDecl>(v->decl))
            text += fn.access(context, *v) + " = " + v->decl->getNameAsString() + "; ";
}

// Ends a block normally: its cleanups, inner first.
void BodyWriter::closeBlock(std::size_t depth) {
    while (cleanups.size() > depth) {
        text += leave(cleanups.back());
        cleanups.pop_back();
    }
}

void BodyWriter::compound(const CompoundStmt *s, bool opensBox) {
    line(s);
    text += "{ ";
    std::size_t depth = cleanups.size();
    std::size_t before = text.size();
    if (opensBox) openBox(s);
    bool opened = text.size() > before; // a case label behind it is then not the first thing in its block
    for (const Stmt *child : s->body()) {
        if (opened && isa<SwitchCase>(child) && unit.request.nativeAttributes) text += "__attribute__((fallthrough)); ";
        opened = opened && isa<DeclStmt>(child);
        statement(child);
    }
    text += mark(unit.range(s).end - 1);
    closeBlock(depth);
    text += "} ";
}

// --- declarations ----------------------------------------------------------------------------------------------------------

static bool onlyZeros(const InitListExpr *list) {
    if (list->getSyntacticForm()) list = list->getSyntacticForm();
    if (list->getNumInits() == 0) return true;
    if (list->getNumInits() > 1) return false;
    auto *number = dyn_cast<IntegerLiteral>(list->getInit(0)->IgnoreParenImpCasts());
    return number && number->getValue() == 0;
}

// Statements that give the variable its initial value; its initializer's calls are hoisted already.
std::string BodyWriter::initialize(const Variable &v) {
    const Expr *init = v.decl->getInit();
    std::string to = fn.access(context, v), value = copy(init);
    std::size_t at = unit.begin(v.decl->getLocation());
    QualType type = v.type();
    auto *list = dyn_cast<InitListExpr>(init);
    bool braces = list || isa<DesignatedInitExpr>(init);
    if (type->isArrayType()) {
        if (list && onlyZeros(list)) return "__ae_zero(&" + to + ", sizeof " + to + "); ";
        const Expr *bare = init->IgnoreParens();
        if (isa<StringLiteral>(bare)) value = "{" + copy(bare) + "}";
        if (isa<CompoundLiteralExpr>(bare)) return "__ae_copy(&" + to + ", " + copy(bare) + ", sizeof " + to + "); ";
        return "__ae_copy(&" + to + ", (" + fn.declareAssignable(type, "", at) + ")" + value + ", sizeof " + to + "); ";
    }
    if (!assignable(type)) {
        std::string t = fn.declareType(type, "", at);
        if (braces) return "__ae_copy(&" + to + ", &(" + t + ")" + value + ", sizeof " + to + "); ";
        return "{ " + fn.declareType(type.withConst(), "__ae_init", at) + " = " + value + "; __ae_copy(&" + to + ", &__ae_init, sizeof " +
               to + "); } ";
    }
    if (braces) value = "(" + fn.declareAssignable(type, "", at) + ")" + value;
    return to + " = " + value + "; ";
}

// alone: the statement, if it declares nothing else.
void BodyWriter::declare(const VarDecl *d, const DeclStmt *alone) {
    Variable *v = plan.variable(d);
    if (!v || v->place == Place::Moved) return;
    std::size_t outer = active.size(), at = unit.begin(d->getLocation());
    if (v->sized && v->place != Place::Stay) {
        fn.sizesSeenFrom(context);
        evaluateSizes(d->getType());
        if (d->getType()->isArrayType())
            text += "__ae_array_new(__ae_b, &" + fn.holder(context, *v) + "->" + v->name + ", sizeof(" +
                    fn.declareType(d->getType(), "", at) + ")); ";
    }
    if (d->getInit()) hoist(d->getInit());
    if (v->place == Place::Stay && alone && d->getInit()) {
        // As the user wrote it, up to the value.
        text += edits.moved({unit.begin(alone->getBeginLoc()), unit.range(d->getInit()).begin}) + copy(d->getInit()) + "; ";
    } else if (v->place == Place::Stay) {
        if (isVariablyModified(d->getType())) {
            unit.error(at, "a variable-length array has to stand in a declaration of its own here; split the declaration");
            return;
        }
        std::string alignment =
            d->hasAttr<AlignedAttr>() ? "_Alignas(" + std::to_string(unit.context().getDeclAlign(d).getQuantity()) + ") " : "";
        text += alignment + fn.declareType(d->getType(), v->name, at);
        if (d->getInit()) text += " = " + copy(d->getInit());
        text += "; ";
        if (d->hasAttr<UnusedAttr>()) text += "(void)" + v->name + "; ";
        if (auto *cleanup = d->getAttr<CleanupAttr>()) {
            (void)cleanup;
            unit.error(at, "a variable with a cleanup has to stand in a declaration of its own here; split the declaration");
        }
    } else {
        if (d->getInit()) text += initialize(*v);
        if (d->hasAttr<CleanupAttr>()) {
            Cleanup c{Cleanup::CallFunction, v->block};
            c.variable = v;
            cleanups.push_back(c);
        }
    }
    active.resize(std::min(outer, active.size()));
}

// The sizes that a declaration of this type fixes.
void BodyWriter::evaluateSizes(QualType type) {
    std::size_t outer = active.size();
    for (auto *size : evaluatedSizes(unit.context(), type)) {
        hoist(size->getSizeExpr());
        std::string value = operand(size->getSizeExpr());
        text += fn.types.sizeOf(size) + " = (unsigned long)(" + value + "); ";
    }
    active.resize(std::min(outer, active.size()));
}

void BodyWriter::declaration(const DeclStmt *s) {
    for (const Decl *d : s->decls()) {
        if (auto *alias = dyn_cast<TypedefNameDecl>(d); alias && plan.sizedTypedefs.count(alias)) {
            fn.sizesSeenFrom(context);
            evaluateSizes(alias->getUnderlyingType());
        }
        if (auto *v = dyn_cast<VarDecl>(d))
            declare(v, s->isSingleDecl() ? s : nullptr);
        else if (isa<StaticAssertDecl>(d))
            copyStatement(s);
    }
}

// --- conditions and loops ----------------------------------------------------------------------------------------------------

void BodyWriter::ifStatement(const IfStmt *s) {
    std::size_t outer = active.size();
    bool wraps = waits(s->getCond());
    if (wraps) text += "{ ";
    hoist(s->getCond());
    text += "if (" + copy(s->getCond()) + ") ";
    active.resize(std::min(outer, active.size()));
    braced(s->getThen());
    if (s->getElse()) {
        text += "else ";
        if (auto *chain = dyn_cast<IfStmt>(s->getElse()); chain && !waits(chain->getCond()))
            statement(chain);
        else
            braced(s->getElse());
    }
    if (wraps) text += "} ";
}

void BodyWriter::whileStatement(const WhileStmt *s) {
    std::size_t outer = active.size();
    breakables.push_back({s, cleanups.size(), ""});
    loops.push_back({s, cleanups.size(), ""});
    if (!waits(s->getCond())) {
        text += "while (" + copy(s->getCond()) + ") ";
        braced(s->getBody());
    } else {
        text += "while (1) { ";
        hoist(s->getCond());
        text += "if (!(" + copy(s->getCond()) + ")) break; ";
        active.resize(std::min(outer, active.size()));
        statement(s->getBody());
        text += "} ";
    }
    breakables.pop_back();
    loops.pop_back();
}

void BodyWriter::doStatement(const DoStmt *s) {
    std::size_t outer = active.size();
    bool rebuilt = waits(s->getCond());
    breakables.push_back({s, cleanups.size(), ""});
    loops.push_back({s, cleanups.size(), rebuilt ? "__ae_continue" + std::to_string(++labels) : ""});
    text += "do { ";
    statement(s->getBody());
    text += mark(unit.range(s->getCond()).begin);
    if (rebuilt) {
        if (loops.back().used) text += loops.back().continueLabel + ":; ";
        hoist(s->getCond());
        text += "if (!(" + copy(s->getCond()) + ")) break; } while (1); ";
        active.resize(std::min(outer, active.size()));
    } else {
        text += "} while (" + copy(s->getCond()) + "); ";
    }
    breakables.pop_back();
    loops.pop_back();
}

void BodyWriter::forStatement(const ForStmt *s) {
    std::size_t outer = active.size(), depth = cleanups.size();
    const Expr *cond = s->getCond(), *inc = s->getInc();
    text += "{ ";
    openBox(s);
    if (s->getInit()) statement(s->getInit());
    bool condWaits = waits(cond), incWaits = waits(inc);
    breakables.push_back({s, cleanups.size(), ""});
    loops.push_back({s, cleanups.size(), incWaits ? "__ae_continue" + std::to_string(++labels) : ""});
    text += "for (; " + (condWaits || !cond ? "" : copy(cond)) + "; " + (incWaits || !inc ? "" : copy(inc)) + ") ";
    if (!condWaits && !incWaits) {
        braced(s->getBody());
    } else {
        text += "{ ";
        if (condWaits) {
            hoist(cond);
            text += "if (!(" + copy(cond) + ")) break; ";
            active.resize(std::min(outer, active.size()));
        }
        statement(s->getBody());
        if (incWaits) {
            if (loops.back().used) text += loops.back().continueLabel + ":; ";
            text += mark(unit.range(inc).begin);
            discard(inc);
            active.resize(std::min(outer, active.size()));
        }
        text += "} ";
    }
    breakables.pop_back();
    loops.pop_back();
    closeBlock(depth);
    text += "} ";
}

void BodyWriter::switchStatement(const SwitchStmt *s) {
    std::size_t outer = active.size(), depth = cleanups.size();
    auto *block = dyn_cast<CompoundStmt>(s->getBody());
    bool wraps = waits(s->getCond()) || plan.boxOf.count(s->getBody());
    if (wraps) text += "{ ";
    hoist(s->getCond());
    if (block) openBox(block); // before the switch: nothing in front of its first label is executed
    text += "switch (" + copy(s->getCond()) + ") ";
    active.resize(std::min(outer, active.size()));
    breakables.push_back({s, cleanups.size(), ""});
    if (block)
        compound(block, false);
    else
        braced(s->getBody());
    breakables.pop_back();
    closeBlock(depth);
    if (wraps) text += "} ";
}

// --- leaving -----------------------------------------------------------------------------------------------------------------

std::string BodyWriter::leave(const Cleanup &c) {
    switch (c.kind) {
    case Cleanup::JoinPwait: return ""; // by join()
    case Cleanup::LeaveShield: return "__ae_shield_leave(__ae_b); ";
    case Cleanup::LeaveDeadline: return "(void)__ae_deadline_leave(__ae_b); ";
    case Cleanup::DropBox: return fn.dropBox(context, *c.box);
    case Cleanup::FreeArray: return "__ae_array_free(__ae_b, &" + fn.holder(context, *c.variable) + "->" + c.variable->name + "); ";
    case Cleanup::CallFunction:
        return c.variable->decl->getAttr<CleanupAttr>()->getFunctionDecl()->getNameAsString() + "(&" + fn.access(context, *c.variable) +
               "); ";
    }
    return "";
}

// The pwait on top of the cleanups: waits for its branches, then takes it off.
void BodyWriter::join(Pwait *p, const VariableSet &liveAtJoin) {
    std::string member = fn.frame(context) + "->__ae_p" + std::to_string(p->index);
    suspend("__ae_pwait_parks(__ae_b, &" + member + ")", liveAtJoin, "", QualType());
    text += "__ae_pwait_leave(__ae_b, &" + member + "); ";
    cleanups.pop_back();
}

// After a join: a `return` that one of the pwait's branches made is carried out, here and now.
void BodyWriter::returnFrom(Pwait *p, bool always) {
    std::string member = fn.frame(context) + "->__ae_p" + std::to_string(p->index);
    bool isVoid = plan.function->getReturnType()->isVoidType();
    if (!always) text += "if (" + member + "_returned) { ";
    std::vector<Cleanup> rest = cleanups;
    returnValue(isVoid ? "" : member + "_value");
    cleanups = rest;
    if (!always) text += "} ";
}

// Writes the cleanups above `depth`, inner first, and restores the stack: control that falls through is still inside.
void BodyWriter::unwind(std::size_t depth, const VariableSet &liveAtJoin) {
    std::vector<Cleanup> whole = cleanups;
    while (cleanups.size() > depth) {
        if (cleanups.back().kind == Cleanup::JoinPwait) {
            Pwait *p = cleanups.back().pwait;
            join(p, liveAtJoin);
            if (p->returns) returnFrom(p, false);
        } else {
            Cleanup c = cleanups.back();
            cleanups.pop_back();
            text += leave(c);
        }
    }
    cleanups = whole;
}

void BodyWriter::jump(const Stmt *s, std::size_t depth, const std::string &how) {
    if (cleanups.size() <= depth) {
        text += how + " ";
        return;
    }
    auto it = live.find(s);
    text += "{ ";
    unwind(depth, it == live.end() ? VariableSet{} : it->second);
    text += how + " } ";
}

std::size_t BodyWriter::depthOf(const LabelDecl *label) {
    auto it = plan.labels.find(label);
    if (it == plan.labels.end()) return cleanups.size();
    std::size_t depth = 0;
    for (; depth < cleanups.size(); depth++) {
        const Stmt *scope = cleanups[depth].scope;
        if (scope && std::find(it->second.scopes.begin(), it->second.scopes.end(), scope) == it->second.scopes.end()) break;
    }
    return depth;
}

// `return value` at this place: through the innermost pwait around it, which remembers it and joins first; out of a branch, which ends
// and leaves the value with its pwait; or out of the function.
void BodyWriter::returnValue(const std::string &value) {
    QualType type = plan.function->getReturnType();
    auto remember = [&](const std::string &member) {
        text += "if (!" + member + "_returned) { " + member + "_returned = 1; ";
        if (!value.empty()) text += saved_value(member + "_value", value, type);
        text += "} ";
    };
    for (std::size_t i = cleanups.size(); i-- > 0;)
        if (cleanups[i].kind == Cleanup::JoinPwait) {
            remember(fn.frame(context) + "->__ae_p" + std::to_string(cleanups[i].pwait->index));
            std::vector<Cleanup> whole = cleanups;
            while (cleanups.size() > i + 1) {
                text += leave(cleanups.back());
                cleanups.pop_back();
            }
            Pwait *p = cleanups.back().pwait;
            join(p, {});
            returnFrom(p, true);
            cleanups = whole;
            return;
        }
    if (!isFunction()) {
        remember(fn.frameOf(context, *context.home->owner) + "->__ae_p" + std::to_string(context.home->index));
        unwind(0, {});
        endLabel = true;
        text += "goto __ae_end; ";
        return;
    }
    unwind(0, {});
    QualType returned = plan.function->getReturnType();
    bool inFrame = value.compare(0, 8, "__ae_fr-") == 0;
    if (inFrame)
        text += "{ " + fn.declareType(returned.getUnqualifiedType(), "__ae_value", unit.begin(plan.function->getLocation())) + " = " +
                value + "; ";
    text += fn.frameEnd(context) + "return" + (value.empty() ? "" : inFrame ? " __ae_value" : " " + value) + "; ";
    if (inFrame) text += "} ";
}

std::string BodyWriter::saved_value(const std::string &to, const std::string &value, QualType type) {
    if (assignable(type)) return to + " = " + value + "; ";
    return "__ae_copy(&" + to + ", &" + value + ", sizeof " + to + "); ";
}

void BodyWriter::returnStatement(const ReturnStmt *s) {
    std::size_t outer = active.size();
    const Expr *value = s->getRetValue();
    QualType type = plan.function->getReturnType();
    text += "{ ";
    std::string name;
    if (value && type->isVoidType()) {
        discard(value);
    } else if (value) {
        hoist(value);
        std::string written = operand(value);
        bool plain = isa<IntegerLiteral>(value->IgnoreParenImpCasts()) && cleanups.empty() && isFunction();
        bool direct = plain;
        if (auto *r = dyn_cast<DeclRefExpr>(value->IgnoreParenImpCasts())) // nothing below can change it: a C local of the function
            if (Variable *v = plan.variable(r->getDecl()))
                direct |=
                    isFunction() && v->owner == &context && cleanups.empty() && (v->place == Place::Stay || v->place == Place::Register);
        if (!direct) {
            name = "__ae_value";
            text += fn.declareType(type.getUnqualifiedType(), name, unit.range(s).begin) + " = " + written + "; ";
        } else {
            name = written;
        }
    }
    active.resize(std::min(outer, active.size()));
    returnValue(name);
    text += "} ";
}

// --- the language's statements -------------------------------------------------------------------------------------------------

void BodyWriter::pwaitStatement(const AttributedStmt *s) {
    Pwait *p = plan.pwaitOf.at(s);
    std::string member = fn.frame(context) + "->__ae_p" + std::to_string(p->index);
    text += "{ __ae_pwait_enter(__ae_b, &" + member + "); ";
    if (p->returns) text += member + "_returned = 0; ";
    Cleanup c{Cleanup::JoinPwait, s};
    c.pwait = p;
    cleanups.push_back(c);
    const Stmt *inner = nullptr;
    statementKeyword(s, &inner);
    braced(inner);
    text += mark(unit.range(s).end - 1);
    auto it = live.find(s);
    join(p, it == live.end() ? VariableSet{} : it->second);
    if (p->returns) returnFrom(p, false);
    text += "} ";
}

void BodyWriter::pbranchStatement(const AttributedStmt *s) {
    Context *branch = plan.branchOf.at(s);
    std::string type = fn.frameType(*branch), home = "__ae_root(__ae_b)";
    if (branch->home) {
        std::string owner = fn.frameOf(context, *branch->home->owner);
        home = "&" + owner + "->__ae_p" + std::to_string(branch->home->index);
    }
    text += "{ " + type + " *__ae_n = (" + type + " *)__ae_branch_new(__ae_b, sizeof *__ae_n, _Alignof(" + type + "), " + home + ", " +
            fn.resumeName(*branch) + "); ";
    if (branch->home) text += "__ae_n->__ae_up = " + fn.frameOf(context, *branch->home->owner) + "; ";
    for (Variable *v : branch->copies) {
        std::string from = fn.access(context, *v), to = "__ae_n->" + v->name;
        text += (assignable(v->type()) ? to + " = " + from : "__ae_copy(&" + to + ", &" + from + ", sizeof " + to + ")") + "; ";
    }
    for (Box *b : branch->boxes) {
        std::string x = "__ae_x" + std::to_string(b->index);
        text += "__ae_n->" + x + " = (" + fn.boxType(*b) + " *)__ae_box_keep(" + fn.boxPointer(context, *b) + "); ";
    }
    text +=
        fn.bodyName(*branch) + "(__ae_n, 0); __ae_branch_started(__ae_b, &__ae_n->__ae_branch, sizeof *__ae_n, _Alignof(" + type + ")); } ";
}

void BodyWriter::shieldStatement(const AttributedStmt *s, const Stmt *inner) {
    Cleanup c{Cleanup::LeaveShield, s};
    c.number = ++shields;
    text += "{ __ae_shield_enter(__ae_b, &__ae_s" + std::to_string(c.number) + "); ";
    cleanups.push_back(c);
    braced(inner);
    text += mark(unit.range(s).end - 1);
    closeBlock(cleanups.size() - 1);
    text += "} ";
}

void BodyWriter::deadlineStatement(const AttributedStmt *s, const IfStmt *inner) {
    std::size_t outer = active.size();
    Cleanup c{Cleanup::LeaveDeadline, s};
    c.number = ++deadlines;
    text += "{ ";
    hoist(inner->getCond());
    text += "__ae_deadline_enter(__ae_b, &__ae_d" + std::to_string(c.number) + ", " + operand(inner->getCond()) + "); ";
    active.resize(std::min(outer, active.size()));
    cleanups.push_back(c);
    braced(inner->getThen());
    cleanups.pop_back();
    if (inner->getElse()) {
        text += "if (__ae_deadline_leave(__ae_b)) ";
        braced(inner->getElse());
    } else {
        text += leave(c);
    }
    text += "} ";
}

} // namespace aecc
