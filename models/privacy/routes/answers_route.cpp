#include "models/privacy/routes/answers_route.hpp"

#include <cmath>
#include <map>

#include "models/privacy/composition.hpp"
#include "models/privacy/session/total_route.hpp"

namespace holdfast {
namespace {

// What a mechanism takes (MechanismParameters).
constexpr double least_each = 1e-6, greatest_amount = 1000, least_delta_each = 1e-30;

/// A double whose shortest decimal is no more than total/answers.
double even_share(const Rational& total, std::int64_t answers) {
    const Rational share = total / as_rational(answers);
    double value = share.get_d();
    while (value > 0 && decimal_value(value, "budget") > share) value = std::nextafter(value, 0.0);
    return value;
}

double taken(double amount, double least) {
    return amount < least ? 0 : amount;
}

}  // namespace

AnswerShares::AnswerShares(const Rational& epsilon, const Rational& delta, std::int64_t answers)
    : pure_epsilon(taken(epsilon_for_answers(epsilon, delta, answers), least_each)),
      epsilon_each(taken(even_share(epsilon, answers), least_each)),
      delta_each(taken(even_share(delta, answers), least_delta_each)),
      mu(delta == 0 ? 0 : taken(mu_for_answers(epsilon, delta, answers), least_each)) {}

double expected_accuracy(const Mechanism& mechanism, const EvidenceTable& evidence) {
    std::vector<std::vector<double>> laws;
    std::map<std::vector<std::int64_t>, std::size_t> of_votes;  // all that those see which add noise to them
    for (const Evidence& distinct : evidence.distinct()) {
        if (mechanism.info().needs_votes) {
            const auto [known, fresh] = of_votes.try_emplace(distinct.votes, laws.size());
            laws.push_back(fresh ? mechanism.law(distinct) : laws[known->second]);
        } else {
            laws.push_back(mechanism.law(distinct));
        }
    }
    return evidence.mean(laws);
}

double assured_accuracy(const Mechanism& mechanism, const EvidenceTable& evidence) {
    std::vector<std::vector<double>> laws;
    for (const Evidence& distinct : evidence.distinct()) {
        const auto label = static_cast<std::size_t>(distinct.label);
        std::vector<double>& law = laws.emplace_back(mechanism.outcomes());
        if (distinct.distance >= 1) law[label] = mechanism.law(distinct)[label];
    }
    return evidence.mean(laws);
}

const Mechanism& MadeMechanisms::of(const MechanismInfo& info, const MechanismParameters& parameters) {
    std::unique_ptr<const Mechanism>& made =
        made_[{&info, parameters.epsilon, parameters.delta, parameters.mu, parameters.classes,
               parameters.members, parameters.threshold}];
    if (!made || made->parameters().cap < parameters.cap)
        made = std::make_unique<const Mechanism>(info.name, parameters);
    return *made;
}

const AnswerShares& MadeMechanisms::shares(const Rational& epsilon, const Rational& delta,
                                           std::int64_t answers) {
    const auto found = shares_.find({epsilon, delta, answers});
    if (found != shares_.end()) return found->second;
    return shares_.emplace(std::tuple(epsilon, delta, answers), AnswerShares(epsilon, delta, answers))
        .first->second;
}

AnswersFigure answers_accuracy(const MechanismInfo& info, const MechanismParameters& public_sizes,
                               const EvidenceTable& evidence, const AnswerShares& shares,
                               MadeMechanisms& made) {
    AnswersFigure best;
    const auto consider = [&](double epsilon, double delta, double mu) {
        MechanismParameters parameters = public_sizes;
        parameters.epsilon = std::min(epsilon, greatest_amount);
        parameters.delta = delta;
        parameters.mu = std::min(mu, greatest_amount);
        const double accuracy = expected_accuracy(made.of(info, parameters), evidence);
        if (accuracy > best.accuracy) best = {accuracy, parameters.epsilon, delta, parameters.mu};
    };
    if (info.gaussian) {
        if (shares.mu > 0) consider(0, 0, shares.mu);
        return best;
    }
    if (!info.needs_delta && shares.pure_epsilon > 0) consider(shares.pure_epsilon, 0, 0);
    if (info.takes_delta && shares.epsilon_each > 0 && shares.delta_each > 0)
        consider(shares.epsilon_each, shares.delta_each, 0);
    return best;
}

}  // namespace holdfast
