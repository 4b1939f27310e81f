// Writing declarations. C declarators are written from the inside out: `inner` is what stands for the object so far, and each
// layer of the type wraps it. Names that the user gave (typedefs) are kept where they are visible; everything else is spelled out.
#include "types.h"

#include "clang/AST/RecordLayout.h"
#include "clang/AST/Type.h"

using namespace clang;

namespace aecc {

static std::string qualifiers(unsigned cvr) {
    std::string s;
    if (cvr & Qualifiers::Const) s += "const ";
    if (cvr & Qualifiers::Volatile) s += "volatile ";
    if (cvr & Qualifiers::Restrict) s += "__restrict ";
    return s;
}

static std::string base(const std::string &quals, const std::string &name, const std::string &inner) {
    return quals + name + (inner.empty() ? "" : " " + inner);
}

std::string TypeWriter::parameters(const FunctionType *function) {
    std::string list = isAesop(QualType(function, 0)) ? "struct __ae_branch *" : "";
    auto *prototype = dyn_cast<FunctionProtoType>(function);
    if (!prototype) return list; // an old-style declaration stays open
    for (QualType p : prototype->getParamTypes()) list += (list.empty() ? "" : ", ") + write(p, "", 0);
    if (prototype->isVariadic()) list += isAesop(QualType(function, 0)) ? ", struct __ae_args *" : ", ...";
    return list.empty() ? "void" : list;
}

std::string TypeWriter::write(QualType type, std::string inner, unsigned drop) {
    unsigned cvr = type.getLocalCVRQualifiers() & ~drop;
    const Type *t = type.getTypePtr();
    std::string quals = qualifiers(cvr);
    switch (t->getTypeClass()) {
    case Type::Typedef: {
        auto *d = cast<TypedefType>(t)->getDecl();
        // Qualifiers inside the typedef cannot be dropped while its name is used.
        if (drop && (d->getUnderlyingType().getCVRQualifiers() & drop)) break;
        if (isVariablyModified(d->getUnderlyingType())) break; // its sizes are kept elsewhere
        if (auto it = names.find(d); it != names.end()) return base(quals, it->second, inner);
        if (d->getDeclContext()->isFunctionOrMethod()) break; // not visible where the declaration is going to stand
        return base(quals, d->getNameAsString(), inner);
    }
    case Type::Record:
    case Type::Enum: {
        auto *d = cast<TagType>(t)->getDecl();
        if (auto it = names.find(d); it != names.end()) return base(quals, d->getKindName().str() + " " + it->second, inner);
        if (d->getIdentifier()) {
            if (d->getName() == "__va_list_tag") return base(quals, "__builtin_va_list", inner); // only ever behind a pointer
            return base(quals, (d->getKindName() + " " + d->getName()).str(), inner);
        }
        if (auto *alias = d->getTypedefNameForAnonDecl()) return base(quals, alias->getNameAsString(), inner);
        if (auto *e = dyn_cast<EnumDecl>(d); e && !e->getIntegerType().isNull())
            return write(e->getIntegerType().withCVRQualifiers(cvr), inner, drop);
        problem = "a value of an unnamed type is kept over a call that may wait; give the type a name";
        return base(quals, "int", inner);
    }
    case Type::Builtin: {
        PrintingPolicy policy(context.getLangOpts());
        policy.Bool = false;
        return base(quals, cast<BuiltinType>(t)->getName(policy).str(), inner);
    }
    case Type::Pointer: {
        QualType to = cast<PointerType>(t)->getPointeeType();
        std::string star = "*" + (quals.empty() || !inner.empty() ? quals : quals.substr(0, quals.size() - 1)) + inner;
        QualType bare = to; // what will be written: a name, or an array's or function's declarator
        while ((!isa<TypedefType>(bare.getTypePtr()) || isVariablyModified(bare)) &&
               bare.getTypePtr() != bare->getLocallyUnqualifiedSingleStepDesugaredType().getTypePtr())
            bare = bare->getLocallyUnqualifiedSingleStepDesugaredType();
        bool wraps = isa<ArrayType>(bare.getTypePtr()) || isa<FunctionType>(bare.getTypePtr());
        return write(to, wraps ? "(" + star + ")" : star, 0);
    }
    case Type::ConstantArray: {
        auto *array = cast<ConstantArrayType>(t);
        return write(array->getElementType().withCVRQualifiers(cvr), inner + "[" + std::to_string(array->getZExtSize()) + "]", drop);
    }
    case Type::IncompleteArray: return write(cast<ArrayType>(t)->getElementType().withCVRQualifiers(cvr), inner + "[]", drop);
    case Type::FunctionProto:
    case Type::FunctionNoProto:
        return write(cast<FunctionType>(t)->getReturnType(), inner + "(" + parameters(cast<FunctionType>(t)) + ")", 0);
    case Type::Atomic: return base(quals, "_Atomic(" + write(cast<AtomicType>(t)->getValueType(), "", 0) + ")", inner);
    case Type::Complex: return base(quals, write(cast<ComplexType>(t)->getElementType(), "", 0) + " _Complex", inner);
    case Type::Vector:
    case Type::ExtVector: {
        auto *vector = cast<VectorType>(t);
        std::string bytes = std::to_string(context.getTypeSizeInChars(type).getQuantity());
        return quals + "__attribute__((vector_size(" + bytes + "))) " + write(vector->getElementType(), inner, 0);
    }
    case Type::VariableArray:
        if (sizeOf) {
            auto *array = cast<VariableArrayType>(t);
            return write(array->getElementType().withCVRQualifiers(cvr), inner + "[" + sizeOf(array) + "]", drop);
        }
        problem = "a variable-length array type is used across a call that may wait";
        return base(quals, "int", inner);
    default: break;
    }
    // Sugar: one layer less, with the qualifiers that were on top of it.
    QualType next = t->getLocallyUnqualifiedSingleStepDesugaredType();
    if (next.getTypePtr() == t) {
        problem = "a type that cannot be written in C is kept over a call that may wait: '" + type.getAsString() + "'";
        return base(quals, "int", inner);
    }
    if (drop) next = QualType(next.getTypePtr(), next.getLocalFastQualifiers() & ~drop);
    return write(next.withCVRQualifiers(cvr), inner, drop);
}

std::string TypeWriter::declare(QualType type, const std::string &name) { return write(type, name, 0); }

std::string TypeWriter::declareAssignable(QualType type, const std::string &name) {
    return write(type, name, Qualifiers::Const | Qualifiers::Restrict);
}

std::string TypeWriter::takeProblem() { return std::exchange(problem, ""); }

bool travelsInRegister(QualType type) {
    type = type.getCanonicalType().getUnqualifiedType();
    if (type->isPointerType()) return true;
    if (auto *e = type->getAs<EnumType>()) type = e->getDecl()->getIntegerType().isNull() ? type : e->getDecl()->getIntegerType();
    if (type->isEnumeralType()) return true;
    if (auto *b = type->getAs<BuiltinType>()) switch (b->getKind()) {
        case BuiltinType::Bool:
        case BuiltinType::Char_U:
        case BuiltinType::UChar:
        case BuiltinType::Char_S:
        case BuiltinType::SChar:
        case BuiltinType::Short:
        case BuiltinType::UShort:
        case BuiltinType::Int:
        case BuiltinType::UInt:
        case BuiltinType::Long:
        case BuiltinType::ULong:
        case BuiltinType::WChar_S:
        case BuiltinType::WChar_U: return true;
        default: return false;
        }
    return false;
}

static bool hasConstMember(const RecordDecl *record) {
    for (auto *field : record->fields()) {
        if (field->getType().isConstQualified()) return true;
        QualType t = field->getType();
        while (auto *array = t->getAsArrayTypeUnsafe()) {
            t = array->getElementType();
            if (t.isConstQualified()) return true;
        }
        if (auto *inner = t->getAsRecordDecl())
            if (hasConstMember(inner)) return true;
    }
    return false;
}

bool assignable(QualType type) {
    if (type->isArrayType()) return false;
    if (auto *record = type->getAsRecordDecl()) return !hasConstMember(record);
    return true;
}

bool isVariablyModified(QualType type) { return type->isVariablyModifiedType(); }

std::vector<const VariableArrayType *> evaluatedSizes(ASTContext &context, QualType type) {
    std::vector<const VariableArrayType *> sizes;
    while (!type.isNull() && isVariablyModified(type)) {
        const Type *t = type.getTypePtr();
        if (isa<TypedefType>(t)) break;
        if (auto *array = dyn_cast<VariableArrayType>(t)) {
            if (array->getSizeExpr()) sizes.push_back(array);
            type = array->getElementType();
        } else if (auto *other = dyn_cast<ArrayType>(t)) {
            type = other->getElementType();
        } else if (auto *pointer = dyn_cast<PointerType>(t)) {
            type = pointer->getPointeeType();
        } else {
            QualType next = type.getSingleStepDesugaredType(context);
            if (next.getTypePtr() == t) break;
            type = next;
        }
    }
    return sizes;
}

bool isVaList(ASTContext &context, QualType type) {
    QualType list = context.getBuiltinVaListType();
    if (context.hasSameUnqualifiedType(type, list)) return true;
    return list->isArrayType() && context.hasSameUnqualifiedType(type, context.getArrayDecayedType(list));
}

} // namespace aecc
