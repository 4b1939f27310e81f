// Writing declarations: the declarations that the translator adds (frame members, temporaries, parameters) from Clang's types.
#pragma once
#include "unit.h"
#include <functional>
#include <map>

namespace aecc {

// Local types that are moved in front of their function may have to take another name there.
using TypeNames = std::map<const clang::Decl *, std::string>;

class TypeWriter {
  public:
    TypeWriter(clang::ASTContext &context, const TypeNames &names) : context(context), names(names) {}

    // "int (*name)[3]"; aesop functions get their hidden parameter. With an empty name, a type name.
    std::string declare(clang::QualType type, const std::string &name);
    // The same without qualifiers at the top, for an object that is assigned after its declaration.
    std::string declareAssignable(clang::QualType type, const std::string &name);

    // Writes the size of a variable-length array dimension; set by whoever knows where the size is kept.
    std::function<std::string(const clang::VariableArrayType *)> sizeOf;

    // After a call: the type could not be written, and why ("" if all was well). Reading clears it.
    std::string takeProblem();

  private:
    std::string write(clang::QualType type, std::string inner, unsigned drop);
    std::string parameters(const clang::FunctionType *function);
    clang::ASTContext &context;
    const TypeNames &names;
    std::string problem;
};

// Facts about types that decide how a value travels and is kept.
bool travelsInRegister(clang::QualType type); // through branch->ret: integers, enumerations, pointers
bool assignable(clang::QualType type);        // `a = b` is allowed: no array, no const member
bool isVariablyModified(clang::QualType type);
// The dimensions whose sizes a declaration of this type evaluates, outer first; those of a typedef belong to the typedef.
std::vector<const clang::VariableArrayType *> evaluatedSizes(clang::ASTContext &context, clang::QualType type);
bool isVaList(clang::ASTContext &context, clang::QualType type);

} // namespace aecc
