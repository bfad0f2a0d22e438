#pragma once

#include <memory>
#include <string>

#include "dist/data/record_source.hpp"

namespace holdfast {

/// An array as messages and options name it: "FILE.npy", or a member of "FILE.npz".
struct ArrayName {
    std::string file;
    std::string member;  ///< without ".npy"; empty for a .npy file
};

/// NumPy arrays (NPY format 1, 2 and 3): little-endian float32, float64, int32, int64, uint8 (uint64 too for
/// ids), C order, records along the first axis, the other axes flattened; read row by row, stored or
/// deflated. `labels` (numbers, for a regression) and `ids` are one-dimensional; an empty file name means
/// none. uint8 features have the known range [0, 255]. Errors (ExitCode::input): not NPY, truncated, Fortran
/// order, big endian, another type, lengths that differ, no rows, labels that are not integers (names the
/// row), unknown member (lists those there are).
std::unique_ptr<RecordSource> open_npy(const ArrayName& features, const ArrayName& labels,
                                       const ArrayName& ids, bool regression = false);

/// The splits of an NPZ file that follows the layout x_SPLIT, y_SPLIT, id_SPLIT; empty if it has none.
std::vector<std::string> npz_splits(const std::string& path);
bool npz_has(const std::string& path, const std::string& member);

}  // namespace holdfast
