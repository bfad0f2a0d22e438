#include "models/idp/verified_fleet.hpp"

#include <algorithm>
#include <memory>
#include <mutex>

#include "kernels/base/error.hpp"
#include "models/idp/program_answer.hpp"

namespace holdfast {
namespace {

/// Parameters of the N_-i, for several threads.
class Networks {
  public:
    Networks(const FleetReader& reader, std::uint64_t memory)
        : reader_(reader), size_(reader.network().parameters()) {
        const auto count = static_cast<std::uint64_t>(reader.count());
        if (count * size_ * sizeof(std::int64_t) > memory) return;
        kept_.resize(count * size_);
        reader.read(0, reader.count(), kept_);
    }
    std::vector<std::int64_t> operator()(std::size_t i) const {
        if (!kept_.empty()) {
            const auto first = kept_.begin() + static_cast<std::ptrdiff_t>(i * size_);
            return {first, first + static_cast<std::ptrdiff_t>(size_)};
        }
        std::vector<std::int64_t> units(size_);
        const std::lock_guard lock(mutex_);
        reader_.read(static_cast<std::int64_t>(i), 1, units);
        return units;
    }

  private:
    const FleetReader& reader_;
    std::size_t size_;
    std::vector<std::int64_t> kept_;
    mutable std::mutex mutex_;
};

constexpr Precision precision = Precision::double_precision;

}  // namespace

VerifiedFleet verified_fleet(const FleetReader& reader, const FeatureRange& range, std::uint64_t memory) {
    const Network& network = reader.network();
    require_plain(network);
    if (!reader.features().is_identity())
        throw Error(ExitCode::usage, "the bound is for networks that see the columns themselves",
                    "train the fleet without derived features and without a limit of the norm", "features");
    const InputTransform transform = network.transform();
    // The transform is monotone, so the range's ends are the box's.
    const double one = transform.apply<double>(range.low), other = transform.apply<double>(range.high);
    const auto networks = std::make_shared<const Networks>(reader, memory);
    VerifiedFleet fleet;
    fleet.network = plain_network(network, precision, reader.nominal());
    fleet.count = static_cast<std::size_t>(reader.count());
    fleet.other = [&network, networks](std::size_t i) {
        return plain_network(network, precision, (*networks)(i));
    };
    fleet.classes = network.classes();
    fleet.precision = precision;
    fleet.box.low.assign(network.inputs(), std::min(one, other));
    fleet.box.high.assign(network.inputs(), std::max(one, other));
    fleet.witness = [&network, networks, transform, range, nominal = fleet.network](
                        std::size_t i, std::size_t c, std::vector<double>& input) -> std::optional<double> {
        std::vector<double> query = input, sees = input;
        for (std::size_t j = 0; j < input.size(); ++j) {
            query[j] = std::clamp(input[j] / transform.scale + transform.shift, range.low, range.high);
            sees[j] = transform.apply<double>(query[j]);
        }
        const ProgramAnswer ours = program_answer(nominal, network.classes(), precision, sees);
        const PlainNetwork twin = plain_network(network, precision, (*networks)(i));
        const ProgramAnswer theirs = program_answer(twin, network.classes(), precision, sees);
        if (ours.label != c || theirs.label == c) return std::nullopt;
        input = std::move(query);
        return ours.confidence;
    };
    return fleet;
}

}  // namespace holdfast
