#include "models/training/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "dist/data/person_rule.hpp"
#include "kernels/base/error.hpp"
#include "kernels/ops/panel_operations.hpp"

// What settings do not go together, and the way out of each.

namespace holdfast {
namespace {

void refuse(const std::string& message, const std::string& hint, const std::string& key) {
    throw Error(ExitCode::usage, message, hint, key);
}

void check_single(const Settings& settings) {
    if (!settings.certificate.product.exact()) {
        refuse("midpoint-radius products are computed in double alone",
               "set training.precision = \"double\" or certificate.product = \"exact\"",
               "training.precision");
    }
    const auto check_limit = [](double limit, const char* key) {
        if (limit < RealFormat<float>::least_limit)
            refuse("a bound below 2^-99 has no grid in single precision",
                   "raise it, or set training.precision = \"double\"", key);
    };
    if (settings.clip.kind == Clip::Kind::elementwise) check_limit(settings.clip.gamma, "clip.gamma");
    if (settings.clip.kind == Clip::Kind::factored) {
        check_limit(settings.clip.delta_limit, "clip.delta_limit");
        check_limit(settings.clip.activation_limit, "clip.activation_limit");
    }
}

/// Products of integers are of boxes and of dense layers (FixedFormat::of knows the layers).
void check_fixed(const Settings& settings) {
    check_single(settings);
    if (settings.noisy() || settings.is_convex())
        refuse("fixed precision is of training.kind = \"boxes\"",
               "set training.precision = \"double\" or \"single\"", "training.precision");
    if (settings.clip.kind != Clip::Kind::factored) return;
    const double most = FixedFactors::greatest_limit(static_cast<int>(settings.training.activation_bits));
    const auto check_limit = [&](double limit, double greatest, const char* key) {
        if (limit < FixedFactors::least_limit || limit > greatest)
            refuse("fixed precision clips factors to limits of 2^-10 to " +
                       std::to_string(static_cast<int>(greatest)),
                   "set one of these, or training.precision = \"single\"", key);
    };
    check_limit(settings.clip.delta_limit, 32768, "clip.delta_limit");
    check_limit(settings.clip.activation_limit, most, "clip.activation_limit");
}

/// "0.0999755859375": the multiple of 2^-16 next to a rate (of a finer grid where that is 0), in full.
std::string near_rate(double rate) {
    double grid = 0x1p16;
    while (grid < 0x1p32 && std::round(rate * grid) == 0) grid *= 2;
    char text[64];
    const double near = std::max(1.0, std::round(rate * grid)) / grid;
    const auto end = std::to_chars(text, text + sizeof text, near, std::chars_format::fixed).ptr;
    return {text, end};
}

/// Noise is put on every parameter, and a bias that is not there has none.
void check_noisy_layers(const NetworkSettings& network) {
    if (!network.bias)
        refuse("noisy training clips the gradients of layers with biases", "leave network.bias out",
               "network.bias");
    for (const Layer& layer : network.hidden_layers(1)) {
        if (!layer.bias)
            refuse("noisy training clips the gradients of layers with biases", "leave no_bias out",
                   "network.layers");
    }
}

void check_rows_together(const Settings& settings, const std::string& what) {
    if (settings.training.rows_of_persons() && !settings.training.clips_after())
        refuse(what + " are of persons whose rows are clipped together", "set training.clip_rows = \"after\"",
               "training.clip_rows");
}

/// What is clipped as one vector is computed by the host, of dense layers and the cross-entropy.
void check_one_vector(const Settings& settings, const std::string& what, const std::string& instead,
                      const char* key) {
    for (const Layer& layer : settings.network.hidden_layers(1)) {
        if (!layer.is_dense())
            refuse(what + " are learnt by dense layers, without pooling or dropout",
                   instead + ", or leave these out of network.layers", "network.layers");
    }
    const Loss loss = settings.network.resolved_loss();
    if (settings.network.classes == 1 || loss == Loss::hinge || loss == Loss::huber ||
        loss == Loss::one_vs_rest)
        refuse(what + " are learnt by the cross-entropy", "set network.loss = \"cross_entropy\"", key);
    if (settings.training.precision != Precision::double_precision)
        refuse(what + " are learnt in double", "set training.precision = \"double\"", "training.precision");
    check_rows_together(settings, what);
}

void check_robust(const Settings& settings) {
    const RobustSettings& robust = settings.robust;
    if (robust.lipschitz > 0 && (settings.network.hidden.empty() || !settings.network.layers.empty()))
        refuse("dense hidden layers are scaled down, and there are none",
               "set network.hidden in place of network.layers, or robust.lipschitz = 0", "robust.lipschitz");
    if (robust.lipschitz > 0 && settings.noise.centre > 0)
        refuse("inputs less a centre are learnt by layers that keep their size",
               "set noise.centre = 0 or robust.lipschitz = 0", "robust.lipschitz");
    if (!robust.used()) {
        if (robust.input_radius > 0 || robust.copies > 1)
            refuse("nothing makes copies of records", "set robust.attack or robust.noise", "robust.attack");
        return;
    }
    if (settings.clips_one_vector())
        check_one_vector(settings, "copies of records", "set robust.noise alone", "network.loss");
    check_rows_together(settings, "copies of records");
    const bool scattered = settings.features.map == FeatureSettings::Map::scattering &&
                           robust.attack == "worst_case" && robust.norm == "l2";
    if ((settings.features.map != FeatureSettings::Map::none && !scattered) ||
        settings.features.norm_limit > 0)
        refuse(
            "copies are made of features as they are; of mapped ones the worst case is learnt in l2 behind "
            "a scattering alone",
            "set features.map = \"none\" and features.norm_limit = 0, or robust.attack = \"worst_case\" "
            "and robust.norm = \"l2\" behind features.map = \"scattering\"",
            "features.map");
    if (robust.attack != "none" && robust.input_radius == 0)
        refuse("an attack that may move nothing", "set robust.input_radius above 0", "robust.input_radius");
    if (robust.attack != "worst_case") return;
    if (!settings.network.hidden.empty() || !settings.network.layers.empty())
        refuse("the worst case is that of a linear model",
               "set network.hidden = [], or another robust.attack", "robust.attack");
    if (settings.network.resolved_loss() != Loss::cross_entropy)
        refuse("the worst case is that of several logits", "set network.loss = \"cross_entropy\"",
               "network.loss");
    if (robust.noise > 0 || robust.copies > 1)
        refuse("the worst case is learnt in place of copies", "leave robust.noise and robust.copies out",
               "robust.attack");
}

void check_noisy(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    if (settings.clip.kind != Clip::Kind::norm)
        refuse("noisy training clips the norm of a record's whole gradient", "set clip.kind = \"norm\"",
               "clip.kind");
    check_noisy_layers(settings.network);
    const double rate = settings.step_share();
    if (std::ldexp(rate, 32) != std::floor(std::ldexp(rate, 32))) {
        const bool stated = settings.noise.sampling_rate > 0;
        refuse("records cannot be drawn with probability " + std::to_string(rate) +
                   (stated ? "" : " = 1 / training.batches") + ", no multiple of 2^-32",
               "set noise.sampling_rate = " + near_rate(rate),
               stated ? "noise.sampling_rate" : "training.batches");
    }
    if (training.steps() > INT32_MAX)
        refuse("more steps than the iterates of a noisy training are counted to",
               "lower training.epochs or training.batches", "training.epochs");
    if (settings.ensemble.members > 1)
        refuse("noisy training makes one model", "set ensemble.members = 1", "ensemble.members");
    require_releasable(settings.certificate.relation);
    if (training.batching == Batching::sequential || training.normalise == Normalise::actual)
        refuse("noisy training draws its records and divides by a public number",
               "leave training.batching = \"hashed\" and training.normalise = \"expected\"",
               "training.batching");
    if (training.clips_after())
        check_one_vector(settings, "rows that are clipped together", "set training.clip_rows = \"before\"",
                         "network.loss");
    if (training.corrects_labels()) {
        check_one_vector(settings, "labels that are corrected", "set training.labels = \"drawn\"",
                         "network.loss");
        if (settings.robust.attack == "worst_case")
            refuse("the worst case is that of one label", "set training.labels = \"drawn\"",
                   "training.labels");
    }
    if (settings.noise.centre > 0) {
        check_one_vector(settings, "centred inputs", "set noise.centre = 0", "network.loss");
        if (training.l1 > 0 || training.dampening > 0)
            refuse("the bias follows what a centred step moves weights by, of a step as large as every other",
                   "set training.l1 = 0 and training.dampening = 0, or noise.centre = 0", "noise.centre");
        if (settings.noise.centre < 1e-6)
            refuse("rows cut to so short a length say nothing of their mean",
                   "set noise.centre to about the length of a row", "noise.centre");
        if (training.steps() < 2)
            refuse("the one step there is would measure the centre and learn nothing",
                   "set training.epochs or training.batches, or noise.centre = 0", "training.epochs");
    }
    check_robust(settings);
}

/// A regression has no labels, so neither votes nor what is bounded by a label's derivative.
void check_regression(const Settings& settings) {
    if (settings.is_convex())
        refuse("training.kind = \"convex\" makes classifiers, not regressions",
               "set training.kind = \"noisy\" or \"boxes\", or network.classes = 2 or more", "training.kind");
    if (settings.ensemble.members > 1)
        refuse("the members of an ensemble vote for labels, and a regression has none",
               "set ensemble.members = 1, or network.classes = 2 or more", "ensemble.members");
}

void check_convex(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    const LossInfo& loss = info_of(settings.network.resolved_loss());
    const NetworkSettings& network = settings.network;
    if (!network.layers.empty() || !network.hidden.empty())
        refuse("convex training has no hidden layers",
               "set network.hidden = [], and leave network.layers out",
               network.layers.empty() ? "network.hidden" : "network.layers");
    if (!network.bias) refuse("convex training has a bias", "leave network.bias out", "network.bias");
    if (!network.initial.empty())
        refuse("convex training starts from 0, whatever its model: it is drawn to the same optimum",
               "leave network.initial out", "network.initial");
    if (!loss.curvature)
        refuse(std::string("the derivative of ") + loss.name + " jumps, so no step is bounded by it",
               "set network.loss = \"huber\" or \"binary_cross_entropy\"", "network.loss");
    if (!loss.separate && settings.convex.derivative_limit < 1)
        refuse("the derivatives of cross_entropy depend on one another: clamped, they are of no convex loss",
               "set convex.derivative_limit = 1, or network.loss = \"one_vs_rest\"",
               "convex.derivative_limit");
    if (settings.clip.kind != Clip{}.kind)
        refuse("convex training bounds a record by its derivative and its length, and clips no gradient",
               "leave section clip out, and set convex.derivative_limit or features.norm_limit", "clip.kind");
    if (training.l1 > 0)
        refuse("the soft threshold of convex training has an option of its own, and spares biases",
               "set convex.l1 in place of training.l1", "training.l1");
    if (training.momentum > 0)
        refuse("with momentum one record can move later steps further and further",
               "set training.momentum = 0", "training.momentum");
    if (training.normalise == Normalise::actual || training.batching == Batching::sequential)
        refuse("convex training divides by a public number and assigns records by their ids",
               "leave training.batching = \"hashed\" and training.normalise = \"expected\"",
               "training.batching");
    if (training.precision == Precision::single_precision)
        refuse(
            "the roundings of single precision are a fifth of what a record may do: convex training is in "
            "double",
            "set training.precision = \"double\"", "training.precision");
    if (training.steps() > INT32_MAX)
        refuse("more steps than the iterates of a convex training are counted to",
               "lower training.epochs or training.batches", "training.epochs");
    if (!settings.certificate.contiguous_levels())
        refuse("convex training has a distance for every k", "leave certificate.level_list out",
               "certificate.level_list");
    if (settings.certificate.charge_rule != ChargeRule::per_epoch)
        refuse("in convex training a record acts once an epoch", "leave certificate.budget = \"per_epoch\"",
               "certificate.budget");
    if (settings.poisoned())
        refuse("convex training bounds what a record may become, not how far it may be poisoned",
               "set certificate.relation = \"substitute\", which covers every poison",
               "certificate.relation");
    if (!settings.certificate.product.exact())
        refuse("convex training makes no boxes, and no interval products",
               "leave certificate.product = \"exact\"", "certificate.product");
}

/// What is published is of one model, of labels, and of batches that differ.
void check_dpal(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    const NetworkSettings& network = settings.network;
    if (network.classes < 2)
        refuse("training.kind = \"dpal\" makes classifiers, not regressions", "set network.classes",
               "network.classes");
    if (network.resolved_loss() != Loss::cross_entropy)
        refuse("what is published has an objective of its own over one logit a class",
               "set network.loss = \"cross_entropy\"", "network.loss");
    const std::vector<Layer> layers = network.hidden_layers(1);
    if (layers.empty() || (layers.size() == 1 && layers.front().pooling))
        refuse("the first layer is the auto-encoder, and there is none",
               "name hidden layers in network.hidden or network.layers", "network.hidden");
    if (std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.dropout > 0; }))
        refuse("what is published leaves no units out", "leave dropout out", "network.layers");
    if (!network.bias || std::any_of(layers.begin(), layers.end(), [](const Layer& l) { return !l.bias; }))
        refuse("the layers between the first and the last have biases", "leave network.bias and no_bias out",
               "network.bias");
    if (settings.features.map != FeatureSettings::Map::none || settings.features.norm_limit > 0)
        refuse("adversarial records are made of features as they are, not as they are mapped",
               "set features.map = \"none\" and features.norm_limit = 0", "features.map");
    const bool clips = settings.dpal.variant == "secure_sgd";
    if (settings.clip.kind != (clips ? Clip::Kind::norm : Clip{}.kind))
        refuse(clips ? "secure_sgd clips the norm of a record's whole gradient"
                     : "what is published clips no gradient",
               clips ? "set clip.kind = \"norm\"" : "leave section clip out", "clip.kind");
    if (training.precision != Precision::double_precision)
        refuse("what is published is computed in double", "set training.precision = \"double\"",
               "training.precision");
    if (training.batches < 2)
        refuse("adversarial records come of another batch of the epoch", "set training.batches = 2 or more",
               "training.batches");
    if (settings.ensemble.members > 1)
        refuse("training.kind = \"dpal\" makes one model", "set ensemble.members = 1", "ensemble.members");
    if (training.weighs_rows())
        refuse("records of training.kind = \"dpal\" all count 1",
               "leave training.class_weights and training.rows_at_most out, and import one row a person",
               "training.class_weights");
    if (settings.poisoned() || training.normalise == Normalise::actual)
        refuse("training.kind = \"dpal\" divides by a public number, and encloses no poison",
               "leave certificate.relation and training.normalise out", "training.normalise");
}

