#pragma once

#include <dlfcn.h>

#include <string>

namespace holdfast {

/// A shared library that may not be there, loaded where the loader finds it, or in `folder`; closed at the
/// end.
class LoadedLibrary {
  public:
    explicit LoadedLibrary(const std::string& name, const std::string& folder = "")
        : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr && !folder.empty())
            handle_ = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
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
    void* handle_;
};

}  // namespace holdfast
