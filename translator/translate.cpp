// The order of the passes.
#include "translate.h"

#include "check.h"
#include "emit.h"
#include "lower.h"
#include "unit.h"

namespace aecc {

Result translate(const Request &request) {
    Result result;
    Unit unit(request);
    if (unit.keywords.empty()) {
        result.ok = true;
        result.text = request.text;
        return result;
    }
    if (unit.parse()) check(unit);
    if (!unit.failed()) {
        Edits edits(unit);
        lower(unit, edits);
        if (!unit.failed()) {
            result.ok = result.changed = true;
            result.text = edits.serialize();
        }
    }
    result.diagnostics = std::move(unit.diagnostics);
    return result;
}

} // namespace aecc
