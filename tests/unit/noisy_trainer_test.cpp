#include "models/noisy/noisy_trainer.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/nets/dropout.hpp"
#include "models/noisy/noise_copies.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/secret_keys.hpp"

namespace holdfast {
namespace {

Settings some_settings() {
    Settings settings;
    settings.network.hidden = {7};
    settings.network.classes = 3;
    settings.training.kind = "noisy";
    settings.training.epochs = 3;
    settings.training.batches = 4;
    settings.training.learning_rate = 0.7;
    settings.training.expected_records = 200;
    settings.clip = {.kind = Clip::Kind::norm, .norm_limit = 0.8};
    settings.certificate.levels = 0;
    settings.noise.multiplier = 1.5;
    return settings;
}

Records some_records(std::size_t count, double size = 1) {
    std::mt19937_64 engine(4);
    std::normal_distribution<double> normal;
    Records records{FeatureMatrix(5, true), {}, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
        for (int j = 0; j < 5; ++j) records.features.wide_values().push_back(size * normal(engine));
        records.labels.push_back(static_cast<std::int32_t>(engine() % 3));
        records.ids.push_back(1000 + 7 * i);
        records.rows.push_back(i);
    }
    return records;
}

struct World {
    explicit World(const Settings& settings, Records of = some_records(200),
                   std::shared_ptr<const Backend> backend = make_backend("cpu"), char seed = 'a')
        : plan(make_plan(settings, {.features = 5, .found = of.size()}, std::move(backend))),
          secrets(test::known_key(seed)),
          records(std::move(of)) {}
    NoisyTrainer start() const { return start(NoisyTrainer::fresh_state(plan)); }
    NoisyTrainer start(NoisyState state) const { return {plan, records, none, secrets, std::move(state)}; }
    NoisyState trained() const {
        NoisyTrainer trainer = start();
        finish(trainer);
        return trainer.state();
    }
    std::vector<std::int64_t> model() const { return model(NoisyTrainer::fresh_state(plan)); }
    std::vector<std::int64_t> model(NoisyState state) const {
        NoisyTrainer trainer = start(std::move(state));
        finish(trainer);
        return trainer.result();
    }
    static void finish(NoisyTrainer& trainer) {
        while (!trainer.done()) step(trainer);
    }
    static void step(NoisyTrainer& trainer, const Communicator& ranks = *make_serial_communicator()) {
        PhaseTimes times;
        trainer.step(ranks, times);
    }

