// Propose, test, release: the label itself where a noisy distance is large enough, else nothing.

#include <algorithm>

#include "models/privacy/mechanisms/mechanism_info.hpp"
#include "models/privacy/mechanisms/probability_table.hpp"

namespace holdfast::mechanisms {
namespace {

/// The label is released with probability entry/2^128, otherwise nothing. Entries are rounded down, since at
/// h = 0 neighbours may have different labels and all of that probability is delta's.
ProbabilityTable release_table(const Rational& epsilon, const Rational& delta, std::int64_t cap) {
    const Rational scale(power_of_two(128)), half(1, 2);
    const Rational growth = exp_lower(epsilon), decay = exp_upper(Rational(-epsilon));
    const auto lower = [&](std::int64_t h) {  // P(h + Lap(1/eps) > ln(1/(2 delta))/eps)
        const Rational rising = delta * exp_lower(epsilon * Rational(h));
        return rising <= half ? rising : Rational(1 - exp_upper(-epsilon * Rational(h)) / (4 * delta));
    };
    std::vector<Integer> entries{floor(scale * std::min(delta, lower(0)))};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Integer ideal = floor(scale * lower(static_cast<std::int64_t>(entries.size())));
        const Integer by_release = floor(growth * Rational(entry));
        const Integer by_refusal = floor(scale - decay * (scale - Rational(entry)));
        entries.push_back(std::max(entry, std::min({ideal, by_release, by_refusal})));
    }
    return to_words(entries);
}

class ReleaseOrRefuseLaw final : public OutcomeLaw {
  public:
    ReleaseOrRefuseLaw(ProbabilityTable table, int classes) : table_(std::move(table)), classes_(classes) {}

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        std::vector<Rational> result(static_cast<std::size_t>(classes_) + 1, 0);
        result[static_cast<std::size_t>(evidence.label)] = fraction(entry_at(table_, evidence.distance), 128);
        result.back() = 1 - result[static_cast<std::size_t>(evidence.label)];
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        return to_doubles(exact_law(evidence));
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        return draw_128_bits(bits) < entry_at(table_, evidence.distance) ? evidence.label : refused;
    }

  private:
    ProbabilityTable table_;
    int classes_;
};

std::unique_ptr<const OutcomeLaw> ptr_law(const LawParameters& p) {
    return std::make_unique<ReleaseOrRefuseLaw>(release_table(p.epsilon, p.delta, p.cap), p.classes);
}

}  // namespace

extern constinit const MechanismInfo ptr{
    .name = "ptr",
    .law = "release if h + Lap(1/eps) > ln(1/(2 delta))/eps, else refuse",
    .takes_delta = true,
    .needs_delta = true,
    .may_refuse = true,
    .condition = nested_distances,
    .make_law = ptr_law,
};

}  // namespace holdfast::mechanisms
