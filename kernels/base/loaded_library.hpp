#pragma once

#include <dlfcn.h>

#include <string>

namespace holdfast {

/// A shared library that may not be there, loaded where the loader finds it, or in `folder`. Its code stays
/// to the end of the process: threads and exit handlers that it leaves behind may still run it.
class LoadedLibrary {
  public:
    explicit LoadedLibrary(const std::string& name, const std::string& folder = "")
        : handle_(dlopen(name.c_str(), how)) {
        if (handle_ == nullptr && !folder.empty()) handle_ = dlopen((folder + "/" + name).c_str(), how);
    }
    ~LoadedLibrary() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;

    bool found() const { return handle_ != nullptr; }
    /// The function of that name, or null.
    template <typename Function>
    Function* function(const char* name) const {
        return found() ? reinterpret_cast<Function*>(dlsym(handle_, name)) : nullptr;
    }

  private:
    static constexpr int how = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
    void* handle_;
};

}  // namespace holdfast
