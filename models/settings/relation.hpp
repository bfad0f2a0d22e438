#pragma once

namespace holdfast {

/// A neighbouring dataset (models/mathematics.md, neighbour).
enum class Relation { add_remove, substitute, remove, poison };
const char* name_of(Relation relation);
/// Why nothing that leaves may rest on what is known of such neighbours; null: it may.
const char* why_not_released(Relation relation);
/// Error (usage): it may not.
void require_releasable(Relation relation);

}  // namespace holdfast
