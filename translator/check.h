// The rules of the language that C's type system does not know; see docs/language.md.
#pragma once
#include "unit.h"

namespace aecc {

void check(Unit &unit);

} // namespace aecc
