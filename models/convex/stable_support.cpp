#include "models/convex/stable_support.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/convex/convex_trainer.hpp"
#include "models/convex/convex_training.hpp"
#include "models/convex/radius.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_support_distance = std::int64_t{1} << 20;

/// Of one step over all records of the run, as long as its lemma allows, and without the threshold.
Settings one_step_of(const Settings& settings, const FeatureMap& features) {
    Settings step = settings;
    const std::int64_t most = most_records_of(settings),
                       room = ConvexSettings::greatest_most_records / settings.training.batches;
    step.convex.most_records = std::min(most, room) * settings.training.batches;
    step.convex.l1 = step.convex.average = 0;
    step.training.epochs = step.training.batches = 1;
    step.training.learning_rate_decay = step.training.learning_rate_floor = 0;
    step.training.learning_rate = ConvexBounds(step, features).largest_learning_rate();
    return step;
}

/// (1 - d) r + v a + 2 eta, in units: r what a record moves the run's result by.
std::int64_t moved_by(const Settings& run, const Settings& one_step, const FeatureMap& features) {
    const ConvexRadius radius = convex_radius(run, features, run.certificate.relation);
    const ConvexBounds step(one_step, features);
    step.require_short_steps();
    const auto value = [](const Rational& units) { return Upper(round_up(units)) * Upper(parameter_unit); };
    const Upper moved = step.kept(0) * value(radius.group) +
                        step.share(0) * step.impulse(run.certificate.relation) +
                        Upper(2) * step.rounding(0, value(radius.row));
    return static_cast<std::int64_t>(std::min(std::ceil(std::ldexp(moved.value(), 50)), 0x1p61));
}

}  // namespace

std::vector<std::size_t> columns_of_inputs(const FeatureMap& features) {
    std::vector<std::size_t> columns;
    const bool plain = std::holds_alternative<std::monostate>(features.derived());
    if (plain || features.keep()) {
        columns.resize(features.columns());
        std::iota(columns.begin(), columns.end(), std::size_t{0});
    }
    if (plain) return columns;
    const FeatureBins* const bins = std::get_if<FeatureBins>(&features.derived());
    if (bins == nullptr || !bins->pairs.empty())
        throw Error(ExitCode::usage, "the run's features are each made of several columns",
                    "train with features.map = \"none\", or \"bins\" without pairs", "features.map");
    for (std::size_t column = 0; column < features.columns(); ++column)
        if (bins->has_trend(column)) columns.push_back(column);
    for (std::size_t column = 0; column < features.columns(); ++column)
        columns.insert(columns.end(), bins->edges[column].size() + 1, column);
    return columns;
}

StableSupport::StableSupport(const Settings& settings, const FeatureMap& features)
    : step_(one_step_of(settings, features)),
      features_(features),
      threshold_(parameter_units(step_.training.learning_rate * settings.convex.l1)),
      moved_(moved_by(settings, step_, features)),
      box_(settings.convex.box > 0 ? parameter_units(settings.convex.box) : parameter_limit_units) {
    if (settings.convex.l1 == 0)
        throw Error(ExitCode::usage, "without an l1 penalty a model uses every column",
                    "train with convex.l1 above 0", "convex.l1");
    if (settings.ensemble.members > 1)
        throw Error(ExitCode::usage, "the members of an ensemble each use columns of their own",
                    "train with ensemble.members = 1", "ensemble.members");
}

std::int64_t StableSupport::cap() const {
    return std::min(std::max(box_, threshold_) / moved_, greatest_support_distance);
}

std::vector<std::int64_t> StableSupport::stepped(const Records& records,
                                                 std::vector<std::int64_t> parameters) const {
    TrainingPlan plan = make_plan(step_, {features_.columns(), features_.range()}, make_backend("cpu"));
    plan = convex_plan(std::move(plan));
    ConvexState state = ConvexTrainer::fresh_state(plan);
    ensure(state.parameters.size() == parameters.size(), "the step is of the run's parameters");
    state.parameters = std::move(parameters);
    const Records none{FeatureMatrix(records.features.columns(), records.features.wide()), {}, {}, {}};
    ConvexTrainer trainer(plan, records, none, std::move(state));
    PhaseTimes times;
    trainer.step(*make_serial_communicator(), times);
    return trainer.result();
}

Support StableSupport::of(std::span<const std::int64_t> stepped, std::span<const std::size_t> groups,
                          std::size_t count) const {
    std::vector<std::int64_t> reach(count, 0);
    const std::size_t row = groups.size() + 1;  // a bias behind the inputs
    for (std::size_t p = 0; p < stepped.size(); ++p) {
        if (p % row == groups.size() || groups[p % row] == no_group) continue;
        std::int64_t& of_group = reach[groups[p % row]];
        of_group = std::max(of_group, std::abs(stepped[p]));
    }
    Support support{{}, cap()};
    for (const std::int64_t of_group : reach) {
        // Whole numbers are never on the threshold and a half, on whose side a group lies.
        const std::int64_t halves = std::abs(2 * (of_group - threshold_) - 1);
        support.used.push_back(of_group > threshold_);
        support.distance = std::min(support.distance, (halves - 1) / 2 / moved_);
    }
    return support;
}

Mechanism StableSupport::test(double epsilon, double delta) const {
    return {"ptr", {.epsilon = epsilon, .delta = delta, .classes = 2, .cap = cap()}};
}

Evidence StableSupport::evidence(const Support& support) const {
    Evidence evidence;
    evidence.distance = support.distance;
    evidence.cap = cap();
    return evidence;
}

}  // namespace holdfast
