#include "jobs/study/advise/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "kernels/base/text.hpp"
#include "kernels/ops/loss.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/nets/public_model.hpp"
#include "models/privacy/accountant/gaussian_steps.hpp"
#include "models/privacy/composition.hpp"

namespace holdfast {
namespace {

/// To three significant digits, as a person would write it.
double rounded(double value) {
    return std::strtod(printed("%.3g", value).c_str(), nullptr);
}

/// What records count by so that all classes count alike; the smallest weight that a training takes at least.
std::vector<double> class_weights(const std::vector<double>& shares) {
    std::vector<double> weights;
    for (const double share : shares)
        weights.push_back(
            std::max(0x1p-10, rounded(*std::min_element(shares.begin(), shares.end()) / share)));
    return weights;
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
        settings.features.edges = {bin_edges(map == Map::coarse_bins ? 8 : 16)};
        settings.features.keep = false;
    }
    return settings;
}

double parameters(const Settings& settings, const PublicNumbers& numbers) {
    const FeatureMap map = settings.feature_map(static_cast<std::size_t>(numbers.features), {0, 1});
    return static_cast<double>(settings.network.make(map).parameters());
}

/// The hot entry of a bin beside the standardised column. Chosen on generated tables of twelve kinds (linear,
/// additive, skewed, heavy-tailed, correlated, flags, …).
constexpr double hot_beside_trend = 1.5;

/// The 2-norm of what the network sees of a record. With bins a column adds its standardised value and one
/// hot entry. Columns are shortened to it where they are longer: amounts to a typical row's, coordinates,
/// whose spread nobody knows, to twice that of a typical table's.
double length_of_row(const PublicNumbers& numbers, Map map) {
    const auto columns = static_cast<double>(numbers.features);
    if (map != Map::columns) return std::sqrt(columns * (1 + hot_beside_trend * hot_beside_trend));
    if (numbers.columns == Columns::amounts) return std::sqrt(1.3 * columns);
    double squares = 0;
    for (std::int64_t j = 0; j < numbers.features; ++j) squares += 1 / (1 + static_cast<double>(j));
    return std::sqrt(squares);
}

/// Full batches, so that every step sees every record and its noise is the least. `noise` is the length of
/// what the noise of the whole budget adds to a mean of gradients that nothing clips; all else follows from
/// it, by rules chosen on generated tables (models/README.md, what it comes to):
/// - The clip. A record's gradient is its error times its length. A clip below that length is a bias: errors
///   beyond clip / length count alike, probabilities are no longer calibrated, the rarer class is told too
///   seldom. It is worth less noise only where there is much of it.
/// - How far all steps go together (a step of momentum m counts 1 / (1 - m) times its rate), until noise
///   outweighs what is still to be learnt.
/// - The rate: what the curvature bears, in as many steps as that takes.
Settings noisy(const PublicNumbers& numbers, Map map) {
    const bool bins = map != Map::columns, amounts = numbers.columns == Columns::amounts;
    const double share_at_noise_1 = amounts ? 0.14 : 0.05;
    const double least_share = amounts ? 0.45 : 0.3, greatest_share = 0.75;
    constexpr double usual_momentum = 0.9, most_momentum = 0.95, decay = 4;
    // A number's errors seldom exceed half of its range, so the clip shortens few gradients, and no
    // probability waits for parameters to grow: all that is to be learnt is near.
    constexpr double usual_slope_of_squares = 1;
    const double patience_of_squares = bins ? 0.6 : 1.2;
    constexpr double least_steps = 80, most_steps = 400;
    Settings settings = linear(numbers, map);
    const LossInfo& loss = info_of(settings.network.resolved_loss());
    const double row = length_of_row(numbers, map), length = std::sqrt(row * row + 1);
    if (bins) {
        settings.features.trend = true;
        settings.features.hot = hot_beside_trend;
    } else {
        settings.features.norm_limit = rounded(row);
    }
    const double longest = (numbers.is_regression() ? usual_slope_of_squares : loss.slope) * length;
    const double noise =
        noise_multiplier_for(decimal_value(numbers.epsilon, "--epsilon"),
                             decimal_value(numbers.delta, "--delta"), 1, 1, numbers.relation) *
        longest * std::sqrt(parameters(settings, numbers)) / static_cast<double>(numbers.records);
    const double share = std::clamp(share_at_noise_1 / std::sqrt(noise), least_share, greatest_share);
    const double patience = std::min(4.0, bins ? 1.2 / std::sqrt(noise) : 0.2 / noise);
    const double reach =
        numbers.is_regression() ? patience_of_squares / (share * noise) : patience / (share * share * noise);
    const double steady = 0.8 * 2 * (1 + usual_momentum) / (*loss.curvature * length * length);
    const double average = std::log1p(decay) / decay;  // of the rate, over all steps
    const double wanted = std::ceil(reach * (1 - usual_momentum) / (steady * average));
    const double steps = std::clamp(wanted, least_steps, most_steps);
    const double momentum =
        std::clamp(1 - (1 - usual_momentum) * steps / wanted, usual_momentum, most_momentum);
    if (numbers.is_regression()) settings.network.initial = middle_start;  // half of the way is public
    settings.training.kind = "noisy";
    settings.training.epochs = std::lround(steps);
    settings.training.batches = 1;
    settings.training.learning_rate = rounded(std::min(steady, reach * (1 - momentum) / (steps * average)));
    settings.training.learning_rate_decay = rounded(decay / steps);  // to a fifth at the end
    settings.training.momentum = rounded(momentum);
    settings.clip.kind = Clip::Kind::norm;
    settings.clip.norm_limit = rounded(share * longest);
    settings.noise.epsilon = numbers.epsilon;
    settings.noise.delta = numbers.delta;
    settings.noise.average = 0.5;
    return settings;
}

/// What one of the answers may cost that are wanted of the budget, or of 100 where any number is.
double answer_epsilon(const PublicNumbers& numbers) {
    const std::int64_t answers = numbers.answers == 0 ? 100 : numbers.answers;
    const double each = epsilon_for_answers(decimal_value(numbers.epsilon, "--epsilon"),
                                            decimal_value(numbers.delta, "--delta"), answers);
    return std::max(each, 1e-6);
}

/// A model whose change by one record convexity bounds: records so long that the bias's 1 is little of what
/// the bound is of, steps as long as its lemma allows for any number of records from 6 on, since fewer longer
/// ones end sooner. How far all of them together may go is what a record's weight grows with: by N epsilon of
/// an answer, so that a margin of 1 is 5 / epsilon records wide of coordinates, half of that of amounts,
/// whose classes are mostly uneven, and an answer there is hardly ever turned; where more are wanted than
/// have a price each, of the whole budget, since the model is published. On generated tables, and on those of
/// models/README.md, rows of length 1 and half these reaches were worse by up to 8 points at epsilons of .003
/// to .1, and nowhere better by more than .003.
Settings convex(const PublicNumbers& numbers, Map map) {
    constexpr double margin = 0.95, column_length = 4, hot_length = 3;
    constexpr std::int64_t most_steps = 400, most_priced = 100;
    Settings settings = linear(numbers, map);
    settings.training.kind = "convex";
    settings.certificate.levels = 0;
    settings.convex.derivative_limit = 0.3;
    if (numbers.classes > 2) settings.network.loss = "one_vs_rest";
    const double length = map == Map::columns ? column_length : hot_length;
    if (map == Map::columns)
        settings.features.norm_limit = length;
    else
        settings.features.hot = length / std::sqrt(static_cast<double>(numbers.features));
    settings.training.batches = 1;
    const FeatureMap features = settings.feature_map(static_cast<std::size_t>(numbers.features), {0, 1});
    const double longest = margin * ConvexBounds(settings, features).largest_learning_rate();
    const bool priced = numbers.answers >= 1 && numbers.answers <= most_priced;
    const double epsilon = priced ? answer_epsilon(numbers) : numbers.epsilon;
    const double all = (numbers.columns == Columns::amounts ? 0.4 : 0.2) *
                       static_cast<double>(numbers.records) * epsilon /
                       (settings.convex.derivative_limit * (1 + length * length));
    const double steps = std::clamp(std::ceil(all / longest), 1.0, static_cast<double>(most_steps));
    settings.training.epochs = std::lround(steps);
    settings.training.learning_rate = rounded(std::min(longest, all / steps));
    return settings;
}

/// Plain models on disjoint parts. A vote of T that two thirds agree on is T/6 flips from another, and they
/// are to weigh e^3 or more; fewer than 30 say little, and none is to have fewer records than `least`.
Settings votes(const PublicNumbers& numbers, Map map, double least) {
    Settings settings = linear(numbers, map);
    const double wanted = std::max(30.0, 20 / answer_epsilon(numbers)),
                 most = static_cast<double>(numbers.records) / least;
    settings.training.epochs = 100;
    settings.training.batches = 1;
    settings.training.learning_rate = rounded(8 / static_cast<double>(numbers.features + 1));
    settings.clip.gamma = 1;  // no entry of a gradient is so large: nothing is clipped
    settings.certificate.levels = 0;
    settings.ensemble.members = std::clamp<std::int64_t>(std::llround(std::min(wanted, most)), 1, 1000);
    return settings;
}

/// One model in boxes, of one step over everything: the core does not grow, and every level follows, so that
/// there are as many as an answer may want (models/mathematics.md, one step). What it learns is by how much
/// more often a column is above its shift in one class than in the other: the clip is so tiny that a record
/// counts by signs. The rate makes the public parameters that it starts from small beside.
Settings one_step(const PublicNumbers& numbers, Map map) {
    Settings settings = linear(numbers, map);
    settings.training.epochs = 1;
    settings.training.batches = 1;
    settings.clip.gamma = 0.005;
    settings.training.learning_rate = 8 / settings.clip.gamma;
    const double wanted = 20 / answer_epsilon(numbers);
    settings.certificate.levels =
        std::min<std::int64_t>(numbers.records, std::llround(std::min(wanted, 1e6)));
    return settings;
}

/// One model in boxes: a tiny clip, so that a record weighs little beside all others, many small batches, and
/// rates so large that all steps together may move a parameter by 2. Levels for what e^-5 of a flip needs at
/// the cost of one answer.
Settings boxes(const PublicNumbers& numbers) {
    Settings settings = linear(numbers, Map::columns);
    settings.training.epochs = 4;
    settings.training.batches = std::clamp<std::int64_t>(numbers.records / 300, 1, 64);
    settings.clip.gamma = 0.005;
    settings.training.learning_rate =
        rounded(2 / (settings.clip.gamma * static_cast<double>(settings.training.steps())));
    settings.certificate.levels = std::min(
        numbers.records, std::clamp<std::int64_t>(std::llround(5 / answer_epsilon(numbers)), 20, 500));
    return settings;
}

}  // namespace

