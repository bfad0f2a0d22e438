#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/fixed_grid.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/poison.hpp"
#include "models/nets/network_settings.hpp"
#include "models/settings/relation.hpp"

namespace holdfast {

template <typename Section>
struct BasicOption;  // models/settings/option.hpp

/// How often k changed records act: in every batch, or once an epoch (models/mathematics.md, core and
/// radius); or what either leaves (models/mathematics.md, both budgets).
enum class ChargeRule { per_epoch, per_batch, both };
const char* name_of(ChargeRule rule);
enum class Normalise { expected, actual };
enum class Batching { hashed, sequential };
/// Of an l1 penalty: the soft threshold after a step, or as published theta - s sign(theta) before it.
enum class L1Step { proximal, sign };

/// Section "training".
struct TrainingSettings {
    std::string kind = "boxes";  ///< what trains, and so what certifies: a name of models/kinds
    std::int64_t epochs = 4;
    std::int64_t batches = 1;  ///< a member's batches an epoch
    double learning_rate = 1.0;
    double learning_rate_decay = 0.0;  ///< alpha_t = max(alpha / (1 + decay t), floor), t counts steps from 0
    double learning_rate_floor = 0.0;
    double l2 = 0.0;
    double l1 = 0.0;  ///< s = alpha_t l1 a step
    L1Step l1_step = L1Step::proximal;
    double momentum = 0.0;   ///< 0: plain gradient descent
    double dampening = 0.0;  ///< from the second step on a gradient enters the velocity by 1 - dampening
    bool nesterov = false;
    std::int64_t expected_records = 0;  ///< public count of records; 0: the count found, which is private
    /// V: a person has at most so many rows, weighed (kernels/ops/row_weight.hpp); 0: what the dataset states
    std::int64_t rows_at_most = 0;
    bool rows_of_persons() const { return rows_at_most > 1; }
    std::int64_t most_rows() const { return rows_of_persons() ? rows_at_most : 1; }  ///< of a person
    /// The mean of a person's rows is clipped once, in place of each row by its part ("before").
    std::string clip_rows = "before";
    std::string labels = "drawn";  ///< or corrected: by what their law says of the label that was drawn
    double label_unit = 0;         ///< of that law (LabelLaw::unit)
    bool corrects_labels() const { return labels == "corrected"; }
    bool clips_after() const { return rows_of_persons() && clip_rows == "after"; }
    std::vector<double> class_weights =
        {};  ///< of each label, what its records count by, in (0, 1]; empty: 1
    bool weighs_rows() const { return rows_of_persons() || !class_weights.empty(); }
    /// Of the rows that count least.
    double least_weight() const;
    Normalise normalise = Normalise::expected;
    Batching batching = Batching::hashed;
    std::int64_t batch_size = 0;         ///< of sequential batches
    std::int64_t public_batch_size = 0;  ///< public records of a step, in turn; 0: by the hash of their ids
    std::int64_t public_steps = 0;       ///< steps of public records alone, before the first of private ones
    std::int64_t seed = 0;
    Precision precision = Precision::double_precision;
    std::int64_t activation_bits = 16;  ///< of fixed precision: what weights meet, 16 or 8

    Arithmetic arithmetic() const { return {precision, static_cast<int>(activation_bits)}; }
    std::int64_t steps() const { return epochs * batches; }
    /// Of hidden layers, from the first: so many steps move it, and then it stays; others always move.
    std::vector<std::int64_t> layer_steps = {};
    bool moves(std::size_t layer, std::int64_t step) const {
        return layer >= layer_steps.size() || step < layer_steps[layer];
    }
    double learning_rate_at(std::int64_t step) const;
    /// Whether a step needs more of the velocity than what a gradient alone has left in it.
    bool averaged_momentum() const { return momentum > 0 && (l2 > 0 || dampening > 0 || nesterov); }
};

/// Section "certificate": what the boxes enclose.
struct CertificateSettings {
    std::int64_t levels = 50;              ///< K: boxes for k = 0..K
    std::vector<std::int64_t> level_list;  ///< a sparse list instead; certificates only, never a release
    Relation relation = Relation::add_remove;
    ChargeRule charge_rule = ChargeRule::per_epoch;  ///< key "budget"
    Products product;                                ///< of each layer

    /// The levels k with a box, ascending, 0 first.
    std::vector<std::int64_t> level_values() const;
    bool contiguous_levels() const { return level_list.empty(); }
};

/// Section "noise": what protects a model of training.kind = "noisy".
struct NoiseSettings {
    enum class Law { gaussian, none };
    Law law = Law::gaussian;
    double epsilon = 1.0, delta = 1e-5;  ///< what the whole training may cost
    double multiplier = 0.0;     ///< of clip.norm_limit, a step's sigma; 0: the least that the cost allows
    double sampling_rate = 0.0;  ///< a record's part in a step; 0: 1 / training.batches
    double average = 0.0;  ///< fraction of the last steps whose parameters are averaged; 0: the last alone
    double centre = 0.0;   ///< length to which inputs are cut whose mean the first step measures; 0: none
};

/// Section "robust": copies of a record that a noisy training learns in its place, one vector a record
/// (models/privacy/mathematics.md, one vector a record).
struct RobustSettings {
    std::string attack = "none";  ///< or fgsm, ifgsm, mim, pgd (models/robust/attack.hpp), or worst_case
    std::string norm = "linf";
    double input_radius = 0;  ///< of the attack, in units of the features
    double warmup = 0;        ///< part of the steps over which the radius grows from 0
    std::int64_t steps = 10;  ///< of an attack in one step of the training
    double weight = 1;        ///< xi: of adversarial copies beside the others
    std::int64_t copies = 1;  ///< of either kind
    double noise = 0;         ///< standard deviation of noise copies, in units of the features
    double lipschitz = 0;     ///< greatest spectral norm of a hidden layer after a step; 0: whatever it is
    bool used() const { return attack != "none" || noise > 0; }
    /// One noise copy a record stands in its place, with a gradient as any other's.
    bool one_noise_copy() const { return attack == "none" && noise > 0 && copies == 1; }
};

/// Section "convex": a model whose change by one record is bounded by convexity (models/mathematics.md,
/// convex radius).
struct ConvexSettings {
    static constexpr std::int64_t greatest_most_records = std::int64_t{1} << 40;

