#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace holdfast {

/// How a training stands, as its folder shows it.
enum class RunState {
    finished,     ///< its manifest is there
    running,      ///< a line of a step not long ago
    silent,       ///< none for much longer than its steps take, and nobody says why
    stopped,      ///< by a signal, after a checkpoint
    interrupted,  ///< its process is gone, and did not say why
    hidden        ///< begun, and says nothing: training with noise, or before its first step
};
const char* name_of(RunState state);

/// A member in training: its lines since a job began or went on with it.
struct MemberView {
    std::size_t member = 0, members = 0;
    std::int64_t first_step = 0, step = 0, steps = 0;  ///< done: when the job began, and now
    double began = 0, last = 0;                        ///< seconds since 1970
    bool stopped = false;
    std::string host;
    std::int64_t process = 0;
    int ranks = 1;
    nlohmann::json metrics;  ///< of the last step told, as in metrics.jsonl; null: none yet

    /// Steps a second since the job began with it; 0: not known yet.
    double rate() const {
        return step > first_step && last > began ? static_cast<double>(step - first_step) / (last - began)
                                                 : 0;
    }
};

/// A run at one moment.
struct RunView {
    RunState state = RunState::hidden;
    std::string folder, kind;
    std::size_t members = 0, finished_members = 0;  ///< members 0: not known
    std::int64_t steps = 0;                         ///< of a member
    std::vector<MemberView> training;               ///< members that are neither finished nor untouched
    double checkpoint_age = -1;                     ///< seconds since the newest; -1: there is none
    nlohmann::json metrics;                         ///< of the member that moved last

    std::int64_t steps_done() const, all_steps() const;
    double rate() const;          ///< steps a second of all members that move now
    double seconds_left() const;  ///< at that rate; -1: not known

    std::string text() const;  ///< a few lines
    nlohmann::json to_json() const;
};

/// Reads it; `now`: seconds since 1970. Error (input): no run there.
RunView look_at(const std::string& folder, double now);

}  // namespace holdfast