    TrainingPlan plan;
    NoisySecrets secrets;
    Records records, none{FeatureMatrix(5, false), {}, {}, {}};
};

/// The clipped sums of given records at given parameters.
std::vector<std::int64_t> sums_at(const World& run, const std::vector<std::int64_t>& parameters,
                                  std::span<const std::uint32_t> taken,
                                  const std::vector<std::vector<double>>& mask = {}) {
    const auto engine = run.plan.backend->engine(run.plan.network.shape(), run.plan.settings.clip);
    engine->set_records(std::vector{run.records.view(true)});
    engine->set_dropout(mask);
    const Variant point{parameters.data(), parameters.data()};
    engine->run({&point, 1}, std::vector{taken});
    const auto message = engine->finish();
    const auto begin = message.begin() + 1;
    return {begin, begin + static_cast<std::ptrdiff_t>(parameters.size())};
}

TEST(NoisyTrainer, AddsTheNoiseOfItsKeyToTheSumOfTheDrawnRecords) {
    const World run(some_settings());
    const std::uint64_t quarter = PoissonSample::everybody / 4;
    PoissonSample sample(run.secrets.sampling, quarter, run.records.ids);
    const GaussianNoise noise(noise_in_units(run.plan));
    const auto optimiser = make_optimiser(run.plan.settings.training, run.plan.gradient_scale().exponent);
    NoisyTrainer trainer = run.start();
    std::vector<std::int64_t> expected = trainer.state().parameters, slots;
    std::size_t drawn = 0;
    for (std::int64_t step = 0; step < 12; ++step) {
        const auto taken = sample.of_step(step);
        drawn += taken.size();
        std::vector<std::int64_t> total = sums_at(run, expected, taken), drawn_noise(total.size());
        noise.fill(drawn_noise, run.secrets.noise, static_cast<std::uint64_t>(step));
        for (std::size_t p = 0; p < total.size(); ++p) total[p] += drawn_noise[p];
        optimiser->update(step, 50, {expected, slots}, total);
        World::step(trainer);
        ASSERT_EQ(trainer.state().parameters, expected) << "step " << step;
    }
    EXPECT_TRUE(trainer.done());
    EXPECT_EQ(trainer.result(), expected);
    EXPECT_NEAR(static_cast<double>(drawn), 600, 100);
}

TEST(NoisyTrainer, ASoftThresholdBehindTheNoiseLeavesExactZeros) {
    const auto zeros = [](double l1) {
        Settings settings = some_settings();
        settings.training.l1 = l1;
        const World run(settings);
        NoisyTrainer trainer = run.start();
        World::finish(trainer);
        const std::vector<std::int64_t> result = trainer.result();
        return std::pair(std::count(result.begin(), result.end(), 0), result.size());
    };
    EXPECT_EQ(zeros(0).first, 0);
    const auto [some, parameters] = zeros(0.05);
    EXPECT_GT(some, 5);
    EXPECT_LT(some, parameters);
}

TEST(NoisyTrainer, NoiseHasTheSizeOfItsMultiplier) {
    Settings settings = some_settings();
    settings.training.batches = 1;
    settings.training.epochs = 1;
    settings.training.learning_rate = 1;
    const World noisy(settings);
    settings.noise.law = NoiseSettings::Law::none;
    const World plain(settings);
    const std::vector<std::int64_t> with = noisy.trained().parameters, without = plain.trained().parameters;
    double square = 0;
    for (std::size_t p = 0; p < with.size(); ++p) {
        const double moved = parameter_value(with[p] - without[p]) * 200;
        square += moved * moved;
    }
    EXPECT_NEAR(std::sqrt(square / static_cast<double>(with.size())), 1.5 * 0.8, 0.25);
}

/// What they learn are numbers: one feature, and those that no model could learn.
Records some_numbers(std::size_t count) {
    Records records = some_records(count);
    records.labels.clear();
    for (std::size_t i = 0; i < count; ++i)
        records.targets.push_back(i % 50 == 0 ? 1e300 : records.features.wide_values()[5 * i]);
    return records;
}

TEST(NoisyTrainer, GivesTheSameBytesOnAnyBackendAndThreads) {
    for (const std::int64_t classes : {3, 1}) {
        Settings settings = some_settings();
        settings.network.classes = classes;
        settings.training.momentum = 0.5;
        settings.noise.average = 0.5;
        const Records records = classes == 1 ? some_numbers(200) : some_records(200);
        const std::vector<std::byte> expected = World(settings, records).trained().packed();
        for (const char* name : {"reference", "cpu"}) {
            for (const int threads : {1, 3}) {
                omp_set_num_threads(threads);
                EXPECT_EQ(World(settings, records, make_backend(name)).trained().packed(), expected);
            }
        }
        EXPECT_EQ(
            World(settings, records, make_host_executed_backend(std::size_t{1} << 28)).trained().packed(),
            expected);
        EXPECT_NE(World(settings, records, make_backend("cpu"), 'b').trained().packed(), expected);
    }
}

/// Records of five columns as an image of one row, and a step that leaves part of every layer out.
Settings with_convolutions() {
    Settings settings = some_settings();
    settings.network.hidden = NetworkSettings{}.hidden;
    settings.network.image = {1, 1, 5};
    settings.network.layers = {"conv 4 1x2",           "max_pool 1x2 stride 1",     "dropout 0.3",
                               "conv 3 1x2 padding 1", "average_pool 1x2 stride 1", "dense 5",
                               "dropout 0.4"};
    return settings;
}

TEST(NoisyTrainer, GivesTheSameBytesThroughConvolutions) {
    for (const Precision precision : {Precision::double_precision, Precision::single_precision}) {
        Settings settings = with_convolutions();
        settings.training.precision = precision;
        check(settings);
        const Records records = some_records(300);
        const auto trained = [&](const char* backend) {
            return World(settings, records, make_backend(backend, precision)).trained().packed();
        };
        const std::vector<std::byte> expected = trained("reference");
        for (const int threads : {1, 3}) {
            omp_set_num_threads(threads);
            EXPECT_EQ(trained("cpu"), expected);
        }
    }
}

// The mask is a function of the seed and the step; whatever key and records, it is the same.
/// One noise copy of a record is its own, whoever else is drawn, and is learnt as a record is: by the engine,
/// through any layers, and as where copies are averaged.
TEST(NoiseCopies, AreOfTheirRecordAndTheStepAndLearntInItsPlace) {
    Settings settings = with_convolutions();
    settings.training.batches = 1;
    settings.robust.noise = 0.3;
    check(settings);
    const World run(settings);
    const auto copies_of = [&](const std::vector<std::uint32_t>& indices, std::int64_t step) {
        return noise_copies(run.records, indices, run.plan.network.transform(), 0.3, run.secrets.augment,
                            step);
    };
    std::vector<std::uint32_t> all(run.records.size());
    std::iota(all.begin(), all.end(), 0);
    const Records copies = copies_of(all, 0), one = copies_of({7}, 0), later = copies_of({7}, 1);
    double squares = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < 5; ++j)
            squares += std::pow(copies.features.at(i, j) - run.records.features.at(i, j), 2);
    }
    EXPECT_NEAR(std::sqrt(squares / 1000), 0.3, 0.03);
    for (std::size_t j = 0; j < 5; ++j) {
        EXPECT_EQ(one.features.at(0, j), copies.features.at(7, j));
        EXPECT_NE(one.features.at(0, j), later.features.at(0, j));
    }
    NoisyTrainer trainer = run.start();
    World::step(trainer);
    settings.robust = {};
    const World unmoved(settings, copies);
    NoisyTrainer of_copies = unmoved.start();
    World::step(of_copies);
    EXPECT_EQ(trainer.state().parameters, of_copies.state().parameters);

