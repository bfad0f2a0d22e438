#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace holdfast {

/// Allocator of cache-line aligned memory, for arrays that SIMD kernels read.
template <typename T>
struct AlignedAllocator {
    using value_type = T;
    static constexpr std::align_val_t alignment{64};

    AlignedAllocator() = default;
    template <typename U>
    AlignedAllocator(const AlignedAllocator<U>&) {}

    T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), alignment)); }
    void deallocate(T* pointer, std::size_t) { ::operator delete(pointer, alignment); }
    bool operator==(const AlignedAllocator&) const { return true; }
};

template <typename T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace holdfast
