#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/privacy/rational.hpp"

namespace holdfast {

// Who guesses whether a person was among those that a model was trained on: by likelihood ratios (Carlini et
// al. 2022), how well that goes, and how well it can go at most (models/privacy/mathematics.md, membership).

/// How sure a network is of a class, ln(p / (1 - p)) of its softmax, from its logits; of one logit, which is
/// class 1's over class 0. Finite.
double logit_of_confidence(std::span<const double> logits, std::size_t label);
/// ln p, of ln(p / (1 - p)).
double log_probability(double logit);

/// What the attacked network says of a person, and what shadow networks do that were trained with it, or
/// without.
struct Observed {
    double target = 0;
    std::vector<double> in = {}, out = {};
};

/// The greater, the rather a member. Offline: by how many deviations the network is surer than shadows
/// without the person are on average; online: the logarithm of the likelihood ratio of two normal laws, with
/// and without. A law has the mean of its shadows for this person, and one variance for all persons, that
/// about these means. All have some of each that is used.
std::vector<double> offline_scores(std::span<const Observed> persons);
std::vector<double> online_scores(std::span<const Observed> persons);

/// A figure, and where it lies but for the stated error.
struct Estimated {
    double value = 0, lowest = 0, highest = 1;
};
/// Clopper and Pearson's, each side wrong with half the error at most; of no trials [0, 1].
Estimated estimated_rate(std::uint64_t hits, std::uint64_t trials, const Rational& error);

/// Of the threshold that the asked part of the others exceeds at most.
struct RatePoint {
    double asked = 0;
    Estimated false_positives = {}, true_positives = {};
};
struct AttackResult {
    std::size_t members = 0, others = 0;
    /// Whether a member's score exceeds another's, of equals half; its interval by Hoeffding's bound of such
    /// a mean, of as many trials as there are members, or others if these are fewer.
    Estimated auc = {0.5, 0, 1};
    std::vector<RatePoint> points = {};
    std::vector<std::pair<double, double>> roc = {};  ///< false and true positives, both rising
};
/// Of finite scores, some of each.
AttackResult judged_attack(std::vector<double> members, std::vector<double> others,
                           std::span<const double> rates, const Rational& error);

/// What no attack's true positives exceed at so many false ones, where a person's presence is (epsilon,
/// delta)-private, or mu-GDP. Rounded up; 0 <= false_positives <= 1.
Rational true_positives_at_most(const Rational& epsilon, const Rational& delta,
                                const Rational& false_positives);
Rational true_positives_at_most(const Rational& mu, const Rational& false_positives);

}  // namespace holdfast
