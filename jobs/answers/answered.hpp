#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

/// What is printed of answers. One is empty where a session had ended.
struct Answered {
    std::vector<std::optional<LedgerAnswer>> answers;
    std::vector<double> values = {};  ///< [labels] of a regression what each stands for, else none
    nlohmann::json cost = {};         ///< of this request
    nlohmann::json session = {};      ///< of a session, how it stands; else null
    std::string said = "";            ///< of the cost, in one line
};

/// Every answer charged on its own, or remembered: epsilon and delta as they were asked for.
Answered answer_charged(Ledger& ledger, const std::string& dataset, const Charge& charge,
                        const std::vector<Digest>& digests, const Ledger::Draw& draw, double epsilon,
                        double delta);

/// The labels, the cost, and the terms each was drawn under.
void print_answers(const Context& context, Answered answered, const Spending& spent);

}  // namespace holdfast