    Settings dense = some_settings();
    dense.training.batches = 1;
    dense.robust.noise = 0.3;
    const World plain(dense, copies), robust(dense);
    const std::vector<std::int64_t> start = NoisyTrainer::fresh_state(plain.plan).parameters,
                                    sums = sums_at(plain, start, all),
                                    averaged = RobustSums(robust.plan, robust.records, robust.secrets.augment)
                                                   .of({start, {}, 0}, all, *make_serial_communicator())
                                                   .sums;
    const auto limit = static_cast<double>(plain.plan.gradient_scale().weight_units);
    for (std::size_t p = 0; p < sums.size(); ++p)
        EXPECT_NEAR(static_cast<double>(sums[p]), static_cast<double>(averaged[p]), 1e-4 * limit);
}

TEST(NoisyTrainer, LeavesOutWhatSeedAndStepSay) {
    Settings settings = with_convolutions();
    settings.noise.law = NoiseSettings::Law::none;
    settings.training.batches = 1;
    const World run(settings);
    const auto optimiser = make_optimiser(run.plan.settings.training, run.plan.gradient_scale().exponent);
    std::vector<std::uint32_t> all(200);
    std::iota(all.begin(), all.end(), 0);
    NoisyTrainer trainer = run.start();
    std::vector<std::int64_t> expected = trainer.state().parameters, slots;
    for (std::uint64_t step = 0; step < 3; ++step) {
        const auto seed = static_cast<std::uint64_t>(settings.training.seed);
        const auto mask = dropout_factors(run.plan.network, seed, 0, step);
        EXPECT_NE(mask, dropout_factors(run.plan.network, seed, 0, step + 1));
        optimiser->update(static_cast<std::int64_t>(step), 200, {expected, slots},
                          sums_at(run, expected, all, mask));
        World::step(trainer);
        ASSERT_EQ(trainer.state().parameters, expected) << "step " << step;
    }
}

TEST(NoisyTrainer, LearnsNumbers) {
    Settings settings = some_settings();
    settings.network.hidden = {};
    settings.network.classes = 1;
    settings.training.epochs = 200;
    settings.training.batches = 1;
    settings.training.learning_rate = 0.2;
    settings.clip.norm_limit = 4;
    settings.noise.multiplier = 0.5;
    Records records = some_numbers(200);
    const NoisyState state = World(settings, records).trained();
    for (std::size_t j = 0; j < 6; ++j)  // five weights and the bias: what is learnt is the first feature
        EXPECT_NEAR(parameter_value(state.parameters[j]), j == 0 ? 1 : 0, 0.15) << j;
}

