// Expressions: every call that may wait becomes a statement of its own, in an order that C allows for the expression.
//
// Operands that C leaves unsequenced may be evaluated in any order, so their calls are hoisted from left to right and the rest of
// the expression is evaluated afterwards. Where C prescribes an order (&& || ?: , and statement expressions), the operator becomes an if.
#include "lower_body.h"

#include "clang/AST/Expr.h"
#include <algorithm>

using namespace clang;

namespace aecc {

std::string BodyWriter::temporary(QualType type, std::size_t at) {
    std::string name = "__ae_t" + std::to_string(temporaries.size() + 1);
    temporaries.push_back({name, type.getUnqualifiedType()});
    active.push_back(temporaries.size() - 1);
    fn.declareAssignable(type, name, at); // complains here if it cannot be written
    return name;
}

// Gives a temporary its value.
void BodyWriter::assign(const std::string &to, QualType type, const std::string &value, std::size_t at) {
    if (assignable(type))
        text += to + " = " + value + "; ";
    else
        text += "{ " + fn.declareType(type.getUnqualifiedType(), "__ae_value", at) + " = " + value + "; __ae_copy(&" + to +
                ", &__ae_value, sizeof " + to + "); } ";
}

// The text of e where an assignment expression may stand.
std::string BodyWriter::operand(const Expr *e) const {
    auto *b = dyn_cast<BinaryOperator>(e);
    return b && b->getOpcode() == BO_Comma ? "(" + copy(e) + ")" : copy(e);
}

void BodyWriter::replace(const Expr *e, const std::string &with) { edits.replace(unit.range(e), with); }

bool BodyWriter::reg(Variable *v) const {
    if (v->owner == &context) return v->place == Place::Register;
    return !v->addressed && std::find(context.copies.begin(), context.copies.end(), v) != context.copies.end();
}

// What a suspended function returns: nobody looks at it.
std::string BodyWriter::returnsNothing() {
    if (!isFunction()) return "return;";
    QualType type = plan.function->getReturnType();
    if (type->isVoidType()) return "return;";
    if (type->isScalarType() || type->isAnyComplexType()) return "return 0;";
    return "{ static " + fn.declareAssignable(type, "__ae_none", unit.begin(plan.function->getLocation())) + "; return __ae_none; }";
}

static std::string saved(const std::string &to, const std::string &from, QualType type) {
    if (assignable(type)) return to + " = " + from + ";";
    return "__ae_copy(&" + to + ", &" + from + ", sizeof " + to + ");";
}

// A resume point. `condition` is true when the branch waits; `result` receives the value of the call. The code that saves and restores
// stands together at the top of the function, out of the way of the statements.
void BodyWriter::suspend(const std::string &condition, const VariableSet &liveSet, const std::string &result, QualType type) {
    std::string number = std::to_string(points.size() + 1), frame = fn.frame(context), frameType = fn.frameType(context);
    std::string save, restore;
    if (lazy())
        save += "if (!__ae_fr) __ae_fr = (" + frameType + " *)__ae_frame_new(__ae_b, sizeof *__ae_fr, _Alignof(" + frameType + "), " +
                fn.resumeName(context) + "); ";
    auto keep = [&](const std::string &member, const std::string &name, QualType t) {
        save += saved(frame + "->" + member, name, t) + " ";
        restore += saved(name, frame + "->" + member, t) + " ";
    };
    for (auto &owned : plan.variables) {
        Variable *v = owned.get();
        if (!liveSet.count(v) || !reg(v)) continue;
        kept.insert(v);
        keep(v->name, v->name, v->type());
    }
    for (std::size_t i : active) {
        if (temporaries[i].name == result) continue;
        temporaries[i].kept = true;
        keep(temporaries[i].name, temporaries[i].name, temporaries[i].type);
    }
    if (isFunction() && plan.variadic()) {
        save += frame + "->__ae_args = __ae_args; ";
        restore += "__ae_args = " + frame + "->__ae_args; ";
    }
    for (auto it = cleanups.rbegin(); it != cleanups.rend(); ++it) {
        std::string n = std::to_string(it->number);
        switch (it->kind) {
        case Cleanup::JoinPwait: save += "__ae_keep_pwait(__ae_b, &" + frame + "->__ae_p" + std::to_string(it->pwait->index) + "); "; break;
        case Cleanup::LeaveShield:
            keptShields.insert(it->number);
            save += "__ae_keep_shield(__ae_b, &" + frame + "->__ae_s" + n + "); ";
            break;
        case Cleanup::LeaveDeadline:
            keptDeadlines.insert(it->number);
            save += "__ae_keep_deadline(__ae_b, &" + frame + "->__ae_d" + n + "); ";
            break;
        case Cleanup::DropBox:
            if (lazy()) {
                std::string x = "__ae_x" + std::to_string(it->box->index);
                keptBoxes.insert(it->box);
                save += frame + "->" + x + " = " + x + "; ";
                restore += x + " = " + frame + "->" + x + "; ";
            }
            break;
        case Cleanup::CallFunction:
        case Cleanup::FreeArray: break;
        }
    }
    if (!result.empty()) {
        if (travelsInRegister(type))
            restore += result + " = (" + fn.types.declareAssignable(type, "") + ")__ae_b->ret; ";
        else
            restore += "__ae_copy(&" + result + ", __ae_wide(__ae_b, sizeof " + result + "), sizeof " + result + "); ";
    }
    text += "if (" + condition + ") goto __ae_wait" + number + "; __ae_" + number + ":; ";
    points.push_back({save + "__ae_push(__ae_b, &" + frame + "->__ae_h, " + number + "u); " + returnsNothing(), restore});
}

// The further arguments of a variadic aesop function travel in a block of memory of their own (abi.h), because they have to live over
// its waits. Writes the statements that fill it, and puts it in the place of the arguments.
void BodyWriter::argumentBlock(const CallExpr *call) {
    QualType callee = call->getCallee()->getType();
    if (auto *pointer = callee->getAs<PointerType>()) callee = pointer->getPointeeType();
    auto *prototype = callee->getAs<FunctionProtoType>();
    if (!prototype || !prototype->isVariadic()) return;
    std::size_t end = unit.range(call).end;
    unsigned fixed = prototype->getNumParams();
    if (call->getNumArgs() <= fixed) {
        edits.replace(end - 1, end, ", 0)");
        return;
    }
    std::string name = "__ae_a" + std::to_string(++argumentBlocks), bytes, fill;
    for (unsigned i = fixed; i < call->getNumArgs(); i++) {
        const Expr *argument = call->getArg(i);
        QualType type = argument->getType().getUnqualifiedType();
        std::size_t at = unit.range(argument).begin;
        std::string t = fn.declareAssignable(type, "", at), pointer = fn.declareAssignable(unit.context().getPointerType(type), "", at);
        bytes += (bytes.empty() ? "" : " + ") + std::string("__ae_args_slot(sizeof(") + t + "))";
        std::string slot = "__ae_args_put(" + name + ", sizeof(" + t + "), _Alignof(" + t + "))";
        std::string value = operand(argument);
        fill += assignable(type) ? "*(" + pointer + ")" + slot + " = " + value + "; "
                                 : "{ " + fn.declareType(type, "__ae_value", at) + " = " + value + "; __ae_copy(" + slot +
                                       ", &__ae_value, sizeof __ae_value); } ";
    }
    text += name + " = __ae_args_new(__ae_b, " + bytes + "); " + fill;
    edits.replace(unit.range(call->getArg(fixed)).begin, unit.range(call->getArg(call->getNumArgs() - 1)).end, name);
    return;
}

void BodyWriter::hoistCall(const CallExpr *call, bool valueNeeded) {
    std::size_t outer = active.size();
    for (const Stmt *child : call->children())
        if (auto *e = dyn_cast_or_null<Expr>(child)) hoist(e);
    QualType type = call->getType();
    bool value = valueNeeded && !type->isVoidType();
    Range whole = unit.range(call);
    argumentBlock(call);
    std::string callText = edits.moved(whole), result;
    active.resize(outer); // temporaries of the arguments are used up by the call
    if (value) result = temporary(type, whole.begin);
    if (value)
        assign(result, type, callText, whole.begin);
    else
        text += callText + "; ";
    auto it = live.find(call);
    suspend("__ae_waits(__ae_b)", it == live.end() ? VariableSet{} : it->second, result, type);
    replace(call, value ? result : "(void)0");
}

// Evaluates e for its effects only; leaves nothing behind.
void BodyWriter::discard(const Expr *e) {
    const Expr *bare = e->IgnoreParens();
    if (auto *cast = dyn_cast<CastExpr>(bare); cast && cast->getCastKind() == CK_ToVoid && waits(cast)) return discard(cast->getSubExpr());
    if (auto *cast = dyn_cast<ImplicitCastExpr>(bare); cast && waits(cast)) return discard(cast->getSubExpr());
    std::size_t outer = active.size();
    if (!waits(bare)) {
        text += copy(e) + "; ";
        return;
    }
    if (auto *call = dyn_cast<CallExpr>(bare); call && isAesopCall(call) && !isNowait(call)) {
        hoistCall(call, false);
    } else if (auto *b = dyn_cast<BinaryOperator>(bare); b && b->getOpcode() == BO_Comma) {
        discard(b->getLHS());
        discard(b->getRHS());
    } else if (b && b->isLogicalOp() && waits(b->getRHS())) {
        hoist(b->getLHS());
        text += std::string("if (") + (b->getOpcode() == BO_LAnd ? "" : "!") + "(" + copy(b->getLHS()) + ")) { ";
        active.resize(outer);
        discard(b->getRHS());
        text += "} ";
    } else if (auto *c = dyn_cast<ConditionalOperator>(bare); c && (waits(c->getTrueExpr()) || waits(c->getFalseExpr()))) {
        hoist(c->getCond());
        text += "if (" + copy(c->getCond()) + ") { ";
        active.resize(outer);
        discard(c->getTrueExpr());
        text += "} else { ";
        discard(c->getFalseExpr());
        text += "} ";
    } else if (auto *s = dyn_cast<StmtExpr>(bare)) {
        text += "{ ";
        for (const Stmt *child : s->getSubStmt()->body()) {
            if (auto *x = dyn_cast<Expr>(child))
                discard(x);
            else
                statement(child);
        }
        text += "} ";
    } else {
        hoist(e);
        std::string rest = copy(e);
        auto *u = dyn_cast<UnaryOperator>(bare);
        bool effect =
            bare->getType()->isVoidType() || isa<CallExpr>(bare) || (b && b->isAssignmentOp()) || (u && u->isIncrementDecrementOp());
        if (effect)
            text += rest + "; ";
        else
            text += "(void)(" + rest + "); ";
    }
    active.resize(std::min(active.size(), outer));
}

void BodyWriter::hoist(const Expr *e) {
    if (!waits(e)) return;
    std::size_t at = unit.range(e).begin, outer = active.size();
    // Ends a part of which only `result` is needed from here on.
    auto settle = [&](const std::string &result) {
        active.resize(std::min(outer, active.size()));
        for (std::size_t i = 0; i < temporaries.size(); i++)
            if (temporaries[i].name == result) active.push_back(i);
    };
    if (auto *p = dyn_cast<ParenExpr>(e)) return hoist(p->getSubExpr());
    if (auto *b = dyn_cast<BinaryOperator>(e)) {
        if (b->isLogicalOp() && waits(b->getRHS())) {
            hoist(b->getLHS());
            std::string t = temporary(unit.context().IntTy, at);
            text += t + " = (" + copy(b->getLHS()) + ") ? 1 : 0; if (" + (b->getOpcode() == BO_LAnd ? "" : "!") + t + ") { ";
            active.resize(outer);
            hoist(b->getRHS());
            text += t + " = (" + copy(b->getRHS()) + ") ? 1 : 0; } ";
            settle(t);
            return replace(e, t);
        }
        if (b->getOpcode() == BO_Comma) {
            discard(b->getLHS());
            hoist(b->getRHS());
            std::string rest = copy(b->getRHS());
            return replace(e, rest);
        }
    }
    if (auto *c = dyn_cast<ConditionalOperator>(e); c && (waits(c->getTrueExpr()) || waits(c->getFalseExpr()))) {
        hoist(c->getCond());
        bool isVoid = c->getType()->isVoidType();
        text += "if (" + copy(c->getCond()) + ") { ";
        active.resize(outer);
        std::string t = isVoid ? "" : temporary(c->getType(), at);
        active.resize(outer);
        auto arm = [&](const Expr *x) {
            if (isVoid) return discard(x);
            hoist(x);
            assign(t, c->getType(), operand(x), at);
            active.resize(outer);
        };
        arm(c->getTrueExpr());
        text += "} else { ";
        arm(c->getFalseExpr());
        text += "} ";
        settle(t);
        return replace(e, isVoid ? "(void)0" : t);
    }
    if (auto *c = dyn_cast<BinaryConditionalOperator>(e); c && waits(c->getFalseExpr())) {
        hoist(c->getCommon());
        std::string common = temporary(c->getCommon()->getType(), at), t = temporary(c->getType(), at);
        text += common + " = " + copy(c->getCommon()) + "; if (" + common + ") { " + t + " = " + common + "; } else { ";
        active.resize(outer);
        hoist(c->getFalseExpr());
        text += t + " = " + copy(c->getFalseExpr()) + "; } ";
        settle(t);
        return replace(e, t);
    }
    if (auto *s = dyn_cast<StmtExpr>(e)) {
        auto *block = s->getSubStmt();
        bool isVoid = s->getType()->isVoidType() || block->body_empty();
        std::string t = isVoid ? "" : temporary(s->getType(), at);
        active.resize(outer);
        text += "{ ";
        std::size_t depth = cleanups.size();
        openBox(block);
        for (const Stmt *child : block->body()) {
            auto *value = dyn_cast<Expr>(child);
            if (value && child == block->body_back() && !isVoid) {
                line(child);
                hoist(value);
                assign(t, s->getType(), operand(value), at);
                active.resize(outer);
            } else {
                statement(child);
            }
        }
        closeBlock(depth);
        text += "} ";
        settle(t);
        return replace(e, isVoid ? "(void)0" : t);
    }
    if (auto *g = dyn_cast<GenericSelectionExpr>(e)) {
        hoist(g->getResultExpr());
        return replace(e, "(" + copy(g->getResultExpr()) + ")");
    }
    if (auto *c = dyn_cast<ChooseExpr>(e)) {
        hoist(c->getChosenSubExpr());
        return replace(e, "(" + copy(c->getChosenSubExpr()) + ")");
    }
    if (auto *call = dyn_cast<CallExpr>(e); call && isAesopCall(call) && !isNowait(call)) return hoistCall(call, true);
    if (auto *list = dyn_cast<InitListExpr>(e); list && list->getSyntacticForm()) e = list->getSyntacticForm();
    for (const Stmt *child : e->children())
        if (auto *x = dyn_cast_or_null<Expr>(child)) hoist(x);
}

} // namespace aecc
