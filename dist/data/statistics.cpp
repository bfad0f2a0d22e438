#include "dist/data/statistics.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t slab_values = 1 << 20, id_slab = 1 << 20;

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

std::uint64_t count_repeated(std::vector<std::uint64_t>& values) {
    std::sort(values.begin(), values.end());
    const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
    return values.size() - static_cast<std::uint64_t>(distinct);
}

struct NumberedId {
    std::uint64_t id, row;
};

std::vector<NumberedId> sorted_ids(const DatasetReader& reader) {
    std::vector<NumberedId> ids;
    const std::uint64_t rows = reader.info().rows;
    for (std::uint64_t first = 0; first < rows; first += id_slab) {
        for (const std::uint64_t id : reader.read_ids(first, std::min(id_slab, rows - first))) {
            ids.push_back({id, ids.size()});
        }
    }
    std::sort(ids.begin(), ids.end(), [](const NumberedId& a, const NumberedId& b) {
        return std::pair(a.id, a.row) < std::pair(b.id, b.row);
    });
    return ids;
}

void find_duplicate_ids(const DatasetReader& reader, DatasetStatistics& statistics) {
    const auto ids = sorted_ids(reader);
    for (std::size_t i = 1; i < ids.size(); ++i) {
        if (ids[i].id != ids[i - 1].id) continue;
        if (statistics.duplicate_ids++ > 0) continue;
        statistics.first_duplicate_id = ids[i].id;
        statistics.first_row = ids[i - 1].row;
        statistics.second_row = ids[i].row;
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

DatasetStatistics describe(const DatasetReader& reader) {
    const DatasetInfo& info = reader.info();
    constexpr double infinity = std::numeric_limits<double>::infinity();
    DatasetStatistics statistics;
    statistics.info = info;
    FeatureStatistics empty;
    empty.lowest = infinity;
    empty.highest = -infinity;
    statistics.features.assign(info.features, empty);
    std::vector<std::uint64_t> hashes;
    std::vector<unsigned char> bytes;
    const std::uint64_t slab = std::max<std::uint64_t>(1, slab_values / info.features);
    for (std::uint64_t first = 0; first < info.rows; first += slab) {
        const Records records = reader.read_unchecked(first, std::min(slab, info.rows - first));
        for (std::size_t row = 0; row < records.size(); ++row) {
            for (std::size_t column = 0; column < info.features; ++column) {
                update(statistics.features[column], records.features.at(row, column));
            }
            hashes.push_back(hash_record(records, row, bytes));
        }
        for (const std::int32_t label : records.labels) ++statistics.class_counts[label];
    }
    statistics.duplicate_rows = count_repeated(hashes);
    find_duplicate_ids(reader, statistics);
    return statistics;
}

void require_unique_ids(const DatasetReader& reader) {
    DatasetStatistics statistics;
    find_duplicate_ids(reader, statistics);
    if (statistics.duplicate_ids == 0) return;
    throw Error(ExitCode::input,
                "id " + std::to_string(statistics.first_duplicate_id) + " appears twice: row " +
                    std::to_string(statistics.first_row) + " and row " +
                    std::to_string(statistics.second_row),
                "one person, one id: merge or renumber these records",
                reader.info().path + ":id_" + reader.info().split);
}

std::vector<std::string> guarantee_notes(const DatasetStatistics& statistics) {
    const DatasetInfo& info = statistics.info;
    std::vector<std::string> notes{scaling_note(info.scaling), id_note(statistics)};
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
    if (statistics.duplicate_rows > 0) {
        notes.push_back(
            "duplicate rows: if one person has several records, the guarantee for k records covers k of "
            "them, not k persons.");
    }
    if (statistics.nan() + statistics.infinite() > 0) {
        notes.push_back("NaN or infinite features: training refuses the file.");
    }
    return notes;
}

}  // namespace holdfast
