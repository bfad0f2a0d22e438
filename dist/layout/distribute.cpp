#include "dist/layout/distribute.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <numeric>
#include <set>

#include "dist/layout/assignment.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/cpu/hash_lanes.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t slab_rows = 16384;
constexpr std::size_t records_worth_threads = 1024;

/// A record on its way: [id, row, label, features], and behind them its target, if it has one, and the
/// evidence of a label that was drawn.
class Packet {
  public:
    Packet(const FeatureMatrix& features, bool numbers, std::size_t evidence)
        : element_(features.wide() ? sizeof(double) : sizeof(float)),
          feature_bytes_(features.columns() * element_),
          target_bytes_(numbers ? sizeof(double) : 0),
          evidence_bytes_(evidence) {}

    std::size_t size() const { return features_at + feature_bytes_ + target_bytes_ + evidence_bytes_; }

    void append(const Records& records, std::size_t index, std::vector<std::byte>& out) const {
        const std::int32_t label = records.labels.empty() ? 0 : records.labels[index];
        put(&records.ids[index], sizeof(std::uint64_t), out);
        put(&records.rows[index], sizeof(std::uint64_t), out);
        put(&label, sizeof label, out);
        const std::size_t first = index * records.features.columns();
        const void* values = records.features.wide()
                                 ? static_cast<const void*>(records.features.wide_values().data() + first)
                                 : static_cast<const void*>(records.features.values().data() + first);
        put(values, feature_bytes_, out);
        if (target_bytes_ > 0) put(&records.targets[index], target_bytes_, out);
        if (evidence_bytes_ > 0) put(&records.evidence[index * evidence_bytes_], evidence_bytes_, out);
    }

    void read(const std::byte* from, Records& records) const {
        std::uint64_t id = 0, row = 0;
        std::int32_t label = 0;
        std::memcpy(&id, from, sizeof id);
        std::memcpy(&row, from + 8, sizeof row);
        std::memcpy(&label, from + 16, sizeof label);
        records.ids.push_back(id);
        records.rows.push_back(row);
        if (target_bytes_ == 0) records.labels.push_back(label);
        const std::byte* values = from + features_at;
        const std::size_t columns = feature_bytes_ / element_;
        const auto append = [&](auto& target) {
            target.resize(target.size() + columns);
            std::memcpy(&*(target.end() - static_cast<std::ptrdiff_t>(columns)), values, feature_bytes_);
        };
        if (records.features.wide()) {
            append(records.features.wide_values());
        } else {
            append(records.features.values());
        }
        const auto* evidence = reinterpret_cast<const std::uint8_t*>(values + feature_bytes_ + target_bytes_);
        records.evidence.insert(records.evidence.end(), evidence, evidence + evidence_bytes_);
        if (target_bytes_ == 0) return;
        records.targets.emplace_back();
        std::memcpy(&records.targets.back(), values + feature_bytes_, target_bytes_);
    }

  private:
    static void put(const void* from, std::size_t bytes, std::vector<std::byte>& out) {
        const auto* first = static_cast<const std::byte*>(from);
        out.insert(out.end(), first, first + bytes);
    }
    static constexpr std::size_t features_at = 2 * sizeof(std::uint64_t) + sizeof(std::int32_t);
    std::size_t element_, feature_bytes_, target_bytes_, evidence_bytes_;
};

void check_unique(const MemberRecords& held, const std::string& path) {
    std::vector<std::size_t> order(held.records.size());
    std::iota(order.begin(), order.end(), 0);
    const auto& ids = held.records.ids;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ids[a] < ids[b]; });
    for (std::size_t i = 1; i < order.size(); ++i) {
        if (ids[order[i]] != ids[order[i - 1]]) continue;
        const auto [first, second] =
            std::minmax(held.records.rows[order[i - 1]], held.records.rows[order[i]]);
        throw Error(ExitCode::input,
                    "rows " + std::to_string(first) + " and " + std::to_string(second) +
                        " have the same id " + std::to_string(ids[order[i]]),
                    "one person, one id: holdfast import --person takes several rows of one", path);
    }
}

