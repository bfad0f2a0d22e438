#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace holdfast {

/// A training run on disk. For the data owner only: the folder is 0700 and its files 0600
/// (models/privacy/mathematics.md, what may leave).
///   manifest.json   configuration, dataset, digest, guarantee
///   metrics.jsonl   a line a step
///   boxes.h5        lower, upper [members, levels, parameters] int64 parameter units; levels [levels]
///   distances.h5, certificates.json, evaluation.json   written by certify and evaluate
///   prefix.h5       the public model that features.prefix named
///   initial.h5      the public model that network.initial named
///   fingerprint     whose run it is, from the start: of configuration and data
///   provenance.jsonl   a line for every job that trained on it: program, libraries, hosts, ranks
///   lease, members/, checkpoints/, progress/   while it trains (dist/runs/member_store.hpp)
class RunFolder {
  public:
    /// Error (output): something is there that is no empty folder.
    static void require_new(const std::string& path);
    /// A new run. Error (output): as require_new (unless `resume`), or it cannot be made.
    static RunFolder create(const std::string& path, bool resume);
    /// A finished run. Errors (input): no such folder, or training has not finished.
    static RunFolder open(const std::string& path);

    /// Makes this the folder of the run with this fingerprint; the same again does nothing, and of several
    /// tasks at once one does it: true for that one. Errors: (usage) it is another run's; (output) it holds
    /// other files, or cannot be written.
    bool claim(const std::string& fingerprint) const;
    /// Has training finished? Its manifest is written last.
    bool finished() const { return has("manifest.json"); }
    /// Is there a file? One that cannot be asked about is taken for none.
    bool has(const std::string& name) const;

    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    /// Sealed (dist/files/seal.hpp), as write_json() writes it. Error (input): missing, malformed or no
    /// longer what was written.
    nlohmann::json read_json(const std::string& name) const;
    void write_json(const std::string& name, const nlohmann::json& value) const;
    /// `digest`: of the text, kept in a sealed file; empty: none is. Error (input): missing, or another text.
    std::string read_text(const std::string& name, const std::string& digest) const;
    void write_text(const std::string& name, const std::string& text) const;

  private:
    explicit RunFolder(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

/// Writes boxes.h5 level by level; nothing appears before commit(). The digest covers all values in order;
/// the file states it, and is sealed.
class BoxesWriter {
  public:
    BoxesWriter(const RunFolder& run, std::size_t members, const std::vector<std::int64_t>& levels,
                std::size_t parameters);
    ~BoxesWriter();
    BoxesWriter(const BoxesWriter&) = delete;
    BoxesWriter& operator=(const BoxesWriter&) = delete;
    /// In order of member, then level.
    void write(std::size_t member, std::size_t level, const std::vector<std::int64_t>& lower,
               const std::vector<std::int64_t>& upper);
    std::string commit();  ///< the digest, hex

  private:
    struct File;
    std::unique_ptr<File> file_;
};

class BoxesReader {
  public:
    /// `digest`: of the boxes that are meant, as the manifest states it; empty: whichever are there.
    /// Errors (input): damaged, or others.
    explicit BoxesReader(const RunFolder& run, const std::string& digest = "");
    ~BoxesReader();
    BoxesReader(BoxesReader&&) noexcept;
    BoxesReader& operator=(BoxesReader&&) noexcept;

    std::size_t members() const { return members_; }
    const std::vector<std::int64_t>& levels() const { return levels_; }
    std::size_t parameters() const { return parameters_; }
    void read(std::size_t member, std::size_t level, std::vector<std::int64_t>& lower,
              std::vector<std::int64_t>& upper) const;

  private:
    struct File;
    std::unique_ptr<File> file_;
    std::size_t members_ = 0, parameters_ = 0;
    std::vector<std::int64_t> levels_;
};

}  // namespace holdfast
