#include "models/fleet/fleet_settings.hpp"

#include <algorithm>
#include <string>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void refuse(const std::string& message, const std::string& hint, const std::string& key) {
    throw Error(ExitCode::usage, message, hint, key);
}

}  // namespace

void check_fleet(const Settings& settings) {
    const TrainingSettings& training = settings.training;
    if (training.kind != "boxes")
        refuse("a fleet is of plain training, not of training.kind = \"" + training.kind + "\"",
               "leave training.kind out", "training.kind");
    if (training.precision == Precision::fixed)
        refuse("networks side by side are computed in double or single",
               "set training.precision = \"double\" or \"single\"", "training.precision");
    const Clip::Kind clip = settings.clip.kind;
    if (clip != Clip::Kind::elementwise && clip != Clip::Kind::factored && clip != Clip::Kind::none)
        refuse("a fleet clips gradients entry by entry, or not at all",
               "set clip.kind = \"elementwise\", \"factored\" or \"none\"", "clip.kind");
    if (settings.ensemble.members > 1)
        refuse("a fleet leaves records out of one model, not of an ensemble", "set ensemble.members = 1",
               "ensemble.members");
    if (training.public_batch_size > 0 || training.public_steps > 0)
        refuse("a fleet trains on no public records",
               "leave training.public_batch_size and training.public_steps out",
               "training.public_batch_size");
    if (!training.layer_steps.empty())
        refuse("every step of a fleet moves every layer", "leave training.layer_steps out",
               "training.layer_steps");
    if (!settings.certificate.product.exact())
        refuse("the networks of a fleet are points, of which interval products are exact",
               "leave certificate.product out", "certificate.product");
}

void check_fleet(const TrainingPlan& plan, std::size_t records) {
    const std::vector<Layer>& layers = plan.network.layers();
    if (std::any_of(layers.begin(), layers.end(), [](const Layer& layer) { return layer.dropout > 0; }))
        refuse("a fleet trains without dropout", "leave dropout out of network.layers", "network.layers");
    if (plan.settings.clip.kind == Clip::Kind::none && !plan.network.shape().is_dense())
        refuse("convolutions and pooling are trained with a clip", "set clip.kind = \"elementwise\"",
               "clip.kind");
    // A batch may be all of them.
    const std::int64_t most = plan.gradient_scale().record_limit;
    if (plan.settings.clip.kind != Clip::Kind::none && records > static_cast<std::size_t>(most))
        throw Error(
            ExitCode::input,
            std::to_string(records) + " records, of which a fleet's sums hold " + std::to_string(most),
            "train on fewer");
}

RecordClaim fleet_claim(const Settings& settings, const DataFacts& facts) {
    const TrainingSettings& training = settings.training;
    const bool actual = training.normalise == Normalise::actual,
               by_rows = training.batching == Batching::sequential;
    RecordClaim claim = claim_about_records(
        std::string(
            "every network but the first answers, bit by bit in the precision of the run, as what the same "
            "training makes of the records without the one it leaves out; a step takes the mean over ") +
            (actual ? "the records of its batch that remain" : "the public constant B"),
        settings, facts, {Relation::remove, "the fleet does not cover", !by_rows});
    if (by_rows)
        claim.weaken(
            "batches are by rows: the slot of a record left out stays empty, and no other record moves to "
            "another batch");
    return claim;
}

}  // namespace holdfast
