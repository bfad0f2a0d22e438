#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/runs/checkpoint.hpp"
#include "dist/runs/run_folder.hpp"

namespace holdfast {

/// So long a finished member may wait for others to share a file with: what a crash may lose beside the steps
/// since the last checkpoint.
inline constexpr double seconds_of_a_group = 2;

/// What a run folder holds of its members while they train, each apart from all others: whoever trains
/// members writes their files and nobody else's, so any number of jobs may train different members at once.
///   members/members-00012-00040   finished members, written once
///   checkpoints/12/               where an unfinished one can go on
///   progress/member-00012.jsonl   how far it is (dist/runs/progress_log.hpp)
/// Members that follow one another and are finished within `seconds` share a file, or a disk would be waited
/// for longer than small ones are trained; until it appears, a crash loses them.
class MemberStore {
  public:
    /// fingerprint: of configuration and data, in every file; those of another are refused.
    MemberStore(RunFolder run, std::string fingerprint, double seconds = 0);

    const std::string& fingerprint() const { return fingerprint_; }
    /// What holds the member. Error (input): nothing does.
    std::string file(std::size_t member) const;
    CheckpointFolder checkpoints(std::size_t member) const;
    std::string progress_file(std::size_t member) const;

    bool waiting() const;  ///< do finished members wait for their file?
    bool due() const;      ///< for as long as they may?
    void sync() const;     ///< lets it appear, if any do. Error (output)

    void remove_all() const;  ///< once the run is complete
    /// What is empty of it, and the folder's claim if nothing was kept: of a new run that failed.
    void remove_if_empty() const;

    /// The members with a file in this run folder, ascending; by name alone.
    static std::vector<std::size_t> finished(const std::string& run);

  private:
    friend class MemberWriter;
    struct Group;
    void make_folder() const;

    RunFolder run_;
    std::string fingerprint_;
    double seconds_;
    std::shared_ptr<std::unique_ptr<Group>> group_;  ///< being written, by one of the copies of this
};

/// A finished member with boxes: lower, upper [levels, parameters] int64 parameter units, and its lines of
/// metrics.jsonl. Nothing appears before commit(), and then at once or with others. Errors (output).
class MemberWriter {
  public:
    MemberWriter(const MemberStore& store, std::size_t member, std::size_t levels, std::size_t parameters);
    ~MemberWriter();
    MemberWriter(const MemberWriter&) = delete;
    MemberWriter& operator=(const MemberWriter&) = delete;
    /// In order of level.
    void write(const std::vector<std::int64_t>& lower, const std::vector<std::int64_t>& upper);
    void commit(const std::string& metrics);

  private:
    struct Record;
    std::unique_ptr<Record> record_;
};

/// Reads it once, from the first level to the metrics; what was read counts only once finish() has returned.
/// Errors: (usage) of another configuration or dataset; (input) damaged, naming the file and the remedy.
class MemberReader {
  public:
    MemberReader(const MemberStore& store, std::size_t member, std::size_t levels, std::size_t parameters);
    ~MemberReader();
    MemberReader(const MemberReader&) = delete;
    MemberReader& operator=(const MemberReader&) = delete;
    void read(std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper);  ///< the next level
    std::string finish();  ///< after the last level: checks all of it, and returns the metrics

  private:
    struct File;
    std::unique_ptr<File> file_;
};

}  // namespace holdfast
