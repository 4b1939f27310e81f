// Which registers (plan.h) are still needed when a call comes back: only those are saved while the branch waits.
#pragma once
#include "plan.h"

namespace aecc {

using VariableSet = std::set<Variable *>;

// For each resume point of a context, the registers that live over it. Keys: calls (CallExpr), pwaits (their join), and the jump
// statements that leave a pwait early (their join).
using LiveAt = std::map<const clang::Stmt *, VariableSet>;

LiveAt liveness(const Plan &plan, const Context &context);

} // namespace aecc
