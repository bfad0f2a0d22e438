#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast {

/// Integers in an accelerator's memory, and the stream (a cudaStream_t) in whose order they are written and
/// read. Not to be dereferenced on the host.
struct DeviceSpan {
    std::int64_t* data;
    std::size_t size;
    void* stream;
};

}  // namespace holdfast
