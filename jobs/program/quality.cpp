#include "jobs/program/quality.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr double two_sided_95 = 1.959963984540054;

std::string line_of(const char* format, auto... values) {
    return printed(format, values...);
}

std::string table_of(const Quality& quality, const std::vector<std::string>& names) {
    constexpr std::size_t most_classes = 10, width = 12;
    const std::size_t classes = quality.confusion.size();
    if (classes > most_classes) return "";
    const auto name = [&](std::size_t c) {
        return (c < names.size() ? names[c] : "class " + std::to_string(c)).substr(0, width - 1);
    };
    std::string text = line_of("%-20s", "  true \\ answered");
    for (std::size_t c = 0; c < classes; ++c)
        text += line_of("%*s", static_cast<int>(width), name(c).c_str());
    text += "\n";
    for (std::size_t truth = 0; truth < classes; ++truth) {
        text += line_of("  %-18s", name(truth).c_str());
        for (const std::uint64_t count : quality.confusion[truth])
            text += line_of("%*llu", static_cast<int>(width), static_cast<unsigned long long>(count));
        text += "\n";
    }
    return text;
}

/// Who asks so many queries, and how many of them count as asked independently.
struct Askers {
    Askers(std::span<const std::uint64_t> ids, std::size_t queries)
        : persons(queries), independent(static_cast<double>(queries)) {
        if (ids.empty()) return;
        std::map<std::uint64_t, double> of_person;
        for (const std::uint64_t id : ids) ++of_person[id];
        double squares = 0;
        for (const auto& [id, count] : of_person) squares += count * count;
        persons = of_person.size();
        independent *= independent / squares;
    }
    std::uint64_t persons;
    double independent;
};

/// How often a query of the class is given a higher probability than another one, ties by half: by ranks
/// (Mann, Whitney 1947). `of_class`: [queries], at least one of each.
double area_under_curve(const std::vector<double>& probability, const std::vector<bool>& of_class) {
    std::vector<std::size_t> order(probability.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t one, std::size_t other) { return probability[one] < probability[other]; });
    double below = 0, won = 0, inside = 0;  // others below; pairs in the right order; queries of the class
    for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
        double mine = 0, others = 0;
        for (; last < order.size() && probability[order[last]] == probability[order[first]]; ++last)
            (of_class[order[last]] ? mine : others) += 1;
        won += mine * (below + others / 2);
        below += others;
        inside += mine;
    }
    return won / (inside * below);
}

/// The sum over bins of probability of |mean probability - share of the class|, each weighed by its queries.
double calibration_error(const std::vector<double>& probability, const std::vector<bool>& of_class) {
    constexpr std::size_t bins = 10;
    std::array<double, bins> gaps{};
    for (std::size_t q = 0; q < probability.size(); ++q)
        gaps[std::min(bins - 1, static_cast<std::size_t>(probability[q] * bins))] +=
            probability[q] - (of_class[q] ? 1 : 0);
    double sum = 0;
    for (const double gap : gaps) sum += std::abs(gap);
    return sum / static_cast<double>(probability.size());
}

ProbabilityQuality probability_quality(std::span<const double> probabilities,
                                       std::span<const std::int32_t> truth, std::size_t classes) {
    constexpr double least = 1e-15;  // a logarithm of 0 would end every comparison
    const auto n = static_cast<double>(truth.size());
    ProbabilityQuality quality;
    std::size_t compared = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        std::vector<double> probability;
        std::vector<bool> of_class;
        double squares = 0, sum = 0;
        for (std::size_t q = 0; q < truth.size(); ++q) {
            probability.push_back(probabilities[q * classes + c]);
            of_class.push_back(truth[q] == static_cast<std::int32_t>(c));
            const double gap = probability[q] - (of_class[q] ? 1 : 0);
            squares += gap * gap;
            sum += probability[q];
            if (of_class[q]) quality.log_loss -= std::log(std::max(probability[q], least)) / n;
        }
        const auto inside = static_cast<double>(std::count(of_class.begin(), of_class.end(), true));
        quality.predicted.push_back(sum / n);
        quality.share.push_back(inside / n);
        quality.brier += squares / n / 2;
        quality.calibration_error += calibration_error(probability, of_class) / 2;
        if (inside == 0 || inside == n) continue;
        quality.auc += area_under_curve(probability, of_class);
        ++compared;
    }
    quality.auc = compared > 0 ? quality.auc / static_cast<double>(compared) : 0.5;
    return quality;
}

