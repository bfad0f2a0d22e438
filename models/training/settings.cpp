#include "models/training/settings.hpp"

#include <algorithm>
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
        choice<S>(
            "normalise",
            "divisor of a step: the public B or, as published, the batch's count (certificates: per_batch "
            "removals, poisoning, or substitutions in sequential batches)",
            &S::normalise, {{"expected", Normalise::expected}, {"actual", Normalise::actual}}),
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
             &S::noise, at_least(0)),
        real(
            "lipschitz",
            "after every step each hidden layer is scaled down to a spectral norm of so much, about, so that "
            "certify --norm l2 proves more; 0: it is not",
            &S::lipschitz, at_least(0))};
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

}  // namespace holdfast
