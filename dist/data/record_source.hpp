#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/problems.hpp"
#include "dist/data/range.hpp"
#include "dist/data/schema.hpp"

namespace holdfast {

/// One record as it stands in a foreign file. A missing value is NaN.
struct RawRecord {
    std::vector<double> features;
    std::int64_t label = 0;      ///< if the source has labels
    double target = 0;           ///< if it has targets; NaN: missing
    std::uint64_t id = 0;        ///< unless the source's ids are row numbers
    std::uint64_t position = 0;  ///< line or row, for messages
    std::string name;            ///< the id as it stands there, where it has one
    bool flawed = false;         ///< something is wrong with it, which problems() tells
};

/// What a foreign file holds and states, known before its records are read. Its scaling is that of the values
/// as they stand; its feature_names are [d]; ids that are row numbers are not read.
struct SourceInfo : PublicFacts {
    SourceInfo() { scaling = Scaling::none; }

    std::string path;                 ///< for messages
    std::vector<Range> known_ranges;  ///< [d] or empty: what the encoding fixes; lowest > highest: not fixed
    std::vector<std::int64_t> image_shape;  ///< channels, height, width, or empty
    std::vector<std::string> class_names;   ///< or empty
    bool has_labels = false;
    bool has_targets = false;           ///< numbers in place of labels
    bool wide = false;                  ///< more than float32 can hold
    bool bytes = false;                 ///< uint8: mapped by known_ranges unless told otherwise
    const char* position_word = "row";  ///< "line" or "row"
    bool ids_ascend = false;      ///< persons stand in the order of their ids, each with all of their rows
    std::string id_note;          ///< where the ids come from
    std::optional<Schema> table;  ///< of a table whose columns have names
    std::vector<std::string> ignored;  ///< columns that it does not name
    PrivateNames names;                ///< of unnamed columns, as far as it was read
};

/// How many cells of a column of categories are missing, or none of its values.
struct OtherCells {
    std::uint64_t other = 0, missing = 0;
};

/// Reads a foreign file record by record, never more of it than a slab at a time.
/// Errors (ExitCode::input) name the file and the line or row.
class RecordSource {
  public:
    virtual ~RecordSource() = default;
    virtual const SourceInfo& info() const = 0;
    virtual bool next(RawRecord& record) = 0;  ///< false at the end
    virtual void rewind() = 0;                 ///< back to the first record

    Problems problems;             ///< of what was read; its reader raises them, once it has seen the whole
    Problems tolerated;            ///< cells that do not fit their column, and count as missing
    std::uint64_t unlabelled = 0;  ///< rows left out: their label is none of the stated ones
    std::map<std::string, OtherCells> other_cells;  ///< by column, of what was read
};

}  // namespace holdfast
