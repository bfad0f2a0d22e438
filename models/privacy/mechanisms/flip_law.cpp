#include "models/privacy/mechanisms/flip_law.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

class FlipLaw final : public OutcomeLaw {
  public:
    FlipLaw(FlipTable table, int classes, DistanceUsed used)
        : table_(std::move(table)), classes_(classes), used_(used) {}

    std::vector<Rational> exact_law(const Evidence& evidence) const override {
        const Rational each = fraction(entry(evidence), 128);
        std::vector<Rational> result(static_cast<std::size_t>(classes_), each);
        result[static_cast<std::size_t>(evidence.label)] = 1 - each * (classes_ - 1);
        return result;
    }
    std::vector<double> law(const Evidence& evidence) const override {
        return to_doubles(exact_law(evidence));
    }
    int draw(const Evidence& evidence, RandomBits& bits) const override {
        const Word128 uniform = draw_128_bits(bits), others = static_cast<Word128>(classes_ - 1);
        // Below others * entry, the remainder is uniform: that range is a multiple of `others` long.
        const int moved = (evidence.label + 1 + static_cast<int>(uniform % others)) % classes_;
        const int flip = uniform < others * entry(evidence) ? 1 : 0;
        return flip * moved + (1 - flip) * evidence.label;
    }

  private:
    Word128 entry(const Evidence& evidence) const {
        const std::int64_t distance = used_ == DistanceUsed::stable   ? evidence.distance
                                      : used_ == DistanceUsed::sparse ? evidence.sparse_distance
                                                                      : 0;
        return entry_at(table_, distance);
    }
    FlipTable table_;
    int classes_;
    DistanceUsed used_;
};

}  // namespace

std::unique_ptr<const OutcomeLaw> make_flip_law(FlipTable table, int classes, DistanceUsed used) {
    return std::make_unique<FlipLaw>(std::move(table), classes, used);
}

FlipTable least_flip_table(const Integer& first, const Rational& epsilon, const Rational& delta, int classes,
                           std::int64_t cap) {
    const Rational scale(power_of_two(128)), allowance = scale * delta;
    const Rational growth = exp_lower(epsilon), decay = exp_upper(Rational(-epsilon));
    const int others = classes - 1;
    ensure(Rational(first) <= growth * (scale - Rational(first) * others),
           "2^128 leaves room for rounding the first entry up");
    std::vector<Integer> entries{first};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Rational stay = scale - Rational(entry) * others;
        const Integer by_others = ceil(decay * (Rational(entry) - allowance / others));
        const Integer by_label = ceil((scale - growth * stay - allowance) / others);
        const Integer next = std::max({Integer(0), by_others, by_label});
        if (next == entry) break;  // the recursion has reached its fixed point
        entries.push_back(next);
    }
    return to_words(entries);
}

FlipTable binary_table(const Rational& epsilon, const Rational& delta, std::int64_t cap,
                       const std::function<Rational(std::int64_t)>& upper) {
    const Rational scale(power_of_two(128)), allowance = scale * delta, decay = exp_upper(Rational(-epsilon));
    const Integer half = power_of_two(127);
    // At h = 0 the label may be either: 1 - P <= e^eps P + delta.
    const Integer least = ceil(scale * (1 - delta) / (1 + exp_lower(epsilon)));
    std::vector<Integer> entries{std::min(half, std::max(least, ceil(scale * upper(0))))};
    while (static_cast<std::int64_t>(entries.size()) <= last_entry(cap)) {
        const Integer& entry = entries.back();
        const Integer floor_of_next = std::max(Integer(0), ceil(decay * (Rational(entry) - allowance)));
        if (floor_of_next >= entry) break;
        const Rational ideal = scale * upper(static_cast<std::int64_t>(entries.size()));
        entries.push_back(std::min(entry, std::max(floor_of_next, ceil(ideal))));
    }
    return to_words(entries);
}

}  // namespace holdfast
