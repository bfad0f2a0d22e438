#include "models/convex/radius.hpp"

#include "models/convex/convex_bounds.hpp"
#include "models/convex/convex_reach.hpp"

namespace holdfast {
namespace {

/// How far apart the results of a group are, in parameter values.
Upper moved(const ConvexBounds& bounds, const Settings& settings, Upper impulse, Upper size) {
    Upper epochs, greatest, rounding;
    ConvexReach reach(bounds, settings);
    for (std::int64_t step = bounds.steps() - 1; step >= 0; --step) {
        const Upper share = bounds.share(step) * reach.before(step);
        greatest = max(greatest, share);
        rounding = rounding + bounds.rounding(step, size) * reach.factor();
        if (step % settings.training.batches != 0) continue;
        epochs = epochs + greatest;
        greatest = Upper();
    }
    return impulse * epochs + Upper(2) * rounding + reach.average_rounding();
}

Rational in_units(Upper value) {
    return value.rational() * Rational(power_of_two(50));
}

}  // namespace

ConvexRadius convex_radius(const Settings& settings, const FeatureMap& features, Relation relation) {
    const ConvexBounds bounds(settings, features);
    bounds.require_short_steps();
    const Upper size = bounds.size(), two(2);
    const Upper group = moved(bounds, settings, bounds.impulse(relation), size);
    const bool one_logit = info_of(settings.network.resolved_loss()).one_logit;
    const Upper rows = one_logit ? Upper(1) : bounds.groups() == 1 ? sqrt(two) : two;
    const Upper all = bounds.groups() == 1 ? group : sqrt(Upper::of_count(bounds.groups())) * group;
    const Upper whole_units = sqrt(Upper::of_count(bounds.parameters())) * Upper(parameter_unit);
    return {in_units(all), in_units(group), in_units(one_logit ? group : rows * group),
            in_units(size + whole_units)};
}

}  // namespace holdfast
