#pragma once

#include <chrono>
#include <string>

#include "jobs/program/context.hpp"

namespace holdfast {

/// "train  12/40  1.3 s, 3 s left" on stderr: rewritten in place on a terminal, else a line every ten
/// seconds. By tenths: a line every tenth of the total, without times, so that nothing is seen of them. Not
/// shown: it keeps the time only.
class Progress {
  public:
    enum class Show { times, tenths, nothing };
    Progress(const Context& context, std::string what, std::int64_t total, Show show = Show::times);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void advance_to(std::int64_t done);
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  private:
    void show_tenths(std::int64_t done);
    using Clock = std::chrono::steady_clock;
    Show show_;
    bool terminal_;
    std::string what_;
    std::int64_t total_;
    Clock::time_point start_ = Clock::now();
    double last_shown_ = 0;
    std::int64_t last_tenth_ = 0;
    bool line_open_ = false;
};

}  // namespace holdfast
