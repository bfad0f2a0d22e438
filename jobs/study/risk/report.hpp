#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "models/privacy/membership.hpp"

namespace holdfast {

/// One attack on who was trained on: by what it scores, what it looks at, and of whom the figures are.
struct MembershipAttack {
    std::string scores;    ///< "threshold", "offline", "online"
    std::string observes;  ///< "confidence", or "label": whether the answer is right
    std::string whose;     ///< "all", or those whose own answer is "certified", "uncertified"
    AttackResult found = {};
};

/// What no attack exceeds, by what the run was paid for.
struct ProvedBound {
    std::optional<Rational> mu;
    std::vector<std::pair<Rational, Rational>> epsilons;  ///< (epsilon, delta)
    std::string words;
    bool proved = true;  ///< else it is as published, with the gap that the guarantee names

    bool any() const { return mu.has_value() || !epsilons.empty(); }
    double at_most(double false_positives) const;  ///< true positives; without a bound 1
    /// Is more seen than may be, each interval at its worse end?
    bool contradicted_by(const RatePoint& point) const;
};

/// How often a column is guessed that the attacker does not know, of those trained on and of those held out.
struct AttributeAttack {
    std::string column;
    Estimated trained = {}, held_out = {};
    double prior = 0;  ///< of who always says the commonest value

    bool leaks() const { return trained.lowest > held_out.highest; }
};

struct RiskReport {
    std::string run, data, held_out_name, guarantee;
    double confidence = 0.95, seconds = 0;
    std::size_t trained = 0, held_out = 0, members = 1, shadows = 0, parameters = 0;
    bool of_persons = false;  ///< else one row is one
    std::vector<MembershipAttack> attacks = {};
    ProvedBound bound = {};
    Estimated right_trained = {}, right_held_out = {};
    double loss_trained = 0, loss_held_out = 0;
    std::vector<AttributeAttack> attributes = {};
    std::optional<Estimated> memorised = {};
    bool memorised_exactly = false;
    std::int64_t degrees = 0;  ///< persons of a member less parameters
    std::size_t least_class = 0, least_group = 0,
                alone = 0;                 ///< persons: of a class, and of one answer to two digits
    std::vector<std::string> naming = {};  ///< files of the run folder that hold ids of persons

    /// The attack that a reader is to look at first.
    const MembershipAttack& strongest() const;
};

nlohmann::json to_json(const RiskReport& report);
std::string text_of(const RiskReport& report);
std::string page_of(const RiskReport& report);

}  // namespace holdfast
