#pragma once

#include "jobs/release/release.hpp"

namespace holdfast {

/// Names what a payment is for: the route, its amounts and parameters, the run and the queries, in any order.
/// Public. Answers that are drawn at other amounts each (of a file that was answered in part since) are
/// another release: what an account adds up was charged for those of the token.
std::string token_of(const Release& release, const std::string& route, const Payment& payment);

/// Answers all the queries under one payment, of which everything but the token is given.
Answered answer_under(Payment payment, const std::string& route, const Release& release, Ledger& ledger,
                      const Ledger::Draw& draw);

}  // namespace holdfast
