#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "jobs/program/context.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

/// What was checked, one line each, and what of it failed.
class Findings {
  public:
    /// `action` returns what it has found in order, and throws an Error where it is not. Did it hold?
    template <typename Action>
    bool check(const std::string& what, Action action) {
        try {
            add(what, true, action());
            return true;
        } catch (const Error& error) {
            if (error.code() == ExitCode::internal || error.code() == ExitCode::output) throw;
            add(what, false, error.what());
            return false;
        }
    }
    /// What was not looked at, and who says it then: in the list, and at the end of the summary.
    void leave_open(const std::string& what, const std::string& words) {
        open_.push_back({{"claim", what}, {"words", words}});
        text_ += "open    " + what + ": " + words + "\n";
    }
    bool sound() const { return failed_ == 0; }
    std::size_t failed() const { return failed_; }
    void print(const Context& context, const std::string& run) const {
        const std::string summary = sound()
                                        ? "verified: " + run + ", " + std::to_string(list_.size()) +
                                              " checks" + (open_.empty() ? "" : "; what is open, is above")
                                        : "NOT verified: " + run + ", " + std::to_string(failed_) + " of " +
                                              std::to_string(list_.size()) + " checks failed";
        context.print({{"run", run}, {"verified", sound()}, {"checks", list_}, {"open", open_}},
                      text_ + summary + "\n");
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

    nlohmann::json list_ = nlohmann::json::array(), open_ = nlohmann::json::array();
    std::string text_;
    std::size_t failed_ = 0;
};

}  // namespace holdfast
