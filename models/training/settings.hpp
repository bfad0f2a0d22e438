#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/panel_operations.hpp"
#include "models/nets/network_settings.hpp"
#include "models/settings/option.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

/// How often k changed records act: in every batch, or once an epoch (mathematics.md, core and radius).
enum class ChargeRule { per_epoch, per_batch };
enum class Normalise { expected, actual };
enum class Batching { hashed, sequential };

/// Section "training".
struct TrainingSettings {
    std::string kind = "boxes";  ///< what trains, and so what certifies: a name of models/kinds
    std::int64_t epochs = 4;
    std::int64_t batches = 1;  ///< a member's batches an epoch
    double learning_rate = 1.0;
    double learning_rate_decay = 0.0;  ///< alpha_t = max(alpha / (1 + decay t), floor), t counts steps from 0
    double learning_rate_floor = 0.0;
    double l2 = 0.0;
    double momentum = 0.0;              ///< 0: plain gradient descent
    std::int64_t expected_records = 0;  ///< public count of records; 0: the count found, which is private
    Normalise normalise = Normalise::expected;
    Batching batching = Batching::hashed;
    std::int64_t batch_size = 0;  ///< of sequential batches
    std::int64_t seed = 0;
    Precision precision = Precision::double_precision;

    std::int64_t steps() const { return epochs * batches; }
    double learning_rate_at(std::int64_t step) const;
};

/// Section "certificate": what the boxes enclose.
struct CertificateSettings {
    std::int64_t levels = 50;              ///< K: boxes for k = 0..K
    std::vector<std::int64_t> level_list;  ///< a sparse list instead; certificates only, never a release
    Relation relation = Relation::add_remove;
    ChargeRule charge_rule = ChargeRule::per_epoch;  ///< key "budget"
    Product product = Product::exact;

    /// The levels k with a box, ascending, 0 first.
    std::vector<std::int64_t> level_values() const;
    bool contiguous_levels() const { return level_list.empty(); }
};

/// Section "ensemble".
struct EnsembleSettings {
    std::int64_t members = 1;
    std::string aggregate = "stable";  ///< or "paper" (Theorem 5.3 as published)
};

/// Everything that decides a training of boxes, by sections of the configuration. All of it is public: none
/// may be computed from the private records.
struct Settings {
    NetworkSettings network;
    TrainingSettings training;
    Clip clip{.kind = Clip::Kind::elementwise, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};
    CertificateSettings certificate;
    EnsembleSettings ensemble;
};

std::vector<BasicOption<TrainingSettings>> training_options();
std::vector<BasicOption<Clip>> clip_options();
std::vector<BasicOption<CertificateSettings>> certificate_options();
std::vector<BasicOption<EnsembleSettings>> ensemble_options();
/// Error (usage): settings that contradict.
void check(const Settings& settings);

}  // namespace holdfast
