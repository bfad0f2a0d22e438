#include "tools/checks/audit_noisy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/version.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/nets/model_file.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "models/noisy/noisy_trainer.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/secret_stream.hpp"
#include "models/training/phase_times.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/checks/epsilon_bounds.hpp"

namespace holdfast {
namespace {

using Parameters = std::vector<std::int64_t>;

constexpr std::size_t ordinary_features = 3;
constexpr std::size_t canary_feature = ordinary_features;  // the first that no ordinary record has
constexpr std::uint64_t canary_id = 1000;
constexpr double range_end = 4, norm_limit = 0.25;

/// A linear model, small enough to be trained thousands of times, in steps so short that a canary's gradient
/// keeps a norm above the clip whatever the noise.
Settings small_settings(double multiplier, std::int64_t steps, double sampling_rate = 1) {
    Settings settings;
    settings.network.hidden.clear();
    settings.training.kind = "noisy";
    settings.training.epochs = steps;
    settings.training.learning_rate = 0x1p-10;
    settings.training.expected_records = 8;
    settings.clip.kind = Clip::Kind::norm;
    settings.clip.norm_limit = norm_limit;
    settings.certificate.levels = 0;
    settings.noise.multiplier = multiplier;
    settings.noise.sampling_rate = sampling_rate;
    return settings;
}

Records no_records(std::size_t features) {
    return {FeatureMatrix(features, true), {}, {}, {}};
}

void append(Records& records, const std::vector<double>& features, std::int32_t label, std::uint64_t id) {
    records.features.append(features.data());
    records.labels.push_back(label);
    records.ids.push_back(id);
    records.rows.push_back(records.rows.size());
}

/// Records of the first features alone, with labels and signs that balance.
Records ordinary_records(std::size_t features, std::size_t count) {
    Records records = no_records(features);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> x(features, 0);
        x[i % ordinary_features] = i % 2 == 0 ? 1 : -1;
        append(records, x, static_cast<std::int32_t>(i / 2 % 2), i);
    }
    return records;
}

/// One feature, at the end of its range.
std::vector<double> canary(std::size_t features, std::size_t feature) {
    std::vector<double> x(features, 0);
    x[feature] = range_end;
    return x;
}

/// A training that is played again and again: of public settings, and records of either world.
struct Game {
    Game(const Settings& settings, std::size_t features, Records world_before, Records world_after)
        : plan(make_plan(settings, {features, {-range_end, range_end}, world_before.size()},
                         make_backend("cpu", settings.training.arithmetic()))),
          start(NoisyTrainer::fresh_state(plan).parameters),
          before(std::move(world_before)),
          after(std::move(world_after)),
          none(no_records(features)) {}

    const Records& world(bool changed) const { return changed ? after : before; }
    std::size_t features() const { return plan.network.inputs(); }
    GaussianSteps claimed() const { return gaussian_steps(plan.settings); }

