#include "dist/data/statistics.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t statistics_slab = 1 << 20, id_slab = 1 << 20, most_held = 1 << 23;
constexpr std::size_t most_labels = 1 << 20;

void update(FeatureStatistics& feature, double value) {
    if (std::isnan(value)) {
        ++feature.nan;
    } else if (std::isinf(value)) {
        ++feature.infinite;
    } else {
        feature.lowest = std::min(feature.lowest, value);
        feature.highest = std::max(feature.highest, value);
        feature.outside += value < 0 || value > 1;
    }
}

/// SipHash of a record's features and label, under the all-zero key.
std::uint64_t hash_record(const Records& records, std::size_t row, std::vector<unsigned char>& bytes) {
    static constexpr unsigned char key[crypto_shorthash_KEYBYTES] = {};
    const FeatureMatrix& features = records.features;
    const std::size_t width = features.wide() ? 8 : 4, size = width * features.columns();
    bytes.resize(size + 12);
    const void* values = features.wide()
                             ? static_cast<const void*>(&features.wide_values()[row * features.columns()])
                             : &features.values()[row * features.columns()];
    std::memcpy(bytes.data(), values, size);
    const std::int32_t label = records.labels.empty() ? 0 : records.labels[row];
    const double target = records.targets.empty() ? 0 : records.targets[row];
    std::memcpy(bytes.data() + size, &label, 4);
    std::memcpy(bytes.data() + size + 4, &target, 8);
    unsigned char output[crypto_shorthash_BYTES];
    crypto_shorthash(output, bytes.data(), bytes.size(), key);
    std::uint64_t hash;
    std::memcpy(&hash, output, 8);
    return hash;
}

struct NumberedId {
    std::uint64_t id, row;
    bool operator<(const NumberedId& other) const { return id != other.id ? id < other.id : row < other.row; }
};

bool same(const NumberedId& one, const NumberedId& other) {
    return one.id == other.id;
}
bool same(std::uint64_t one, std::uint64_t other) {
    return one == other;
}

/// Counts which of many values were there before, of those of one part of all, in memory that does not grow
/// with how often one is.
template <class Value>
class Distinct {
  public:
    /// Is called for pairs: the first of its kind, one that came behind it.
    using Repeated = std::function<void(const Value&, const Value&)>;

    explicit Distinct(Repeated repeated) : repeated_(std::move(repeated)) {}

    void add(const Value& value) {
        values_.push_back(value);
        if (values_.size() >= 2 * std::max<std::size_t>(kept_, most_held / 2)) settle();
    }
    void settle() {
        std::sort(values_.begin(), values_.end());
        std::size_t end = 0;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            if (end > 0 && same(values_[end - 1], values_[i])) {
                repeated_(values_[end - 1], values_[i]);
            } else {
                values_[end++] = values_[i];
            }
        }
        values_.resize(kept_ = end);
    }

  private:
    std::vector<Value> values_;
    std::size_t kept_ = 0;
    Repeated repeated_;
};

/// So many passes over the data that about most_held values of either kind are held in each.
std::uint64_t passes_over(std::uint64_t rows) {
    return (rows + most_held - 1) / most_held;
}

/// Which pass an id is looked at in; ids are often multiples of something.
std::uint64_t pass_of(std::uint64_t id, std::uint64_t passes) {
    return (id * 0x9E3779B97F4A7C15U >> 32) % passes;
}

void find_duplicate_ids(const DatasetReader& reader, DatasetStatistics& statistics) {
    const std::uint64_t rows = reader.info().rows, passes = passes_over(rows);
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
        Distinct<NumberedId> ids([&](const NumberedId& one, const NumberedId& other) {
            if (statistics.duplicate_ids++ > 0 &&
                NumberedId{statistics.first_duplicate_id, statistics.second_row} < other)
                return;
            statistics.first_duplicate_id = one.id;
            statistics.first_row = one.row;
            statistics.second_row = other.row;
        });
        for (std::uint64_t first = 0; first < rows; first += id_slab) {
            std::uint64_t row = first;
            for (const std::uint64_t id : reader.read_ids(first, std::min(id_slab, rows - first))) {
                if (pass_of(id, passes) == pass) ids.add({id, row});
                ++row;
            }
        }
        ids.settle();
    }
}

std::string scaling_note(Scaling scaling) {
    switch (scaling) {
        case Scaling::public_constants:
            return "scaling: public constants; no guarantee is affected.";
        case Scaling::none:
            return "scaling: none when imported; certificates and privacy claims hold only if the features "
                   "were not computed from the private records before, or scaled by public constants; those "
                   "outside [0, 1] widen boxes: import with --scale.";
        case Scaling::measured:
            return "scaling: by constants that were drawn from the records under privacy and paid for; "
                   "certificates are about neighbours at these constants.";
        case Scaling::private_data:
            return "scaling: computed from the data; one changed record can move all others, so no "
                   "certificate and no "
                   "privacy claim holds for the raw records: import with public --scale constants.";
        case Scaling::unknown:
            break;
    }
    return "scaling: unknown; certificates and privacy claims hold only if it used public constants: import "
           "again with "
           "--scale, or say what is known by --source-scaling.";
}

