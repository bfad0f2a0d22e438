#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/ops/clip.hpp"
#include "models/convex/upper.hpp"
#include "models/nets/feature_map.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What is public of a convex run and decides how far a record moves it, each to the safe side
/// (models/mathematics.md, convex step). Rows of parameters whose gradients depend on one another are a
/// group: all of them for cross_entropy, one alone for a loss that is a sum over the logits; what is said of
/// gradients and parameters is of one group.
class ConvexBounds {
  public:
    /// Errors (usage): the number of records is not stated; a step longer than its lemma allows, with the
    /// largest learning rate that it does allow.
    ConvexBounds(const Settings& settings, const FeatureMap& features);

    std::int64_t steps() const { return training_.steps(); }
    double normaliser() const { return normaliser_; }            ///< B
    std::int64_t most_records() const { return most_records_; }  ///< M
    std::size_t groups() const { return groups_; }
    std::size_t parameters() const { return parameters_; }  ///< of a group
    Upper norm() const { return norm_; }                    ///< R: |(phi, 1)|_2 of no record exceeds it
    Upper gradient() const { return gradient_; }            ///< c R: the 2-norm of no record's gradient
    Upper impulse(Relation relation) const;  ///< how far one record moves a batch's gradient sum
    /// The share of a step's gradient sum in the parameters, alpha_t / B: what the optimiser multiplies by.
    Upper share(std::int64_t step) const { return Upper(training_.learning_rate_at(step) / normaliser_); }
    Upper kept(std::int64_t step) const;  ///< 1 - alpha_t lambda
    /// What the derivatives of a record by this many logits are off, together, at parameters of at most this
    /// size.
    Upper derivative_rounding(std::size_t logits, Upper size) const;
    /// |integers of a record - its exact gradient|_2.
    Upper record_rounding(Upper size) const;
    /// |computed step - exact step|_2 where the parameters before it have a 2-norm of at most `size`.
    Upper rounding(std::int64_t step, Upper size) const;
    /// The 2-norm of no parameters on the way exceeds it.
    Upper size() const;
    double unit() const { return unit_; }  ///< of the gradient grid

    /// Of the first step, the longest, that its lemma allows.
    double largest_learning_rate() const;
    /// Error (usage): a longer step, with the largest learning rate that is allowed.
    void require_short_steps() const;

  private:
    Upper pull() const;  ///< N b R^2: how fast a batch's gradient changes at most

    TrainingSettings training_;
    double box_, normaliser_;
    std::int64_t most_records_;
    std::size_t inputs_, rows_, groups_, parameters_;
    Upper effective_records_, norm_, gradient_, curvature_;
    double unit_;  ///< of the gradient grid
};

/// M, as stated or by default. Error (usage): the number of records is not stated.
std::int64_t most_records_of(const Settings& settings);

/// The clip of a convex run: derivatives to convex.derivative_limit, features to what none exceeds, so that
/// nothing but the derivative is clipped; on a grid on which the sums of M records fit 62 bits.
Clip convex_clip(const Settings& settings, const FeatureMap& features);

}  // namespace holdfast
