#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "dist/files/descriptor.hpp"
#include "dist/runs/run_folder.hpp"

namespace holdfast {

/// What one job trains of a run, and no other at the same time: the members first, …, last - 1. The file
/// `lease` of the run folder holds it, from before the first file of a member is written, until the run is
/// finished:
///   its bytes are locked, one a member, by the process of rank 0: the kernel frees them when that ends,
///   its lines say who has held which, and which members are finished.
/// Over NFS (version 4; version 3 with lockd) the server keeps the locks, so that two hosts hold each other
/// back, and the one that locks sees what the other has written; those of a host that is down are free after
/// the server's lease time, 90 seconds mostly. A file system without locks holds nobody back.
class Lease {
  public:
    /// For this process on `host`. Waits for `patience` where others hold one of the members, as a job that
    /// was just stopped does. Errors: (usage) they still do: who; (output) it cannot be written.
    static Lease take(const RunFolder& run, std::size_t first, std::size_t last, const std::string& host,
                      std::chrono::milliseconds patience = std::chrono::seconds(5));

    bool is_locked() const { return locked_; }  ///< else this file system has no locks
    /// Says that all of this job's members are finished; returns every one that is, as far as anybody has
    /// said: this host may see the files of some of them later than that.
    std::set<std::size_t> finish() const;

    static constexpr const char* file_name = "lease";

  private:
    Lease(std::string path, Descriptor file, std::size_t first, std::size_t last, bool locked)
        : path_(std::move(path)), file_(std::move(file)), first_(first), last_(last), locked_(locked) {}
    void append(const std::string& line) const;

    std::string path_;
    Descriptor file_;
    std::size_t first_, last_;
    bool locked_;
};

}  // namespace holdfast
