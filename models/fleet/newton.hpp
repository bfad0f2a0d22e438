#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/fleet/fleet_file.hpp"

namespace holdfast {

/// What one Newton step says of the parameters without a record, as influence-function libraries do (Koh and
/// Liang 2017): theta_-i - theta = H^-1 g_i, of the loss on all records with the penalty l2 / 2 |theta|^2 a
/// record, H its Hessian and g_i the gradient of record i at N's parameters. An estimate of what
/// holdfast fleet trains: nothing of it is proved. In plain double arithmetic.
class NewtonEstimate {
  public:
    static constexpr std::size_t most_parameters = 2000;  ///< H is held as a matrix

    /// Why none is made of networks of these settings, in words; nothing: one is. It takes a network without
    /// hidden layers, a loss with a second derivative and a penalty: then the objective is strongly convex.
    static std::optional<std::string> missing(const Settings& settings, const Network& network);

    /// all: every record of the training, mapped, in any order; a_pass: by how many records, over a pass, the
    /// sums of gradients are divided (the public count, or that found).
    /// Error (input): a record that the fleet did without is not among them; H is singular to rounding.
    NewtonEstimate(const FleetReader& fleet, const Records& all, double a_pass);

    /// The 2-norm of the objective's gradient at N, a record: 0 where the training has converged.
    double gradient() const { return gradient_; }
    /// Of a mapped query and class c, what leaving out each record adds to N's lead in c, or of a regression
    /// to its answer. [left_out]
    std::vector<double> changes(const Records& queries, std::size_t query, std::size_t c) const;

  private:
    struct Place {
        std::vector<double> inputs;  ///< as the network sees them, 1 last
        std::vector<double> logits;
    };
    Place place(const Records& records, std::size_t i) const;
    /// Derivatives of the loss by the logits, and its second derivatives: [outputs], [outputs, outputs].
    void derivatives(const Place& at, double target, std::vector<double>& first,
                     std::vector<double>& second) const;

    Network network_;
    std::size_t classes_, outputs_, width_;  ///< width: of a row of parameters
    std::vector<double> parameters_;
    std::vector<double> steps_;  ///< [left_out, parameters]
    std::size_t left_out_;
    double gradient_ = 0;
};

}  // namespace holdfast
