#include "models/settings/relation.hpp"

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

}  // namespace holdfast
