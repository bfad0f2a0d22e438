#include "dist/data/filled_records.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast {

std::string place(const SourceInfo& info, std::uint64_t position) {
    return std::string(info.position_word) + " " + std::to_string(position);
}

bool FilledRecords::next(RawRecord& record) {
    if (!source_.next(record)) return false;
    if (record.flawed) return true;
    for (std::size_t column = 0; column < record.features.size(); ++column) {
        double& value = record.features[column];
        if (std::isfinite(value)) continue;
        if (std::isfinite(fills_[column])) {
            value = fills_[column];
            ++filled_;
            continue;
        }
        flaw(record, column);
    }
    return true;
}

void FilledRecords::flaw(RawRecord& record, std::size_t column) {
    const SourceInfo& info = source_.info();
    const std::string& name = info.feature_names[column];
    const bool missing = std::isnan(record.features[column]);
    record.flawed = true;
    source_.problems.add(
        (missing ? "missing " : "infinite ") + name,
        place(info, record.position) + ", column '" + name + "' is " +
            (missing ? "missing or NaN" : "infinite"),
        missing ? "--missing zero or --missing " + name + "=VALUE fills it by a public rule"
                : "features must be finite numbers: correct or leave out the record; --missing " + name +
                      "=VALUE fills it by a public rule",
        record.position);
}

std::uint64_t scale_features(const std::vector<Range>& ranges, std::vector<double>& features) {
    std::uint64_t clipped = 0;
    for (std::size_t column = 0; column < ranges.size(); ++column) {
        const auto [lowest, highest] = ranges[column];
        if (!(lowest < highest)) continue;
        const double inside = std::clamp(features[column], lowest, highest);
        clipped += inside != features[column];
        features[column] = std::clamp((inside - lowest) / (highest - lowest), 0.0, 1.0);
    }
    return clipped;
}

}  // namespace holdfast
