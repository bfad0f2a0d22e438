#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

/// Checkpoints of one member in training: folders named by a growing number, the last two kept. A folder
/// appears under its name complete or not at all; each file in it has a magic number, a version, a
/// fingerprint of what it belongs to, and a checksum, and one of them lists the others with their checksums:
/// a file that is missing, or that another checkpoint wrote, is noticed as a changed one is. The payload is
/// opaque here (models/boxes/state.hpp).
class CheckpointFolder {
  public:
    /// fingerprint: of configuration and data; a checkpoint of another is refused.
    CheckpointFolder(std::string path, std::string fingerprint)
        : path_(std::move(path)), fingerprint_(std::move(fingerprint)) {}

    using Payload = std::vector<std::byte>;
    using Files = std::vector<std::pair<std::string, Payload>>;  ///< by their names
    using PassedOver = std::function<void(const Error&)>;
    /// Collective over the ranks that train it: every rank's files become one checkpoint. Errors (output):
    /// full disk, unwritable folder; the checkpoints before stay.
    void save(const Files& files, const Communicator& world) const;

    /// All payloads of the newest checkpoint whose files are sound; empty if there is none. `passed_over`
    /// hears of every newer one that is not. Errors: (usage) a checkpoint of another configuration or
    /// dataset; (input) checkpoints, but none sound.
    std::vector<Payload> load_latest(const PassedOver& passed_over = [](const Error&) {}) const;
    Files load_latest_files(const PassedOver& passed_over) const;  ///< the same

    bool any() const { return !numbers().empty(); }  ///< sound or not

    void remove_all() const;  ///< once the run is complete

  private:
    std::vector<std::uint64_t> numbers() const;  ///< ascending
    Files load(std::uint64_t number) const;
    std::string folder(std::uint64_t number) const;

    std::string path_, fingerprint_;
};

}  // namespace holdfast
