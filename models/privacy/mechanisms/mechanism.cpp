#include "models/privacy/mechanisms/mechanism.hpp"

#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"

namespace holdfast {
namespace {

// Below the least epsilon nothing of use is left; above the greatest nothing is private.
constexpr double least_epsilon = 1e-6, greatest_epsilon = 1000, least_delta = 1e-30;
constexpr int most_classes = 4096;
constexpr std::int64_t most_members = 1 << 20;

/// Of the amount per answer: epsilon and delta, or a mu.
void check_amount(const MechanismInfo& info, const MechanismParameters& parameters) {
    // Written so that NaN fails.
    if (parameters.mu != 0) {
        if (!info.gaussian) throw bad_option("mu", "not of this mechanism", "give epsilon and delta");
        if (!(parameters.mu >= least_epsilon && parameters.mu <= greatest_epsilon))
            throw bad_option("mu", "not in [1e-6, 1000]", "give the mu of one answer, such as 0.1");
        if (parameters.epsilon != 0 || parameters.delta != 0)
            throw bad_option("mu", "given beside epsilon or delta", "give one or the other");
        return;
    }
    if (!(parameters.epsilon >= least_epsilon && parameters.epsilon <= greatest_epsilon)) {
        throw bad_option("epsilon", "not in [1e-6, 1000]",
                         "give the privacy loss of one answer, such as 0.1");
    }
    if (!(parameters.delta == 0 || (parameters.delta >= least_delta && parameters.delta < 1))) {
        throw bad_option("delta", "neither 0 nor in [1e-30, 1)",
                         "give 0, or a value far below one over the number of records");
    }
    check_delta(info, parameters.delta);
}

void check_sizes(const MechanismParameters& parameters) {
    if (parameters.classes < 2 || parameters.classes > most_classes) {
        throw bad_option("classes", "not in [2, 4096]", "private release needs two classes or more");
    }
    if (parameters.cap < 0) throw bad_option("cap", "negative", "give the largest level K");
    if (parameters.members < 0 || parameters.members > most_members) {
        throw bad_option("members", "not in [0, 1048576]", "give the public number of ensemble members");
    }
}

Rational threshold_of(const MechanismInfo& info, const MechanismParameters& parameters) {
    const double threshold = parameters.threshold.value_or(default_threshold);
    if (parameters.threshold && !info.takes_threshold) {
        throw bad_option("threshold", std::string(info.name) + " answers whatever the votes are",
                         "leave it out or choose confident_argmax");
    }
    if (!(threshold >= 0 && threshold <= 1)) {
        throw bad_option("threshold", "not in [0, 1]", "give a public fraction of the members, such as 0.7");
    }
    return decimal_value(threshold, "threshold");
}

std::string number(double value) {
    return nlohmann::json(value).dump();
}

}  // namespace

Mechanism::Mechanism(const std::string& name, const MechanismParameters& parameters)
    : info_(&mechanism_info(name)), parameters_(parameters) {
    check_amount(*info_, parameters);
    check_sizes(parameters);
    // Of distances the parameters say nothing: draw() sees whether they are there.
    const AvailableEvidence available{parameters.classes, parameters.members > 0, true, true, true};
    if (const std::optional<Error> error = misfit(*info_, available)) throw *error;
    epsilon_ = decimal_value(parameters.epsilon, "epsilon");
    delta_ = decimal_value(parameters.delta, "delta");
    if (info_->gaussian)
        mu_ = parameters.mu > 0 ? decimal_value(parameters.mu, "mu") : gaussian_mu(epsilon_, delta_);
    law_ = info_->make_law({epsilon_, delta_, mu_, parameters.classes, parameters.cap, parameters.members,
                            threshold_of(*info_, parameters)});
}

std::size_t Mechanism::outcomes() const {
    return static_cast<std::size_t>(parameters_.classes) + (info_->may_refuse ? 1 : 0);
}

void Mechanism::check(const Evidence& evidence) const {
    const auto refuse = [&](const std::string& message) {
        return Error(ExitCode::input, message,
                     "compute the stable distances again with the parameters of this run", info_->name);
    };
    const std::size_t classes = static_cast<std::size_t>(parameters_.classes);
    if (evidence.classes != parameters_.classes) throw refuse("the query has another number of classes");
    if (evidence.label < 0 || evidence.label >= evidence.classes) throw refuse("label out of range");
    if (evidence.distance < 0 || evidence.distance > parameters_.cap)
        throw refuse("distance out of [0, cap]");
    if (evidence.sparse_distance < 0) throw refuse("negative sparse distance");
    if (info_->needs_class_distances) {
        if (evidence.class_distances.size() != classes) throw refuse("class distances are missing");
        for (const std::int64_t distance : evidence.class_distances) {
            if (distance < 0 || distance > parameters_.cap + 1)
                throw refuse("class distance out of [0, cap + 1]");
        }
        if (evidence.class_distances[static_cast<std::size_t>(evidence.label)] != 0)
            throw refuse("the label's own class distance is not 0");
    }
    if (info_->needs_votes) {
        if (evidence.votes.size() != classes) throw refuse("votes are missing");
        std::int64_t sum = 0;
        for (const std::int64_t votes : evidence.votes) {
            if (votes < 0 || votes > parameters_.members) throw refuse("votes out of [0, members]");
            sum += votes;
        }
        if (sum != parameters_.members) throw refuse("votes do not sum to the number of members");
    }
}

std::vector<double> Mechanism::law(const Evidence& evidence) const {
    check(evidence);
    return law_->law(evidence);
}

std::vector<Rational> Mechanism::exact_law(const Evidence& evidence) const {
    check(evidence);
    return law_->exact_law(evidence);
}

int Mechanism::draw(const Evidence& evidence, RandomBits& bits) const {
    check_releasable(*info_);
    check(evidence);
    return law_->draw(evidence, bits);
}

Guarantee Mechanism::guarantee(const std::string& relation) const {
    if (relation != "add_remove" && relation != "substitute") {
        throw bad_option("relation", "\"" + relation + "\" gives no differential privacy",
                         "train with add_remove or substitute");
    }
    std::string cost = number(parameters_.epsilon);
    cost.insert(0, 1, '(').append(", ").append(number(parameters_.delta)).append(")");
    if (!info_->releasable()) {
        return Guarantee::not_private(std::string(info_->name) + " claims " + cost + "-differential privacy",
                                      info_->not_private);
    }
    const std::string is = parameters_.mu > 0 ? number(parameters_.mu) + "-Gaussian differentially private"
                                              : cost + "-differentially private";
    const std::string statement = "each answer by " + std::string(info_->name) + " is " + is;
    Guarantee guarantee = info_->gap == nullptr ? Guarantee::proved(statement, relation)
                                                : Guarantee::as_published(statement, info_->gap, relation);
    if (info_->condition != nullptr) guarantee.require(info_->condition);
    return guarantee;
}

}  // namespace holdfast