    double derivative_limit = 1.0;  ///< c: derivatives by a logit are clamped to +-c
    std::int64_t most_records =
        0;                 ///< M: from M + 1 records on a batch moves nothing; 0: 8 B, and 16 at least
    double l1 = 0.0;       ///< soft threshold alpha_t l1 after every step, of all but biases
    double box = 0.0;      ///< parameters stay within +-box; 0: the parameter limit
    double average = 0.0;  ///< fraction of the last steps whose parameters are averaged; 0: the last alone
};

/// Section "dpal": what is published of training privately against adversaries, none of it proved
/// (models/privacy/mathematics.md, published adversarial training).
struct DpalSettings {
    std::string variant = "dpal";  ///< or adlm, pixel_dp, secure_sgd
    double epsilon = 2, delta = 1e-5;
    double share = 0.5;                ///< of epsilon, for the auto-encoder: e1; the rest, e2, is of labels
    std::string sensitivity = "text";  ///< D_R = d (beta + 2): of a whole record; or of one "window"
    std::string taylor = "published";  ///< or corrected: the expansion of log(1 + e^-z)
    double encoder_rate = 1e-3;        ///< of theta_1
    double weight = 1.5;               ///< xi: of adversarial records
    std::int64_t steps = 10;           ///< T_mu: of an attack
    double psi = 2;                    ///< draws of an answer have 1/psi of the noise that sizes assume
    std::int64_t draws = 100;          ///< n: of an answer
    double confidence = 0.95;          ///< eta
    double bound = 0.1;                ///< L: of pixel_dp and secure_sgd, the move that their noise is for
};

/// Section "ensemble".
struct EnsembleSettings {
    std::int64_t members = 1;
    std::string aggregate = "stable";  ///< or "paper" (Theorem 5.3 as published)
};

/// Everything that decides a training, by sections of the configuration. All of it is public: none
/// may be computed from the private records.
struct Settings {
    NetworkSettings network;
    FeatureSettings features;
    TrainingSettings training;
    Clip clip{.kind = Clip::Kind::elementwise,
              .gamma = 0.06,
              .delta_limit = 0.2,
              .activation_limit = 0.3,
              .norm_limit = 1};
    CertificateSettings certificate;
    Poison poison;
    NoiseSettings noise;
    RobustSettings robust;
    ConvexSettings convex;
    DpalSettings dpal;
    EnsembleSettings ensemble;

    /// What records of so many columns become, which the network then takes.
    FeatureMap feature_map(std::size_t columns, FeatureRange range) const {
        return features.make(columns, network.input(range));
    }
    /// The levels whose boxes are trained and kept: all, or after one step from a public point 0 and 1, of
    /// which the others are made when they are asked for (models/mathematics.md, one step).
    std::vector<std::int64_t> kept_levels() const;
    bool noisy() const { return training.kind == "noisy"; }
    /// Does a noisy training clip what no engine computes: means of copies or rows, and what is moved first?
    bool clips_one_vector() const {
        return (robust.used() && !robust.one_noise_copy()) || noise.centre > 0 || training.clips_after() ||
               training.corrects_labels();
    }
    bool poisoned() const { return certificate.relation == Relation::poison; }
    /// Of what no device computes: layers that are not dense, poisoned records, clips by scales, rows that
    /// weigh.
    bool host_only() const {
        return !network.layers.empty() || poisoned() || clip.by_scales() || training.weighs_rows() ||
               robust.used() || clips_one_vector() || is_dpal();
    }
    bool is_convex() const { return training.kind == "convex"; }
    bool is_dpal() const { return training.kind == "dpal"; }
    /// The part of a member's records that a step expects to take.
    double step_share() const {
        const bool stated = noisy() && noise.sampling_rate > 0;
        return stated ? noise.sampling_rate : 1 / static_cast<double>(training.batches);
    }
};

std::vector<BasicOption<TrainingSettings>> training_options();
std::vector<BasicOption<Clip>> clip_options();
std::vector<BasicOption<CertificateSettings>> certificate_options();
std::vector<BasicOption<Poison>> poison_options();
std::vector<BasicOption<NoiseSettings>> noise_options();
std::vector<BasicOption<RobustSettings>> robust_options();
std::vector<BasicOption<ConvexSettings>> convex_options();
std::vector<BasicOption<DpalSettings>> dpal_options();
std::vector<BasicOption<EnsembleSettings>> ensemble_options();
/// Error (usage): settings that contradict.
void check(const Settings& settings);

}  // namespace holdfast
