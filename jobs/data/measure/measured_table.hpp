#pragma once

#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/range.hpp"
#include "jobs/data/measure/purchase.hpp"
#include "jobs/program/runs/dataset_identity.hpp"

namespace holdfast {

/// [features], by the schema of the table; unknown: nobody has stated one.
std::vector<Range> stated_ranges(const DatasetInfo& info);

/// Writes all splits of the raw dataset to `out`, scaled by the constants of one, whose records are now
/// these.
DatasetIdentity write_scaled(const std::string& out, const DatasetInfo& info, const Measured& measured);

}  // namespace holdfast
