#include "models/privacy/binomial.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast {
namespace {

/// Every term from `hits` on, as the fraction that it is.
Rational exact_tail(std::uint64_t draws, std::uint64_t hits, const Rational& rate) {
    std::vector<Rational> powers{1}, others{1};
    for (std::uint64_t i = 0; i < draws; ++i) {
        powers.emplace_back(powers.back() * rate);
        others.emplace_back(others.back() * (1 - rate));
    }
    Rational sum = 0;
    for (std::uint64_t i = hits; i <= draws; ++i) {
        Integer ways;
        mpz_bin_uiui(ways.get_mpz_t(), draws, i);
        sum += ways * powers[i] * others[draws - i];
    }
    return sum;
}

const Rational slight = Rational(1) / power_of_two(60);

TEST(BinomialTail, IsTheSumAndNoLess) {
    for (const std::uint64_t draws : {1, 2, 7, 40, 200}) {
        for (std::uint64_t hits = 0; hits <= draws; hits += draws < 50 ? 1 : 13) {
            for (const Rational& rate : {Rational(0), Rational(1, 7), Rational(1, 2), Rational(97, 100)}) {
                const Rational exact = exact_tail(draws, hits, rate),
                               found = binomial_tail_upper(draws, hits, rate);
                EXPECT_GE(found, exact) << draws << " " << hits << " " << rate;
                if (Rational(hits) > rate * draws) {
                    EXPECT_LE(found, exact * (1 + slight));
                }
            }
        }
    }
}

TEST(RateLower, IsTheGreatestMultipleThatTheExactTailAllows) {
    const Rational step = Rational(1) / power_of_two(40);
    for (const std::uint64_t draws : {1, 3, 20, 60, 200}) {
        for (std::uint64_t hits = 0; hits <= draws; hits += draws < 50 ? 1 : 23) {
            for (const Rational& alpha : {Rational(1, 1000), Rational(1, 20), Rational(2, 5)}) {
                const Rational rate = rate_lower(draws, hits, alpha);
                EXPECT_EQ(Rational(rate / step).get_den(), 1);
                if (hits == 0) {
                    EXPECT_EQ(rate, 0);
                } else {
                    EXPECT_LE(exact_tail(draws, hits, rate), alpha) << draws << " " << hits;
                    EXPECT_GT(exact_tail(draws, hits, rate + step) * (1 + slight), alpha);
                }
            }
        }
    }
    // Of 1000 hits in as many draws: alpha^(1/1000); of a million draws it takes as long.
    EXPECT_NEAR(rate_lower(1000, 1000, Rational(1, 1000)).get_d(), 0.99311605, 1e-8);
    EXPECT_NEAR(rate_lower(1'000'000, 990'000, Rational(1, 1000)).get_d(), 0.98969, 1e-5);
}

}  // namespace
}  // namespace holdfast
