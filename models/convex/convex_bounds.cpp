#include "models/convex/convex_bounds.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/training/plan.hpp"

namespace holdfast {
namespace {

/// What a computed derivative by a logit is off the exact one at the computed logits (models/mathematics.md,
/// convex rounding).
constexpr double logit_rounding = 0x1p-41;
/// Two factors made odd, of their product.
constexpr double odd_rounding = 0x1p-50;

const LossInfo& loss_of(const Settings& settings) {
    return info_of(settings.network.resolved_loss());
}

/// |psi'|: a derivative clamped to the limit is that of a loss that is convex still.
Upper slope_of(const Settings& settings) {
    const LossInfo& loss = loss_of(settings);
    return Upper(loss.separate ? std::min(loss.slope, settings.convex.derivative_limit) : loss.slope);
}

/// psi'': p (1 - p) of a logistic loss is at most c (1 - c) where p or 1 - p is no more than c < 1/2.
Upper curvature_of(const Settings& settings) {
    const LossInfo& loss = loss_of(settings);
    const double limit = settings.convex.derivative_limit;
    const bool logistic = loss.loss == Loss::binary_cross_entropy || loss.loss == Loss::one_vs_rest;
    if (logistic && limit < 0.5) return Upper(limit) * Upper(std::nextafter(1 - limit, 1.0));
    return Upper(loss.curvature.value());
}

double normaliser_of_batch(const Settings& settings) {
    if (settings.training.expected_records == 0)
        throw Error(ExitCode::usage, "the step would divide by the number of records found, which is private",
                    "state a public number: import --expected-records, or training.expected_records",
                    "training.expected_records");
    return normaliser_of(settings, {.features = 0});
}

}  // namespace

std::int64_t most_records_of(const Settings& settings) {
    constexpr double times_expected = 8, least = 16;
    const double expected = normaliser_of_batch(settings);
    if (settings.convex.most_records > 0) return settings.convex.most_records;
    return static_cast<std::int64_t>(std::min(std::max(std::ceil(times_expected * expected), least),
                                              static_cast<double>(ConvexSettings::greatest_most_records)));
}

Clip convex_clip(const Settings& settings, const FeatureMap& features) {
    const InputTransform input = features.network_input();
    const double largest = std::max(std::abs(input.apply<double>(input.range.low)),
                                    std::abs(input.apply<double>(input.range.high)));
    constexpr int bits = 62 - RealFormat<double>::gradient_bits;  // of the records that fit without more
    const int wanted = std::bit_width(static_cast<std::uint64_t>(most_records_of(settings)));
    return {.kind = Clip::Kind::factored,
            .delta_limit = loss_of(settings).separate ? settings.convex.derivative_limit : 1,
            .activation_limit = std::max(largest, 1e-100),
            .spare_bits = std::max(0, wanted - bits)};
}

ConvexBounds::ConvexBounds(const Settings& settings, const FeatureMap& features)
    : training_(settings.training),
      box_(settings.convex.box > 0 ? settings.convex.box : parameter_value(parameter_limit_units)),
      normaliser_(normaliser_of_batch(settings)),
      most_records_(most_records_of(settings)),
      inputs_(features.outputs()),
      curvature_(curvature_of(settings)),
      unit_(std::ldexp(1.0, convex_clip(settings, features).scale<double>().exponent)) {
    const LossInfo& loss = loss_of(settings);
    const auto outputs = loss.one_logit ? 1 : static_cast<std::size_t>(settings.network.classes);
    rows_ = loss.separate ? 1 : outputs;
    groups_ = outputs / rows_;
    parameters_ = rows_ * (inputs_ + 1);
    const Upper longest(features.norm_bound()), one(1), most(static_cast<double>(most_records_));
    norm_ = sqrt(longest * longest + one);
    gradient_ = slope_of(settings) * norm_;
    effective_records_ = (most + one) * (most + one) / (4 * static_cast<double>(most_records_));
}

Upper ConvexBounds::impulse(Relation relation) const {
    return relation == Relation::substitute ? Upper(2) * gradient_ : gradient_;
}

Upper ConvexBounds::pull() const {
    return effective_records_ * curvature_ * norm_ * norm_;
}

double ConvexBounds::largest_learning_rate() const {
    constexpr double below = 1 - 0x1p-40;  // what rounding here and in the check may come to
    return 2 / (2 * training_.l2 + pull().value() / normaliser_) * below;
}

// Rates never rise, so the first step is the longest.
void ConvexBounds::require_short_steps() const {
    const double rate = training_.learning_rate_at(0);
    if ((share(0) * pull() + Upper(2) * Upper(rate * training_.l2)).value() <= 2) return;
    throw Error(
        ExitCode::usage,
        printed("with a learning rate of %.6g one record could move later steps further and further", rate),
        printed(
            "records of length %.4g allow training.learning_rate = %.6g: lower it, or features.norm_limit",
            norm_.value(), largest_learning_rate() * (1 - 1e-5)),
        "training.learning_rate");
}

Upper ConvexBounds::kept(std::int64_t step) const {
    const double decay = training_.learning_rate_at(step) * training_.l2;
    return min(Upper(1), Upper(std::nextafter(1 - decay, 2.0)));
}

Upper ConvexBounds::derivative_rounding(std::size_t logits, Upper size) const {
    const Upper columns = Upper::of_count(inputs_ + 4);  // (p + 1) / (1 - (p + 1) u) and more
    return sqrt(Upper::of_count(logits)) * Upper(logit_rounding) + columns * Upper(0x1p-53) * norm_ * size;
}

Upper ConvexBounds::record_rounding(Upper size) const {
    const Upper derivative =
        derivative_rounding(rows_, size) + sqrt(Upper::of_count(rows_)) * Upper(odd_rounding);
    const Upper grid = sqrt(Upper::of_count(parameters_)) * Upper(unit_) / 2;
    if (!training_.weighs_rows()) return norm_ * derivative + grid;
    // Each row meets the grid, its derivative a weight (models/mathematics.md, rows of a person).
    const Upper rows = Upper::of_count(static_cast<std::size_t>(training_.most_rows()));
    return norm_ * derivative + Upper(0x1p-52) * gradient_ + rows * grid;
}

Upper ConvexBounds::rounding(std::int64_t step, Upper size) const {
    const Upper root = sqrt(Upper::of_count(parameters_));
    const Upper sums = effective_records_ * record_rounding(size) + root * Upper(unit_) / 2;
    return share(step) * sums + root * Upper(parameter_unit);
}

Upper ConvexBounds::size() const {
    const Upper limit = sqrt(Upper::of_count(parameters_)) * Upper(box_);
    Upper size, largest;
    for (std::int64_t step = 0; step < steps(); ++step) {
        size = min(limit,
                   kept(step) * size + share(step) * effective_records_ * gradient_ + rounding(step, size));
        largest = max(largest, size);
    }
    return largest;
}

}  // namespace holdfast
