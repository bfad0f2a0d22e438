#include "models/certify/linear_distances.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

// Rows of one product: its outputs for a panel of records stay in a core's cache.
constexpr std::size_t most_rows = 1024;

/// The rows of some members at one level, below each other.
class StackedRows {
  public:
    StackedRows(const Network& network, Precision precision, std::size_t first, std::size_t last,
                std::size_t level, const MemberLoader& load)
        : columns_(network.inputs() + 1) {
        std::vector<std::int64_t> lower, upper;
        for (std::size_t member = first; member < last; ++member) {
            load(member, level, lower, upper);
            const std::int64_t* ends[] = {lower.data(), level == 0 ? lower.data() : upper.data()};
            const MarginRows rows(network, precision, ends[0], ends[1]);
            const LastLayer layer = rows.layer();
            point_ = layer.is_point();
            each_ = layer.rows;
            lower_.insert(lower_.end(), layer.lower, layer.lower + each_ * columns_);
            upper_.insert(upper_.end(), layer.upper, layer.upper + each_ * columns_);
        }
        parameters_ = std::move(lower);
    }
    /// What stands before the last layer is nothing: any member's parameters will do.
    Variant network() const { return {parameters_.data(), parameters_.data()}; }
    LastLayer layer() const {
        return {lower_.size() / columns_, lower_.data(), point_ ? lower_.data() : upper_.data()};
    }
    /// What the i-th member's rows amount to.
    OutputBlock of(std::size_t i, const OutputBlock& all) const {
        const std::size_t at = i * each_ * all.stride;
        return {all.first, all.count, all.stride, all.lower + at, all.upper + at};
    }

  private:
    std::size_t columns_, each_ = 0;
    bool point_ = false;
    std::vector<std::int64_t> lower_, upper_, parameters_;
};

std::size_t rows_of_a_member(std::size_t classes) {
    return classes == 2 ? 1 : classes * (classes - 1) / 2 + 2 * classes;
}

/// Level 0: labels, and for two classes whether the other one is beaten there.
void start(Certificates& member, std::size_t query, const Margins& margins, std::size_t classes,
           std::size_t r) {
    const std::size_t label = margins.winner(r);
    member.labels[query] = static_cast<std::int32_t>(label);
    if (classes == 2) member.class_distances[2 * query + 1 - label] = margins.certified(label, r) ? 1 : 0;
}

/// A distance counts the leading levels that hold: one more level holds only behind all before it.
void count(Certificates& member, std::size_t query, const Margins& margins, std::size_t classes,
           std::size_t r, std::int64_t level) {
    const auto label = static_cast<std::size_t>(member.labels[query]);
    std::int64_t& distance = member.distances[query];
    if (level > 0) distance += distance == level - 1 && margins.certified(label, r) ? 1 : 0;
    if (classes == 2) return;
    for (std::size_t j = 0; j < classes; ++j) {
        std::int64_t& beaten = member.class_distances[query * classes + j];
        beaten += beaten == level && margins.beaten(j, r) ? 1 : 0;
    }
}

}  // namespace

std::vector<Certificates> certify_linear(const Network& network, const Backend& backend,
                                         const Records& queries, std::size_t members, std::size_t levels,
                                         const MemberLoader& load) {
    ensure(network.layers().size() == 1, "a linear network has one layer");
    const std::size_t n = queries.size(), classes = network.classes(), inputs = network.inputs();
    std::vector<Certificates> result(members, {std::vector<std::int32_t>(n), std::vector<std::int64_t>(n),
                                               std::vector<std::int64_t>(n * classes)});
    std::vector<std::uint32_t> all(n);
    std::iota(all.begin(), all.end(), 0);
    const std::unique_ptr<Engine> engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{queries.view()});

    const std::size_t together = std::max<std::size_t>(1, most_rows / rows_of_a_member(classes));
    for (std::size_t first = 0; first < members; first += together) {
        const std::size_t last = std::min(first + together, members);
        for (std::size_t level = 0; level < levels; ++level) {
            const StackedRows rows(network, backend.precision(), first, last, level, load);
            engine->outputs(rows.network(), rows.layer(), all, [&](const OutputBlock& block) {
                for (std::size_t m = first; m < last; ++m) {
                    const Margins margins(classes, inputs, backend.precision(), rows.of(m - first, block));
                    for (std::size_t r = 0; r < block.count; ++r) {
                        if (level == 0) start(result[m], block.first + r, margins, classes, r);
                        count(result[m], block.first + r, margins, classes, r,
                              static_cast<std::int64_t>(level));
                    }
                }
            });
        }
    }
    // Of two classes the other one is beaten as long as the label is certified, at level 0 too.
    for (Certificates& member : result) {
        for (std::size_t i = 0; classes == 2 && i < 2 * n; ++i)
            member.class_distances[i] *= member.distances[i / 2] + 1;
    }
    return result;
}

}  // namespace holdfast
