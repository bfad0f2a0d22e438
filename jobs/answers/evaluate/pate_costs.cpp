#include "jobs/answers/evaluate/pate_costs.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "jobs/program/rounded.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/pate/data_dependent.hpp"

namespace holdfast {
namespace {

double of_any_votes(const Mechanism& mechanism, std::int64_t answers) {
    const Rational squared = mechanism.mu() * mechanism.mu() * as_rational(answers);
    return round_up(gaussian_epsilon(sqrt_upper(squared), mechanism.delta()));
}

double of_these_votes(const Mechanism& mechanism, const std::vector<Evidence>& queries) {
    std::map<std::vector<std::int64_t>, std::pair<const Evidence*, std::int64_t>> equal;  // of the same votes
    for (const Evidence& query : queries) {
        auto& [any, count] = equal[query.votes];
        any = &query;
        ++count;
    }
    DataDependentCost cost(round_up(mechanism.mu()));
    for (const auto& [votes, queries_of] : equal)
        cost.add(mechanism.law(*queries_of.first), queries_of.second);
    return cost.epsilon(mechanism.delta());
}

}  // namespace

nlohmann::json pate_costs(const std::vector<Evidence>& queries, const std::vector<double>& epsilons,
                          MechanismParameters parameters) {
    if (parameters.delta == 0 || parameters.members < 2 || epsilons.empty()) return nullptr;
    nlohmann::json costs = nlohmann::json::array();
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.gaussian || !info.needs_votes) continue;
        nlohmann::json any = nlohmann::json::array(), these = any;
        for (const double epsilon : epsilons) {
            parameters.epsilon = epsilon;
            const Mechanism mechanism(info.name, parameters);
            const double whatever = of_any_votes(mechanism, static_cast<std::int64_t>(queries.size()));
            any.push_back(whatever);
            these.push_back(std::min(whatever, of_these_votes(mechanism, queries)));
        }
        costs.push_back(
            {{"mechanism", info.name}, {"epsilon_of_any_votes", any}, {"epsilon_of_these_votes", these}});
    }
    return {{"answers", queries.size()},
            {"delta", parameters.delta},
            {"costs", costs},
            {"guarantee", DataDependentCost::guarantee().to_json()}};
}

std::string pate_lines(const nlohmann::json& costs) {
    if (costs.is_null()) return "";
    std::string text = printed(
        "epsilon that all %lld answers cost at delta %g: by any votes; by these (as published, for the "
        "owner)\n",
        costs["answers"].get<long long>(), costs["delta"].get<double>());
    for (const nlohmann::json& cost : costs["costs"]) {
        for (const bool these : {false, true}) {
            text += printed("%-31s%-10s", cost["mechanism"].get<std::string>().c_str(),
                            these ? "these" : "any votes");
            for (const double epsilon : cost[these ? "epsilon_of_these_votes" : "epsilon_of_any_votes"])
                text += printed("%-11s", round_up_text(epsilon, 4).c_str());
            text += "\n";
        }
    }
    return text;
}

}  // namespace holdfast