void check_labels(const Records& slab, std::size_t classes, const std::string& path) {
    for (std::size_t i = 0; i < slab.labels.size(); ++i) {
        if (static_cast<std::size_t>(slab.labels[i]) < classes) continue;
        throw Error(ExitCode::input,
                    "row " + std::to_string(slab.rows[i]) + " has label " + std::to_string(slab.labels[i]) +
                        ", but there are " + std::to_string(classes) + " classes",
                    "set network.classes to the public number of classes", path);
    }
}

/// Labels for a classifier; for a regression numbers, for which labels will do.
void require_truths(const DatasetInfo& info, std::size_t classes) {
    if (info.has_labels || (info.has_targets && classes == 1)) return;
    if (info.has_targets)
        throw Error(ExitCode::input, "y_" + info.split + " holds numbers, not labels",
                    "train a regression: set network.classes = 1; for a classifier import labels", info.path);
    throw Error(ExitCode::input, "no labels y_" + info.split, "import the data with --label", info.path);
}

/// How many records a member's block hardly ever exceeds, where hashes cut `rows` into so many: six standard
/// deviations. Room for them keeps a table of many gigabytes from being copied while it grows.
std::size_t usual_share(std::uint64_t rows, std::size_t parts) {
    const auto expected = static_cast<double>(rows) / static_cast<double>(parts);
    return parts == 1 ? rows : static_cast<std::size_t>(expected + 6 * std::sqrt(expected) + 16);
}

constexpr std::size_t not_trained = SIZE_MAX;

/// [members]: the grid's number of each.
std::vector<std::size_t> numbers_in_grid(const Sharing& sharing) {
    std::vector<std::size_t> numbers(sharing.members, not_trained);
    for (std::size_t number = 0; number < sharing.trained.size(); ++number)
        numbers[sharing.trained[number]] = number;
    return numbers;
}

/// Which ranks share this one's machine: records go from one to another there, over no network.
class Machines {
  public:
    explicit Machines(const Communicator& world) : places_(world.size(), elsewhere) {
        const std::vector<int> machines = world.machines();
        const int mine = machines[world.rank()];
        here_ = world.split(mine);
        int place = 0;
        for (std::size_t rank = 0; rank < machines.size(); ++rank) {
            if (machines[rank] == mine) places_[rank] = place++;
        }
        const std::set<int> different(machines.begin(), machines.end());
        count_ = different.size();
        number_ = std::distance(different.begin(), different.find(mine));
    }
    std::size_t ranks() const { return places_.size(); }
    const Communicator& here() const { return *here_; }
    static constexpr int elsewhere = -1;
    int place(int rank) const { return places_[rank]; }  ///< of a rank of the world, in here()
    /// Every machine reads every slab; one of them takes its digest.
    bool digests(std::uint64_t slab) const { return KeyedHash{0}(0, slab) % count_ == number_; }

  private:
    std::vector<int> places_;
    std::unique_ptr<Communicator> here_;
    std::uint64_t count_ = 1, number_ = 0;
};

}  // namespace

