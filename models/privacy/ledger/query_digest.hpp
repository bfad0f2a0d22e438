#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace holdfast {

/// 32 bytes of BLAKE2b: names a query by what it asks, not by where it stood.
using Digest = std::array<std::byte, 32>;

/// Digest of a query's canonical bytes: the number of features, then each as a little-endian double, -0 as 0.
/// The same values read from a float and from a double file give the same digest. Error (ExitCode::input) for
/// NaN, infinities.
Digest query_digest(std::span<const double> features);

/// Digest of queries that are answered as one: of how, and of theirs, in ascending order.
Digest bag_digest(const std::string& how, std::span<const Digest> queries);

/// Readies libsodium, once; before any digest, key or token. Error (ExitCode::internal) where it cannot.
void start_sodium();

}  // namespace holdfast
