#pragma once

#include <stdexcept>
#include <string>

namespace holdfast {

/// Exit codes of the program, printed by `holdfast --help`. Bad input never gets another code than these.
enum class ExitCode : int {
    success = 0,
    usage = 2,          ///< command line or configuration: nothing was started
    input = 3,          ///< a dataset, query file, run folder or checkpoint that cannot be used
    output = 4,         ///< a file could not be written; nothing half written is left under its name
    arithmetic = 5,     ///< this machine does not compute as the proofs assume: nothing was started
    budget = 6,         ///< the ledger refuses the release; nothing was drawn
    interrupted = 7,    ///< SIGTERM or SIGUSR1: a checkpoint was written, `--resume` continues
    communication = 8,  ///< a rank was lost or a message failed
    internal = 9,       ///< a broken invariant: please report it
    memory = 10,        ///< out of it
};

/// What the program throws on bad input: what happened, where, and what to do about it.
class Error : public std::runtime_error {
  public:
    Error(ExitCode code, std::string message, std::string hint = "", std::string where = "")
        : std::runtime_error(compose(message, hint, where)),
          code_(code),
          message_(std::move(message)),
          hint_(std::move(hint)),
          where_(std::move(where)) {}

    ExitCode code() const { return code_; }
    const std::string& message() const { return message_; }
    const std::string& hint() const { return hint_; }    ///< the remedy, one sentence; may be empty
    const std::string& where() const { return where_; }  ///< the file, field or option; may be empty

  private:
    static std::string compose(const std::string& message, const std::string& hint,
                               const std::string& where) {
        std::string text = where.empty() ? message : where + ": " + message;
        return hint.empty() ? text : text + " (" + hint + ")";
    }

    ExitCode code_;
    std::string message_, hint_, where_;
};

/// Throws ExitCode::internal unless `holds`: for invariants, never for input.
inline void ensure(bool holds, const char* invariant) {
    if (!holds)
        throw Error(ExitCode::internal, std::string("broken invariant: ") + invariant, "please report it");
}

}  // namespace holdfast
