// Published adversarial training: its gradients against differences of what they are gradients of, its
// attacks, its noise, its answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <map>
#include <random>

#include "kernels/base/error.hpp"
#include "models/dpal/dpal_answers.hpp"
#include "models/kinds/kinds.hpp"
#include "tests/support/dpal_plan.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast::dpal_test {
namespace {

using test::dpal_settings;
using test::DpalWorld;

constexpr std::size_t records_of_world = 24;

Records some_records(std::size_t columns) {
    std::mt19937_64 engine(7);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<std::vector<double>> features(records_of_world, std::vector<double>(columns));
    std::vector<std::int32_t> labels;
    for (auto& row : features) {
        for (double& value : row) value = uniform(engine);
        labels.push_back(static_cast<std::int32_t>(engine() % 3));
    }
    return test::dpal_records(features, labels);
}

Settings dense() {
    Settings settings = dpal_settings({5, 4}, 12);
    settings.network.classes = 3;
    return settings;
}
Settings image() {
    Settings settings = dense();
    settings.network.image = {1, 6, 6};
    settings.network.layers = {"conv 4 3x3", "average_pool 2x2", "conv 6 2x2", "dense 8"};
    settings.dpal.sensitivity = "window";
    return settings;
}
DpalWorld world_of(const Settings& settings) {
    return {settings, some_records(settings.network.image.empty() ? 6 : 36)};
}
std::vector<Settings> both() {
    return {dense(), image()};
}

std::vector<std::uint32_t> first_rows(std::size_t count) {
    std::vector<std::uint32_t> rows(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = static_cast<std::uint32_t>(i);
    return rows;
}

/// The objectives themselves, of records that are not attacked: L_B m (1 + xi) and R_B.
struct Objectives {
    double labels = 0, reconstruction = 0;
};
Objectives objectives_of(const DpalWorld& world, const std::vector<std::int64_t>& parameters,
                         const std::vector<std::uint32_t>& rows) {
    const Network& network = world.plan.network;
    const DpalNoise noise(world.plan.settings, network, world.plan.normaliser);
    DpalPass pass(network.shape());
    std::vector<double> x(network.inputs() * panel_height);
    pass.load(world.records.view(), rows, x.data());
    pass.forward(pass.pack(parameters), x.data(), noise.fixed());
    const Layer &first = network.layers().front(), &last = network.layers().back();
    Objectives objectives;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (std::size_t k = 0; k < network.outputs(); ++k) {
            const double y = static_cast<std::size_t>(world.records.labels[rows[r]]) == k ? 1 : 0;
            objectives.labels += taylor_loss(pass.logits()[k * panel_height + r], y,
                                             world.plan.settings.dpal.taylor == "corrected");
            for (std::size_t i = 0; i < last.in; ++i)
                objectives.labels -=
                    noise.labels()[i] *
                    parameter_value(
                        parameters[network.offset(network.layers().size() - 1) + k * (last.in + 1) + i]);
        }
        for_each_weight(first, [&](std::size_t read, std::size_t given, std::size_t weight) {
            const double seen = x[read * panel_height + r] + noise.fixed().input[read];
            objectives.reconstruction +=
                (0.5 - seen) * parameter_value(parameters[weight]) * pass.encoded()[given * panel_height + r];
        });
    }
    return objectives;
}

TEST(Dpal, GradientsAreThoseOfTheObjectives) {
    for (Settings settings : both()) {
        for (const char* taylor : {"published", "corrected"}) {
            settings.dpal.taylor = taylor;
            settings.dpal.weight = 0;
            settings.dpal.epsilon = 40;  // little noise, so that units are on either side of 0
            const DpalWorld world = world_of(settings);
            const DpalTrainer trainer = world.start();
            const std::vector<std::uint32_t> rows = first_rows(12);
            const DpalTrainer::Sums sums = trainer.sums_of(rows, {});
            const double unit = std::ldexp(1.0, world.plan.gradient_scale().exponent);
            const std::vector<std::int64_t> at = trainer.state().parameters;
            const std::size_t first = world.plan.network.layers().front().parameters();
            std::size_t moved = 0;
            for (std::size_t p = 0; p < at.size(); p += 3) {
                constexpr double step = 1e-5;
                std::vector<std::int64_t> up = at, down = at;
                up[p] += parameter_units(step);
                down[p] -= parameter_units(step);
                const Objectives above = objectives_of(world, up, rows),
                                 below = objectives_of(world, down, rows);
                if (p < first) {  // a bias has none
                    const bool bias = p % (world.plan.network.layers().front().in + 1) ==
                                      world.plan.network.layers().front().in;
                    const double found = bias ? 0 : sums.reconstruction[p];
                    const double wanted =
                        bias ? 0 : (above.reconstruction - below.reconstruction) / (2 * step);
                    EXPECT_NEAR(found, wanted, 1e-4 * (1 + std::abs(wanted)));
                    EXPECT_EQ(sums.gradient[p], 0);  // theta_1 descends on the reconstruction alone
                    continue;
                }
                const double slope = static_cast<double>(sums.gradient[p]) * unit;
                EXPECT_NEAR(slope, (above.labels - below.labels) / (2 * step), 1e-4 * (1 + std::abs(slope)))
                    << taylor << " " << p;
                moved += std::abs(slope) > 1e-3;
            }
            EXPECT_GT(moved, 3U);
        }
    }
}

TEST(Dpal, AttacksClimbTheLossByItsDerivativeAndStayWhereTheyMayMove) {
    for (const Settings& settings : both()) {
        const DpalWorld world = world_of(settings);
        const DpalTrainer trainer = world.start();
        const std::size_t inputs = world.plan.network.inputs();
        DpalPass pass(world.plan.network.shape());
        const PackedNetwork<double> parameters = pass.pack(trainer.state().parameters);
        const std::vector<std::uint32_t> rows = first_rows(10);
        std::vector<double> x(inputs * panel_height);
        pass.load(world.records.view(), rows, x.data());
        const LayerNoise none;
        const auto loss_of = [&](const std::vector<double>& at) {
            pass.forward(parameters, at.data(), none);
            double loss = 0;
            for (std::size_t r = 0; r < rows.size(); ++r)
                loss -= std::log(pass.scores(r)[static_cast<std::size_t>(world.records.labels[r])]);
            return loss;
        };
        // The derivative by the input.
        const double before = loss_of(x);
        pass.backward(parameters, rows.size(), [&](std::size_t r, double* slopes) {
            const std::vector<double> scores = pass.scores(r);
            for (std::size_t k = 0; k < scores.size(); ++k) slopes[k] = scores[k];
            slopes[world.records.labels[r]] -= 1;
        });
        const double* by_input = pass.by_input(parameters);
        const std::vector<double> slopes(by_input, by_input + x.size());
        for (std::size_t i = 0; i < inputs; i += 5) {
            std::vector<double> up = x, down = x;
            up[i * panel_height + 3] += 1e-6;
            down[i * panel_height + 3] -= 1e-6;
            EXPECT_NEAR(slopes[i * panel_height + 3], (loss_of(up) - loss_of(down)) / 2e-6, 1e-6);
        }
        for (const char* attack : {"fgsm", "ifgsm", "mim", "pgd"}) {
            std::vector<double> moved = x;
            pass.climb(parameters, none, {attack, 0.3, 10, {-1, 1}, {1}, 5}, world.records.labels.data(),
                       world.records.ids.data(), rows.size(), moved.data());
            double farthest = 0;
            for (std::size_t i = 0; i < x.size(); ++i) {
                farthest = std::max(farthest, std::abs(moved[i] - x[i]));
                EXPECT_LE(std::abs(moved[i]), 1.0);
            }
            EXPECT_LE(farthest, 0.3 + 1e-12) << attack;
            EXPECT_GT(farthest, 0.29) << attack;
            EXPECT_GT(loss_of(moved), before) << attack;
        }
    }
}

TEST(Dpal, NoiseIsDrawnOnceOfItsScaleAndAnswersDrawLess) {
    Settings settings = dense();
    settings.network.hidden = {300, 5};
    settings.dpal.epsilon = 4;
    settings.dpal.share = 0.25;
    const DpalWorld world = world_of(settings);
    const DpalNoise noise(world.plan.settings, world.plan.network, world.plan.normaliser);
    const double scale = 6.0 * 302 / 1 / 12;  // d (beta + 2) / e1 / m
    EXPECT_EQ(noise.sensitivity(), 6.0 * 302);
    const auto mean_size = [](const std::vector<double>& values) {
        double sum = 0;
        for (const double value : values) sum += std::abs(value);
        return sum / static_cast<double>(values.size());
    };
    EXPECT_NEAR(mean_size(noise.fixed().hidden) / (2 * scale), 1, 0.25);  // of 300 exponentials
    EXPECT_EQ(noise.labels().size(), 5U);                                 // not of every class
    const std::vector<std::int64_t> parameters = DpalTrainer::fresh_state(world.plan).parameters;
    const LayerNoise one = noise.of_training(parameters, 0, world.records.ids.data(), 12),
                     other = noise.of_training(parameters, 5, world.records.ids.data(), 12);
    EXPECT_EQ(one.input, other.input);
    EXPECT_EQ(one.hidden, noise.fixed().hidden);
    std::vector<double> drawn = noise.of_answer(parameters, 3).hidden;
    EXPECT_NE(drawn, noise.of_answer(parameters, 4).hidden);
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] -= noise.fixed().hidden[i];
    EXPECT_NEAR(mean_size(drawn) / (2 * scale / settings.dpal.psi), 1, 0.25);
    // Other variants draw anew for each record, or nothing.
    for (const char* variant : {"adlm", "pixel_dp", "secure_sgd"}) {
        Settings changed = world.plan.settings;
        changed.dpal.variant = variant;
        const DpalNoise of(changed, world.plan.network, world.plan.normaliser);
        const LayerNoise first = of.of_training(parameters, 0, world.records.ids.data(), 12),
                         second = of.of_training(parameters, 1, world.records.ids.data(), 12);
        EXPECT_EQ(first.input == second.input && first.hidden == second.hidden,
                  std::string(variant) == "adlm");
    }
}

