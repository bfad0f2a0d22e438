#pragma once

#include <string>

namespace holdfast {

/// A folder of mode 0700, removed with all it holds: under $TMPDIR, else in memory (/dev/shm, where that has
/// a gigabyte to spare), else under /tmp. Error (output): it cannot be made.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string file(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

}  // namespace holdfast
