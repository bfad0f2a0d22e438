// The least flip that is mu-Gaussian differentially private, for any number of classes; optimal among laws
// that treat the other classes alike. Two classes: flip with Phi(-mu (h + 1/2)).

#include <optional>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/bisection.hpp"
#include "models/privacy/mechanisms/flip_law.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

/// The greatest x in [low, high] of which `holds`, to 2^-64; it does of low, and not beyond high. `nearly`,
/// of long doubles, tells it to 2^-44.
template <typename Holds, typename Nearly>
Rational greatest(Rational low, Rational high, const Holds& holds, const Nearly& nearly) {
    const auto above = [](unsigned long bits) {
        return [width = Rational(1, power_of_two(bits))](const Rational& left, const Rational& right) {
            return right - left > width;
        };
    };
    halve_by_guess(low, high, above(44), holds, nearly);
    halve(low, high, above(64), holds);
    return low;
}

/// Some y a little below x with Phi(-y) >= p; none where it would lie 1 below.
std::optional<Rational> a_little_below(const Rational& x, const Rational& p) {
    for (unsigned long bits = 112; bits > 0; bits -= 8) {
        Rational y = x - Rational(1, power_of_two(bits));
        if (normal_tail_lower(y) >= p) return y;
    }
    return std::nullopt;
}

/// The recursion of models/privacy/mathematics.md, stable Gauss: entries of each other class, `others` of
/// them. Beside an entry goes a y with Phi(-y) >= the probability of moving at all, so that the next may be
/// Phi(-y
/// - mu).
FlipTable gauss_table(const Rational& mu, int others, std::int64_t cap) {
    const Rational scale(power_of_two(128));
    const auto moving = [&](const Integer& entry) { return Rational(Rational(entry) * others / scale); };
    // Beyond mu + 5 the label of a neighbour would be likelier than 4095 others together.
    const Rational t = greatest(
        mu / 2, mu + 5,
        [&](const Rational& x) { return others * normal_tail_lower(x) >= normal_tail_upper(mu - x); },
        [&](long double x) { return others * near_normal_tail(x) >= near_normal_tail(mu.get_d() - x); });
    std::vector<Integer> entries{ceil(scale * normal_tail_upper(t))};
    const Rational first = moving(entries.front());
    Rational y = greatest(
        Rational(-5), t, [&](const Rational& x) { return normal_tail_lower(x) >= first; },
        [&](long double x) { return near_normal_tail(x) >= first.get_d(); });
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Rational x = y + mu;
        const Integer next = ceil(scale * normal_tail_upper(x) / others);
        if (next >= entries.back()) break;
        entries.push_back(next);
        const std::optional<Rational> below = a_little_below(x, moving(next));
        if (!below) break;  // where an entry is a few units, the last one serves all greater distances
        y = *below;
    }
    return to_words(entries);
}

std::unique_ptr<const OutcomeLaw> stable_gauss_law(const LawParameters& p) {
    return make_flip_law(gauss_table(p.mu, p.classes - 1, p.cap), p.classes, DistanceUsed::stable);
}

}  // namespace

extern constinit const MechanismInfo stable_gauss{
    .name = "stable_gauss",
    .law =
        "keep the label as mu-Gaussian privacy allows, mu of (eps, delta); two classes: flip with Phi(-mu (h "
        "+ 1/2)); for many answers",
    .takes_delta = true,
    .needs_delta = true,
    .gaussian = true,
    .condition = nested_distances,
    .make_law = stable_gauss_law,
};

}  // namespace holdfast::mechanisms
