#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace holdfast::device {

/// Where an executor's memory is: on its device, or page-locked on the host, which copies run beside.
enum class Place { device, pinned };

/// Memory of an executor; move-only. `executor` outlives it.
template <typename Executor, Place place = Place::device>
class Memory {
  public:
    explicit Memory(const Executor& executor, std::size_t bytes = 0) : executor_(&executor) {
        reserve(bytes);
    }
    ~Memory() { release(); }
    Memory(Memory&& other) noexcept
        : executor_(other.executor_),
          data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Memory& operator=(Memory&&) = delete;

    /// At least so many bytes; what it held is gone if it grows.
    void reserve(std::size_t bytes) {
        if (bytes <= bytes_) return;
        release();
        if constexpr (place == Place::device) {
            data_ = executor_->allocate(bytes);
        } else {
            data_ = executor_->allocate_pinned(bytes);
        }
        bytes_ = bytes;
    }
    void release() {
        if (data_ == nullptr) return;
        if constexpr (place == Place::device) {
            executor_->release(data_, bytes_);
        } else {
            executor_->release_pinned(data_);
        }
        data_ = nullptr;
        bytes_ = 0;
    }
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }

  private:
    const Executor* executor_;
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};
template <typename Executor>
using PinnedMemory = Memory<Executor, Place::pinned>;

/// Hands out pieces of one piece of memory, in order. Over null it only measures.
class Carver {
  public:
    explicit Carver(std::byte* memory) : memory_(memory) {}
    template <typename T>
    T* take(std::size_t count) {
        constexpr std::size_t line = 256;
        const std::size_t at = used_;
        used_ += (count * sizeof(T) + line - 1) / line * line;
        return memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + at);
    }
    std::size_t used() const { return used_; }

  private:
    std::byte* memory_;
    std::size_t used_ = 0;
};

}  // namespace holdfast::device
