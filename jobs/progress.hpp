#pragma once

#include <chrono>
#include <string>

#include "jobs/job.hpp"

namespace holdfast {

/// "train  12/40  1.3 s, 3 s left" on stderr: rewritten in place on a terminal, else a line every ten
/// seconds. Not shown: it keeps the time only.
class Progress {
  public:
    Progress(const Context& context, std::string what, std::int64_t total, bool shown = true);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void advance_to(std::int64_t done);
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    using Clock = std::chrono::steady_clock;
    bool shown_, terminal_;
    std::string what_;
    std::int64_t total_;
    Clock::time_point start_ = Clock::now();
    double last_shown_ = 0;
    bool line_open_ = false;
};

}  // namespace holdfast