/// What a training comes to after so many steps, as its bytes.
std::vector<std::byte> trained(const DpalWorld& world, int threads, std::int64_t stop = -1) {
    omp_set_num_threads(threads);
    QuietCommunicator alone;
    PhaseTimes times;
    DpalTrainer trainer = world.start();
    while (trainer.state().step < (stop < 0 ? trainer.steps() : stop)) trainer.step(alone, times);
    if (stop < 0) return trainer.state().packed();
    DpalTrainer again = world.start(NoisyState::unpacked(trainer.state().packed()));
    while (again.state().step < again.steps()) again.step(alone, times);
    return again.state().packed();
}

TEST(Dpal, TheSameBytesByAnyThreadsAndFromAnyCheckpointForEveryVariant) {
    for (Settings settings : both()) {
        settings.training.epochs = 1;
        for (const char* variant : {"dpal", "adlm", "pixel_dp", "secure_sgd"}) {
            settings.dpal.variant = variant;
            settings.clip = Clip{Settings{}.clip};
            if (settings.dpal.variant == "secure_sgd")
                settings.clip = {.kind = Clip::Kind::norm, .norm_limit = 1};
            const DpalWorld world = world_of(settings);
            const std::vector<std::byte> once = trained(world, 1);
            EXPECT_EQ(once, trained(world, 2)) << variant;
            EXPECT_EQ(once, trained(world, 1, 1)) << variant;
            Settings seeded = settings;
            seeded.training.seed = 1;
            EXPECT_NE(once, trained(world_of(seeded), 1)) << variant;
            EXPECT_NE(NoisyState::unpacked(once).parameters, DpalTrainer::fresh_state(world.plan).parameters);
        }
    }
    omp_set_num_threads(omp_get_num_procs());
}

