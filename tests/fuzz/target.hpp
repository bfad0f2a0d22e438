#pragma once

#include <string>
#include <vector>

namespace holdfast::fuzz {

/// A reader of files that come from elsewhere. Whatever lies under `path`, read() ends by itself or throws
/// holdfast::Error: no crash, no hang, no other exception.
class Target {
  public:
    virtual ~Target() = default;
    virtual std::string file_name() const = 0;           ///< what the reader wants its input to be called
    virtual std::vector<std::string> seeds() const = 0;  ///< sound inputs, which it reads without error
    virtual void read(const std::string& path) const = 0;
    virtual bool uses_hdf5() const {
        return false;
    }  ///< tried in a process of its own (tests/fuzz/isolated.hpp)
};

}  // namespace holdfast::fuzz