/// What poisoning could add is counted in every batch, entry by entry (models/mathematics.md, poisoned sums).
void check_poison(const Settings& settings) {
    const Poison& poison = settings.poison;
    if (!settings.poisoned()) {
        if (poison.input_radius > 0 || poison.labels != Poison::Labels::kept || poison.target_radius > 0)
            refuse("section poison says what an adversary may do under one relation alone",
                   "set certificate.relation = \"poison\", or leave section poison out",
                   "certificate.relation");
        return;
    }
    if (settings.certificate.charge_rule == ChargeRule::per_epoch)
        refuse(
            "what a record does once an epoch is charged the same for every poison",
            "set certificate.budget = \"both\" or \"per_batch\"; or certificate.relation = \"substitute\", "
            "which covers every poison",
            "certificate.budget");
    if (settings.clip.kind != Clip::Kind::elementwise)
        refuse("poisoned records are bounded by entries", "set clip.kind = \"elementwise\"", "clip.kind");
    if (poison.input_radius > 0 &&
        (settings.features.map != FeatureSettings::Map::none || settings.features.norm_limit > 0))
        refuse("the radius is of features as the network takes them, and these are mapped before",
               "set features.map = \"none\" and features.norm_limit = 0, or poison.input_radius = 0",
               "poison.input_radius");
    const bool regression = settings.network.classes == 1;
    if (regression && poison.labels != Poison::Labels::kept)
        refuse("a regression has numbers for targets, not labels",
               "set poison.labels = \"none\" and poison.target_radius", "poison.labels");
    if (!regression && poison.target_radius > 0)
        refuse("the targets of a classifier are labels, not numbers",
               "set poison.labels in place of poison.target_radius", "poison.target_radius");
    if (poison.labels == Poison::Labels::targeted && poison.target_label >= settings.network.classes)
        refuse("no class has the label " + std::to_string(poison.target_label),
               "set poison.target_label below network.classes", "poison.target_label");
}

