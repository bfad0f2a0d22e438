#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

namespace hdf5 {
class Dataset;
}

/// The id of a record that names itself by text: 64 bits of BLAKE2b, the same in every file.
std::uint64_t id_of_text(const std::string& text);

/// An id as a table, an array or a list of ids has it.
struct ReadId {
    std::uint64_t id = 0;
    std::string name = {};   ///< the id as it stands there; empty: `id` in decimal
    std::string fault = {};  ///< why there is no id; empty: there is one
};

/// The one reader of ids. A whole number from 0 to 2^64 - 1 without leading zeros is itself, and 7.0 and
/// 7e+00 are 7. Any other text is hashed: "-7" of a negative number, "007", which is another id than 7, and
/// whole numbers beyond 2^64. A missing word, a fraction, and a float number that several integers may have
/// been rounded to have a fault.
ReadId read_id(const std::string& cell);
/// exact_below: the least power of two above which the number's type does not hold every integer.
ReadId read_id(double value, double exact_below = 0x1p53);
ReadId read_id(std::int64_t value);
/// What to do about a fault.
inline constexpr const char* id_hint =
    "every record needs an id, a whole number or a text: correct the id or leave the record out";

/// Some ids of a dataset of integers or floats.
struct IdColumn {
    std::vector<std::uint64_t> ids;
    std::map<std::size_t, std::string> names, faults;  ///< of ReadId, by place, where there is one
};
IdColumn read_ids(const hdf5::Dataset& from, std::uint64_t first, std::uint64_t count);

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
