#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dist/data/person_rule.hpp"
#include "dist/data/record_source.hpp"

namespace holdfast {

/// What a missing or infinite value counts as: a public value. Where none is stated, the middle of the
/// column's range, and 0 where it has none.
struct MissingRule {
    bool refused = false;                   ///< a problem in place of that
    bool zero = false;                      ///< 0, in the column's own units
    std::map<std::string, double> columns;  ///< this value for the column, in its own units
};

struct ImportOptions {
    std::map<std::string, Range> ranges;  ///< public constants by column; "*" stands for every other column
    bool ranges_from_data = false;  ///< least and greatest value: marks the dataset Scaling::private_data
    MissingRule missing;
    std::int64_t classes = 0;  ///< a row with a label beyond them is no record; 0: the source judges that
    std::optional<Range> target_range;  ///< public, of a regression's target
    double test_fraction = 0;           ///< of records, by keyed hash of the id
    std::uint64_t seed = 0;
    bool ids_from_content = false;          ///< else the sources' own, or row numbers
    std::uint64_t expected_records = 0;     ///< public; 0: what the source states
    bool count_found = false;               ///< takes the number found in its place, which the file then says
    std::optional<std::string> population;  ///< else what the source states
    std::optional<PersonRule> persons;      ///< an id is a person, with several rows
    /// What the ranges, the count or both were drawn from, under privacy (PublicFacts::measured); empty: they
    /// are public.
    std::string measured = "";
    bool count_measured = false;
    /// Sees the records of each split as they are written, in their order.
    std::function<void(const std::string& split, const Records& records)> written = {};
    int deflate = 1;  ///< of what takes less than half the room so (DatasetWriter)
};

/// A file and the split its records go to.
struct NamedSource {
    std::string split;
    std::unique_ptr<RecordSource> source;
};

struct ImportSummary {
    std::map<std::string, std::uint64_t> rows;                                  ///< by split
    std::map<std::string, std::map<std::int32_t, std::uint64_t>> class_counts;  ///< by split, by label
    PublicFacts facts;                                                          ///< as written
    std::uint64_t clipped = 0, filled = 0;  ///< values outside their public range; missing values filled
    bool targets = false;                   ///< numbers in place of labels
    std::map<std::string, std::uint64_t> persons;  ///< by split, where an id is one
    std::uint64_t rows_left_out = 0;               ///< of persons of more rows than are kept
    std::uint64_t unlabelled = 0;                  ///< rows left out: their label is none of the stated ones
    std::vector<std::string> tolerated;  ///< cells that do not fit their column, for the owner alone
    std::string id_note;                 ///< where the ids come from, and what they cover
};

/// Reads every source once (twice for `ranges_from_data`) and writes the dataset `path`, slab by slab. Values
/// are clipped to their range and mapped to [0, 1], targets too; without ranges they are stored as they are.
/// Ids are the sources' own, hashes of the records' content, or numbers running over all sources. What a
/// source states of itself holds on unless an option says otherwise. Errors: a missing or infinite value or
/// target, a negative label, no records, a duplicate id or equal content (names both places), a person of
/// several rows whom no rule takes, or with rows in several files, a range for an unknown column, columns
/// left without a range, ids from content where the source has ids or the ranges come from the data, a
/// population that is not the source's.
ImportSummary import_records(const std::vector<NamedSource>& sources, const ImportOptions& options,
                             const std::string& path);

}  // namespace holdfast
