#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "dist/comm/communicator.hpp"

namespace spdlog {
class logger;
}

namespace holdfast {

/// What every subcommand has: the ranks it runs on and where its words go.
/// stdout carries the result (a table for people, or one JSON object), stderr the log and progress; rank 0
/// speaks.
struct Context {
    const Communicator& world;
    std::shared_ptr<spdlog::logger> log;  ///< stderr; silent with --quiet and on every rank but 0
    bool json = false;
    bool quiet = false;
    bool charges = false;  ///< the command may charge a ledger, once: what is asked again costs nothing
    bool interrupted_by_signal()
        const;  ///< SIGTERM or SIGUSR1 has come (this rank only: agree before acting)

    /// The job's one result: `object` with --json, else `text`, as printable() makes it. Error: as
    /// flush_stdout.
    void print(const nlohmann::json& object, const std::string& text) const;
    /// Error (output): not all that was printed could be written.
    void flush_stdout() const;
};

/// Behind a digest of what no noise protects: equal digests tell that records are equal.
inline constexpr const char* private_digest = " (for the owner alone)";

/// SIGTERM and SIGUSR1 are remembered from now on: for jobs that look between steps.
void install_signal_handlers();

}  // namespace holdfast
