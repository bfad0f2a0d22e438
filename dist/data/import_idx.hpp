#pragma once

#include <memory>
#include <string>

#include "dist/data/record_source.hpp"

namespace holdfast {

/// MNIST's IDX files, plain or gzip: unsigned bytes, images [n, height, width] (or [n, …], flattened) and
/// labels [n]; `labels` may be empty. Features have the known range [0, 255]. Errors (ExitCode::input): wrong
/// magic, another type than unsigned bytes, truncated, lengths that differ, no rows.
std::unique_ptr<RecordSource> open_idx(const std::string& features, const std::string& labels);

}  // namespace holdfast
