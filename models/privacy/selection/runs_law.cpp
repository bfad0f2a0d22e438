#include "models/privacy/selection/runs_law.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_mean = 100;

/// The gamma whose logarithmic law has about this mean: (1/gamma - 1)/ln(1/gamma) falls from oo to 1.
double gamma_of_logarithmic(double mean) {
    double low = 1e-6, high = 1;
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        ((1 / middle - 1) / -std::log(middle) > mean ? low : high) = middle;
    }
    return low;
}

/// The trials up to the first success.
std::int64_t geometric(const Rational& success, RandomBits& bits) {
    std::int64_t trials = 1;
    while (!bernoulli(success, bits)) ++trials;
    return trials;
}

/// Probabilities as 1/k!, by rejection from 2^-(k+1): what is kept, 2^k/(2 k!), is at most 1.
std::int64_t poisson_of_one(RandomBits& bits) {
    for (;;) {
        const std::int64_t k = geometric(Rational(1, 2), bits) - 1;
        Rational kept(1, 2);
        for (std::int64_t i = 1; i <= k; ++i) kept *= Rational(2) / as_rational(i);
        if (bernoulli(kept, bits)) return k;
    }
}

}  // namespace

const char* const selection_mechanism = "private_selection";
const char* const selection_score_mechanism = "score_of_selection";

RunsLaw RunsLaw::of(const std::string& name, std::int64_t mean) {
    if (mean < 1 || mean > greatest_mean || (mean == 1 && name != "poisson"))
        throw Error(ExitCode::usage, "no mean of a secret number of runs: " + std::to_string(mean),
                    "give a number from 2 to " + std::to_string(greatest_mean), "--runs");
    if (name == "poisson") return {Kind::poisson, mean};
    if (name == "logarithmic") return {Kind::logarithmic, mean};
    if (name == "geometric") return {Kind::geometric, mean};
    throw Error(ExitCode::usage, "no law of a number of runs: '" + name + "'",
                "give poisson, logarithmic or geometric", "--law");
}

const char* RunsLaw::name() const {
    return kind_ == Kind::poisson ? "poisson" : kind_ == Kind::logarithmic ? "logarithmic" : "geometric";
}

RunsLaw::RunsLaw(Kind kind, std::int64_t mean) : kind_(kind), mean_(mean) {
    Rational most = as_rational(mean);
    if (kind == Kind::geometric) gamma_ = 1 / most;
    if (kind == Kind::logarithmic) {
        gamma_ = Rational(gamma_of_logarithmic(static_cast<double>(mean)));
        most = (1 / gamma_ - 1) / log_lower(1 / gamma_);
    }
    if (kind != Kind::poisson) log_of_inverse_gamma_ = log_upper(1 / gamma_);
    log_of_mean_ = log_upper(most);
}

std::vector<Rational> RunsLaw::curve(const Rational& mu_squared) const {
    ensure(mu_squared > 0, "runs that a record moves");
    const Rational rho = mu_squared / 2;
    Rational beside = 0;  // of a negative binomial the same at every order
    if (kind_ != Kind::poisson) {
        // (1 + eta) ((1 - 1/b) b rho + ln(1/gamma)/b): any b >= 1 will do, this one is about the best.
        const Rational b(std::max(1.0, std::sqrt(log_of_inverse_gamma_.get_d() / rho.get_d())));
        beside = (b - 1) * rho + log_of_inverse_gamma_ / b;
        if (kind_ == Kind::geometric) beside *= 2;
    }
    std::vector<Rational> curve;
    for (const std::int64_t order : renyi_orders()) {
        const Rational above = as_rational(order - 1);
        if (kind_ == Kind::poisson)
            beside = as_rational(mean_) *
                     gaussian_delta(sqrt_upper(mu_squared), log_lower(Rational(1 + 1 / above)));
        const Rational exact = as_rational(order) * rho + beside + log_of_mean_ / above;
        curve.push_back(Rational(round_up(exact)));
    }
    return curve;
}

Rational RunsLaw::mu_squared_for(const Rational& epsilon, const Rational& delta) const {
    if (epsilon <= 0) throw Error(ExitCode::usage, "not above 0", "give a number such as 1", "--epsilon");
    if (delta <= 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in (0, 1)", "give a value such as 1e-5", "--delta");
    const auto fits = [&](double mu) {
        return epsilon_of_renyi_curve(curve(Rational(mu) * Rational(mu)), delta) <= epsilon;
    };
    double low = 0, high = gaussian_mu(epsilon, delta).get_d();
    for (int i = 0; i < 24; ++i) {
        const double middle = (low + high) / 2;
        (fits(middle) ? low : high) = middle;
    }
    if (low == 0)
        throw Error(ExitCode::usage, "a secret number of runs leaves nothing of so small a budget",
                    "raise --epsilon or --delta, or choose on public records: holdfast advise", "--epsilon");
    return Rational(low) * Rational(low);
}

std::int64_t RunsLaw::draw(RandomBits& bits) const {
    if (kind_ == Kind::geometric) return geometric(gamma_, bits);
    if (kind_ == Kind::logarithmic) {
        for (;;) {  // (1 - gamma)^k/k, of (1 - gamma)^k
            const std::int64_t k = geometric(gamma_, bits);
            if (bernoulli(Rational(1) / as_rational(k), bits)) return k;
        }
    }
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < mean_; ++i) sum += poisson_of_one(bits);
    return sum;
}

}  // namespace holdfast