TEST(NoisyTrainer, GoesOnFromItsState) {
    Settings settings = some_settings();
    settings.noise.average = 1;
    for (const double centre : {0, 2}) {
        settings.noise.centre = centre;
        const World run(settings);
        const NoisyState expected = run.trained();
        for (const std::int64_t stop : {0, 1, 7, 11}) {
            NoisyTrainer first = run.start();
            while (first.state().step < stop) World::step(first);
            NoisyTrainer second = run.start(NoisyState::unpacked(first.state().packed()));
            World::finish(second);
            EXPECT_EQ(second.state().packed(), expected.packed());
        }
    }
    EXPECT_THROW(NoisyState::unpacked({}), Error);
}

/// Without noise a centred training is one of the records moved by their mean, from its second step on: its
/// model is that one's at inputs less the mean.
TEST(NoisyTrainer, LearnsOfInputsLessTheirMean) {
    Settings settings = some_settings();
    settings.noise.law = NoiseSettings::Law::none;
    settings.network.hidden = {};
    settings.training.batches = 1;
    settings.training.epochs = 30;
    settings.training.momentum = 0.5;
    Settings centred = settings;
    centred.training.epochs = 31;
    centred.noise.centre = 100;
    Records records = some_records(200), moved = records;
    std::vector<double>&values = records.features.wide_values(), &less = moved.features.wide_values();
    for (double& value : values) value += 2;
    const std::vector<std::int64_t> here = World(centred, records).model();
    std::vector<double> mean(5);
    for (std::size_t i = 0; i < values.size(); ++i) mean[i % 5] += values[i] / 200;
    for (std::size_t i = 0; i < values.size(); ++i) less[i] = values[i] - mean[i % 5];
    const World of_moved(settings, moved);
    NoisyState start = NoisyTrainer::fresh_state(of_moved.plan);  // the same function of what was not moved
    for (std::size_t p = 0; p < start.parameters.size(); ++p)
        if (p % 6 < 5)
            start.parameters[p / 6 * 6 + 5] +=
                std::llround(static_cast<double>(start.parameters[p]) * mean[p % 6]);
    const std::vector<std::int64_t> there = of_moved.model(start);
    for (std::size_t o = 0; o < 3; ++o) {
        double bias = parameter_value(there[o * 6 + 5]);
        for (std::size_t i = 0; i < 5; ++i) {
            EXPECT_NEAR(parameter_value(here[o * 6 + i]), parameter_value(there[o * 6 + i]), 1e-5);
            bias -= parameter_value(there[o * 6 + i]) * mean[i];
        }
        EXPECT_NEAR(parameter_value(here[o * 6 + 5]), bias, 1e-5);
    }
}

TEST(NoisyTrainer, AveragesTheLastIteratesRoundedDown) {
    for (const double part : {0.0, 0.1, 0.5, 1.0}) {
        Settings settings = some_settings();
        settings.noise.average = part;
        const World run(settings);
        NoisyTrainer counted = run.start();
        const auto averaged = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(part * 12)));
        std::vector<__int128> sums(counted.state().parameters.size(), 0);
        while (!counted.done()) {
            World::step(counted);
            if (counted.state().step <= 12 - averaged) continue;
            for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += counted.state().parameters[p];
        }
        const std::vector<std::int64_t> result = counted.result();
        for (std::size_t p = 0; p < sums.size(); ++p) {
            const __int128 rest = sums[p] - static_cast<__int128>(result[p]) * averaged;
            ASSERT_TRUE(rest >= 0 && rest < averaged) << part;
        }
    }
}

TEST(NoisyTrainer, TakesAnyRecords) {
    Settings settings = some_settings();
    settings.training.epochs = 1;
    settings.training.learning_rate = 1e4;
    for (const auto& [count, size] : {std::pair{0U, 1.0}, {1U, 1.0}, {300U, 1e300}, {300U, 1e-300}}) {
        const NoisyState state = World(settings, some_records(count, size)).trained();
        EXPECT_EQ(state.step, 4);
        for (const std::int64_t units : state.parameters) EXPECT_LE(std::abs(units), parameter_limit_units);
    }
}