/// Of what a step does besides following its gradient.
void check_step(const TrainingSettings& training) {
    if (training.momentum > 0) return;
    if (training.nesterov)
        refuse("without momentum there is no velocity to look ahead by",
               "set training.momentum or training.nesterov = false", "training.nesterov");
    if (training.dampening > 0)
        refuse("without momentum there is no velocity to dampen",
               "set training.momentum or training.dampening = 0", "training.dampening");
}

/// Two parameters on either side of 0 are moved apart by 2 s.
void check_sign_step(const Settings& settings) {
    if (settings.training.l1 > 0 && settings.training.l1_step == L1Step::sign &&
        settings.certificate.charge_rule != ChargeRule::per_batch)
        refuse(
            "a step against the sign moves runs apart wherever they have parameters on either side of 0, "
            "so a record that acted once goes on acting",
            "set training.l1_step = \"proximal\" or certificate.budget = \"per_batch\"", "training.l1_step");
}

/// What boxes charge is a bound on every entry of a record's gradient.
void check_box_clip(const Settings& settings) {
    if (settings.clip.kind == Clip::Kind::norm)
        refuse("clip.kind = \"norm\" is of noisy training",
               "set clip.kind = \"record_norm\" (or \"tensor_norm\", \"elementwise\"), or training.kind = "
               "\"noisy\"",
               "clip.kind");
    const std::vector<Layer> layers = settings.network.hidden_layers(1);
    const bool biases = settings.network.bias && std::all_of(layers.begin(), layers.end(),
                                                             [](const Layer& layer) { return layer.bias; });
    if (settings.clip.kind == Clip::Kind::record_norm && !biases)
        refuse("the norm of a record's whole gradient counts the biases of every layer",
               "set clip.kind = \"tensor_norm\", or leave network.bias and no_bias out", "clip.kind");
    if (settings.clip.kind == Clip::Kind::factored && !settings.certificate.product.exact())
        refuse("factored clipping has exact products only", "set certificate.product = \"exact\"",
               "certificate.product");
}

