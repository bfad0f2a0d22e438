#pragma once

#include <cstdint>
#include <vector>

#include "models/dpal/dpal_network.hpp"
#include "models/nets/network.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What a variant adds, all of it a function of the public seed: nothing here hides anything, as nothing of
/// it is private. `batch`: m, the public size of a batch.
class DpalNoise {
  public:
    DpalNoise(const Settings& settings, const Network& network, double batch);

    /// D_R = d (beta + 2), as the text counts it.
    double sensitivity() const { return sensitivity_; }
    /// chi_1/m and 2 chi_2/m, drawn once, of dpal and adlm; of others nothing.
    const LayerNoise& fixed() const { return fixed_; }
    /// chi_3/m, added to the coefficients of every class: of the last layer's inputs; empty: none.
    const std::vector<double>& labels() const { return labels_; }

    /// The noise of one draw of an answer; of a variant that draws none, fixed().
    LayerNoise of_answer(const std::vector<std::int64_t>& parameters, std::uint64_t draw) const;
    /// The noise of a panel of records of a step: fixed(), or each record's own.
    LayerNoise of_training(const std::vector<std::int64_t>& parameters, std::uint64_t step,
                           const std::uint64_t* ids, std::size_t count) const;

    /// The greatest size that 003's condition lb > e^(2 e_r) ub has, of a move `mu`; of pixel_dp and
    /// secure_sgd the greatest move by lb > e^(2e) ub + (1 + e^e) delta. 0: none.
    double size(const std::vector<std::int64_t>& parameters, double lower, double upper, double mu) const;
    /// How far Hoeffding's bounds are from the means of draws, all classes at once.
    double bound_of_means() const;

  private:
    double hidden_sigma(const std::vector<std::int64_t>& parameters) const;
    double gaussian_part(double e) const;

    const Settings& settings_;
    const Network& network_;
    double batch_, sensitivity_ = 0;
    LayerNoise fixed_;
    std::vector<double> labels_;
    std::vector<double> shares_;  ///< of secure_sgd: sqrt(K r_i) of each unit
};

/// (kappa + phi) of e_r: e_r (D_R/(m e1)) (1/D^x + 2/D^h), D^x = mu d^2, D^h = sqrt(beta) |theta_1|_inf, the
/// largest 1-norm of theta_1's rows. counted: d and beta; theta: [out, in + 1] of the first layer, parameter
/// units; scale: D_R/(m e1).
double dpal_size(double e_r, double scale, double mu, LayerShape counted, LayerShape first,
                 const std::int64_t* theta);

}  // namespace holdfast