TEST(Dpal, WithoutNoiseItLearnsAndAnswersWhatItLearnt) {
    Settings settings = dense();
    settings.training.epochs = 150;
    settings.training.learning_rate = 0.3;
    settings.dpal.epsilon = 1e7;
    settings.dpal.taylor = "corrected";
    settings.dpal.steps = 2;
    settings.dpal.draws = 500;
    settings.network.hidden = {12, 8};
    Records records = some_records(6);
    for (std::size_t r = 0; r < records.size(); ++r)
        records.labels[r] = records.features.at(r, 0) > 0.2 ? 2 : records.features.at(r, 0) > -0.3 ? 1 : 0;
    DpalWorld world(settings, std::move(records));
    const NoisyState state = NoisyState::unpacked(trained(world, 1));
    const DpalAnswers answers(world.plan.settings, world.plan.network, state.parameters);
    const auto right = [&](const std::string& attack, double radius) {
        std::size_t count = 0;
        const auto of = answers.of(world.records, attack, radius);
        for (std::size_t q = 0; q < of.size(); ++q) count += of[q].label == world.records.labels[q];
        return count;
    };
    EXPECT_GE(right("", 0), 20U);
    EXPECT_LT(right("pgd", 1.0), right("", 0));
    const auto of = answers.of(world.records, "", 0);
    for (const DpalAnswers::Answer& answer : of) {
        const double size = answers.size(answer, 0.1);
        EXPECT_EQ(size > 0, answer.lower > answer.upper);
    }
}

