#include "jobs/advise/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "models/privacy/accountant/gaussian_steps.hpp"

namespace holdfast {
namespace {

/// To three significant digits, as a person would write it.
double rounded(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g", value);
    return std::strtod(text, nullptr);
}

enum class Map { columns, coarse_bins, fine_bins };

const char* name_of(Map map) {
    return map == Map::columns ? "columns" : map == Map::coarse_bins ? "coarse bins" : "fine bins";
}

/// What every candidate has: a linear model of columns in [0, 1] as the network sees them, near 0.
Settings linear(const PublicNumbers& numbers, Map map) {
    Settings settings;
    settings.network.hidden = {};
    settings.network.classes = numbers.classes;
    settings.training.expected_records = numbers.records;
    settings.certificate.relation = numbers.relation;
    if (map == Map::columns) {
        settings.network.input_shift = numbers.columns == Columns::amounts ? 0.25 : 0.5;
        settings.network.input_scale = 4;
    } else {
        settings.features.map = FeatureSettings::Map::bins;
        settings.features.edges = bin_edges(map == Map::coarse_bins ? 8 : 16);
        settings.features.keep = false;
    }
    return settings;
}

std::int64_t parameters(const Settings& settings, const PublicNumbers& numbers) {
    const std::int64_t each = settings.features.map == FeatureSettings::Map::none
                                  ? 1
                                  : static_cast<std::int64_t>(settings.features.edges.size()) + 1;
    return (numbers.features * each + 1) * (numbers.classes == 2 ? 1 : numbers.classes);
}

/// Full batches, so that every step sees every record and its noise is the least. Of 100 steps each goes as
/// far as leaves the first one's noise the length 1 in the parameters (2 for bins, of which a record has
/// few). What all steps leave depends on the sum of their rates alone, so where that would be a rate that
/// overshoots, more steps share it.
Settings noisy(const PublicNumbers& numbers, Map map) {
    constexpr std::int64_t steps = 100, most_steps = 300;
    constexpr double greatest_rate = 15;
    Settings settings = linear(numbers, map);
    const double multiplier =
        noise_multiplier_for(decimal_value(numbers.epsilon, "--epsilon"),
                             decimal_value(numbers.delta, "--delta"), 1, steps, numbers.relation);
    const double rate = (map == Map::columns ? 1 : 2) * static_cast<double>(numbers.records) /
                        (multiplier * std::sqrt(static_cast<double>(parameters(settings, numbers))));
    const double times = std::clamp(rate / greatest_rate, 1.0, static_cast<double>(most_steps) / steps);
    settings.training.kind = "noisy";
    settings.training.epochs = std::lround(steps * times);
    settings.training.batches = 1;
    settings.training.learning_rate = rounded(std::min(rate / times, greatest_rate));
    settings.training.learning_rate_decay = rounded(4 / (steps * times));  // to a fifth at the end
    settings.clip.kind = Clip::Kind::norm;
    settings.clip.norm_limit = 1;
    settings.noise.epsilon = numbers.epsilon;
    settings.noise.delta = numbers.delta;
    settings.noise.average = 0.5;
    return settings;
}

/// Plain models on disjoint parts: how many, by what an answer may cost. A vote of T with two thirds in
/// favour is T/6 flips from another, and they are to weigh ln 1000. None has fewer than 40 records.
[[maybe_unused]] Settings votes(const PublicNumbers& numbers, Map map, double answer_epsilon) {
    Settings settings = linear(numbers, map);
    const double wanted = 6 * std::log(1000.0) / answer_epsilon,
                 most = static_cast<double>(numbers.records) / 40;
    settings.training.epochs = 30;
    settings.training.batches = 1;
    settings.training.learning_rate = rounded(8 / static_cast<double>(numbers.features + 1));
    settings.clip.gamma = 1;
    settings.certificate.levels = 0;
    settings.ensemble.members = std::max<std::int64_t>(1, std::llround(std::min(wanted, most)));
    return settings;
}

}  // namespace

std::vector<double> bin_edges(int equal_bins) {
    std::vector<double> edges;
    for (double edge = 0x1p-10; edge < 1.0 / equal_bins; edge *= 4) edges.push_back(edge);
    for (int bin = 1; bin < equal_bins; ++bin) edges.push_back(static_cast<double>(bin) / equal_bins);
    return edges;
}

std::vector<Candidate> candidates(const PublicNumbers& numbers) {
    std::vector<Candidate> all;
    for (const Map map : {Map::columns, Map::coarse_bins, Map::fine_bins})
        all.push_back({std::string("noisy, ") + name_of(map), noisy(numbers, map)});
    return all;
}

}  // namespace holdfast
