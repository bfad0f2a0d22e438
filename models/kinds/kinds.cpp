#include "models/kinds/kinds.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/boxes/boxes_training.hpp"
#include "models/certify/boxes_certificate.hpp"
#include "models/convex/convex_certificate.hpp"
#include "models/convex/convex_claim.hpp"
#include "models/convex/convex_training.hpp"
#include "models/convex/radius.hpp"
#include "models/dpal/dpal_training.hpp"
#include "models/noisy/noisy_certificate.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "models/noisy/noisy_training.hpp"

namespace holdfast {
namespace {

/// A step that divides by the batch's count is published for one budget, and for relations that remove
/// records or keep every count (models/mathematics.md, public constants).
void check_actual_count(const Settings& settings) {
    if (settings.training.normalise == Normalise::expected) return;
    if (settings.certificate.charge_rule != ChargeRule::per_batch)
        throw Error(ExitCode::usage,
                    "training.normalise = \"actual\" has bounds only where records act in every batch",
                    "set certificate.budget = \"per_batch\", or training.normalise = \"expected\"",
                    "certificate.budget");
    const Relation relation = settings.certificate.relation;
    const bool in_place =
        relation == Relation::substitute && settings.training.batching == Batching::sequential;
    if (relation == Relation::remove || relation == Relation::poison || in_place) return;
    throw Error(ExitCode::usage,
                std::string("training.normalise = \"actual\" has no bounds for certificate.relation = \"") +
                    name_of(relation) + "\", which changes the counts of batches",
                "set certificate.relation = \"remove\", or training.normalise = \"expected\"",
                "training.normalise");
}

/// What boxes charge is a bound on every entry of a record's gradient.
Settings settled_for_boxes(const Settings& settings) {
    if (settings.clip.kind == Clip::Kind::none)
        throw Error(
            ExitCode::usage, "without a clip no record's gradient has a bound, and nothing follows",
            "set clip.kind = \"elementwise\" (or \"factored\"); clip.kind = \"none\" is of holdfast fleet",
            "clip.kind");
    check_actual_count(settings);
    return settings;
}

std::optional<Rational> no_sensitivity(const Settings&, const FeatureMap&) {
    return std::nullopt;
}

const Kind boxes{
    .name = "boxes",
    .secret = false,
    .settled = settled_for_boxes,
    .training = [](const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid,
                   const SecretKey*) { return train_boxes(plan, public_records, grid); },
    .payment = [](const Settings&, const DataFacts&) { return std::optional<Payment>(); },
    .require_publishable =
        [](const Settings&) {
            throw Error(
                ExitCode::usage, "the parameters of a run with boxes are for their owner",
                "release labels from it; to publish, train with training.kind = \"convex\" or \"noisy\"",
                "training.kind");
        },
    .sensitivity = no_sensitivity,
    .claim = certificate_claim,
    .certificate = open_boxes};

const Kind noisy{.name = "noisy",
                 .secret = true,
                 .settled = settled_for_noise,
                 .training = train_noisy,
                 .payment = noisy_payment,
                 .require_publishable = require_noise,
                 .sensitivity = no_sensitivity,
                 .claim = noisy_claim,
                 .certificate = open_noisy};

const Kind convex{
    .name = "convex",
    .secret = false,
    .settled = settled_for_convex,
    .training = [](const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid,
                   const SecretKey*) { return train_convex(plan, public_records, grid); },
    .payment = [](const Settings&, const DataFacts&) { return std::optional<Payment>(); },
    .require_publishable = [](const Settings&) {},  // what its claim refuses, no noise helps
    .sensitivity =
        [](const Settings& settings, const FeatureMap& features) {
            return std::optional(convex_radius(settings, features, settings.certificate.relation).all);
        },
    .claim = convex_claim,
    .certificate = open_convex};

/// What is published, to be measured.
const Kind dpal{
    .name = "dpal",
    .secret = false,
    .settled = settled_for_dpal,
    .training = [](const TrainingPlan& plan, const Records& public_records, const ProcessGrid& grid,
                   const SecretKey*) { return train_dpal(plan, public_records, grid); },
    .payment = [](const Settings&, const DataFacts&) { return std::optional<Payment>(); },
    .require_publishable = [](const Settings&) { refuse_dpal(); },
    .sensitivity = no_sensitivity,
    .claim = dpal_claim,
    .certificate = open_dpal};

}  // namespace

const std::vector<Kind>& kinds() {
    static const std::vector<Kind> all{boxes, noisy, convex, dpal};
    return all;
}

const Kind& kind_named(const std::string& name) {
    for (const Kind& kind : kinds())
        if (kind.name == name) return kind;
    throw Error(ExitCode::input,
                "a run of kind \"" + name + "\"; this program knows " + joined(kinds(), ", ", &Kind::name),
                "open it with the program that wrote it");
}

}  // namespace holdfast
