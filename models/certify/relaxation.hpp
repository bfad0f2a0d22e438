#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/base/arithmetic.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// Certificates of one box of parameters by linear relaxation (CROWN; Zhang et al. 2018, here over the
/// weights and not over the input; models/mathematics.md, relaxation). Intervals bound every unit on its own;
/// of a network with two hidden layers or more, units of the second share those of the first, which a
/// relaxation keeps: each margin is bounded below by one affine function of the first hidden layer.
///
/// Rounding is accounted for, so a certificate holds of the labels that the program computes; but bounds of
/// nested boxes need not nest. So it is for certificates of the owner, never for a release.
class Relaxation {
  public:
    /// Does it know more of such a network than intervals do? Dense, two hidden layers or more.
    static bool sharpens(const Network& network);

    /// Of a network that it sharpens; lower, upper: [network.parameters()]; precision: that of the program
    /// whose labels are certified.
    Relaxation(const Network& network, Precision precision, const std::int64_t* lower,
               const std::int64_t* upper);

    /// Does every point of the box answer `label`? record: what a network sees, [network.inputs()].
    bool certifies(std::size_t label, std::span<const double> record) const;

  private:
    /// [rows, columns] bounds of weights, rounded to nearest, and the greatest sizes; of each row the bias
    /// apart.
    struct Rows {
        std::size_t rows, columns;
        std::vector<double> lower, upper, size, bias_lower, bias_upper, bias_size;
        void add(const std::int64_t* least, const std::int64_t* greatest);
    };
    /// Of one record: of a hidden layer's units before ReLU, as exact functions of parameters and record, and
    /// how far the program's values may be from them.
    struct Units {
        std::vector<double> lower, upper, error;
    };
    struct Affine;
    struct Slopes;

    std::vector<Units> units_of(std::span<const double> record) const;
    double least(const Rows& rows, std::size_t row, bool negated, const std::vector<Units>& units,
                 Slopes& slopes) const;
    double least_of_all(const Rows& rows, std::size_t row, bool negated,
                        const std::vector<Units>& units) const;
    double error(const Rows& rows, std::size_t row, const Units& below) const;

    std::size_t classes_;
    double unit_roundoff_, least_normal_, limit_;
    std::vector<Rows> hidden_;
    Rows margins_, logits_;
};

/// `found` with the distances of labels made as much longer as relaxations of the levels prove. Of two
/// classes class_distances are those of the labels; of more they stay. queries: those that were asked.
Certificates sharpened(const Network& network, Precision precision, const Records& queries,
                       std::size_t levels, const LevelLoader& load, Certificates found);

}  // namespace holdfast
