#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/runs/run_folder.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

/// unlearning.jsonl of a run folder: what a run, and the runs before it, were asked to forget, and what was
/// done. A line an entry, each with its number, its time, the digest of the entry before and its own, so that
/// no entry can be changed, taken out or put in unnoticed by who keeps the last digest (a whole chain could
/// be written anew). Entries are only added, each by a new file in place of the old one: a crash leaves the
/// one or the other.
///
/// A request is two entries: "asked" before anything is trained, "done" once the run is finished. Ids are in
/// neither: they stand as tokens under a key of the log's own, in unlearning.key beside it. Without the key,
/// nobody can try an id against the log, and the chain still holds; with it, a request is recognised
/// that comes again.
class RequestLog {
  public:
    static constexpr const char* file_name = "unlearning.jsonl";
    static constexpr const char* key_name = "unlearning.key";

    /// Empty where the folder has none. Error (input): an entry that is damaged or out of the chain, naming
    /// its line.
    static RequestLog read(const RunFolder& run);

    const std::vector<nlohmann::json>& entries() const { return entries_; }
    /// Of the last entry: what to keep elsewhere. 64 zeros of an empty log.
    std::string head() const;
    /// The last request, if it is asked and not done.
    const nlohmann::json* pending() const;
    /// The tokens of all ids that were forgotten or asked to be, sorted.
    std::vector<std::string> tokens() const;

    /// Adds an entry to the log of `run`: these are its fields but for number, time and digests. Error
    /// (output).
    void append(const RunFolder& run, nlohmann::json fields);

  private:
    std::vector<nlohmann::json> entries_;
};

/// The key of the tokens of a run's log, a copy of the one of the run before it where that has one, else a
/// new one. Errors: as SecretKey's.
SecretKey request_key(const RunFolder& run, const RunFolder& before);

/// The tokens of ids, sorted.
std::vector<std::string> tokens_of(const SecretKey& key, const std::vector<std::uint64_t>& ids);

}  // namespace holdfast