constexpr const char* improvements =
    "A larger epsilon, more records, fewer columns or tighter public ranges help.\n";

/// How a figure and its baseline compare as `format` prints them, so that no reader sees the contrary. A gain
/// that is not sure may be chance.
std::string compared(const std::string& what, const char* format, double figure, double baseline,
                     bool more_is_better) {
    const double shown = std::stod(line_of(format, figure)), beside = std::stod(line_of(format, baseline));
    const bool gain = more_is_better ? shown > beside : shown < beside;
    return what +
           (shown > beside   ? " is higher than"
            : shown < beside ? " is lower than"
                             : " equals") +
           " the baseline's" + (gain ? ", which may be chance (95% interval).\n" : ".\n");
}

std::string text_of(const ProbabilityQuality& quality) {
    std::string text = line_of("AUC %.4f; log-loss %.4f; Brier score %.4f; calibration error %.4f\n",
                               quality.auc, quality.log_loss, quality.brier, quality.calibration_error);
    if (quality.share.size() == 2)
        text += line_of("probability of the second class on average %.4f, its share %.4f\n",
                        quality.predicted[1], quality.share[1]);
    return text;
}

}  // namespace

std::vector<double> probabilities_of(Loss loss, std::span<const double> logits, std::size_t outputs) {
    const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
    std::vector<double> parts;
    if (loss == Loss::binary_cross_entropy) {
        for (const double logit : logits) parts.insert(parts.end(), {sigmoid(-logit), sigmoid(logit)});
        return parts;
    }
    if (loss != Loss::cross_entropy && loss != Loss::one_vs_rest) return parts;
    for (std::size_t first = 0; first < logits.size(); first += outputs) {
        const auto row = logits.subspan(first, outputs);
        const double greatest = *std::max_element(row.begin(), row.end());
        for (const double logit : row)
            parts.push_back(loss == Loss::cross_entropy ? std::exp(logit - greatest) : sigmoid(logit));
        const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(first);
        const double sum = std::accumulate(begin, parts.end(), 0.0);
        for (auto part = begin; part != parts.end(); ++part) *part /= sum;
    }
    return parts;
}

Quality quality_of(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth,
                   std::size_t classes, std::span<const double> probabilities,
                   std::span<const std::uint64_t> ids) {
    const Askers asked(ids, truth.size());
    Quality quality;
    quality.persons = asked.persons;
    quality.confusion.assign(classes, std::vector<std::uint64_t>(classes, 0));
    quality.queries = truth.size();
    for (std::size_t q = 0; q < truth.size(); ++q)
        ++quality.confusion[static_cast<std::size_t>(truth[q])][static_cast<std::size_t>(labels[q])];
    std::uint64_t right = 0, commonest = 0, occurring = 0;
    double variance = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        const std::vector<std::uint64_t>& row = quality.confusion[c];
        const std::uint64_t count = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
        right += row[c];
        commonest = std::max(commonest, count);
        if (count == 0) continue;
        ++occurring;
        const double part = static_cast<double>(row[c]) / static_cast<double>(count);
        quality.balanced += part;
        variance += part * (1 - part) / static_cast<double>(count);
    }
    const double n = asked.independent, z = two_sided_95,
                 p = static_cast<double>(right) / static_cast<double>(quality.queries);
    const double centre = (p + z * z / (2 * n)) / (1 + z * z / n),
                 reach = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    quality.accuracy = p;
    quality.lowest = std::max(0.0, centre - reach);
    quality.highest = std::min(1.0, centre + reach);
    quality.commonest = static_cast<double>(commonest) / static_cast<double>(quality.queries);
    quality.chance = 1 / static_cast<double>(occurring);
    quality.balanced *= quality.chance;
    quality.balanced_lowest =
        quality.balanced -
        z * quality.chance * std::sqrt(variance * static_cast<double>(quality.queries) / n);
    if (!probabilities.empty()) quality.probabilities = probability_quality(probabilities, truth, classes);
    return quality;
}

