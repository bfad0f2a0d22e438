#include "models/settings/relation.hpp"

#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {

const char* name_of(Relation relation) {
    switch (relation) {
        case Relation::add_remove:
            return "add_remove";
        case Relation::substitute:
            return "substitute";
        case Relation::remove:
            return "remove";
        case Relation::poison:
            return "poison";
    }
    return "";
}

const char* why_not_released(Relation relation) {
    if (relation == Relation::remove) return "what holds for removals says nothing of added records";
    if (relation == Relation::poison)
        return "a neighbour's record may differ by more than a poison may change";
    return nullptr;
}

void require_releasable(Relation relation) {
    if (const char* why = why_not_released(relation))
        throw Error(
            ExitCode::usage, "nothing may be released by \"" + std::string(name_of(relation)) + "\": " + why,
            "train with certificate.relation = \"add_remove\" or \"substitute\"", "certificate.relation");
}

}  // namespace holdfast