TEST(Dpal, SizesAreAsPublished) {
    // theta_1: d = 2 rows of beta = 3 units; [out, in + 1].
    const std::vector<std::int64_t> theta{parameter_units(1),    parameter_units(-0.5), 0,
                                          parameter_units(-2),   parameter_units(0.25), 0,
                                          parameter_units(0.75), parameter_units(4),    0};
    const double e_r = 0.7, scale = 0.3, mu = 0.2;
    EXPECT_NEAR(dpal_size(e_r, scale, mu, {2, 3}, {2, 3}, theta.data()),
                e_r * scale * (1 / (mu * 4) + 2 / (std::sqrt(3.0) * 4.75)), 1e-12);
}

TEST(Dpal, SaysWhatItIsAndRefusesWhatItIsNot) {
    const TemporaryFolder folder;
    const DpalWorld world = world_of(dense());
    const Kind& kind = kind_named("dpal");
    const DataFacts facts{.scaling = Scaling::public_constants, .ids = IdKind::given};
    EXPECT_THAT(kind.claim(world.plan.settings, facts).text(),
                testing::HasSubstr("as published (gap: not differentially private, radius not proved)"));
    EXPECT_FALSE(kind.payment(world.plan.settings, facts).has_value());
    const auto message = [](const std::function<void()>& call) -> std::string {
        try {
            call();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            return error.message();
        }
        return "nothing was refused";
    };
    const auto certificate =
        open_dpal(RunFolder::create(folder.path() + "/run", false), {}, world.plan.settings, "cpu");
    for (const std::function<void()>& call : std::vector<std::function<void()>>{
             [&] { kind.require_publishable(world.plan.settings); },
             [&] { certificate->distances(0, world.records, Asker::owner, 0); },
             [&] { certificate->set_input_radius(0.1, Norm::linf); }, [&] { certificate->release_claim(); }})
        EXPECT_THAT(message(call), testing::HasSubstr("as published (gap: not differentially private"));
    Settings unstated = dense();
    unstated.training.expected_records = 0;
    EXPECT_THAT(message([&] { settled_for_dpal(unstated); }), testing::HasSubstr("size of a batch"));
    const std::map<std::string, std::function<void(Settings&)>> wrong{
        {"auto-encoder", [](Settings& s) { s.network.hidden.clear(); }},
        {"another batch", [](Settings& s) { s.training.batches = 1; }},
        {"no gradient", [](Settings& s) { s.clip.kind = Clip::Kind::norm; }},
        {"whole gradient", [](Settings& s) { s.dpal.variant = "secure_sgd"; }},
        {"one model", [](Settings& s) { s.ensemble.members = 2; }},
        {"double", [](Settings& s) { s.training.precision = Precision::single_precision; }},
        {"mapped", [](Settings& s) { s.features.norm_limit = 1; }},
        {"objective of its own", [](Settings& s) { s.network.loss = "one_vs_rest"; }},
        {"all count 1", [](Settings& s) {
             s.training.class_weights = {1, 1, 0.5};
         }}};
    EXPECT_NO_THROW(check(dense()));
    for (const auto& [words, change] : wrong) {
        Settings settings = dense();
        change(settings);
        EXPECT_THAT(message([&] { check(settings); }), testing::HasSubstr(words));
    }
}

}  // namespace
}  // namespace holdfast::dpal_test