/// Batches of their own have public records of boxes alone.
void check_public_records(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    if (training.public_batch_size > 0 && training.kind != "boxes")
        refuse("public records have batches of their own beside boxes only",
               "leave training.public_batch_size = 0", "training.public_batch_size");
    if (training.public_steps > 0 && training.public_batch_size == 0)
        refuse("steps of public records alone need the size of their batches",
               "set training.public_batch_size", "training.public_steps");
}

void check_layer_steps(const Settings& settings) {
    const std::size_t listed = settings.training.layer_steps.size(),
                      hidden = settings.network.hidden_layers(1).size();
    if (listed == 0) return;
    if (settings.training.kind != "boxes")
        refuse("layers that stay after some steps are of training.kind = \"boxes\"",
               "leave training.layer_steps out", "training.layer_steps");
    if (listed > hidden)
        refuse("steps of " + std::to_string(listed) + " layers, and the network has " +
                   std::to_string(hidden) + " before its last, which always moves",
               "list one number for each hidden layer, or for the first of them", "training.layer_steps");
}

void check_class_weights(const Settings& settings) {
    const std::size_t count = settings.training.class_weights.size();
    const auto classes = static_cast<std::size_t>(settings.network.classes);
    const char* const key = "training.class_weights";
    if (classes == 1) refuse("numbers have no classes that could be weighed", "leave it out", key);
    if (count != classes)
        refuse(std::to_string(count) + " weights of " + std::to_string(classes) + " classes",
               "list one of each, in the order of the labels", key);
    if (settings.training.rows_of_persons())
        refuse("rows of persons are weighed by how many a person has, not by class",
               "make one record of a person's rows (import --aggregate), or leave it out", key);
    if (settings.robust.used())
        refuse("copies of records are not weighed by class", "leave one of them out", key);
    if (settings.poisoned())
        refuse("a poisoned label would change what its record counts by",
               "set certificate.relation = \"substitute\", which covers every poison, or leave it out", key);
}

