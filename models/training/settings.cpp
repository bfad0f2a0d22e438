#include "models/training/settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/data/person_rule.hpp"
#include "kernels/base/error.hpp"
#include "kernels/ops/panel_operations.hpp"
#include "models/settings/option.hpp"

namespace holdfast {
namespace {

// Every clip has a grid in double; of single precision, check_single says what it lacks.
constexpr double least_clip = 1e-100;
constexpr double least_norm = 1e-6;  // in either precision, whatever underflows (kernels/ops/norm_rule.hpp)
static_assert(least_clip >= RealFormat<double>::least_limit);

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
    if (settings.certificate.relation == Relation::remove || settings.poisoned())
        refuse("a model is not published against removals alone, nor against poisoning",
               "set certificate.relation = \"add_remove\" or \"substitute\"", "certificate.relation");
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

/// As published, a step that divides by the count left holds those runs alone from which exactly k are gone.
void check_budget(const Settings& settings) {
    if (settings.certificate.charge_rule == ChargeRule::both &&
        settings.training.normalise == Normalise::actual)
        refuse("of steps that divide by the batch's count the two budgets enclose different runs",
               "set certificate.budget = \"per_batch\" or training.normalise = \"expected\"",
               "certificate.budget");
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

std::vector<std::int64_t> layer_steps_of(const nlohmann::json& value) {
    if (!value.is_array()) throw "is " + value.dump() + ", not a list of steps, one of each hidden layer";
    std::vector<std::int64_t> steps;
    for (const nlohmann::json& one : value) steps.push_back(whole_number(one, 0, 1000000000));
    return steps;
}

/// Numbers of weight_unit, rounded down.
std::vector<double> class_weights_of(const nlohmann::json& value) {
    if (!value.is_array()) throw "is " + value.dump() + ", not a list of weights, one of each class";
    std::vector<double> weights;
    for (const nlohmann::json& one : value)
        weights.push_back(static_cast<double>(weight_units(at_least(0x1p-10, 1).checked(one))) * weight_unit);
    return weights;
}

const std::vector<std::pair<std::string, Product>> product_names{
    {"exact", Product::exact}, {"rump", Product::rump}, {"nguyen", Product::nguyen}};

nlohmann::json product_name(Product product) {
    for (const auto& [name, value] : product_names) {
        if (value == product) return name;
    }
    return nullptr;
}
Product product_named(const nlohmann::json& wanted) {
    for (const auto& [name, value] : product_names) {
        if (wanted == nlohmann::json(name)) return value;
    }
    throw "is " + wanted.dump() + ", not exact | rump | nguyen, or a list of these, one a layer";
}

/// One product for all layers as a text, else a list.
BasicOption<CertificateSettings> product_option() {
    using S = CertificateSettings;
    return {"product",
            "interval products: exact or, as published, midpoint-radius, which are wider and have no fast "
            "kernels; or a list, a product a layer: exact | rump | nguyen",
            [](const S& settings) {
                const std::vector<Product>& layers = settings.product.layers;
                if (layers.size() == 1) return product_name(layers.front());
                nlohmann::json list = nlohmann::json::array();
                for (const Product product : layers) list.push_back(product_name(product));
                return list;
            },
            [](S& settings, const nlohmann::json& wanted) {
                Products products;
                products.layers.clear();
                for (const nlohmann::json& one : wanted.is_array() ? wanted : nlohmann::json{wanted})
                    products.layers.push_back(product_named(one));
                if (products.layers.empty()) throw std::string("names no product");
                settings.product = products;
            }};
}

}  // namespace

const char* name_of(ChargeRule rule) {
    switch (rule) {
        case ChargeRule::per_epoch:
            return "per_epoch";
        case ChargeRule::per_batch:
            return "per_batch";
        case ChargeRule::both:
            return "both";
    }
    return "";
}

double TrainingSettings::least_weight() const {
    if (class_weights.empty()) return row_weight(static_cast<std::uint64_t>(rows_at_most));
    return *std::min_element(class_weights.begin(), class_weights.end());
}

double TrainingSettings::learning_rate_at(std::int64_t step) const {
    return std::max(learning_rate / (1.0 + learning_rate_decay * static_cast<double>(step)),
                    learning_rate_floor);
}

std::vector<std::int64_t> CertificateSettings::level_values() const {
    std::vector<std::int64_t> values{0};
    if (contiguous_levels()) {
        values.resize(static_cast<std::size_t>(levels) + 1);
        std::iota(values.begin(), values.end(), 0);
        return values;
    }
    values.insert(values.end(), level_list.begin(), level_list.end());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

std::vector<std::int64_t> Settings::kept_levels() const {
    const bool one_step = training.kind == "boxes" && training.steps() == 1 &&
                          training.normalise == Normalise::expected &&
                          certificate.charge_rule == ChargeRule::per_epoch && certificate.product.exact() &&
                          certificate.contiguous_levels();
    if (one_step && certificate.levels > 1) return {0, 1};
    return certificate.level_values();
}

std::vector<BasicOption<TrainingSettings>> training_options() {
    using S = TrainingSettings;
    return {
        choice<S>(
            "kind",
            "boxes: beside the model, what encloses its neighbours; noisy: a model that may be published; "
            "convex: a linear model whose change by one record is known; dpal: what is published of training "
            "against adversaries, of which nothing is proved, to be measured",
            &S::kind,
            {{"boxes", std::string("boxes")},
             {"noisy", std::string("noisy")},
             {"convex", std::string("convex")},
             {"dpal", std::string("dpal")}}),
        integer("epochs", "passes over the records", &S::epochs, 1, 1000000),
        integer("batches", "batches a member's epoch is cut into", &S::batches, 1, 1000000),
        real("learning_rate", "alpha", &S::learning_rate, above(0)),
        real("learning_rate_decay", "alpha_t = max(alpha / (1 + decay t), floor)", &S::learning_rate_decay,
             at_least(0)),
        real("learning_rate_floor", "the floor", &S::learning_rate_floor, at_least(0)),
        real("l2", "weight decay lambda", &S::l2, at_least(0)),
        real(
            "l1",
            "soft threshold learning_rate * l1 of every parameter, a step; of training.kind = \"convex\" see "
            "convex.l1",
            &S::l1, at_least(0)),
        choice<S>(
            "l1_step",
            "the threshold after a step, or as published theta - learning_rate * l1 * sign(theta) before "
            "it, which boxes follow with certificate.budget = \"per_batch\" alone",
            &S::l1_step, {{"proximal", L1Step::proximal}, {"sign", L1Step::sign}}),
        real("momentum",
             "of the velocity; with l2 while parameters do not swing past 0, as none does where "
             "learning_rate * l2 <= (1 - sqrt(momentum))^2; 0: plain gradient descent",
             &S::momentum, at_least(0, 0.9999)),
        real("dampening", "from the second step on a gradient enters the velocity by 1 - dampening",
             &S::dampening, at_least(0, 0.9999)),
        flag("nesterov", "a step goes by the gradient and momentum times the velocity", &S::nesterov),
        integer("expected_records",
                "public number of private records, sets the normaliser B; 0: what the dataset states (import "
                "--expected-records), else the count found, on which no release may rest",
                &S::expected_records, 0),
        integer(
            "rows_at_most",
            "public number of rows that a person has at most, as the dataset states it (import --person); "
            "0: that",
            &S::rows_at_most, 0, most_rows_of_a_person),
        text("clip_rows",
             "a person's rows are clipped before | after they are added, weighed: each by its part, or the "
             "sum, once, in boxes unless by factors and by noisy training of the cross-entropy, for few "
             "persons and little epsilon",
             &S::clip_rows, {"before", "after"}),
        text("labels",
             "of a dataset whose labels were drawn under privacy (holdfast measure --labels): taken as drawn "
             "| corrected in noisy training of the cross-entropy, by how likely each class makes what was "
             "drawn",
             &S::labels, {"drawn", "corrected"}),
        real("label_unit",
             "what evidence for a class then counts as a logit, as the dataset states it; 0: that",
             &S::label_unit, at_least(0, 64)),
        option("class_weights",
               "what a record of each label counts by, public numbers; [0.1, 1] for a class of 9 in 10 that "
               "is to count no more than the other; []: 1 each. Each in [2^-10, 1]",
               &S::class_weights, class_weights_of),
        choice<S>("normalise", "divide by the public B or, as published, by the batch's count", &S::normalise,
                  {{"expected", Normalise::expected}, {"actual", Normalise::actual}}),
        choice<S>("batching", "batch of a record: by keyed hash of its id or, as published, by its row",
                  &S::batching, {{"hashed", Batching::hashed}, {"sequential", Batching::sequential}}),
        integer("batch_size", "rows of a sequential batch", &S::batch_size, 0),
        integer("public_batch_size",
                "public records a step takes, row after row and again from the first; 0: every one once an "
                "epoch, by keyed hash of its id",
                &S::public_batch_size, 0, UINT32_MAX),
        integer("public_steps",
                "steps of public records alone, public_batch_size each, before the first of private ones: "
                "they cost nothing and widen no box",
                &S::public_steps, 0, 1000000000),
        option(
            "layer_steps",
            "of each hidden layer, in order: how many steps move it, from the first on; then it stays. "
            "[0, 1]: the first stays as it starts (training.public_steps move it), the second takes one "
            "step. Layers that stay widen no further: with depth that is most of what boxes lose. []: every "
            "step moves every layer",
            &S::layer_steps, layer_steps_of),
        integer("seed", "public seed of the initial weights and the assignment", &S::seed, 0),
        choice<S>(
            "precision",
            "type a step is computed in; the boxes hold bit by bit for runs in the same, which "
            "certify, evaluate and release keep to. fixed: single, but products of weights are exact on "
            "integers",
            &S::precision,
            {{"double", Precision::double_precision},
             {"single", Precision::single_precision},
             {"fixed", Precision::fixed}}),
        option("activation_bits",
               "of precision fixed: what weights of 16 bits meet, features, activations and derivatives, is "
               "rounded to so many bits: 16 | 8",
               &S::activation_bits, [](const nlohmann::json& value) {
                   const std::int64_t bits = whole_number(value, 8, 16);
                   if (bits != 8 && bits != 16) throw "is " + value.dump() + ", not 16 or 8";
                   return bits;
               })};
}

std::vector<BasicOption<Clip>> clip_options() {
    return {
        choice<Clip>("kind", "bound of one record's gradient; none: of holdfast fleet alone", &Clip::kind,
                     {{"elementwise", Clip::Kind::elementwise},
                      {"factored", Clip::Kind::factored},
                      {"norm", Clip::Kind::norm},
                      {"record_norm", Clip::Kind::record_norm},
                      {"tensor_norm", Clip::Kind::tensor_norm},
                      {"none", Clip::Kind::none}}),
        real("gamma", "elementwise: every entry within +-gamma", &Clip::gamma, at_least(least_clip)),
        real("delta_limit", "factored: a, of the backward factor", &Clip::delta_limit, at_least(least_clip)),
        real("activation_limit", "factored: c, of the activations; gamma is a c", &Clip::activation_limit,
             at_least(least_clip)),
        real("norm_limit",
             "C, a 2-norm: of a record's whole gradient (norm, of noisy training; record_norm, of boxes), or "
             "of each layer's weights and of its biases apart (tensor_norm)",
             &Clip::norm_limit, at_least(least_norm))};
}

std::vector<BasicOption<CertificateSettings>> certificate_options() {
    using S = CertificateSettings;
    return {
        integer("levels", "K: boxes for every k = 0..K changed records", &S::levels, 0, 1 << 20),
        integers("level_list", "boxes for these k alone: certificates and reports, never a private release",
                 &S::level_list),
        choice<S>("relation", "what a neighbouring dataset is", &S::relation,
                  {{"add_remove", Relation::add_remove},
                   {"substitute", Relation::substitute},
                   {"remove", Relation::remove},
                   {"poison", Relation::poison}}),
        choice<S>("budget",
                  "changed records act once an epoch (core + radius) or in every batch; both: the boxes of "
                  "either, intersected in every step, which pays for substitute, remove and poison",
                  &S::charge_rule,
                  {{"per_epoch", ChargeRule::per_epoch},
                   {"per_batch", ChargeRule::per_batch},
                   {"both", ChargeRule::both}}),
        product_option()};
}

std::vector<BasicOption<Poison>> poison_options() {
    using S = Poison;
    return {
        real("input_radius",
             "of certificate.relation = \"poison\": how far each feature of a poisoned record may move, in "
             "the file's units",
             &S::input_radius, at_least(0)),
        choice<S>("labels", "what becomes of a poisoned record's label: nothing, any label, or target_label",
                  &S::labels,
                  {{"none", S::Labels::kept}, {"flip", S::Labels::any}, {"targeted", S::Labels::targeted}}),
        option("target_label", "the class that targeted labels become " + range_of_whole(0, 999),
               &S::target_label,
               [](const nlohmann::json& value) {
                   return static_cast<std::int32_t>(whole_number(value, 0, 999));
               }),
        real("target_radius", "of a regression: how far a poisoned record's target may move",
             &S::target_radius, at_least(0))};
}

std::vector<BasicOption<NoiseSettings>> noise_options() {
    using S = NoiseSettings;
    return {
        choice<S>("law", "gaussian; or none: the same training without noise, for its owner alone", &S::law,
                  {{"gaussian", S::Law::gaussian}, {"none", S::Law::none}}),
        real("epsilon", "what the whole training may cost", &S::epsilon, above(0)),
        real("delta", "and its delta", &S::delta, at_least(1e-15, 0.5)),
        real("multiplier",
             "a step's noise has sigma = multiplier * clip.norm_limit; 0: the least that epsilon and delta "
             "allow",
             &S::multiplier, at_least(0)),
        real("sampling_rate", "q: a record's part in a step, a multiple of 2^-32; 0: 1 / training.batches",
             &S::sampling_rate, at_least(0, 1)),
        real("average", "fraction of the last steps whose parameters are averaged; 0: the last alone",
             &S::average, at_least(0, 1)),
        real("centre",
             "R: the first step measures, in place of a gradient, the mean of what the network reads, "
             "rows cut to a length of R, and all others are of inputs less it; 0: no step does",
             &S::centre, at_least(0, 1e4))};
}

std::vector<BasicOption<RobustSettings>> robust_options() {
    using S = RobustSettings;
    return {
        text("attack",
             "adversarial copies of a record that a noisy training learns beside it: none | fgsm | ifgsm | "
             "mim | "
             "pgd; worst_case: in its place, of a linear model, what the ball makes of each other class",
             &S::attack, {"none", "fgsm", "ifgsm", "mim", "pgd", "worst_case"}),
        text("norm", "of the attack: linf | l2", &S::norm, {"linf", "l2"}),
        real("input_radius", "how far the attack may move a record, in units of its features",
             &S::input_radius, at_least(0)),
        real("warmup", "part of the steps over which the radius grows from 0", &S::warmup, at_least(0, 1)),
        integer("steps", "of the attack, in each step of the training", &S::steps, 1, 10000),
        real("weight", "xi: what adversarial copies count by, where the others count 1", &S::weight,
             at_least(0, 1000)),
        integer("copies", "K: of either kind; a record's vector is the mean over them, clipped then",
                &S::copies, 1, 10000),
        real("noise",
             "standard deviation of the noise on the copies that are not adversarial, in units of the "
             "features",
             &S::noise, at_least(0))};
}

std::vector<BasicOption<ConvexSettings>> convex_options() {
    using S = ConvexSettings;
    return {real("derivative_limit",
                 "c: the derivative by a logit is clamped to +-c, which divides a record's influence by as "
                 "much; not of "
                 "cross_entropy",
                 &S::derivative_limit, at_least(1e-6, 1)),
            integer("most_records",
                    "M: a batch of n records counts by 1 - (n - 1) / M, so that one record more moves it by "
                    "a record's part "
                    "and no more; a small M makes long steps possible, and weak. 0: 8 times the records of a "
                    "batch, 16 at "
                    "least",
                    &S::most_records, 0, ConvexSettings::greatest_most_records),
            real("l1",
                 "soft threshold alpha_t l1 after every step (beside training.l2: an elastic net); biases "
                 "keep theirs",
                 &S::l1, at_least(0)),
            real("box", "parameters are clamped to +-box after every step; 0: to +-1024", &S::box,
                 at_least(0, 1024)),
            real("average", "fraction of the last steps whose parameters are averaged; 0: the last alone",
                 &S::average, at_least(0, 1))};
}

std::vector<BasicOption<DpalSettings>> dpal_options() {
    using S = DpalSettings;
    return {
        text("variant",
             "what is published: dpal (noise drawn once, an auto-encoder before the network, adversarial "
             "records), adlm (noise drawn once, more of it on features of little weight), pixel_dp (noise of "
             "its own on every input, and no privacy), secure_sgd (noisy gradients, and noise behind the "
             "first layer)",
             &S::variant, {"dpal", "adlm", "pixel_dp", "secure_sgd"}),
        real("epsilon", "what is claimed of the whole training, and is not true of it", &S::epsilon,
             above(0)),
        real("delta", "of secure_sgd, likewise", &S::delta, at_least(1e-15, 0.5)),
        real("share", "of epsilon, for the auto-encoder; the rest is of the labels. Not stated in the text",
             &S::share, at_least(0.001, 0.999)),
        text("sensitivity",
             "d (beta + 2) as if a record had the features of the whole image, and the layer's units: text; "
             "or of one window of a convolution and its channels: window, less noise than the text says",
             &S::sensitivity, {"text", "window"}),
        text("taylor",
             "the loss of a class, published with -|z|/2, or corrected to the -z/2 that log(1 + e^-z) has",
             &S::taylor, {"published", "corrected"}),
        real(
            "encoder_rate",
            "learning rate of the auto-encoder, of the mean of the reconstruction's terms. Not stated in the "
            "text",
            &S::encoder_rate, at_least(0)),
        real("weight", "xi: what an adversarial record counts by, where another counts 1", &S::weight,
             at_least(0, 1000)),
        integer("steps", "T_mu: of an attack, in training and by holdfast evaluate", &S::steps, 1, 1000),
        real("psi", "draws of an answer have 1/psi of the noise that its size assumes", &S::psi,
             at_least(0.01, 1e6)),
        integer("draws", "n: of an answer. Not stated in the text", &S::draws, 1, 1000000),
        real("confidence", "eta, of the bounds of all classes together. Not stated in the text",
             &S::confidence, at_least(0, 0.9999999)),
        real("bound", "of pixel_dp and secure_sgd: the move of the input that their noise is for", &S::bound,
             above(0))};
}

std::vector<BasicOption<EnsembleSettings>> ensemble_options() {
    using S = EnsembleSettings;
    return {
        integer("members", "T: models on disjoint records", &S::members, 1, 100000),
        text("aggregate", "stable | paper (Theorem 5.3 as published)", &S::aggregate, {"stable", "paper"})};
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
        check_budget(settings);
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
