#include "models/convex/convex_distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/certify/answers.hpp"
#include "models/certify/margins.hpp"
#include "models/convex/mapped_length.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_cap = std::int64_t{1} << 20;
/// Far above what underflow adds to any chain of 2^20 products, far below any margin that decides.
constexpr double underflow = 0x1p-900;

/// `beaten`: how many levels leave a gap as it is.
template <typename Beaten>
void add_to(Certificates& result, const std::vector<double>& logits, std::int64_t cap, Beaten beaten) {
    const std::size_t classes = logits.size(),
                      label = greatest_logit(classes, [&](std::size_t c) { return logits[c]; });
    std::int64_t nearest = cap + 1;
    for (std::size_t j = 0; j < classes; ++j) {
        const std::int64_t levels = beaten(logits[label] - logits[j]);
        if (j != label) nearest = std::min(nearest, levels);
        result.class_distances.push_back(levels);
    }
    result.labels.push_back(static_cast<std::int32_t>(label));
    result.distances.push_back(std::max<std::int64_t>(0, nearest - 1));
}

}  // namespace

std::int64_t steps_below(double gap, double step, std::int64_t most) {
    // A quotient of at most k rounds to no more than k, one above it to no less: only a last step may be
    // missed. The sign of a rounded fma is that of the exact one.
    const auto count = static_cast<std::int64_t>(std::min(std::ceil(gap / step), static_cast<double>(most)));
    const bool one_more = count < most && std::fma(static_cast<double>(count), step, -gap) < 0;
    return count + (one_more ? 1 : 0);
}

// Of two classes the margin's row is a difference of two, no longer than twice a row; of more, two logits
// make a gap.
ConvexDistances::ConvexDistances(const Network& network, const ConvexRadius& radius) : network_(network) {
    const Rational unit(1, power_of_two(50));
    const Rational chain =
        8 * as_rational(static_cast<std::int64_t>(network.inputs() + 4)) / power_of_two(53);
    rounding_ = round_up(chain * radius.row * unit);
    margin_step_ = round_up((radius.margin + chain * radius.row) * unit);
    const Rational longest = (network.outputs() == 1 ? 1 : 2) * radius.row * unit * (1 + chain);
    const Integer cap = floor(longest / Rational(margin_step_));
    cap_ = cap < greatest_cap ? cap.get_si() : greatest_cap;
}

double ConvexDistances::step_of(Upper length) const {
    return (Upper(margin_step_) * length + Upper(underflow)).value();
}

Certificates ConvexDistances::of(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                 const Records& queries) const {
    return counted(backend, parameters, queries, cap_,
                   [&](Upper length, double gap) { return steps_below(gap, step_of(length), cap_ + 1); });
}

Certificates ConvexDistances::of_removals(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                          const std::vector<std::int64_t>& radii,
                                          const Records& queries) const {
    const Upper rows = network_.outputs() == 1 ? Upper(1) : sqrt(Upper(2));
    std::vector<Upper> moved{Upper(0)};
    for (std::size_t k = 1; k < radii.size(); ++k) {
        const Upper units(std::nextafter(static_cast<double>(radii[k]), INFINITY));
        moved.push_back(min(units * Upper(parameter_unit) * rows + Upper(rounding_),
                            Upper(static_cast<double>(k)) * Upper(margin_step_)));
    }
    const auto levels_below = [&](Upper length, double gap) {
        const auto reaches = [&](Upper margin) {
            return (margin * length + Upper(underflow)).value() >= gap;
        };
        const auto first = std::find_if(moved.begin() + 1, moved.end(), reaches);
        return gap > 0 ? static_cast<std::int64_t>(first - moved.begin()) : 0;
    };
    return counted(backend, parameters, queries, static_cast<std::int64_t>(radii.size()) - 1, levels_below);
}

Certificates ConvexDistances::counted(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                      const Records& queries, std::int64_t cap,
                                      const CountLevels& levels_below) const {
    const std::vector<double> computed = deciding_values(network_, backend, parameters, queries);
    const auto classes = static_cast<std::ptrdiff_t>(network_.classes());
    Certificates result;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const auto first = computed.begin() + static_cast<std::ptrdiff_t>(q) * classes;
        const std::vector<double> logits(first, first + classes);
        const Upper length = mapped_length(network_, queries.features, q);
        add_to(result, logits, cap, [&](double gap) { return levels_below(length, gap); });
    }
    return result;
}

}  // namespace holdfast
