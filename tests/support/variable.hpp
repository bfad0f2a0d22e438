#pragma once

#include <cstdlib>
#include <string>

namespace holdfast {

/// Sets an environment variable for one test.
class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name), before_(std::getenv(name)) {
        if (before_ != nullptr) kept_ = before_;
        setenv(name, value.c_str(), 1);
    }
    ~Variable() { before_ == nullptr ? unsetenv(name_) : setenv(name_, kept_.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

  private:
    const char* name_;
    const char* before_;
    std::string kept_;
};

}  // namespace holdfast
