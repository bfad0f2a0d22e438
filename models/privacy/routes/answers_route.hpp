#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "models/privacy/evidence_table.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

/// What so many answers may cost each, of one budget, by every composition that a mechanism may have. 0: so
/// little that no mechanism takes it.
struct AnswerShares {
    AnswerShares(const Rational& epsilon, const Rational& delta, std::int64_t answers);

    double pure_epsilon;  ///< of pure mechanisms: the least composition at delta
    double epsilon_each;  ///< with delta_each: of mechanisms that take a delta, by sums
    double delta_each;
    double mu;  ///< of Gaussian ones: the budget's mu over sqrt(answers)
};

/// Expected accuracy of a mechanism where each answer may cost so much, and what each then costs.
struct AnswersFigure {
    double accuracy = 0;  ///< 0 where the budget does not reach that far: all are refused
    double epsilon = 0, delta = 0, mu = 0;
};

/// Mechanisms that were made, and shares: tables of the same parameters are computed once.
class MadeMechanisms {
  public:
    /// One of these parameters and no smaller cap, whose law of evidence within their cap is theirs.
    const Mechanism& of(const MechanismInfo& info, const MechanismParameters& parameters);
    const AnswerShares& shares(const Rational& epsilon, const Rational& delta, std::int64_t answers);

  private:
    using Key =
        std::tuple<const MechanismInfo*, double, double, double, int, std::int64_t, std::optional<double>>;
    std::map<Key, std::unique_ptr<const Mechanism>> made_;
    std::map<std::tuple<Rational, Rational, std::int64_t>, AnswerShares> shares_;
};

/// By the better of the compositions that the mechanism has. `public_sizes`: classes, cap and members.
AnswersFigure answers_accuracy(const MechanismInfo& info, const MechanismParameters& public_sizes,
                               const EvidenceTable& evidence, const AnswerShares& shares,
                               MadeMechanisms& made);

/// Mean probability that a released label is the true one: exact, nothing is drawn.
double expected_accuracy(const Mechanism& mechanism, const EvidenceTable& evidence);
/// Of evidence by distances of queries that move: a released label is the true one at least so often,
/// wherever they do (models/mathematics.md, joint distance). Of a mechanism that asks for distances alone.
double assured_accuracy(const Mechanism& mechanism, const EvidenceTable& evidence);

}  // namespace holdfast
