#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/runs/checkpoint.hpp"
#include "dist/runs/run_folder.hpp"

namespace holdfast {

/// What a run folder holds of its members while they train, each apart from all others: whoever trains a
/// member writes its files and nobody else's, so any number of jobs may train different members at once.
///   members/member-00012.h5   a finished member, written once
///   checkpoints/12/           where an unfinished one can go on
///   progress/member-00012.jsonl   how far it is (dist/runs/progress_log.hpp)
class MemberStore {
  public:
    /// fingerprint: of configuration and data, in every file; those of another are refused.
    MemberStore(RunFolder run, std::string fingerprint)
        : run_(std::move(run)), fingerprint_(std::move(fingerprint)) {}

    const std::string& fingerprint() const { return fingerprint_; }
    std::string file(std::size_t member) const;
    CheckpointFolder checkpoints(std::size_t member) const;
    std::string progress_file(std::size_t member) const;

    void make_folder() const;  ///< members/, before the first is written. Error (output)
    void remove_all() const;   ///< once the run is complete
    /// What is empty of it, and the folder's claim if nothing was kept: of a new run that failed.
    void remove_if_empty() const;

    /// The members with a file in this run folder, ascending; by name alone.
    static std::vector<std::size_t> finished(const std::string& run);

  private:
    RunFolder run_;
    std::string fingerprint_;
};

/// A finished member with boxes: lower, upper [levels, parameters] int64 parameter units, and its lines of
/// metrics.jsonl. Nothing appears before commit().
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
    struct File;
    std::unique_ptr<File> file_;
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