NumericQuality quality_of(std::span<const double> answers, std::span<const double> targets,
                          std::span<const std::uint64_t> ids) {
    const auto count = static_cast<double>(targets.size());
    const double mean = std::accumulate(targets.begin(), targets.end(), 0.0) / count;
    NumericQuality quality{.queries = targets.size()};
    double gains_squared = 0;
    for (std::size_t q = 0; q < targets.size(); ++q) {
        const double error = answers[q] - targets[q], off = targets[q] - mean;
        const double gain = off * off - error * error;
        quality.squared_error += error * error / count;
        quality.absolute_error += std::abs(error) / count;
        quality.variance += off * off / count;
        gains_squared += gain * gain / count;
    }
    const double gained = quality.variance - quality.squared_error;
    quality.gain_deviation =
        std::sqrt(std::max(0.0, gains_squared - gained * gained) / Askers(ids, targets.size()).independent);
    return quality;
}

bool NumericQuality::beats_guessing() const {
    return variance - squared_error > two_sided_95 * gain_deviation;
}

nlohmann::json to_json(const NumericQuality& quality) {
    return {{"mean_squared_error", quality.squared_error},
            {"mean_absolute_error", quality.absolute_error},
            {"explained_variance", quality.explained()},
            {"beats_guessing", quality.beats_guessing()}};
}

std::string text_of(const NumericQuality& quality, double unit) {
    return line_of("root mean squared error %.6g, mean absolute error %.6g, of %zu queries%s\n",
                   unit * std::sqrt(quality.squared_error), unit * quality.absolute_error, quality.queries,
                   unit == 1 ? "" : ", in the target's own units") +
           line_of("mean (baseline): %.6g; of the variance explained: %.4f\n",
                   unit * std::sqrt(quality.variance), quality.explained()) +
           (quality.beats_guessing()
                ? ""
                : "The model is not shown to be better than the mean. " +
                      compared("The error", "%.6g", unit * std::sqrt(quality.squared_error),
                               unit * std::sqrt(quality.variance), false) +
                      improvements);
}

nlohmann::json to_json(const Quality& quality) {
    nlohmann::json object = {{"accuracy", quality.accuracy},
                             {"interval", {quality.lowest, quality.highest}},
                             {"persons", quality.persons},
                             {"commonest_class", quality.commonest},
                             {"balanced_accuracy", quality.balanced},
                             {"beats_guessing", quality.beats_guessing()},
                             {"tells_classes_apart", quality.tells_classes_apart()},
                             {"confusion", quality.confusion}};
    if (const auto& probabilities = quality.probabilities)
        object.update({{"auc", probabilities->auc},
                       {"brier", probabilities->brier},
                       {"log_loss", probabilities->log_loss},
                       {"calibration_error", probabilities->calibration_error},
                       {"mean_probability", probabilities->predicted},
                       {"class_share", probabilities->share}});
    return object;
}

std::string text_of(const Quality& quality, const std::vector<std::string>& names) {
    std::string text = line_of("accuracy %.4f of %llu queries%s, 95%% interval %.4f to %.4f\n",
                               quality.accuracy, static_cast<unsigned long long>(quality.queries),
                               quality.persons < quality.queries
                                   ? (" of " + std::to_string(quality.persons) + " persons").c_str()
                                   : "",
                               quality.lowest, quality.highest) +
                       line_of("majority class (baseline): %.4f; balanced accuracy %.4f\n", quality.commonest,
                               quality.balanced) +
                       (quality.probabilities ? text_of(*quality.probabilities) : "") +
                       table_of(quality, names);
    if (quality.beats_guessing()) return text;
    const std::string beside = compared("The accuracy", "%.4f", quality.accuracy, quality.commonest, true);
    if (quality.tells_classes_apart())
        return text + line_of("The balanced accuracy is above that of guessing, %.4f. ", quality.chance) +
               beside;
    return text + "The model is not shown to be better than guessing. " + beside + improvements;
}

}  // namespace holdfast
