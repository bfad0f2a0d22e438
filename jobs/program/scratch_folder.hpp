#pragma once

#include <string>

namespace holdfast {

/// A folder of mode 0700 under $TMPDIR or /tmp, removed with all it holds. Error (output): it cannot be made.
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
