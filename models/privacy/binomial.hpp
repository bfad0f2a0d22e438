#pragma once

#include <cstdint>

#include "models/privacy/rational.hpp"

namespace holdfast {

/// P[Bin(draws, rate) >= hits] from above, by less than 2^-60 of it where hits > draws * rate; elsewhere 1.
/// 0 <= rate < 1.
Rational binomial_tail_upper(std::uint64_t draws, std::uint64_t hits, const Rational& rate);

/// The bound of Clopper and Pearson (1934): the greatest multiple of 2^-40 at which binomial_tail_upper is at
/// most alpha, 0 < alpha < 1/2; 0 where there is none. What `hits` of `draws` independent trials show of
/// their rate: it is below this with a probability of at most alpha, whatever it is. draws <= 10^7.
Rational rate_lower(std::uint64_t draws, std::uint64_t hits, const Rational& alpha);

}  // namespace holdfast