std::string id_note(const DatasetStatistics& statistics) {
    if (statistics.info.rows_at_most > 1)
        return "ids: given; each names a person, of at most " + std::to_string(statistics.info.rows_at_most) +
               " rows.";
    if (statistics.duplicate_ids > 0) {
        return "ids: some are shared by several records; the guarantee is for one id, so training "
               "refuses the file.";
    }
    const IdKind ids = statistics.info.ids;
    return std::string("ids: ") + name_of(ids) + "; " + coverage_of(ids) + ".";
}

}  // namespace

std::uint64_t DatasetStatistics::nan() const {
    std::uint64_t total = 0;
    for (const FeatureStatistics& feature : features) total += feature.nan;
    return total;
}

std::uint64_t DatasetStatistics::infinite() const {
    std::uint64_t total = 0;
    for (const FeatureStatistics& feature : features) total += feature.infinite;
    return total;
}

namespace {

template <class Visit>
void for_each_slab(const DatasetReader& reader, Visit visit) {
    const DatasetInfo& info = reader.info();
    const std::uint64_t slab = std::max<std::uint64_t>(1, statistics_slab / info.features);
    for (std::uint64_t first = 0; first < info.rows; first += slab)
        visit(reader.read_unchecked(first, std::min(slab, info.rows - first)));
}

void update(DatasetStatistics& statistics, const Records& records) {
    for (std::size_t row = 0; row < records.size(); ++row) {
        for (std::size_t column = 0; column < statistics.features.size(); ++column)
            update(statistics.features[column], records.features.at(row, column));
    }
    for (const std::int32_t label : records.labels) ++statistics.class_counts[label];
    if (statistics.class_counts.size() > most_labels) {
        throw Error(ExitCode::input, "has more than " + std::to_string(most_labels) + " different labels",
                    "labels are class indices; numbers to be learned are stored as float64",
                    statistics.info.path + ":y_" + statistics.info.split);
    }
}

}  // namespace

DatasetStatistics describe(const DatasetReader& reader) {
    const DatasetInfo& info = reader.info();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    DatasetStatistics statistics;
    statistics.info = info;
    FeatureStatistics empty;
    empty.lowest = infinity;
    empty.highest = -infinity;
    statistics.features.assign(info.features, empty);
    const std::uint64_t passes = passes_over(info.rows);
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
        Distinct<std::uint64_t> hashes([&](std::uint64_t, std::uint64_t) { ++statistics.duplicate_rows; });
        for_each_slab(reader, [&](const Records& records) {
            if (pass == 0) update(statistics, records);
            std::vector<unsigned char> bytes;
            for (std::size_t row = 0; row < records.size(); ++row) {
                const std::uint64_t hash = hash_record(records, row, bytes);
                if (hash % passes == pass) hashes.add(hash);
            }
        });
        hashes.settle();
    }
    find_duplicate_ids(reader, statistics);
    return statistics;
}

void require_unique_ids(const DatasetReader& reader) {
    DatasetStatistics statistics;
    find_duplicate_ids(reader, statistics);
    if (statistics.duplicate_ids == 0 || reader.info().rows_at_most > 1) return;
    throw Error(ExitCode::input,
                "id " + std::to_string(statistics.first_duplicate_id) + " appears twice: row " +
                    std::to_string(statistics.first_row) + " and row " +
                    std::to_string(statistics.second_row),
                "one person, one id: holdfast import --person takes several rows of one",
                reader.info().path + ":id_" + reader.info().split);
}

std::vector<std::string> guarantee_notes(const DatasetStatistics& statistics) {
    const DatasetInfo& info = statistics.info;
    std::vector<std::string> notes{scaling_note(info.scaling), id_note(statistics)};
    if (!info.measured.empty() && info.scaling == Scaling::public_constants)
        notes.push_back(
            "columns: chosen from the records under privacy and paid for; certificates are about neighbours "
            "at these columns.");
    if (!info.label_law.empty())
        notes.push_back(
            "labels: drawn under privacy, each once, and paid for; what is learnt from them costs nothing "
            "more.");
    if ((info.has_labels || info.has_targets) && info.expected_records == 0) {
        notes.push_back(
            "public count: not stated; training takes the count it finds, which one record changes: its "
            "guarantee is only as published, and a release is refused: import with --expected-records.");
    }
    if (info.count_found)
        notes.push_back(
            "count: found in the records and rounded, so one record may change it: every guarantee is only "
            "as "
            "published: import with --expected-records N.");
    if (info.dealt == Dealt::row_number || info.dealt == Dealt::unknown)
        notes.push_back(std::string("splits: ") +
                        (info.dealt == Dealt::unknown ? "not said what dealt them; if row numbers did, "
                                                      : "dealt by row numbers; ") +
                        "a record removed deals those behind it anew, and every guarantee about one added or "
                        "removed is only "
                        "as published: import with --id or --id-from-content.");
    if (statistics.duplicate_rows > 0 && info.unit == Unit::row) {
        notes.push_back(
            "duplicate rows: if one person has several records, the guarantee for k records covers k of "
            "them, not k persons: import with --person.");
    }
    if (statistics.nan() + statistics.infinite() > 0) {
        notes.push_back("NaN or infinite features: training refuses the file.");
    }
    return notes;
}

}  // namespace holdfast