/// Each row is clipped to its weight's part of the bound (models/mathematics.md, rows of a person).
void check_rows(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    const bool by_class = !training.class_weights.empty();
    if (by_class) check_class_weights(settings);
    const auto refuse_rows = [&](const std::string& message, const std::string& hint, const char* key) {
        refuse((by_class ? "records weighed by class: " : "rows of persons: ") + message, hint, key);
    };
    if (training.precision == Precision::fixed && settings.clip.by_factors())
        refuse_rows("no factors are weighed on integers",
                    "set clip.kind = \"elementwise\" or training.precision = \"single\"",
                    "training.precision");
    if (training.clips_after() && settings.is_convex())
        refuse_rows("a clip behind their mean is no gradient of a convex loss",
                    "leave training.clip_rows = \"before\"", "training.clip_rows");
    if (training.clips_after() && !settings.noisy() && settings.clip.kind != Clip::Kind::elementwise &&
        !settings.clip.by_scales())
        refuse_rows(
            "entries and norms are clipped after they are added; of clipped factors a mean is clipped "
            "already",
            "leave training.clip_rows = \"before\", or set clip.kind = \"elementwise\"",
            "training.clip_rows");
    if (training.clips_after() && settings.clip.by_scales() &&
        training.rows_at_most > static_cast<std::int64_t>(panel_height))
        refuse_rows(std::to_string(training.rows_at_most) +
                        " of one person, and a norm is clipped after of " + std::to_string(panel_height) +
                        " at most",
                    "leave training.clip_rows = \"before\", set clip.kind = \"elementwise\" or import "
                    "fewer rows of each (--rows-at-most)",
                    "training.clip_rows");
    if (training.batching == Batching::sequential && !by_class)
        refuse_rows("a batch of rows in order cuts a person in two", "set training.batching = \"hashed\"",
                    "training.batching");
}

}  // namespace

