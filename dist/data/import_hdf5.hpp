#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dist/data/record_source.hpp"

namespace holdfast {

/// One split (x_SPLIT, y_SPLIT, id_SPLIT) of an HDF5 file whose values may have any integer or floating type,
/// read row by row. Its facts are those the file states; `scaling` says how the features were scaled where
/// the file does not. Errors (ExitCode::input): as DatasetReader, and floating labels that are not integers
/// (names the row) unless it is for a regression.
std::unique_ptr<RecordSource> open_hdf5_split(const std::string& path, const std::string& split,
                                              std::optional<Scaling> scaling = {}, bool regression = false);

/// The splits of an HDF5 file, "train" first; empty if it has none. Errors: as hdf5::File::open_read.
std::vector<std::string> hdf5_splits(const std::string& path);

}  // namespace holdfast