    TrainingPlan plan;
    Parameters start;
    Records before, after, none;
};
using SharedGame = std::shared_ptr<const Game>;

constexpr std::size_t few_features = 8, few_records = 8;

/// Ordinary records, and a canary more or, for `substitute`, one whose label is the other.
SharedGame game_of(const Settings& settings) {
    Records before = ordinary_records(few_features, few_records), after = before;
    const std::vector<double> x = canary(few_features, canary_feature);
    append(after, x, 1, canary_id);
    if (settings.certificate.relation == Relation::substitute) append(before, x, 0, canary_id);
    return std::make_shared<const Game>(settings, few_features, std::move(before), std::move(after));
}

/// Where the trainer got: the parameters after every step, and at last what it would publish.
std::vector<Parameters> iterates(const Game& game, const Records& records, const SecretKey& run) {
    const NoisySecrets secrets(run);
    NoisyTrainer trainer(game.plan, records, game.none, secrets, NoisyTrainer::fresh_state(game.plan));
    const auto alone = make_serial_communicator();
    PhaseTimes times;
    std::vector<Parameters> iterates{game.start};
    while (!trainer.done()) {
        trainer.step(*alone, times);
        iterates.push_back(trainer.state().parameters);
    }
    iterates.push_back(trainer.result());
    return iterates;
}

Parameters published(const Game& game, const Records& records, const SecretKey& run) {
    return iterates(game, records, run).back();
}

// What may be looked at: each is a number made of published parameters and public ones.

/// Along the gradient of the canary, which is its features and a 1 for the bias.
double along_canary(const Game& game, const Parameters& parameters) {
    const auto moved = [&](std::size_t p) { return static_cast<double>(parameters[p] - game.start[p]); };
    return range_end * moved(canary_feature) + moved(game.features());
}

/// Along a canary that has all features.
double along_all(const Game& game, const Parameters& parameters) {
    double sum = 0;
    for (std::size_t p = 0; p < game.start.size(); ++p)
        sum += static_cast<double>(parameters[p] - game.start[p]);
    return sum;
}

/// How large the noise is where no record has a gradient.
double size_of_noise(const Game& game, const Parameters& parameters) {
    double sum = 0;
    for (std::size_t p = canary_feature + 1; p < game.features(); ++p)
        sum += std::pow(static_cast<double>(parameters[p] - game.start[p]), 2);
    return sum;
}

double apart(std::int64_t a, std::int64_t b) {
    return std::abs(static_cast<double>(a - b));
}

/// How far the second of two steps differs from the first, in the feature of the canary.
double change_of_step(const std::vector<Parameters>& iterates) {
    const auto step = [&](std::size_t t) {
        return iterates[t + 1][canary_feature] - iterates[t][canary_feature];
    };
    return apart(step(1), step(0));
}

// Trainings with a fault each.

/// Two steps that draw their noise from one place; their records as they should be.
std::vector<Parameters> iterates_of_one_place(const Game& game, const Records& records,
                                              const SecretKey& run) {
    const auto alone = make_serial_communicator();
    PhaseTimes times;
    NoisyState state = NoisyTrainer::fresh_state(game.plan);
    std::vector<Parameters> iterates{state.parameters};
    for (const char* step : {"first", "second"}) {
        NoisySecrets secrets(run);
        secrets.sampling = run.derived("sampling", step);
        NoisyTrainer trainer(game.plan, records, game.none, secrets, std::move(state));
        trainer.step(*alone, times);
        state = trainer.state();
        state.step = 0;
        iterates.push_back(state.parameters);
    }
    return iterates;
}

/// Those whom the first step takes, for all steps: with a sampling rate of 1 it is the same draw every time.
Records sampled_once(const Records& records, double rate, const SecretKey& run) {
    const NoisySecrets secrets(run);
    PoissonSample sample(secrets.sampling, static_cast<std::uint64_t>(std::ldexp(rate, 32)), records.ids);
    Records taken = no_records(records.features.columns());
    for (const std::uint32_t i : sample.of_step(0)) {
        taken.features.append_row_of(records.features, i);
        taken.labels.push_back(records.labels[i]);
        taken.ids.push_back(records.ids[i]);
        taken.rows.push_back(records.rows[i]);
    }
    return taken;
}

/// Words of a stream, for the generators of the standard library.
class StreamWords {
  public:
    using result_type = std::uint64_t;
    explicit StreamWords(const SecretKey& key) : stream_(key, 0, 0) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return UINT64_MAX; }
    result_type operator()() {
        result_type word = 0;
        stream_.fill(std::as_writable_bytes(std::span(&word, 1)));
        return word;
    }

  private:
    SecretStream stream_;
};

/// The canary's entry of a step's sum in doubles, plus a normal double (Mironov 2012 says what is wrong).
double floating_sum(const Game& game, bool changed, const SecretKey& run) {
    double sum = 0;
    if (changed) {
        const double logit = range_end * parameter_value(game.start[canary_feature]) +
                             parameter_value(game.start[game.features()]);
        const double delta = 1 / (1 + std::exp(-logit)) - 1;
        const double norm = std::abs(delta) * std::sqrt(range_end * range_end + 1);
        sum = delta * range_end * std::min(1.0, norm_limit / norm);
    }
    StreamWords words(run);
    std::normal_distribution<double> noise(0, game.plan.settings.noise.multiplier * norm_limit);
    return sum + noise(words);
}

/// The place of the lowest bit of a number.
double lowest_bit(double value) {
    int exponent = 0;
    const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
    return exponent + std::countr_zero(static_cast<std::uint64_t>(significand));
}

// The audits.

NoisyAudit of_projection(std::string subject, const Settings& settings, std::int64_t runs) {
    check(settings);
    const SharedGame game = game_of(settings);
    return {std::move(subject),
            game->claimed(),
            [game](bool changed, const SecretKey& run) {
                return along_canary(*game, published(*game, game->world(changed), run));
            },
            "",
            {},
            runs};
}

