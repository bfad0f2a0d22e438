#include "models/privacy/measure/feature_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/mechanisms/class_weights.hpp"
#include "models/privacy/noise/laplace_noise.hpp"

namespace holdfast {
namespace {

constexpr double least_rate = 1e-9, greatest_rate = 64;
constexpr double least_count = 8;  // of a label, in units of its noise: one of fewer persons counts no more

int draws_of(const FeatureRequest& request) {
    return static_cast<int>(request.chosen) + 1;
}

/// What a draw costs where a neighbour has a person replaced: one goes and one comes.
Rational epsilon_of_draw(const FeatureRequest& request, double rate) {
    return decimal_value(rate, "rate") * (request.relation == "substitute" ? 2 : 1);
}

FeatureLaw law_of(const FeatureRequest& request, double rate) {
    const Rational draws = draws_of(request), epsilon = epsilon_of_draw(request, rate),
                   mu = gaussian_mu_of_pure(epsilon);
    return {rate, draws * epsilon, draws * mu * mu};
}

/// To ten digits, which a person can read, and not above it.
double shortened(double rate) {
    return std::strtod(printed("%.9e", rate * (1 - 1e-9)).c_str(), nullptr);
}

/// From a guess that is near, downward to one that fits.
template <typename Fits>
FeatureLaw greatest_of(const FeatureRequest& request, double guess, Fits fits) {
    ensure(request.chosen > 0 && request.chosen < request.columns, "some columns are chosen, not all");
    for (double rate = std::min(guess, greatest_rate); rate >= least_rate; rate *= 1 - 1e-9) {
        const FeatureLaw law = law_of(request, shortened(rate));
        if (fits(law)) return law;
    }
    throw Error(ExitCode::usage, "at this cost the choice of columns is all noise", "allow a larger --share",
                "--share");
}

/// Is `candidate` accepted when its turn comes? The same bits are drawn whatever its weight.
bool accepted(Word128 weight, RandomBits& bits) {
    return (draw_128_bits(bits) >> (128 - weight_bits)) < weight;
}

/// One pick (models/privacy/mathematics.md, permute and flip): a coin for every column, also behind the first
/// that is accepted.
std::size_t pick(const std::vector<std::int64_t>& scores, const ProbabilityTable& table, RandomBits& bits) {
    const std::int64_t greatest = *std::max_element(scores.begin(), scores.end());
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::size_t chosen = scores.size();
    for (std::size_t left = order.size(); left > 0; --left) {
        const Integer at = uniform_below(Integer(static_cast<unsigned long>(left)), bits);
        std::swap(order[left - 1], order[at.get_ui()]);
        const std::size_t candidate = order[left - 1];
        const bool taken = accepted(entry_at(table, greatest - scores[candidate]), bits);
        if (taken && chosen == scores.size()) chosen = candidate;
    }
    ensure(chosen < scores.size(), "the column of the greatest score is always accepted");
    return chosen;
}

}  // namespace

FeatureLaw FeatureLaw::within_epsilon(const FeatureRequest& request, const Rational& epsilon) {
    const double each = Rational(epsilon / draws_of(request)).get_d() / epsilon_of_draw(request, 1).get_d();
    return greatest_of(request, each, [&](const FeatureLaw& law) { return law.epsilon <= epsilon; });
}

FeatureLaw FeatureLaw::within_mu_squared(const FeatureRequest& request, const Rational& mu_squared) {
    const double mu = std::sqrt(Rational(mu_squared / draws_of(request)).get_d());
    const auto beyond = near_normal_tail(mu / 2);  // mu = -2 Phi^-1(1/(1 + e^epsilon))
    const auto each = static_cast<double>(std::log((1 - beyond) / beyond));
    return greatest_of(request, each / epsilon_of_draw(request, 1).get_d(),
                       [&](const FeatureLaw& law) { return law.mu_squared <= mu_squared; });
}

Payment payment_for(const FeatureRequest& request, const FeatureLaw& law, const std::string& of) {
    const nlohmann::json parameters = {{"relation", request.relation},
                                       {"law", "permute_and_flip"},
                                       {"columns", request.columns},
                                       {"chosen", request.chosen},
                                       {"classes", request.classes},
                                       {"rate", law.rate},
                                       {"of", of}};
    std::vector<Rational> curve = renyi_curve_of_pure(epsilon_of_draw(request, law.rate));
    for (Rational& value : curve) value *= draws_of(request);
    return {"", law.epsilon, 0, std::move(curve), measured_mechanism, parameters.dump(), "", law.mu_squared};
}

std::vector<std::int64_t> draw_label_weights(const std::vector<std::int64_t>& counts, const FeatureLaw& law,
                                             RandomBits& bits) {
    const double in_shares = std::ceil(static_cast<double>(whole_person) / law.rate);
    const LaplaceNoise noise(static_cast<std::int64_t>(std::max(in_shares, 1.0)) + 1);
    constexpr std::int64_t greatest = std::int64_t{1} << 61;  // as the noise has it
    std::vector<double> persons;
    for (const std::int64_t count : counts) {
        const std::int64_t noisy = std::clamp(count + noise.draw(bits), -greatest, greatest);
        persons.push_back(
            std::max(static_cast<double>(noisy), least_count * static_cast<double>(noise.scale())));
    }
    const double least = *std::min_element(persons.begin(), persons.end());
    std::vector<std::int64_t> weights;
    for (const double count : persons)
        weights.push_back(
            static_cast<std::int64_t>(std::floor(least / count * static_cast<double>(whole_person))));
    return weights;
}

std::int64_t LabelCounts::score() const {
    std::int64_t sum = 0;
    for (auto first = shares_.begin(); first != shares_.end(); first += static_cast<std::ptrdiff_t>(classes_))
        sum += *std::max_element(first, first + static_cast<std::ptrdiff_t>(classes_));
    return (sum + whole_person - 1) / whole_person;
}

std::vector<std::size_t> draw_features(std::vector<std::int64_t> scores, std::size_t chosen,
                                       const FeatureLaw& law, RandomBits& bits) {
    const ProbabilityTable table = exponential_weights(decimal_value(law.rate, "rate"), longest_table);
    std::vector<std::size_t> places(scores.size()), found;
    std::iota(places.begin(), places.end(), std::size_t{0});
    while (found.size() < chosen) {
        const auto at = static_cast<std::ptrdiff_t>(pick(scores, table, bits));
        found.push_back(places[static_cast<std::size_t>(at)]);
        places.erase(places.begin() + at);
        scores.erase(scores.begin() + at);
    }
    std::sort(found.begin(), found.end());
    return found;
}

}  // namespace holdfast
