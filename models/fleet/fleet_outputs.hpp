#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "dist/data/dataset.hpp"
#include "kernels/ops/models_outputs.hpp"
#include "models/fleet/fleet_file.hpp"

namespace holdfast {

/// By what a network decides. Of two classes it is one number, the margin z_0 - z_1 as one affine function
/// (models/certify/margins.hpp); of more the logits; of a regression its answer.
class Decision {
  public:
    explicit Decision(const Network& network) : network_(&network) {}

    std::size_t rows() const { return network_->classes() == 2 ? 1 : network_->outputs(); }
    NetworkShape shape() const;  ///< the network with these rows as its last layer
    std::unique_ptr<ModelsOutputs> outputs(Precision precision) const;  ///< of such networks, none yet
    /// Of a network, [parameters] of it -> those of shape(), put behind `to`.
    void append(std::span<const std::int64_t> parameters, std::vector<std::int64_t>& to) const;
    /// The label that answers_of() gives; row(o): the value of a row. 0 of a regression.
    template <typename Row>
    std::int32_t label(Row row) const;
    /// By how much class c leads, in logits; negative: it does not. Of a regression its answer.
    template <typename Row>
    double lead(std::size_t c, Row row) const;

  private:
    const Network* network_;
};

/// What the networks of a fleet give for queries. Ranks hold shares of the fleet: in memory, packed, where
/// they fit, else read from the file again for every call. Of networks that are not dense, one by one.
class FleetOutputs {
  public:
    static constexpr std::size_t usual_memory = std::size_t{16} << 30;  ///< bytes of a rank

    /// Reads this rank's share, where it is kept in memory. fleet must outlive it. Its networks answer in the
    /// precision they were trained in.
    FleetOutputs(const FleetReader& fleet, const Communicator& world, std::size_t memory = usual_memory);
    /// They answer in this precision.
    FleetOutputs(const FleetReader& fleet, const Communicator& world, Precision precision,
                 std::size_t memory = usual_memory);

    const Decision& decision() const { return decision_; }
    std::int64_t first() const { return first_; }  ///< of this rank's N_-i
    std::int64_t count() const { return count_; }
    bool in_memory() const { return in_memory_; }

    /// Queries as they are in their file, for the calls below: through the fleet's feature map.
    Records mapped(Records queries) const { return fleet_.features()(std::move(queries)); }
    /// N on mapped queries, [queries, rows].
    std::vector<double> nominal(const Records& queries) const;
    /// This rank's N_-i, by their numbers in the fleet, on mapped queries: from several threads at once.
    void visit(const Records& queries, const std::function<void(const ModelsBlock&)>& use) const;

  private:
    /// Calls use(parameters [count, parameters]) for some networks after others, of this rank.
    void read_all(std::int64_t some, const std::function<void(std::span<const std::int64_t>)>& use) const;
    void add(std::span<const std::int64_t> parameters) const;

    const FleetReader& fleet_;
    Precision precision_;
    Decision decision_;
    std::int64_t first_, count_;
    bool in_memory_ = false;
    std::unique_ptr<ModelsOutputs> nominal_, models_;
};

template <typename Row>
std::int32_t Decision::label(Row row) const {
    if (network_->classes() == 2) return -row(0) > 0 ? 1 : 0;
    std::size_t best = 0;  // of several the least
    for (std::size_t c = 1; c < rows(); ++c) best = row(c) > row(best) ? c : best;
    return static_cast<std::int32_t>(best);
}

template <typename Row>
double Decision::lead(std::size_t c, Row row) const {
    if (network_->classes() == 1) return row(0);
    if (network_->classes() == 2) return c == 0 ? row(0) : -row(0);
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < rows(); ++other)
        if (other != c) best = std::max(best, row(other));
    return row(c) - best;
}

}  // namespace holdfast