Settings substituting(Settings settings) {
    settings.certificate.relation = Relation::substitute;
    return settings;
}

NoisyAudit of_momentum_and_average() {
    Settings settings = small_settings(2, 4);
    settings.training.momentum = 0.5;
    settings.noise.average = 0.5;
    return of_projection("momentum, average of the last half", settings, 10000);
}

/// All of a model file but the parameters.
Model model_of(const Game& game) {
    const DataFacts facts{Scaling::public_constants, IdKind::given, false};
    const Settings& settings = game.plan.settings;
    const Payment payment = noisy_payment(settings, facts).value();
    return {game.plan.network,
            settings.training.precision,
            {},
            "noisy",
            "holdfast",
            version(),
            nlohmann::json::parse(payment.guarantee),
            {{"epsilon", shown(payment.epsilon)},
             {"delta", shown(payment.delta)},
             {"mechanism", payment.mechanism},
             {"parameters", nlohmann::json::parse(payment.parameters)}}};
}

/// What a file of these parameters gives back.
Parameters through_a_file(Model model, const Parameters& parameters) {
    const TemporaryFolder folder;
    const std::string path = folder.file("model.h5");
    model.parameters = parameters;
    write_model(path, model);
    Parameters read = read_model(path).model.parameters;
    ensure(read == parameters, "a model file holds the parameters that were trained");
    return read;
}

/// With the least noise that an epsilon of 4 allows.
NoisyAudit of_published_file() {
    Settings settings = small_settings(0, 1);
    settings.noise.epsilon = 4;
    const SharedGame game = game_of(settled_for_noise(settings));
    const auto model = std::make_shared<const Model>(model_of(*game));
    const auto one_at_a_time = std::make_shared<std::mutex>();  // HDF5 is no library of threads
    return {"published file",
            game->claimed(),
            [game, model, one_at_a_time](bool changed, const SecretKey& run) {
                const Parameters parameters = published(*game, game->world(changed), run);
                const std::lock_guard lock(*one_at_a_time);
                return along_canary(*game, through_a_file(*model, parameters));
            },
            "",
            {},
            200};
}

NoisyAudit of_halved_noise() {
    NoisyAudit audit = of_projection("projection", small_settings(2, 4), 10000);
    const SharedGame halved = game_of(small_settings(1, 4));
    audit.fault = "noise halved";
    audit.broken = [halved](bool changed, const SecretKey& run) {
        return along_canary(*halved, published(*halved, halved->world(changed), run));
    };
    return audit;
}

/// The first run is on the records before the change, in both worlds.
NoisyAudit of_reused_key() {
    const SharedGame game = game_of(small_settings(2, 1));
    const auto apart_of = [game](bool changed, const SecretKey& first, const SecretKey& second) {
        return apart(published(*game, game->before, first)[canary_feature],
                     published(*game, game->world(changed), second)[canary_feature]);
    };
    return {"two runs, their difference",
            game->claimed(),
            [apart_of](bool changed, const SecretKey& key) {
                return apart_of(changed, key.derived("run", "first"), key.derived("run", "second"));
            },
            "key reused",
            [apart_of](bool changed, const SecretKey& key) { return apart_of(changed, key, key); },
            2000};
}

NoisyAudit of_reused_place() {
    const SharedGame game = game_of(small_settings(2, 2, 0.5));
    const SharedGame one_step = game_of(small_settings(2, 1, 0.5));
    return {"two steps, their difference",
            game->claimed(),
            [game](bool changed, const SecretKey& run) {
                return change_of_step(iterates(*game, game->world(changed), run));
            },
            "place of a step reused",
            [one_step](bool changed, const SecretKey& run) {
                return change_of_step(iterates_of_one_place(*one_step, one_step->world(changed), run));
            },
            4000};
}

NoisyAudit of_reused_sample() {
    constexpr double rate = 0x1p-4;
    Settings settings = small_settings(1, 16, rate), always = small_settings(1, 16);
    settings.training.expected_records = 16;
    always.training.expected_records = 1;  // the same normaliser
    const SharedGame game = game_of(settings), taking_all = game_of(always);
    return {"projection, 16 steps, q = 1/16",
            game->claimed(),
            [game](bool changed, const SecretKey& run) {
                return along_canary(*game, published(*game, game->world(changed), run));
            },
            "sample of a step reused",
            [taking_all](bool changed, const SecretKey& run) {
                const Records taken = sampled_once(taking_all->world(changed), rate, run);
                return along_canary(*taking_all, published(*taking_all, taken, run));
            },
            20000};
}

