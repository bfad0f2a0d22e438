#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "jobs/context.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

/// What was checked, one line each, and what of it failed.
class Findings {
  public:
    /// `action` returns what it has found in order, and throws an Error where it is not.
    template <typename Action>
    void check(const std::string& what, Action action) {
        try {
            add(what, true, action());
        } catch (const Error& error) {
            if (error.code() == ExitCode::internal || error.code() == ExitCode::output) throw;
            add(what, false, error.what());
        }
    }
    bool sound() const { return failed_ == 0; }
    void print(const Context& context, const std::string& run) const {
        const std::string summary = sound()
                                        ? "verified: " + run + ", " + std::to_string(list_.size()) + " checks"
                                        : "NOT verified: " + run + ", " + std::to_string(failed_) + " of " +
                                              std::to_string(list_.size()) + " checks failed";
        context.print({{"run", run}, {"verified", sound()}, {"checks", list_}}, text_ + summary + "\n");
    }
    [[noreturn]] void refuse(const std::string& run) const {
        throw Error(ExitCode::input,
                    std::to_string(failed_) + " of " + std::to_string(list_.size()) + " checks failed",
                    "restore the folder from a copy, or train again", run);
    }

  private:
    void add(const std::string& what, bool holds, const std::string& found) {
        list_.push_back({{"check", what}, {"holds", holds}, {"found", found}});
        text_ += (holds ? "ok      " : "FAILED  ") + what + ": " + found + "\n";
        failed_ += holds ? 0 : 1;
    }

    nlohmann::json list_ = nlohmann::json::array();
    std::string text_;
    std::size_t failed_ = 0;
};

}  // namespace holdfast
