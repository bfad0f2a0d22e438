#pragma once

#include <cstdint>
#include <string>

namespace holdfast::hdf5 {

/// libhdf5 1.10 trusts sizes and addresses in a file, and some damaged files end it with a signal. A child
/// process therefore reads an unsealed file first: all links, attributes and chunk indices, and the values of
/// each dataset of at most `probed_value_bytes`. It is a fork: callers of this library have no program of
/// ours to start, and the child touches neither MPI nor a GPU nor what other threads hold.
///
/// Error (input): the child ended with a signal, or used 20 seconds of processor time.
/// HDF5's own errors are no failure: the reader meets them again and names them.
void probe_in_child(const std::string& path);

inline constexpr std::uint64_t probed_value_bytes = std::uint64_t{256} << 20;

}  // namespace holdfast::hdf5
