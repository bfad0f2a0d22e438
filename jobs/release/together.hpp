#pragma once

#include "jobs/release/release.hpp"

namespace holdfast {

/// Names what a payment is for: the route, its amounts, the run and the queries, in any order. Public.
std::string token_of(const Release& release, const std::string& route, const Rational& epsilon,
                     const Rational& delta);

/// Answers all the queries under one payment, of which everything but the token is given.
Answered answer_under(Payment payment, const std::string& route, const Release& release, Ledger& ledger,
                      const Ledger::Draw& draw);

}  // namespace holdfast
