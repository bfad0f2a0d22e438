#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/ops/input_transform.hpp"

namespace holdfast {

namespace hdf5 {
class File;
}

/// How the features were scaled: decides which guarantees may be claimed (models/mathematics.md, public
/// constants). `measured`: by constants that were drawn from the records under privacy, and paid for.
enum class Scaling { none, public_constants, private_data, unknown, measured };

/// Where the ids come from: whether the other records keep theirs when one is added or removed. `given`:
/// named by the records; `content`: a hash of the record itself; `row_number`: of its place, which others
/// move.
enum class IdKind { given, content, row_number };

/// What settled which of the imported records are in a split: a hash of the ids of that kind, by `import
/// --test-fraction`, or nothing of this program. `unknown`: the file does not say, has several splits and no
/// ids that the records name. What tells less of a record stands behind what tells more.
enum class Dealt { no, given, content, unknown, row_number };

/// Whom a guarantee about one record is about. `person`: everything that the file has of one, up to
/// PublicFacts::rows_at_most rows of one given id. `row`: one row, whoever else's are beside it (event
/// level).
enum class Unit { row, person };

/// More than any dataset holds: a count beyond it is a slip.
inline constexpr std::uint64_t most_expected_records = 1'000'000'000'000;

/// What a dataset file states of its records. All of it is public, and none of it computed from the records:
/// guarantees rest on it.
struct PublicFacts {
    Scaling scaling = Scaling::unknown;
    IdKind ids = IdKind::row_number;
    std::uint64_t expected_records =
        0;  ///< the public number of training records, of persons where those are the unit; 0: not stated
    std::string population;  ///< the people whose privacy budget the records spend; empty: not named
    FeatureRange range = default_feature_range;         ///< of every feature as a reader returns it
    FeatureRange target_range = default_feature_range;  ///< of the numbers that a regression learns
    std::string source;
    std::vector<std::string> feature_names;
    bool count_found = false;  ///< expected_records is not public: it was found in the records, and rounded
    Dealt dealt = Dealt::no;
    Unit unit = Unit::row;
    std::uint64_t rows_at_most = 1;  ///< V: rows of a person, public; 1 where rows are the unit
    std::string schema = "";  ///< of the table they come from, as to_json(Schema) has it; empty: not known
    bool count_measured = false;  ///< expected_records was drawn from the records under privacy
    std::string measured = "";    ///< what was drawn, the very text that the ledger keeps; empty: nothing was
    std::string label_law = "";   ///< by which its labels were drawn under privacy; empty: they were not
    /// A row with none of the stated labels is no record: a person whose label changes may come or go.
    bool labels_select = false;
};

/// The texts of columns that nobody has named, by column, in the order in which they were found; features are
/// places in it. It is private, and stays in the dataset's file.
using PrivateNames = std::map<std::string, std::vector<std::string>>;

/// The attribute's values and the screen's: "public", "private", "none", "unknown", "measured".
const char* name_of(Scaling scaling);
/// "given", "content", "row number".
const char* name_of(IdKind ids);
/// What such a name stands for; empty for another text.
std::optional<Scaling> scaling_named(const std::string& name);
std::optional<IdKind> ids_named(const std::string& name);
/// "no", "unknown", or the kind of the ids.
const char* name_of(Dealt dealt);
std::optional<Dealt> dealt_named(const std::string& name);

/// "row", "person".
const char* name_of(Unit unit);

/// "[0, 1]"; says so where it is the default, of features and of targets.
std::string text_of(const FeatureRange& range);

/// What a guarantee about one record more or less covers under such ids: a clause for the owner's screen.
const char* coverage_of(IdKind ids);

/// Error (ExitCode::usage, at --population) unless `name` has 1 to 64 letters, digits, '-', '_' and '.'.
void require_population(const std::string& name);

/// The facts about x_SPLIT in the attributes of the same names (`range` in `feature_range`), except scaling.
/// Ids are row numbers where id_SPLIT is missing, given where it is there and the file does not say. Errors
/// (ExitCode::input): a value that the attribute cannot have.
PublicFacts read_facts(const hdf5::File& file, const std::string& split);
/// PublicFacts::schema of a dataset file. Error (input): damaged.
std::string schema_text(const hdf5::File& file);
/// Error (input): damaged.
PrivateNames read_names(const hdf5::File& file);
void write_names(hdf5::File& file, const PrivateNames& names);
/// What is unknown, not stated or the default is left out.
void write_facts(hdf5::File& file, const PublicFacts& facts);

}  // namespace holdfast
