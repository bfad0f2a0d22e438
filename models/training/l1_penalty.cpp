#include "models/training/l1_penalty.hpp"

#include "models/training/update_rule.hpp"

namespace holdfast {

std::int64_t L1Penalty::units(std::int64_t step) const {
    return parameter_units(settings_.learning_rate_at(step) * settings_.l1);
}

void L1Penalty::before(std::int64_t step, std::span<std::int64_t> lower,
                       std::span<std::int64_t> upper) const {
    if (settings_.l1_step != L1Step::sign) return;
    const std::int64_t size = units(step);
    for (std::size_t p = 0; p < lower.size(); ++p) {
        const ParameterRange after = against_sign({lower[p], upper[p]}, size);
        lower[p] = after.lower;
        upper[p] = after.upper;
    }
}

void L1Penalty::before(std::int64_t step, std::span<std::int64_t> lower, std::span<std::int64_t> upper,
                       std::span<std::int64_t> lower_beside, std::span<std::int64_t> upper_beside) const {
    if (settings_.l1_step != L1Step::sign) return;
    const std::int64_t size = units(step);
    for (std::size_t p = 0; p < lower.size(); ++p) {
        // Greatest signs take the most. Of a point both ends are one: read before either is written.
        const std::int64_t least = lower_beside[p] - size * sign_of(upper[p]),
                           most = upper_beside[p] - size * sign_of(lower[p]);
        lower_beside[p] = within_limit(least);
        upper_beside[p] = within_limit(most);
    }
    before(step, lower, upper);
}

}  // namespace holdfast
