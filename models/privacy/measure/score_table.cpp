#include "models/privacy/measure/score_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/noise/laplace_noise.hpp"

namespace holdfast {
namespace {

constexpr double bins_of_a_unit = 4;
constexpr std::int64_t greatest_cell = std::int64_t{1} << 61;  // as the noises have it
constexpr auto shares = static_cast<double>(whole_person);

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

/// A sum of cells over another, each with its weights: its error by the delta method, noise of one deviation
/// in every cell.
struct Ratio {
    double above = 0, below = 0, noise = 0;  ///< noise: of above - value * below, its variance in cells

    double value() const { return below > 0 ? std::clamp(above / below, 0.0, 1.0) : 0; }
};

Ratio ratio_of(const ScoreTable& table, const std::function<double(std::size_t, std::size_t)>& above,
               const std::function<bool(std::size_t)>& counts) {
    Ratio ratio;
    for (std::size_t row = 0; row < table.rows; ++row) {
        for (std::size_t label = 0; label < table.classes; ++label) {
            if (!counts(label)) continue;
            ratio.above += above(row, label) * table.at(row, label);
            ratio.below += table.at(row, label);
        }
    }
    const double value = ratio.value();
    for (std::size_t row = 0; row < table.rows; ++row) {
        for (std::size_t label = 0; label < table.classes; ++label)
            if (counts(label)) ratio.noise += std::pow(above(row, label) - value, 2);
    }
    return ratio;
}

/// `spread`: the variance of what one person adds.
Estimate estimate_of(const Ratio& ratio, double deviation, double spread) {
    if (!(ratio.below > 0)) return {0, 1};
    const double noise = deviation * std::sqrt(ratio.noise) / ratio.below;
    return {ratio.value(), std::sqrt(noise * noise + std::max(spread, 0.0) / ratio.below)};
}

/// Of persons of class 1 by bin, how many of class 0 lie below, half of those in the same; over all pairs.
Estimate auc_of(const ScoreTable& table, double deviation) {
    double positives = 0, negatives = 0, below = 0, above = 0, pairs = 0;
    for (std::size_t b = 0; b < table.rows; ++b) {
        negatives += table.at(b, 0);
        positives += table.at(b, 1);
    }
    if (!(positives > 0 && negatives > 0)) return {0.5, 0.5};
    std::vector<double> of_positive(table.rows), of_negative(table.rows);
    for (std::size_t b = 0; b < table.rows; ++b) {
        of_positive[b] = (below + table.at(b, 0) / 2) / negatives;
        below += table.at(b, 0);
        of_negative[b] = 1 - (above + table.at(b, 1) / 2) / positives;
        above += table.at(b, 1);
        pairs += table.at(b, 1) * of_positive[b];
    }
    const double auc = std::clamp(pairs / positives, 0.0, 1.0);
    double noise = 0, of_persons = 0;  // variances; DeLong's of the sample
    for (std::size_t b = 0; b < table.rows; ++b) {
        const double one = (of_positive[b] - auc) / positives, zero = (of_negative[b] - auc) / negatives;
        noise += one * one + zero * zero;
        of_persons += table.at(b, 1) * one * one + table.at(b, 0) * zero * zero;
    }
    return {auc, std::sqrt(deviation * deviation * noise + std::max(of_persons, 0.0))};
}

}  // namespace

const char* const validation_mechanism = "score_table";

std::size_t ScoreTable::bin_of(double lead, std::int32_t label) {
    const double towards = std::isnan(lead) ? 0 : std::max(label == 1 ? lead : -lead, 0.0);
    constexpr std::size_t half = score_bins / 2;
    const auto step = static_cast<std::size_t>(
        std::min(std::floor(towards * bins_of_a_unit), static_cast<double>(half - 1)));
    return label == 1 ? half + step : half - 1 - step;
}

std::size_t ScoreTable::answer_of(std::size_t row) const {
    return scored() ? (row < score_bins / 2 ? 0 : 1) : row;
}

TableNoise TableNoise::of(const Rational& epsilon, const Rational& delta, const std::string& relation) {
    if (epsilon <= 0) throw Error(ExitCode::usage, "not above 0", "give a number such as 0.3", "--epsilon");
    if (delta < 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in [0, 1)", "give 0 or a value such as 1e-6", "--delta");
    TableNoise noise{delta == 0 ? "laplace" : "gaussian", 0, epsilon, delta, relation == "substitute"};
    const int cells = noise.replaced ? 2 : 1;  // that move by a person each
    const Rational person = as_rational(whole_person);
    const double in_shares =
        delta == 0 ? ceil(Rational(person * cells / epsilon)).get_d()
                   : round_up(sqrt_upper(Rational(cells)) * person / gaussian_mu(epsilon, delta));
    if (!(in_shares <= 0x1p56))
        throw Error(ExitCode::usage, "at this epsilon the noise is beyond all counts", "ask for a larger one",
                    "--epsilon");
    noise.scale = std::max(in_shares, 1.0) / shares;
    return noise;
}

double TableNoise::deviation() const {
    return law == "gaussian" ? scale : std::sqrt(2.0) * scale;
}

std::vector<double> TableNoise::noisy(const std::vector<std::int64_t>& counts, RandomBits& bits) const {
    std::vector<double> drawn;
    for (const std::int64_t count : counts) {
        const std::int64_t noise = law == "gaussian" ? GaussianNoise(scale * shares).draw(bits)
                                                     : LaplaceNoise(std::llround(scale * shares)).draw(bits);
        const std::int64_t cell = std::clamp(count + noise, -greatest_cell, greatest_cell);
        drawn.push_back(static_cast<double>(cell) / shares);
    }
    return drawn;
}

Payment TableNoise::payment(const std::string& parameters) const {
    Payment payment{"", epsilon, delta, {}, validation_mechanism, parameters, ""};
    if (delta == 0) {
        payment.curve = renyi_curve_of_pure(epsilon);
        return payment;
    }
    const Rational mu = gaussian_mu(epsilon, delta);
    payment.mu_squared = mu * mu;
    payment.curve = renyi_curve_of_concentrated(mu * mu / 2);
    return payment;
}

Figures figures_of(const ScoreTable& table, double deviation) {
    const auto all = [](std::size_t) { return true; };
    const auto right = [&](std::size_t row, std::size_t label) {
        return table.answer_of(row) == label ? 1.0 : 0.0;
    };
    Figures figures;
    const Ratio accuracy = ratio_of(table, right, all);
    figures.persons = accuracy.below;
    figures.accuracy = estimate_of(accuracy, deviation, accuracy.value() * (1 - accuracy.value()));
    double variance = 0;
    const auto classes = static_cast<double>(table.classes);
    for (std::size_t c = 0; c < table.classes; ++c) {
        const Ratio recall = ratio_of(table, right, [c](std::size_t label) { return label == c; });
        const Estimate of_class = estimate_of(recall, deviation, recall.value() * (1 - recall.value()));
        figures.balanced.value += of_class.value / classes;
        variance += of_class.error * of_class.error / (classes * classes);
        figures.class_parts.push_back(std::clamp(recall.below / std::max(accuracy.below, 1.0), 0.0, 1.0));
    }
    figures.balanced.error = std::sqrt(variance);
    if (!table.scored()) return figures;
    figures.auc = auc_of(table, deviation);
    const auto squared = [](std::size_t row, std::size_t label) {
        constexpr double half = ScoreTable::score_bins / 2.0;
        const double middle = (static_cast<double>(row) + 0.5 - half) / bins_of_a_unit;
        return std::pow(sigmoid(middle) - static_cast<double>(label), 2);
    };
    const Ratio brier = ratio_of(table, squared, all);
    const Ratio square = ratio_of(
        table, [&](std::size_t row, std::size_t label) { return std::pow(squared(row, label), 2); }, all);
    figures.brier = estimate_of(brier, deviation, square.value() - brier.value() * brier.value());
    return figures;
}

std::string ScoreTable::text() const {
    return nlohmann::json{{"rows", rows}, {"classes", classes}, {"persons", persons}}.dump();
}

ScoreTable ScoreTable::of(const std::string& text, const std::string& where) {
    try {
        const nlohmann::json object = nlohmann::json::parse(text);
        ScoreTable table{object.at("rows"), object.at("classes"), object.at("persons")};
        if (table.persons.size() == table.rows * table.classes) return table;
    } catch (const nlohmann::json::exception&) {
        // damaged, as below
    }
    throw Error(ExitCode::input, "the ledger keeps a table of scores that is damaged",
                "restore the ledger from its last copy", where);
}

nlohmann::json Figures::to_json(bool scored) const {
    const auto one = [](const Estimate& estimate) {
        return nlohmann::json{{"value", estimate.value}, {"error", estimate.error}};
    };
    nlohmann::json object = {{"persons", persons},
                             {"accuracy", one(accuracy)},
                             {"balanced_accuracy", one(balanced)},
                             {"class_parts", class_parts}};
    if (scored) {
        object["auc"] = one(auc);
        object["brier"] = one(brier);
    }
    return object;
}

}  // namespace holdfast
