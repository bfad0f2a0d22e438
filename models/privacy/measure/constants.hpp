#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/measure/name_counts.hpp"

namespace holdfast {

/// What surrounds a model and nobody has stated: to be drawn once, and paid for. All of it is public.
struct MeasureRequest {
    std::string relation = "add_remove";  ///< of the account that pays
    bool count = false;                   ///< of persons
    std::size_t columns = 0;              ///< whose ranges and edges are asked for
    std::size_t bins = 0;                 ///< of a column; 0: as many as the noise leaves to be told apart
    Rational count_mu_squared = 0, columns_mu_squared = 0;  ///< what each may cost, at most
    std::size_t categories =
        0;  ///< columns of hashed text whose frequent buckets are asked for; of the second's cost
    std::size_t names = 0;     ///< columns of text whose frequent values are to be named; likewise
    Rational names_delta = 0;  ///< which that costs besides, for all of them together
    std::size_t levels = TreeLaw::levels;  ///< of a column: all, or of few persons the first, without edges

    static constexpr std::size_t least_bins = 4, most_bins = 16;
};

/// The noise that this pays for: normal, rounded to whole persons or shares of them
/// (models/privacy/mathematics.md, measured count; column tree).
struct MeasureLaw {
    double count_sigma = 0, sigma = 0;  ///< in persons; 0: not drawn
    Rational mu_squared = 0;            ///< of all draws together, exactly: no more than was asked for
    NameLaw names = {};

    /// Errors (usage): nothing is asked for, or the noise is beyond all counts.
    static MeasureLaw of(const MeasureRequest& request);
};

/// Without token and guarantee. `delta`: at which its epsilon is stated.
Payment payment_for(const MeasureRequest& request, const MeasureLaw& law, const Rational& delta);

/// Of the delta that names cost besides: a payment of no epsilon. Likewise without token and guarantee.
Payment payment_for_names(const MeasureRequest& request, const MeasureLaw& law);

/// The mechanisms of those payments.
extern const char* const measured_mechanism;
extern const char* const named_mechanism;
/// Of the delta that a choice costs which is told as it is, if a test lets it pass.
extern const char* const tested_mechanism;

/// A column's range and edges, in its own units.
struct MeasuredColumn {
    double lowest = 0, highest = 1;
    std::vector<double> edges = {};
    bool seen = true;  ///< false: noise hid all of it, and the range is [0, 1]
    std::optional<std::vector<std::size_t>> buckets = {};  ///< of hashed text: the frequent ones, ascending
    std::optional<std::vector<std::string>> names = {};    ///< of text: those that came out, ascending

    bool dropped = false;  ///< a part of an undeclared column that holds nothing: it has no feature

    bool is_text() const { return buckets || names; }
    /// Of text: one for each bucket or name, and one for all others.
    std::size_t features() const {
        if (dropped) return 0;
        return buckets ? buckets->size() + 1 : names ? names->size() + 1 : 1;
    }
};

/// What was drawn: public constants from then on.
struct MeasuredConstants {
    std::string token;                                   ///< of their payment
    std::optional<std::int64_t> count;                   ///< may be below 1
    std::vector<std::optional<MeasuredColumn>> columns;  ///< by feature; empty: its range is public without
    std::size_t bins = 0;                                ///< 0: no edges were drawn

    /// A public number of records: the least is 1.
    std::uint64_t records() const { return count && *count > 1 ? static_cast<std::uint64_t>(*count) : 1; }
    std::size_t features() const;  ///< of a record, once text has one for each bucket or name
    nlohmann::json to_json() const;
    /// Of the text that a dataset or a ledger keeps; Error (input) at `where`: damaged.
    static MeasuredConstants from_text(const std::string& text, const std::string& where);
};

/// Counts persons by the columns that are asked for, from `first` to before `last`: never all of thousands at
/// once. [last - first]
using CountColumns = std::function<std::vector<ColumnCounts>(std::size_t first, std::size_t last)>;

/// Counts persons by their names in a feature, by its place.
using CountNames = std::function<NameCounts(std::size_t feature)>;

/// The two parts of a column whose type nobody has stated, by their features, and the bucket of its numbers.
struct UndeclaredColumn {
    std::size_t number, text, bucket_of_numbers;
};

/// Of a table: how many persons there are, and what is known of it anyway.
struct MeasuredTable {
    std::int64_t persons = 0;
    std::uint64_t stated = 0;           ///< the public number of persons, where the count is not asked for
    std::vector<std::size_t> features;  ///< [request.columns + categories + names], their places, so in order
    std::size_t all = 0;                ///< features, measured or not
    std::string other = "";             ///< what all that has no name is called
    std::vector<UndeclaredColumn> undeclared = {};  ///< parts that hold nothing are dropped
};

/// Draws the count, then columns in their order.
MeasuredConstants draw_constants(const MeasureRequest& request, const MeasureLaw& law,
                                 const MeasuredTable& table, const CountColumns& count_columns,
                                 RandomBits& bits, const CountNames& count_names = nullptr);

/// How many bins a column of so many persons gets under this noise: the least power of two above
/// persons/(8 sigma), within [least_bins, most_bins].
std::size_t bins_told_apart(double persons, double sigma);

}  // namespace holdfast
