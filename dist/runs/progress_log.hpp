#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace holdfast {

/// progress/member-00012.jsonl of a run folder, while the run trains: for its owner (0600), as its metrics
/// are, and of no kind that keeps its way secret. A line when a job starts or goes on with the member, one
/// when it is stopped by a signal, and between them lines of steps, seldom enough that none costs anything.
/// Written by one rank, read by holdfast watch alone; a finished run has none. It decides nothing: a line
/// that cannot be written is left out.
class ProgressLog {
  public:
    ProgressLog() = default;  ///< writes nothing
    explicit ProgressLog(const std::string& path);
    ~ProgressLog();
    ProgressLog(ProgressLog&& other) noexcept : file_(other.file_) { other.file_ = -1; }
    ProgressLog& operator=(ProgressLog&&) = delete;

    /// {"event", "time" (seconds since 1970), …}
    void event(const std::string& name, nlohmann::json line);
    /// Is it time for another line? No sooner than a second after the last one, nor than a five-hundredth of
    /// the time since the first.
    bool due() const;

  private:
    using Clock = std::chrono::steady_clock;
    int file_ = -1;
    Clock::time_point start_ = Clock::now(), last_ = start_ - std::chrono::hours(1);
};

}  // namespace holdfast
