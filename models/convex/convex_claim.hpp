#pragma once

#include "models/certify/claims.hpp"

namespace holdfast {

/// The settings with M as a number, and one level, a point; but for removals, which have theirs.
/// Error (usage): the number of records is not stated.
Settings settled_for_convex(const Settings& settings);

/// What the distances of a convex run guarantee, with every condition and gap.
RecordClaim convex_claim(const Settings& settings, const DataFacts& facts);

/// The same as the basis of a release. Error (usage): relation `remove`.
RecordClaim convex_release_claim(const Settings& settings, const DataFacts& facts);

/// What it guarantees to be told, by a test, which columns one more step of a convex run uses. Error (usage):
/// relation `remove`.
Guarantee convex_support_claim(const Settings& settings, const DataFacts& facts, const Rational& epsilon,
                               const Rational& delta);

}  // namespace holdfast
