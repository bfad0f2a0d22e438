#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// The id of a record that names itself by text: 64 bits of BLAKE2b, the same in every file.
std::uint64_t id_of_text(const std::string& text);

/// The id that a cell of a table, or a line of a list, names: a number in decimal without sign or leading
/// zeros is itself, so that no two texts share it; any other text is hashed.
std::uint64_t id_of_cell(const std::string& text);

/// The id of a record that names nothing: the same hash of its features [d], in the precision of their file
/// and before any scaling, and its label. A record's id depends on no other record; the two zeros are one
/// number.
std::uint64_t id_of_content(std::span<const double> features, bool wide, std::int32_t label);
/// The same with a target in place of the label.
std::uint64_t id_of_content(std::span<const double> features, bool wide, double target);
/// The same of several at once, [ids][d] in doubles, which is several times as fast. A target of 0 is a label
/// of 0.
void ids_of_contents(std::span<const double> features, std::span<const double> targets,
                     std::span<std::uint64_t> ids);
/// So many at once.
inline constexpr std::size_t contents_together = 8;

}  // namespace holdfast