/// What goes over the wire, without what is in it.
class Listener final : public QuietCommunicator {
  public:
    void sum(std::span<std::int64_t> values) const override { add("sum", values.size()); }
    void max(std::span<std::int64_t> values) const override { add("max", values.size()); }
    std::string heard() const { return *heard_; }

  private:
    void add(const std::string& what, std::size_t size) const {
        *heard_ += what + " of " + std::to_string(size) + "\n";
    }
    std::unique_ptr<std::string> heard_ = std::make_unique<std::string>();
};

TEST(NoisyTrainer, SaysTheSameWhateverTheRecords) {
    const auto heard = [](Records records) {
        const World run(some_settings(), std::move(records));
        NoisyTrainer trainer = run.start();
        const Listener wire;
        while (!trainer.done()) World::step(trainer, wire);
        return wire.heard();
    };
    const std::string expected = heard(some_records(200));
    EXPECT_NE(expected.find("sum of"), std::string::npos);
    for (const std::size_t count : {0, 1, 199, 201, 5000})
        EXPECT_EQ(heard(some_records(count, count == 201 ? 1e300 : 1)), expected) << count;
}

TEST(NoisyClaim, ResolvesAMultiplierThatKeepsToItsBudget) {
    Settings settings = some_settings();
    settings.noise.multiplier = 0;
    settings.certificate.levels = 50;
    for (const double epsilon : {0.1, 1.0, 8.0}) {
        settings.noise.epsilon = epsilon;
        const Settings settled = settled_for_noise(settings);
        EXPECT_EQ(settled.certificate.levels, 0);
        EXPECT_LE(cost_of(gaussian_steps(settled), Rational(1, 100000)).epsilon,
                  decimal_value(epsilon, "epsilon"));
        const std::optional<Payment> payment = noisy_payment(settled, {});
        ASSERT_TRUE(payment.has_value());
        EXPECT_EQ(payment->epsilon, decimal_value(epsilon, "epsilon"));
        EXPECT_EQ(payment->curve.size(), renyi_curve(gaussian_steps(settled)).size());
        Settings cheaper = settled;
        cheaper.noise.multiplier *= 0.99;
        EXPECT_THROW(settled_for_noise(cheaper), Error);
    }
}

TEST(NoisyClaim, HasTheMuOfItsStepsWithoutSamplingAlone) {
    Settings settings = some_settings();
    settings.noise.epsilon = 100;
    EXPECT_FALSE(noisy_payment(settled_for_noise(settings), {})->mu_squared.has_value());
    settings.noise.sampling_rate = 1;
    for (const Relation relation : {Relation::add_remove, Relation::substitute}) {
        settings.certificate.relation = relation;
        const Settings settled = settled_for_noise(settings);
        const int reach = relation == Relation::substitute ? 2 : 1;
        const Rational multiplier(settled.noise.multiplier);
        EXPECT_EQ(noisy_payment(settled, {})->mu_squared.value() * multiplier * multiplier,
                  as_rational(settled.training.steps()) * reach * reach);
    }
}

TEST(NoisyClaim, RefusesWhatNoBudgetAllows) {
    Settings settings = some_settings();
    settings.training.expected_records = 0;
    EXPECT_THROW(settled_for_noise(settings), Error);
    settings = some_settings();
    settings.noise.multiplier = 0;
    settings.noise.epsilon = 1e-13;
    EXPECT_GT(settled_for_noise(settings).noise.multiplier, 100) << "delta alone allows it";
    settings.noise.delta = 1e-15;
    EXPECT_THROW(settled_for_noise(settings), Error);
    settings = some_settings();
    settings.noise.law = NoiseSettings::Law::none;
    EXPECT_FALSE(noisy_payment(settled_for_noise(settings), {}).has_value());
    EXPECT_FALSE(noisy_claim(settings, {}).is_private());
    EXPECT_THROW(require_noise(settings), Error);
}

}  // namespace
}  // namespace holdfast
