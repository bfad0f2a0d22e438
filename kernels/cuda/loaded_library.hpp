#pragma once

#include <dlfcn.h>

#include <string>

namespace holdfast {

/// A library that is loaded when it is asked for, where the loader finds it or in `folder`; closed at the
/// end.
class LoadedLibrary {
  public:
    LoadedLibrary(const std::string& name, const std::string& folder)
        : handle_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        if (handle_ == nullptr) handle_ = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    ~LoadedLibrary() {
        if (handle_ != nullptr) dlclose(handle_);
    }
    LoadedLibrary(const LoadedLibrary&) = delete;
    LoadedLibrary& operator=(const LoadedLibrary&) = delete;

    bool is_there() const { return handle_ != nullptr; }
    /// Null: the library is not there, or has no such function.
    template <typename Function>
    Function* function(const char* symbol) const {
        return handle_ == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(handle_, symbol));
    }

  private:
    void* handle_;
};

}  // namespace holdfast
