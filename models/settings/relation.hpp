#pragma once

namespace holdfast {

/// A neighbouring dataset (models/mathematics.md, neighbour).
enum class Relation { add_remove, substitute, remove, poison };
const char* name_of(Relation relation);

}  // namespace holdfast