void check(const Settings& settings) {
    check(settings.network);
    check(settings.features);
    if (settings.network.classes == 1) check_regression(settings);
    if (settings.noisy()) check_noisy(settings);
    if (settings.is_convex()) check_convex(settings);
    if (settings.is_dpal()) check_dpal(settings);
    check_step(settings.training);
    if (!settings.noisy() && !settings.is_convex() && !settings.is_dpal()) {
        check_box_clip(settings);
        check_sign_step(settings);
    }
    if (settings.training.corrects_labels() && !settings.noisy())
        refuse("labels are corrected by noisy training",
               "set training.kind = \"noisy\" (with noise.law = "
               "\"none\" it has no noise), or training.labels = \"drawn\"",
               "training.labels");
    check_public_records(settings);
    check_layer_steps(settings);
    check_poison(settings);
    if (settings.training.weighs_rows()) check_rows(settings);
    if (settings.training.precision == Precision::single_precision) check_single(settings);
    if (settings.training.precision == Precision::fixed) check_fixed(settings);
    if (settings.training.precision != Precision::fixed && settings.training.activation_bits != 16)
        refuse("training.activation_bits is of fixed precision",
               "set training.precision = \"fixed\", or leave it out", "training.activation_bits");
    if (settings.training.batching == Batching::sequential) {
        if (settings.training.batch_size < 1)
            refuse("sequential batches need their size", "set training.batch_size", "training.batch_size");
        if (settings.ensemble.members > 1)
            refuse("sequential batches are for one member", "set training.batching = \"hashed\"",
                   "training.batching");
    }
    if (settings.ensemble.aggregate == "paper" && settings.network.classes != 2) {
        refuse("aggregate = \"paper\" is for two classes", "set ensemble.aggregate = \"stable\"",
               "ensemble.aggregate");
    }
}

}  // namespace holdfast
