#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/backend.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// A neighbouring dataset (mathematics section 1).
enum class Relation { add_remove, substitute, remove };
/// How often k changed records act (section 2): in every batch, or once an epoch.
enum class ChargeRule { per_epoch, per_batch };
enum class Normalise { expected, actual };
enum class Batching { hashed, sequential };

/// Everything that decides a training run. All of it is public: none may be computed from the private
/// records. The option table (jobs/configuration.cpp) gives each its key, range and help.
struct Settings {
    // network
    std::vector<std::int64_t> hidden{128};
    std::int64_t classes = 2;
    std::string loss = "auto";                    ///< auto: one logit for two classes
    double input_shift = 0.0, input_scale = 1.0;  ///< the network sees (x - shift) * scale
    // training
    std::int64_t epochs = 4;
    std::int64_t batches = 1;  ///< a member's batches an epoch
    double learning_rate = 1.0;
    double learning_rate_decay = 0.0;  ///< alpha_t = max(alpha / (1 + decay t), floor), t counts steps from 0
    double learning_rate_floor = 0.0;
    double l2 = 0.0;
    std::int64_t expected_records = 0;  ///< public count of records; 0: the count found, which is private
    Normalise normalise = Normalise::expected;
    Batching batching = Batching::hashed;
    std::int64_t batch_size = 0;  ///< of sequential batches
    std::int64_t seed = 0;
    Precision precision = Precision::double_precision;
    // clip
    Clip clip{.kind = Clip::Kind::elementwise, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};
    // certificate
    std::int64_t levels = 50;              ///< K: boxes for k = 0..K
    std::vector<std::int64_t> level_list;  ///< a sparse list instead; certificates only, never a release
    Relation relation = Relation::add_remove;
    ChargeRule budget = ChargeRule::per_epoch;
    Product product = Product::exact;
    // ensemble
    std::int64_t members = 1;
    std::string aggregate = "stable";  ///< or "paper" (Theorem 5.3 as published)
    // run: how, not what; no result depends on it
    std::string backend = "auto";
    std::int64_t threads = 0;   ///< 0: as OpenMP decides
    std::string grid = "auto";  ///< MEMBERSxLEVELSxBLOCKS
    std::string transport = "auto";
    double transport_timeout = 600;  ///< seconds
    std::int64_t checkpoint_steps = 0;
    double checkpoint_seconds = 600;

    /// The levels k with a box, ascending, 0 first.
    std::vector<std::int64_t> level_values() const;
    bool contiguous_levels() const { return level_list.empty(); }
    std::int64_t steps() const { return epochs * batches; }
    double learning_rate_at(std::int64_t step) const;
    Loss resolved_loss() const;
    /// `range`: the public range of the features, as the dataset declares it.
    Network network(std::size_t inputs, FeatureRange range = default_feature_range) const;
};

}  // namespace holdfast
