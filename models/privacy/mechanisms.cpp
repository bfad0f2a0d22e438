#include "models/privacy/mechanisms.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/privacy/outcome_law.hpp"

namespace holdfast {
namespace {

constexpr MechanismInfo table[] = {
    // name, law, takes_delta, needs_delta, binary_only, needs_votes, needs_class_distances, may_refuse,
    // releasable
    {"stable_rr",
     "keep the label with s(h), s(0) = (e^eps + delta (C-1))/(e^eps + C-1); two classes: flip with e^(-eps "
     "h)/(1 + e^eps)",
     true, false, false, false, false, false, true},
    {"class_exponential", "class j with probability ~ e^(-eps d_j/2)", false, false, false, false, true,
     false, true},
    {"permute_and_flip", "classes in random order, each accepted with e^(-eps d_j/2)", false, false, false,
     false, true, false, true},
    {"cauchy", "flip with atan(2 s)/pi, s = 6 e^(-eps h/6)/eps", false, false, true, false, false, false,
     true},
    {"laplace_global", "flip with e^(-eps/2)/2, whatever h", false, false, true, false, false, false, true},
    {"laplace_smooth", "flip with e^(-1/(2 s))/2, s = 2 e^(-beta h)/eps, beta = eps/(2 ln(2/delta))", true,
     true, true, false, false, false, true},
    {"ptr", "release if h + Lap(1/eps) > ln(1/(2 delta))/eps, else refuse", true, true, false, false, false,
     true, true},
    {"noisy_argmax", "greatest of votes + discrete Lap(2/eps)", false, false, false, true, false, false,
     true},
    {"paper_sparse", "cauchy with h = the largest certified k of a sparse list", false, false, true, false,
     false, false, false},
};

// Below the least epsilon nothing of use is left; above the greatest nothing is private.
constexpr double least_epsilon = 1e-6, greatest_epsilon = 1000, least_delta = 1e-30;
constexpr int most_classes = 4096;
constexpr std::int64_t most_members = 1 << 20;

Error bad_option(const char* option, const std::string& message, const std::string& hint) {
    return Error(ExitCode::usage, message, hint, option);
}

void check_numbers(const MechanismParameters& parameters) {
    // Written so that NaN fails.
    if (!(parameters.epsilon >= least_epsilon && parameters.epsilon <= greatest_epsilon)) {
        throw bad_option("epsilon", "not in [1e-6, 1000]",
                         "give the privacy loss of one answer, such as 0.1");
    }
    if (!(parameters.delta == 0 || (parameters.delta >= least_delta && parameters.delta < 1))) {
        throw bad_option("delta", "neither 0 nor in [1e-30, 1)",
                         "give 0, or a value far below one over the number of records");
    }
    if (parameters.classes < 2 || parameters.classes > most_classes) {
        throw bad_option("classes", "not in [2, 4096]", "private release needs two classes or more");
    }
    if (parameters.cap < 0) throw bad_option("cap", "negative", "give the largest level K");
    if (parameters.members < 0 || parameters.members > most_members) {
        throw bad_option("members", "not in [0, 1048576]", "give the public number of ensemble members");
    }
}

void check_fit(const MechanismInfo& info, const MechanismParameters& parameters) {
    const std::string name = info.name;
    if (parameters.delta > 0 && !info.takes_delta) {
        throw bad_option("delta", name + " is pure and takes no delta",
                         "leave delta out or choose stable_rr, laplace_smooth or ptr");
    }
    if (parameters.delta == 0 && info.needs_delta) {
        throw bad_option("delta", name + " needs delta > 0", "add a delta such as 1e-6, or choose stable_rr");
    }
    if (parameters.classes > 2 && info.binary_only) {
        throw bad_option(
            "mechanism",
            name + " is a mechanism for two classes, and there are " + std::to_string(parameters.classes),
            "choose stable_rr, class_exponential, permute_and_flip, ptr or noisy_argmax");
    }
    if (parameters.members == 0 && info.needs_votes) {
        throw bad_option("mechanism", name + " adds noise to votes, and there is one model only",
                         "train an ensemble, or choose stable_rr");
    }
}

std::unique_ptr<const OutcomeLaw> build(const std::string& name, const MechanismParameters& parameters,
                                        const Rational& epsilon, const Rational& delta) {
    const int classes = parameters.classes;
    const std::int64_t cap = parameters.cap;
    const Rational half_epsilon = epsilon / 2;
    if (name == "stable_rr")
        return make_flip_law(stable_rr_table(epsilon, delta, classes, cap), classes, DistanceUsed::stable);
    if (name == "class_exponential")
        return make_exponential_law(exponential_weights(half_epsilon, cap + 1, 112));
    if (name == "permute_and_flip")
        return make_permute_and_flip_law(exponential_weights(half_epsilon, cap + 1, 112));
    if (name == "cauchy") return make_flip_law(cauchy_table(epsilon, cap), classes, DistanceUsed::stable);
    if (name == "paper_sparse")
        return make_flip_law(cauchy_table(epsilon, cap), classes, DistanceUsed::sparse);
    if (name == "laplace_global")
        return make_flip_law(laplace_global_table(epsilon), classes, DistanceUsed::none);
    if (name == "laplace_smooth")
        return make_flip_law(laplace_smooth_table(epsilon, delta, cap), classes, DistanceUsed::stable);
    if (name == "ptr") return make_release_or_refuse_law(ptr_table(epsilon, delta, cap), classes);
    if (name == "noisy_argmax") return make_noisy_argmax_law(noise_table(half_epsilon, parameters.members));
    throw Error(ExitCode::internal, "mechanism without a law: " + name, "please report it");
}

std::string number(double value) {
    return nlohmann::json(value).dump();
}

}  // namespace

std::span<const MechanismInfo> mechanism_table() {
    return table;
}

const MechanismInfo& mechanism_info(const std::string& name) {
    const auto found = std::find_if(std::begin(table), std::end(table),
                                    [&](const MechanismInfo& info) { return name == info.name; });
    if (found != std::end(table)) return *found;
    std::string names;
    for (const MechanismInfo& info : table) names += (names.empty() ? "" : ", ") + std::string(info.name);
    throw bad_option("mechanism", "unknown mechanism \"" + name + "\"", "choose one of " + names);
}

std::string mechanism_help() {
    std::string text;
    for (const MechanismInfo& info : table) {
        std::string name = info.name;
        name.resize(18, ' ');
        text += "  " + name + info.law;
        if (info.needs_delta) text += "; needs delta";
        if (info.takes_delta && !info.needs_delta) text += "; delta optional";
        if (info.binary_only) text += "; two classes";
        if (info.needs_votes) text += "; ensembles";
        if (!info.releasable) text += "; not differentially private, for evaluate only";
        text += "\n";
    }
    return text;
}

Mechanism::Mechanism(const std::string& name, const MechanismParameters& parameters)
    : info_(&mechanism_info(name)), parameters_(parameters) {
    check_numbers(parameters);
    check_fit(*info_, parameters);
    epsilon_ = decimal_value(parameters.epsilon, "epsilon");
    delta_ = decimal_value(parameters.delta, "delta");
    law_ = build(name, parameters, epsilon_, delta_);
}

Mechanism::~Mechanism() = default;
Mechanism::Mechanism(Mechanism&&) noexcept = default;
Mechanism& Mechanism::operator=(Mechanism&&) noexcept = default;

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
    if (!info_->releasable) {
        throw bad_option(
            "mechanism",
            std::string(info_->name) + " is not differentially private: nothing is released by it",
            "choose stable_rr; evaluate shows what this one would do");
    }
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
    if (!info_->releasable) {
        return Guarantee::not_private(
            std::string(info_->name) + " claims " + cost + "-differential privacy",
            "the largest certified k of a sparse list is not 1-Lipschitz: neighbours certified at 50 "
            "and at 10 lose 5.99 at a claimed epsilon of 1");
    }
    Guarantee guarantee = Guarantee::proved(
        "each answer by " + std::string(info_->name) + " is " + cost + "-differentially private", relation);
    if (info_->needs_votes) {
        guarantee.require("each record is assigned to its ensemble member by a keyed hash of its own id");
        return guarantee;
    }
    const bool uses_distance = std::string(info_->name) != "laplace_global";
    if (uses_distance)
        guarantee.require(
            "the stable distance comes from boxes at every level 1..K, nested between neighbouring datasets");
    return guarantee;
}

}  // namespace holdfast
