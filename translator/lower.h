// Lowering one aesop function: its text becomes a C function that can be left and entered again at each call that waits.
//
// The body keeps its statements. Calls that may wait are hoisted out of their expressions in sequence order, each followed by
//     if (__ae_waits(__ae_b)) { save; return 0; } __ae_N:;
// and a switch at the top leads a resumed function back to __ae_N. Loops and conditions are rebuilt only where their
// condition contains such a call.
#pragma once
#include "emit.h"
#include "liveness.h"
#include "plan.h"

namespace aecc {

// Lowers all aesop functions of the unit into edits.
void lower(Unit &unit, Edits &edits);

} // namespace aecc
