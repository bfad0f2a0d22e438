#pragma once

#include <cstdint>

namespace holdfast {

/// A file descriptor, closed when destroyed, and what is locked of its file.
class Descriptor {
  public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;

    int number() const { return number_; }
    bool is_open() const { return number_ >= 0; }

    enum class Lock { held, busy, unsupported };
    /// Bytes first, …, first + count - 1 (0: all from first on), there or not, for this descriptor alone. The
    /// kernel frees them when it is closed, however the process ends; over NFS the server does, a client that
    /// is gone after its lease time. A file system without locks says so, and holds nobody back.
    Lock lock(std::int64_t first, std::int64_t count) const;
    Lock wait_for_lock(std::int64_t first, std::int64_t count) const;  ///< until nobody else holds them
    void unlock(std::int64_t first, std::int64_t count) const;
    /// Is the file at `path` the one that is open here?
    bool is_at(const char* path) const;

  private:
    int number_;
};

}  // namespace holdfast