std::vector<double> bin_edges(int equal_bins) {
    std::vector<double> edges;
    for (double edge = 0x1p-10; edge < 1.0 / equal_bins; edge *= 4) edges.push_back(edge);
    for (int bin = 1; bin < equal_bins; ++bin) edges.push_back(static_cast<double>(bin) / equal_bins);
    return edges;
}

std::vector<Candidate> neighbours(const Candidate& candidate) {
    std::vector<Candidate> others;
    for (const double times : {0.7, 1.4}) {
        Candidate& clipped = others.emplace_back(candidate);
        clipped.settings.clip.norm_limit *= times;
        Candidate& reaching = others.emplace_back(candidate);
        reaching.settings.training.learning_rate *= times;
    }
    return others;
}

std::vector<Candidate> candidates(const PublicNumbers& all_records) {
    // Of unequal classes each counts as much as the least: the rules hold of as many records as that comes
    // to.
    const std::vector<double> weights = class_weights(all_records.class_shares);
    PublicNumbers numbers = all_records;
    if (!weights.empty())
        numbers.records =
            std::max<std::int64_t>(1, std::llround(static_cast<double>(numbers.records) *
                                                   std::inner_product(weights.begin(), weights.end(),
                                                                      numbers.class_shares.begin(), 0.0)));
    std::vector<Candidate> all;
    const auto add = [&](const char* kind, Map map, const Settings& of_rule, const char* steps = "") {
        all.push_back({kind, std::string(steps) + name_of(map), of_rule});
        if (weights.empty()) return;
        Settings& settings = all.back().settings;
        settings.training.class_weights = weights;
        settings.training.expected_records = all_records.records;
        if (settings.training.kind != "convex")  // its rule has found the rate of all records already
            settings.training.learning_rate =
                rounded(settings.training.learning_rate * static_cast<double>(all_records.records) /
                        static_cast<double>(numbers.records));
    };
    std::vector<Map> maps{Map::columns};
    // Bins of coordinates say less than the coordinates, and cost more: their effects are near linear.
    if (numbers.columns == Columns::amounts) maps.insert(maps.end(), {Map::coarse_bins, Map::fine_bins});
    for (const Map map : maps)
        if (numbers.delta > 0) add("noisy", map, noisy(numbers, map));
    if (numbers.is_regression()) return all;  // the others vote, or bound what a label's derivative is
    for (const Map map : maps) add("convex", map, convex(all_records, map));
    constexpr double usual_records = 40, few_records = 10;
    const Settings usual = votes(numbers, Map::columns, usual_records),
                   more = votes(numbers, Map::columns, few_records);
    add("votes", Map::columns, usual);
    if (more.ensemble.members > usual.ensemble.members) add("votes", Map::columns, more, "more, ");
    for (const Map map : maps) add("boxes", map, one_step(numbers, map), "one step, ");
    add("boxes", Map::columns, boxes(numbers));
    return all;
}

}  // namespace holdfast
