#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/ops/engine.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// Which label a network gives, and which labels a box of networks may give.
///
/// Two classes are decided by the sign of one number: the margin z_0 - z_1, computed as one affine function
/// of the last hidden layer with parameters theta_0 - theta_1 (exact in integers); with one logit z it is -z.
///
/// More classes are decided by their computed logits: the greatest wins, ties go to the least index. A box is
/// bounded by the margins z_a - z_b all the same, which is tighter than subtracting the bounds of two logits.
/// But a computed margin is not the difference of computed logits: each is a chain of n + 1 roundings, so
/// margins rounded one by one need not be transitive, and a label could be "beaten" at its own point. So a
/// margin counts only where it exceeds what rounding can do:
///
/// Lemma (margins). With u the unit roundoff, S_c = |b_c| + sum_j |w_cj| z_j and m the computed margin of a
/// over b: m > 4 (n + 4) u (S_a + S_b) + least normal number implies computed z_a > computed z_b. Proof:
/// weights are rounded once, each chain n times, so computed margin and logits differ from the exact ones by
/// at most g (S_a + S_b), g S_a and g S_b, g = (n + 1) u / (1 - (n + 1) u), and 2 g, with what rounding takes
/// off S itself, is below 4 (n + 4) u while (n + 4) u <= 1/8; what underflow adds is below the least normal
/// number for n <= 2^20. Beyond either nothing is certified. The bound grows with the box: isotony stays.
/// Tested: margins_test finds cycles of raw margins and none among these.
///
/// In fixed precision weights are rounded to their grid before they are subtracted, within half its limit, so
/// that a margin's row is on the grid: the exact sums of margin, logits and S_c then obey m = z_a - z_b and
/// |z_c| <= S_c, and each is rounded once to float, by less than 4 (n + 4) u of S.
class MarginRows {
  public:
    /// From the box of a whole network, [parameters]; the same pointer twice for a point.
    /// precision: that they will be computed in.
    MarginRows(const Network& network, Precision precision, const std::int64_t* lower,
               const std::int64_t* upper);
    /// Rows of [in + 1] in place of the last layer: a margin for each pair a < b; with more than two classes,
    /// [-|w_c|, |w_c|] for each class (its upper bound is S_c), and at a point each class's logit.
    LastLayer layer() const;
    /// Instead: each class's logit, of more than two classes as their margins have them.
    static MarginRows of_logits(const Network& network, Precision precision, const std::int64_t* lower,
                                const std::int64_t* upper);

  private:
    struct Logits {};
    MarginRows(const Network& network, Precision precision, const std::int64_t* lower,
               const std::int64_t* upper, Logits);

    std::size_t columns_;
    bool point_;  ///< margins of a point; not of a box whose ends have met: its hidden layers may be a box
    std::vector<std::int64_t> lower_, upper_;
};

/// The class of the greatest computed logit, of several the least: the label of a point with more than two
/// classes. logit(c): its value.
template <typename Logit>
std::size_t greatest_logit(std::size_t classes, Logit logit) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) best = logit(c) > logit(best) ? c : best;
    return best;
}

/// What MarginRows amount to for some records, in one box; answers for record r of the block. Comparisons are
/// strict, so NaN decides and certifies nothing.
class Margins {
  public:
    /// inputs: of the last layer; precision: that the values were computed in.
    Margins(std::size_t classes, std::size_t inputs, Precision precision, const OutputBlock& values);

    /// Lower bound of the computed margin of a over b.
    double least(std::size_t a, std::size_t b, std::size_t r) const {
        return a < b ? values_.lower[pair(a, b) * values_.stride + r]
                     : -values_.upper[pair(b, a) * values_.stride + r];
    }
    /// Every run in the box puts a before b.
    bool surely_before(std::size_t a, std::size_t b, std::size_t r) const;
    /// The label of a point; only at a point. No class is surely before it.
    std::size_t winner(std::size_t r) const;
    /// Every run in the box answers c: it is surely before every other class.
    bool certified(std::size_t c, std::size_t r) const {
        return classes_ == 2 ? least(c, 1 - c, r) > 0 : certified_among_many(c, r);
    }
    /// No run in the box answers j: some class is surely before it.
    bool beaten(std::size_t j, std::size_t r) const;

  private:
    friend class Verdicts;
    bool certified_among_many(std::size_t c, std::size_t r) const;
    std::size_t pair(std::size_t a, std::size_t b) const {
        return a * (2 * classes_ - a - 1) / 2 + (b - a - 1);
    }
    double magnitude(std::size_t c, std::size_t r) const {
        return values_.upper[(pairs() + c) * values_.stride + r];
    }
    double logit(std::size_t c, std::size_t r) const {
        return values_.lower[(pairs() + classes_ + c) * values_.stride + r];
    }
    std::size_t pairs() const { return classes_ * (classes_ - 1) / 2; }

    std::size_t classes_, inputs_;
    Precision precision_;
    OutputBlock values_;
};

/// Margins::certified() and beaten() of every class and record of a block, each pair of classes read once, in
/// the order it lies in memory: of many classes the margins are more than a cache holds.
class Verdicts {
  public:
    explicit Verdicts(const Margins& margins);
    bool certified(std::size_t c, std::size_t r) const { return certified_[c * stride_ + r] != 0; }
    bool beaten(std::size_t j, std::size_t r) const { return beaten_[j * stride_ + r] != 0; }

  private:
    template <typename Real>
    void compare(const Margins& margins);

    std::size_t stride_;
    std::vector<std::uint8_t> certified_, beaten_;  // [classes, stride]
};

}  // namespace holdfast
