#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dist/runs/manifest.hpp"
#include "dist/runs/run_folder.hpp"
#include "kernels/base/arithmetic.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The networks of a leave-one-out fleet: N, trained on all records, is network 0; network i + 1 is N_-i,
/// which did without one record.
struct FleetShape {
    Precision precision;
    std::size_t networks;  ///< N and the N_-i
    std::size_t parameters;
};

/// A parameter as a file of the precision has it: parameter_value(), all that a prediction in that precision
/// sees. In double it is exact below 8. In single precision 24 bits of it are kept: whoever asks the networks
/// in single precision gets, bit by bit, what the trained ones answer; whoever reads them as numbers, as the
/// bound does that answers in double, has other networks than the trained; and an audit rounds both sides.
std::int64_t stored_units(Precision precision, std::int64_t units);

/// What a run folder holds of a fleet while it trains: parts/part-00012.h5, a file of finished networks each,
/// written once by whoever trains them and by nobody else. All of it is for the owner.
class FleetParts {
  public:
    static constexpr std::size_t part_size = 32;  ///< networks; how they are cut depends on nothing else

    /// fingerprint: of configuration and data, in every file; those of another are refused.
    FleetParts(RunFolder run, std::string fingerprint, FleetShape shape);

    const FleetShape& shape() const { return shape_; }
    std::size_t count() const { return (shape_.networks + part_size - 1) / part_size; }
    std::size_t first(std::size_t part) const { return part * part_size; }  ///< of its networks
    std::size_t size(std::size_t part) const;
    std::string file(std::size_t part) const;

    void make_folder() const;  ///< before the first is written. Error (output)
    /// Is it there, and whole? A damaged one is not: it is to be trained again. Error (usage): it is of
    /// another configuration or dataset.
    bool finished(std::size_t part) const;
    bool all_there() const;  ///< by name alone
    /// parameters: [size(part), parameters], parameter units. Appears complete or not at all.
    void write(std::size_t part, std::span<const std::int64_t> parameters) const;
    /// Once all are there: fleet.h5 of them, part after part, and its digest. left_out: ids, [networks - 1].
    /// For one rank. Error (input): a part is missing or damaged.
    std::string join(const std::vector<std::uint64_t>& left_out) const;
    void remove_all() const;  ///< once the run is finished

  private:
    RunFolder run_;
    std::string fingerprint_;
    FleetShape shape_;
};

/// fleet.h5 of a finished run of kind "fleet":
///   networks   float32 or float64 as training.precision is, [1 + count, parameters]: N, then every N_-i
///   left_out   uint64 [count], the id of the record that each did without
/// Used by one thread at a time.
class FleetReader {
  public:
    /// run: of kind "fleet"; kept: its settings, as its manifest has them. Reads all of it once.
    /// Error (input): a file is missing or damaged, its digest is another.
    FleetReader(const RunFolder& run, const RunManifest& manifest, const Settings& kept);
    ~FleetReader();
    FleetReader(FleetReader&&) noexcept;
    FleetReader& operator=(FleetReader&&) noexcept;

    const Settings& settings() const { return settings_; }
    const Network& network() const { return network_; }
    const FeatureMap& features() const { return features_; }
    std::int64_t count() const { return static_cast<std::int64_t>(left_out_.size()); }  ///< of the N_-i
    std::uint64_t left_out(std::int64_t i) const { return left_out_[static_cast<std::size_t>(i)]; }
    const std::vector<std::uint64_t>& left_out() const { return left_out_; }

    /// Did the file keep every parameter to the last unit? In single precision, and of parameters of 8 and
    /// more, it need not.
    bool exact() const { return exact_; }

    std::vector<std::int64_t> nominal() const;  ///< N, parameter units
    /// N_-first and those behind it, [count, parameters] in parameter units.
    void read(std::int64_t first, std::int64_t count, std::span<std::int64_t> parameters) const;

  private:
    struct File;
    Settings settings_;
    FeatureMap features_;
    Network network_;
    std::unique_ptr<File> file_;
    std::vector<std::uint64_t> left_out_;
    bool exact_ = false;
};

}  // namespace holdfast