Distributed distribute(const DatasetReader& reader, const ProcessGrid& grid, const Communicator& world,
                       const Sharing& sharing) {
    const DatasetInfo& info = reader.info();
    require_truths(info, sharing.classes);
    const Assignment assignment(sharing.seed);
    const std::vector<std::size_t> numbers = numbers_in_grid(sharing);
    const FeatureMatrix empty(info.features, info.wide);
    const Packet packet(empty, info.has_targets, info.evidence_classes);
    Distributed result;
    std::vector<MemberRecords>& held = result.held;
    for (std::size_t number = grid.members().first; number < grid.members().last; ++number)
        held.push_back({sharing.trained[number], {empty, {}, {}, {}}});
    for (MemberRecords& member : held)
        member.records.reserve(usual_share(info.rows, sharing.members * grid.blocks()));

    const Machines machines(world);
    const std::uint64_t rows = std::clamp<std::uint64_t>(info.rows / machines.ranks(), 1, slab_rows),
                        slabs = (info.rows + rows - 1) / rows;
    for (std::uint64_t round = 0; round < slabs; round += machines.here().size()) {
        const std::uint64_t number_of_slab = round + machines.here().rank();
        std::vector<std::vector<std::byte>> outgoing(machines.here().size());
        if (number_of_slab < slabs) {
            const std::uint64_t first = number_of_slab * rows;
            const Records slab = reader.read(first, std::min(rows, info.rows - first));
            if (sharing.classes > 1) check_labels(slab, sharing.classes, info.path);
            if (machines.digests(number_of_slab)) result.all.add(slab);
            for (std::size_t i = 0; i < slab.size(); ++i) {
                const std::size_t number = numbers[assignment.member(slab.ids[i], sharing.members)],
                                  block = assignment.block(slab.ids[i], grid.blocks());
                if (number == not_trained) continue;
                for (std::size_t group = 0; group < grid.level_groups(); ++group) {
                    const int place = machines.place(grid.rank_in_level_group(number, group, block));
                    if (place != Machines::elsewhere) packet.append(slab, i, outgoing[place]);
                }
            }
        }
        for (const std::vector<std::byte>& message : machines.here().exchange(outgoing)) {
            for (std::size_t offset = 0; offset < message.size(); offset += packet.size()) {
                std::uint64_t id = 0;
                std::memcpy(&id, message.data() + offset, sizeof id);
                const std::size_t number = numbers[assignment.member(id, sharing.members)];
                packet.read(message.data() + offset, held[number - grid.members().first].records);
            }
        }
    }
    for (MemberRecords& member : held) {
        if (info.rows_at_most > 1)
            weigh_persons(member.records, info.rows_at_most, info.path);
        else
            check_unique(member, info.path);
    }
    return result;
}

void RecordDigest::add(const Records& records) {
    const Packet packet(records.features, !records.targets.empty(), records.evidence_classes());
    constexpr std::size_t lanes = cpu::HashLanes::lanes;
    std::uint64_t sums[4] = {};
    std::vector<std::byte> bytes;
#pragma omp parallel for schedule(static) firstprivate(bytes) reduction(+ : sums) \
    if (records.size() >= records_worth_threads)
    for (std::size_t first = 0; first < records.size(); first += lanes) {
        const std::size_t count = std::min(lanes, records.size() - first);
        bytes.clear();
        for (std::size_t i = 0; i < count; ++i) {
            packet.append(records, first + i, bytes);
            if (!rows_) std::memset(bytes.data() + i * packet.size() + 8, 0, 8);
        }
        cpu::HashLanes::Messages messages{};
        for (std::size_t i = 0; i < lanes; ++i)
            messages[i] =
                reinterpret_cast<const unsigned char*>(bytes.data()) + std::min(i, count - 1) * packet.size();
        std::uint64_t hashes[lanes][4];
        cpu::HashLanes(sizeof hashes[0])
            .finish(messages, packet.size(), reinterpret_cast<unsigned char*>(hashes));
        for (std::size_t i = 0; i < count; ++i)
            for (int part = 0; part < 4; ++part) sums[part] += hashes[i][part];
    }
    for (int part = 0; part < 4; ++part) sums_[part] += sums[part];
}

std::string RecordDigest::hex(const Communicator& world) const {
    // Sums modulo 2^64, in pieces of 32 bits so that adding ranks cannot overflow.
    std::vector<std::int64_t> pieces;
    for (const std::uint64_t sum : sums_) {
        pieces.push_back(static_cast<std::int64_t>(sum & 0xffffffff));
        pieces.push_back(static_cast<std::int64_t>(sum >> 32));
    }
    world.sum(pieces);
    std::string text;
    for (std::size_t part = 0; part < 4; ++part) {
        const std::uint64_t total = static_cast<std::uint64_t>(pieces[2 * part]) +
                                    (static_cast<std::uint64_t>(pieces[2 * part + 1]) << 32);
        text += printed("%016llx", static_cast<unsigned long long>(total));
    }
    return text;
}

}  // namespace holdfast
