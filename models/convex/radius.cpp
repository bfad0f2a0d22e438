#include "models/convex/radius.hpp"

#include "models/convex/convex_bounds.hpp"
#include "models/training/iterate_average.hpp"

namespace holdfast {
namespace {

/// How far apart the results of a group are, in parameter values. What enters the parameters in step s
/// reaches the result by the factor C_s = w_s + (1 - alpha_(s+1) lambda) C_(s+1), w_s the weight of the
/// iterate behind the step.
Upper moved(const ConvexBounds& bounds, const Settings& settings, Upper impulse, Upper size) {
    const std::int64_t averaged = averaged_steps(settings.convex.average, bounds.steps()),
                       first_averaged = bounds.steps() - averaged, batches = settings.training.batches;
    const Upper weight = averaged == 1 ? Upper(1) : Upper(1) / static_cast<double>(averaged);
    Upper reach, epochs, greatest, rounding;
    for (std::int64_t step = bounds.steps() - 1; step >= 0; --step) {
        reach = bounds.kept(step + 1) * reach;
        if (step >= first_averaged) reach = reach + weight;
        greatest = max(greatest, bounds.share(step) * reach);
        rounding = rounding + bounds.rounding(step, size) * reach;
        if (step % batches != 0) continue;
        epochs = epochs + greatest;
        greatest = Upper();
    }
    const Upper whole_units = sqrt(Upper::of_count(bounds.parameters())) * Upper(parameter_unit);
    return impulse * epochs + Upper(2) * rounding + (averaged > 1 ? whole_units : Upper());
}

Rational in_units(Upper value) {
    return value.rational() * Rational(power_of_two(50));
}

}  // namespace

ConvexRadius convex_radius(const Settings& settings, const FeatureMap& features, Relation relation) {
    const ConvexBounds bounds(settings, features);
    bounds.require_short_steps();
    const Upper size = bounds.size(), two(2);
    const Upper impulse = relation == Relation::substitute ? two * bounds.gradient() : bounds.gradient();
    const Upper group = moved(bounds, settings, impulse, size);
    const bool one_logit = info_of(settings.network.resolved_loss()).one_logit;
    const Upper rows = one_logit ? Upper(1) : bounds.groups() == 1 ? sqrt(two) : two;
    const Upper all = bounds.groups() == 1 ? group : sqrt(Upper::of_count(bounds.groups())) * group;
    const Upper whole_units = sqrt(Upper::of_count(bounds.parameters())) * Upper(parameter_unit);
    return {in_units(all), in_units(one_logit ? group : rows * group), in_units(size + whole_units)};
}

}  // namespace holdfast