NoisyAudit of_infinity_norm() {
    constexpr std::size_t features = 16;
    const auto game_clipped = [features](const Settings& settings) {
        Records before = ordinary_records(features, few_records), after = before;
        append(after, std::vector<double>(features, 1), 1, canary_id);
        return std::make_shared<const Game>(settings, features, std::move(before), std::move(after));
    };
    const auto play_of = [](const SharedGame& game) {
        return [game](bool changed, const SecretKey& run) {
            return along_all(*game, published(*game, game->world(changed), run));
        };
    };
    const Settings settings = small_settings(2, 1);
    Settings by_entries = settings;  // check() would refuse it
    by_entries.clip.kind = Clip::Kind::elementwise;
    by_entries.clip.gamma = norm_limit;
    const SharedGame game = game_clipped(settings);
    return {"projection, all features",
            game->claimed(),
            play_of(game),
            "clip by the infinity norm",
            play_of(game_clipped(by_entries)),
            2000};
}

/// A person of several equal rows: their mean is clipped, as one record is. Whoever takes each row for a
/// record lets the person add as often.
NoisyAudit of_person_of_rows() {
    constexpr std::uint64_t rows = 8;
    const auto game_of_rows = [](const Settings& settings, bool of_one_person) {
        Records before = ordinary_records(few_features, few_records), after = before;
        for (std::uint64_t row = 0; row < rows; ++row)
            append(after, canary(few_features, canary_feature), 1, canary_id + (of_one_person ? 0 : row));
        if (of_one_person) {
            before.weights.assign(before.size(), 1);
            after.weights.assign(after.size(), row_weight(rows));
            std::fill_n(after.weights.begin(), few_records, 1);
        }
        return std::make_shared<const Game>(settings, few_features, std::move(before), std::move(after));
    };
    const auto play_of = [](const SharedGame& game) {
        return [game](bool changed, const SecretKey& run) {
            return along_canary(*game, published(*game, game->world(changed), run));
        };
    };
    Settings settings = small_settings(2, 4), of_rows = settings;
    settings.training.rows_at_most = rows;
    check(settings);
    const SharedGame game = game_of_rows(settings, true);
    return {"a person of 8 equal rows, 4 steps",
            game->claimed(),
            play_of(game),
            "rows taken for persons",
            play_of(game_of_rows(of_rows, false)),
            4000};
}

/// Whoever counts, divides by another number in the other world.
NoisyAudit of_private_count() {
    constexpr std::size_t features = 64, records = 4;
    Settings settings = small_settings(2, 1);
    settings.training.expected_records = records;
    Settings counting = settings;  // settled_for_noise() would refuse it
    counting.training.expected_records = 0;
    Records before = ordinary_records(features, records), after = before;
    append(after, canary(features, canary_feature), 1, canary_id);
    const auto game = std::make_shared<const Game>(settings, features, before, after);
    const auto fewer = std::make_shared<const Game>(counting, features, before, before);
    const auto more = std::make_shared<const Game>(counting, features, after, after);
    return {"size of the noise",
            game->claimed(),
            [game](bool changed, const SecretKey& run) {
                return size_of_noise(*game, published(*game, game->world(changed), run));
            },
            "normaliser from the count",
            [fewer, more](bool changed, const SecretKey& run) {
                const Game& found = changed ? *more : *fewer;
                return size_of_noise(found, published(found, found.before, run));
            },
            2000};
}

NoisyAudit of_floating_noise() {
    const SharedGame game = game_of(small_settings(4, 1));
    return {
        "lowest bit",
        game->claimed(),
        [game](bool changed, const SecretKey& run) {
            const Parameters parameters = published(*game, game->world(changed), run);
            return lowest_bit(static_cast<double>(parameters[canary_feature] - game->start[canary_feature]));
        },
        "noise in floating point",
        [game](bool changed, const SecretKey& run) { return lowest_bit(floating_sum(*game, changed, run)); },
        20000};
}

// One run.

std::vector<bool> coins(std::size_t count, const SecretKey& key) {
    StreamWords words(key);
    std::vector<bool> heads(count);
    for (std::size_t c = 0; c < count; ++c) heads[c] = (words() & 1) != 0;
    return heads;
}

