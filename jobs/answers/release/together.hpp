#pragma once

#include "jobs/answers/release/release.hpp"

namespace holdfast {

/// Answers all the queries under one payment, of which everything but the token is given.
Answered answer_under(Payment payment, const std::string& route, const Release& release, Ledger& ledger,
                      const Ledger::Draw& draw);

}  // namespace holdfast
