// The law of the sampler, gone through bit by bit: all it can draw lies in boxes of random bits, whose masses
// are added without rounding and held against the normal law.

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <map>
#include <optional>

#include "models/privacy/big_float.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/rational.hpp"
#include "tests/support/normal_scripts.hpp"
#include "tests/support/scripted_bits.hpp"

namespace holdfast {
namespace {

using namespace test;

/// P(X > x) for X standard normal, to 200 bits.
Rational beyond(const Rational& x) {
    BigFloat two, value(x, MPFR_RNDN);
    mpfr_set_ui(two.get(), 2, MPFR_RNDN);
    mpfr_sqrt(two.get(), two.get(), MPFR_RNDN);
    mpfr_div(value.get(), value.get(), two.get(), MPFR_RNDN);
    mpfr_erfc(value.get(), value.get(), MPFR_RNDN);
    return value.rational() / 2;
}

/// The area under exp(-y^2/2), y >= 0, over that of all slots: the probability that a proposal is taken.
Rational probability_of_acceptance() {
    BigFloat area;
    mpfr_const_pi(area.get(), MPFR_RNDN);
    mpfr_div_ui(area.get(), area.get(), 2, MPFR_RNDN);
    mpfr_sqrt(area.get(), area.get(), MPFR_RNDN);
    const Rational of_slot = dyadic(HalfNormalSlots::height, HalfNormalSlots::height_bits + 4);
    return area.rational() / (of_slot * static_cast<unsigned long>(HalfNormalSlots::slots));
}

/// Goes through everything that a draw can meet, by boxes of positions and heights: the draws of a box are
/// alike if its corners are, since a point further right or further up is under the curve only if this one
/// is, and the noise does not fall with the position. Masses are multiples of 2^-52 below 1: sums of them are
/// exact in double.
class WholeLaw {
  public:
    explicit WholeLaw(double sigma) : noise_(sigma) {
        for (std::size_t column = 0; column < HalfNormalSlots::columns; ++column) {
            const std::uint64_t first = first_slot(column);
            for (std::size_t i = 0; i < slots().slots_of(column); ++i) {
                if (i < slots().whole_slots_of(column))
                    explore_whole({first + i, std::nullopt, 0, 0, 0}, 0x1p-12);
                else
                    explore({first + i, std::nullopt, 0, 0, 0}, 0x1p-12, 10);
            }
        }
        constexpr int seen = 8;
        for (int m = 0; m < seen; ++m) {
            for (std::uint64_t quarter = 0; quarter < 4; ++quarter)
                explore({tail_slot, tail_word(m, quarter), 0, 0, 0}, std::ldexp(1, -12 - m - 3), 8);
        }
        open += std::ldexp(1, -12 - seen);
    }

    std::map<std::int64_t, double> taken;  ///< mass of the boxes all of whose draws are this size
    double rejected = 0, open = 0;         ///< mass of boxes without a draw, and of those not told apart

  private:
    struct Box {
        std::uint64_t slot;
        std::optional<std::uint64_t> of_tail;
        int depth;
        std::uint64_t position, vertical;  // the first `depth` bits of each
    };
    struct Fate {
        bool known, under;
        std::int64_t size;
    };

    Fate fate(const Box& box, bool greatest) const {
        const std::uint64_t ones = greatest ? ~std::uint64_t{0} : 0;
        const auto corner = [&](std::uint64_t bits, int width) {
            const std::uint64_t rest = box.depth == 0 ? ones : ones >> box.depth;
            return ((box.depth == 0 ? 0 : bits << (64 - box.depth)) | rest) >> (64 - width);
        };
        const std::uint64_t position = corner(box.position, HalfNormal::position_bits);
        Script script;
        if (box.of_tail) script.push_back(*box.of_tail);
        script.push_back(corner(box.vertical, 64));
        try {
            ScriptedBits bits(script);
            Words words(bits, 1);
            if (!slots().under_curve(box.slot, position, words)) return {true, false, 0};
            script.insert(script.begin(), first_word(box.slot, position));
            ScriptedBits again(script);
            return {true, true, noise_.draw(again)};
        } catch (const ScriptedBits::RanOut&) {
            return {false, false, 0};
        }
    }
    void explore(const Box& box, double mass, int depth) {
        const Fate low = fate(box, false), high = fate(box, true);
        if (low.known && !low.under) {
            rejected += mass;
        } else if (low.known && high.known && high.under && low.size == high.size) {
            taken[low.size] += mass;
        } else if (box.depth == depth) {
            open += mass;
        } else {
            for (const std::uint64_t right : {0, 1}) {
                for (const std::uint64_t up : {0, 1}) {
                    explore({box.slot, box.of_tail, box.depth + 1, 2 * box.position + right,
                             2 * box.vertical + up},
                            mass / 4, depth);
                }
            }
        }
    }
    void explore_whole(const Box& box, double mass) {  // its heights do not matter
        const Fate low = fate(box, false), high = fate(box, true);
        if (low.known && high.known && low.size == high.size) {
            taken[low.size] += mass;
        } else if (box.depth == 36) {
            open += mass;
        } else {
            for (const std::uint64_t right : {0, 1})
                explore_whole({box.slot, {}, box.depth + 1, 2 * box.position + right, 0}, mass / 2);
        }
    }

    GaussianNoise noise_;
};

TEST(GaussianLaw, GoneThroughBitByBitItsLawIsTheRoundedNormal) {
    const Rational acceptance = probability_of_acceptance(), half(1, 2);
    for (const double sigma : {0x1p-4, 0.3, 1.0, 3.7, 50.5}) {
        const WholeLaw law(sigma);
        double all = law.rejected + law.open;
        for (const auto& [size, mass] : law.taken) all += mass;
        EXPECT_EQ(all, 1) << sigma;
        EXPECT_LT(law.open, 2e-4) << sigma;
        const auto last = static_cast<std::int64_t>(8 * sigma) + 1;
        for (std::int64_t size = 0; size <= last; ++size) {
            const Rational left = (size - half) / Rational(sigma), right = (size + half) / Rational(sigma);
            Rational expected = 2 * acceptance * (beyond(left) - beyond(right));
            if (size == 0) expected /= 2;
            const auto found = law.taken.find(size);
            const Rational least = found == law.taken.end() ? 0.0 : found->second;
            EXPECT_LE(least, expected) << sigma << ": " << size;
            EXPECT_LE(expected, least + law.open) << sigma << ": " << size;
        }
    }
}

}  // namespace
}  // namespace holdfast
