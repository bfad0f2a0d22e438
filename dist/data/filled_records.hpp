#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/data/record_source.hpp"

namespace holdfast {

/// Reads the records of a source with their missing values filled; counts them. An infinite value counts as
/// missing. A missing value without a fill is a problem of the source.
class FilledRecords {
  public:
    /// fills: [d], what a missing value of each feature counts as; NaN: it is an error.
    FilledRecords(RecordSource& source, std::vector<double> fills)
        : source_(source), fills_(std::move(fills)) {}

    bool next(RawRecord& record);
    std::uint64_t filled() const { return filled_; }

  private:
    void flaw(RawRecord& record, std::size_t column);

    RecordSource& source_;
    std::vector<double> fills_;
    std::uint64_t filled_ = 0;
};

/// Maps values into [0, 1], those without a range not; returns how many lay outside their range.
std::uint64_t scale_features(const std::vector<Range>& ranges, std::vector<double>& features);

/// "line 3": where a record stands in its source.
std::string place(const SourceInfo& info, std::uint64_t position);

}  // namespace holdfast