/// How far each canary's feature moved the way that the canary would move it; [canaries].
std::vector<std::int64_t> canary_scores(const Settings& settings, const std::vector<bool>& in,
                                        const SecretKey& run) {
    const std::size_t features = ordinary_features + in.size();
    const auto label = [](std::size_t c) { return static_cast<std::int32_t>(c % 2); };  // biases balance
    Records records = ordinary_records(features, few_records);
    for (std::size_t c = 0; c < in.size(); ++c) {
        if (in[c]) append(records, canary(features, canary_feature + c), label(c), canary_id + c);
    }
    const Game game(settings, features, no_records(features), std::move(records));
    const Parameters parameters = published(game, game.after, run);
    std::vector<std::int64_t> scores(in.size());
    for (std::size_t c = 0; c < in.size(); ++c) {
        const std::int64_t moved = parameters[canary_feature + c] - game.start[canary_feature + c];
        scores[c] = label(c) == 1 ? moved : -moved;
    }
    return scores;
}

struct Guesses {
    std::int64_t made, correct;
};

/// In for the tenth of the greatest scores, out for that of the least.
Guesses best_guesses(const std::vector<std::int64_t>& scores, const std::vector<bool>& in) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    const std::size_t tenth = order.size() / 10;
    std::int64_t correct = 0;
    for (std::size_t i = 0; i < tenth; ++i)
        correct += (in[order[i]] ? 1 : 0) + (in[order[order.size() - 1 - i]] ? 0 : 1);
    return {static_cast<std::int64_t>(2 * tenth), correct};
}

std::string as_a_gaussian(const Rational& epsilon, const Rational& delta, const GaussianSteps& claimed) {
    const double mu =
        reach_of(claimed.relation) * std::sqrt(static_cast<double>(claimed.steps)) / claimed.noise_multiplier;
    char text[64];
    std::snprintf(text, sizeof text, ", mu >= %.2f of %.2f", gaussian_mu(epsilon, delta).get_d(), mu);
    return text;
}

}  // namespace

std::vector<NoisyAudit> noisy_audits() {
    return {of_projection("add_remove, 4 steps", small_settings(2, 4), 10000),
            of_projection("substitute, 4 steps", substituting(small_settings(4, 4)), 10000),
            of_projection("add_remove, 4 steps, q = 1/2", small_settings(1, 4, 0.5), 10000),
            of_projection("substitute, 4 steps, q = 1/2", substituting(small_settings(2, 4, 0.5)), 10000),
            of_momentum_and_average(),
            of_published_file(),
            of_halved_noise(),
            of_reused_key(),
            of_reused_place(),
            of_reused_sample(),
            of_infinity_norm(),
            of_person_of_rows(),
            of_floating_noise(),
            of_private_count()};
}

std::vector<Finding> audit_worlds(const std::string& subject, const GaussianSteps& claimed, const Play& play,
                                  std::int64_t runs, const std::vector<Rational>& deltas,
                                  const Rational& error, const SecretKey& key) {
    Stopwatch watch;
    const Scores scores = scores_of(play, runs, key);
    std::vector<Finding> findings;
    for (const Rational& delta : deltas) {
        Finding finding{subject, {cost_of(claimed, delta).epsilon, delta}, 0, "", 0};
        finding.bound = epsilon_of_scores(scores, delta, error);
        finding.evidence = std::to_string(runs) + " runs a world";
        if (claimed.sampling_rate == 1 && finding.bound > 0)
            finding.evidence += as_a_gaussian(finding.bound, delta, claimed);
        finding.seconds = watch.lap();
        findings.push_back(std::move(finding));
    }
    return findings;
}

Finding audit_one_run(const OneRun& run, const Rational& delta, const Rational& error, const SecretKey& key) {
    Stopwatch watch;
    const Settings settings = small_settings(run.multiplier, 4);
    const Rational claimed = cost_of(gaussian_steps(settings), delta).epsilon;
    Settings trained = settings;
    trained.noise.multiplier *= run.noise_part;
    const std::vector<bool> in = coins(static_cast<std::size_t>(run.canaries), key);
    const Guesses guesses = best_guesses(canary_scores(trained, in, key.derived("run", "")), in);
    return {"one run",
            {claimed, delta},
            epsilon_of_guesses(run.canaries, guesses.made, guesses.correct, delta, error),
            std::to_string(run.canaries) + " canaries, " + std::to_string(guesses.correct) + " of " +
                std::to_string(guesses.made) + " guesses right",
            watch.lap()};
}

}  // namespace holdfast
