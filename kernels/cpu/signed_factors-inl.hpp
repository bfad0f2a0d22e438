// Once for every instruction set, as Highway includes the file that includes this.
#if defined(HOLDFAST_SIGNED_FACTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HOLDFAST_SIGNED_FACTORS_INL
#undef HOLDFAST_SIGNED_FACTORS_INL
#else
#define HOLDFAST_SIGNED_FACTORS_INL
#endif

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/cpu/outer-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

/// Records whose factors have one sign, at one output, with their activations.
template <typename Real>
struct Part {
    const std::uint8_t* records;  // [count]
    std::size_t count;
    const Real* factors;  // [height]
    const Real* z;        // [height, Strip::width]

    HWY_INLINE Vec<Real> factor(std::size_t i) const { return hn::Set(reals<Real>, factors[records[i]]); }
    HWY_INLINE const Real* activations(std::size_t i) const { return z + records[i] * Strip<Real>::width; }
};

/// One bound of delta [out, height]. At each output the records of its factors above 0, and of those below:
/// sums of integers do not ask for an order, a factor of 0 adds nothing, and the sign of an entry is known.
template <typename Real>
class SignedFactors {
  public:
    SignedFactors(const Real* delta, std::size_t out) : delta_(delta), records_(out * height), counts_(out) {
        static_assert(height - 1 <= UINT8_MAX);
        for (std::size_t o = 0; o < out; ++o)
            counts_[o] = sort(delta + o * height, records_.data() + o * height);
    }

    HWY_INLINE Part<Real> positive(std::size_t output, const Real* z) const {
        return {records_.data() + output * height, counts_[output].positive, delta_ + output * height, z};
    }
    HWY_INLINE Part<Real> negative(std::size_t output, const Real* z) const {
        const std::size_t count = counts_[output].negative;
        return {records_.data() + (output + 1) * height - count, count, delta_ + output * height, z};
    }

  private:
    struct Counts {
        std::size_t positive = 0, negative = 0;
    };

    /// Without a branch on the signs, which no processor could foresee: a record is written to the next place
    /// of either sort, from the front and from the back, and the place is taken where the sign is right.
    static Counts sort(const Real* factors, std::uint8_t* records) {
        Counts counts;
        for (std::size_t r = 0; r < height; ++r) {
            records[counts.positive] = records[height - 1 - counts.negative] = static_cast<std::uint8_t>(r);
            counts.positive += factors[r] > 0 ? 1 : 0;
            counts.negative += factors[r] < 0 ? 1 : 0;
        }
        return counts;
    }

    const Real* delta_;
    std::vector<std::uint8_t> records_;
    std::vector<Counts> counts_;
};

/// The sums of an outer product with activations >= 0 in parts: entries >= 0, then entries <= 0.
template <typename Real>
class Parts {
  public:
    using Pair = std::array<Part<Real>, 2>;

    explicit Parts(const Outer<Real>& outer) : lower_(outer.delta_lower, outer.out) {
        if (!outer.point) upper_.emplace(outer.delta_upper, outer.out);
    }

    HWY_INLINE Pair least(std::size_t output, const Strip<Real>& z) const {
        return {lower_.positive(output, z.lower()), lower_.negative(output, z.upper())};
    }
    /// Not of a point.
    HWY_INLINE Pair greatest(std::size_t output, const Strip<Real>& z) const {
        return {upper_->positive(output, z.upper()), upper_->negative(output, z.lower())};
    }

  private:
    SignedFactors<Real> lower_;
    std::optional<SignedFactors<Real>> upper_;
};

/// Adds a part's entries at Columns vectors of columns.
template <Sign Of, typename Real, std::size_t Columns>
HWY_INLINE void add_part(const Elementwise<Real>& rule, const Part<Real>& part,
                         IntegerVec<Real> (&sums)[Columns]) {
    for (std::size_t i = 0; i < part.count; ++i) {
        const Vec<Real> factor = part.factor(i);
        const Real* z = part.activations(i);
        for (std::size_t c = 0; c < Columns; ++c)
            sums[c] = rule.template add<Of>(sums[c], factor, hn::Load(reals<Real>, z + c * lanes<Real>));
    }
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per instruction set
