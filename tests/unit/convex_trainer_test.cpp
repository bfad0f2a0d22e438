#include "models/convex/convex_trainer.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <random>

#include "models/convex/convex_bounds.hpp"
#include "tests/support/convex_runs.hpp"

namespace holdfast {
namespace {

using test::convex_settings;
using test::ConvexRuns;
using Parameters = std::vector<std::int64_t>;

Records some_records(std::size_t count, std::size_t columns, std::int32_t classes = 2,
                     std::uint64_t seed = 4) {
    std::mt19937_64 engine(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Records records = test::no_records(columns);
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<double> row;
        for (std::size_t j = 0; j < columns; ++j) row.push_back(uniform(engine));
        test::append(records, 1000 + 7 * i, row,
                     static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(classes)));
    }
    return records;
}

/// The derivatives of a record's loss by its logits, in long double.
std::vector<long double> derivatives(const Settings& settings, const std::vector<long double>& logits,
                                     std::int32_t label) {
    const Loss loss = settings.network.resolved_loss();
    std::vector<long double> result;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        const bool own = loss == Loss::binary_cross_entropy || loss == Loss::huber
                             ? label == 1
                             : static_cast<std::size_t>(label) == c;
        long double sum = 1;
        if (loss == Loss::cross_entropy) {
            for (std::size_t j = 0; j < logits.size(); ++j)
                sum += j == c ? 0 : std::exp(logits[j] - logits[c]);
        } else {
            sum += std::exp(-logits[c]);
        }
        long double derivative = 1 / sum - (own ? 1 : 0);
        if (loss == Loss::huber) {
            const long double sign = own ? 1 : -1, margin = sign * logits[c];
            derivative = -sign * std::clamp((1.5L - margin) / 1.0L, 0.0L, 1.0L);
        }
        const auto limit = static_cast<long double>(settings.convex.derivative_limit);
        result.push_back(std::clamp(derivative, -limit, limit));
    }
    return result;
}

/// The step that the theorem speaks of, in long double: without prox.
std::vector<long double> exact_step(const ConvexRuns& runs, const ConvexBounds& bounds,
                                    const Records& records, const Parameters& parameters, std::int64_t step) {
    const std::size_t columns = runs.plan.network.inputs() + 1, rows = runs.plan.network.outputs();
    std::vector<long double> values(parameters.begin(), parameters.end()), gradient(values.size(), 0);
    for (long double& value : values) value = std::ldexp(value, -50);
    Batches batches(runs.plan.settings.training, records);
    const auto batch = batches.of_step(step);
    for (const std::uint32_t record : batch) {
        std::vector<long double> phi;
        for (std::size_t j = 0; j + 1 < columns; ++j) phi.push_back(records.features.at(record, j));
        phi.push_back(1);
        std::vector<long double> logits(rows, 0);
        for (std::size_t p = 0; p < values.size(); ++p) logits[p / columns] += values[p] * phi[p % columns];
        const auto psi = derivatives(runs.plan.settings, logits, records.labels[record]);
        for (std::size_t p = 0; p < values.size(); ++p) gradient[p] += psi[p / columns] * phi[p % columns];
    }
    const auto most = static_cast<long double>(bounds.most_records());
    const long double counted = std::max(0.0L, most + 1 - static_cast<long double>(batch.size())) / most;
    const TrainingSettings& training = runs.plan.settings.training;
    const double rate = training.learning_rate_at(step), share = rate / bounds.normaliser(),
                 decay = rate * training.l2;
    for (std::size_t p = 0; p < values.size(); ++p)
        values[p] -= static_cast<long double>(decay) * values[p] +
                     static_cast<long double>(share) * counted * gradient[p];
    return values;
}

TEST(ConvexTrainer, TakesTheStepOfTheTheoremUpToItsRounding) {
    double reached = 0;
    struct Case {
        const char* loss;
        std::int32_t classes;
        double limit;
    };
    for (const auto& [loss, classes, limit] :
         {Case{"binary_cross_entropy", 2, 1}, Case{"binary_cross_entropy", 2, 0.3}, Case{"huber", 2, 1},
          Case{"huber", 2, 0.3}, Case{"cross_entropy", 4, 1}, Case{"one_vs_rest", 4, 1},
          Case{"one_vs_rest", 4, 0.3}}) {
        Settings settings = convex_settings(classes, loss);
        settings.convex.derivative_limit = limit;
        settings.training.epochs = 20;
        settings.training.expected_records = 60;
        settings.training.l2 = 0.01;
        const ConvexRuns of_rate(settings, 5);
        settings.training.learning_rate =
            ConvexBounds(settings, of_rate.plan.features).largest_learning_rate();
        const ConvexRuns runs(settings, 5);
        const ConvexBounds bounds(settings, runs.plan.features);
        const Records records = some_records(60, 5, classes);
        ConvexTrainer trainer = runs.start(records, ConvexTrainer::fresh_state(runs.plan));
        PhaseTimes times;
        while (!trainer.done()) {
            const std::int64_t step = trainer.state().step;
            const auto exact = exact_step(runs, bounds, records, trainer.state().parameters, step);
            trainer.step(QuietCommunicator(), times);
            long double square = 0;
            for (std::size_t p = 0; p < exact.size(); ++p)
                square += std::pow(
                    exact[p] - std::ldexp(static_cast<long double>(trainer.state().parameters[p]), -50), 2);
            const double allowed = bounds.rounding(step, bounds.size()).value() *
                                   std::sqrt(static_cast<double>(bounds.groups()));
            ASSERT_LE(std::sqrt(square), static_cast<long double>(allowed)) << loss << " step " << step;
            reached = std::max(reached, static_cast<double>(std::sqrt(square)) / allowed);
        }
    }
    EXPECT_GT(reached, 0.005);  // no bound of nothing
}

TEST(ConvexTrainer, LearnsALinearRule) {
    Settings settings = convex_settings();
    settings.training.epochs = 60;
    settings.training.expected_records = 400;
    settings.training.learning_rate = 1;
    Records records = some_records(400, 3);
    for (std::size_t i = 0; i < records.size(); ++i)
        records.labels[i] = records.features.at(i, 0) > records.features.at(i, 1) + 0.2 ? 1 : 0;
    const ConvexRuns runs(settings, 3);
    ConvexTrainer trainer = runs.start(records, ConvexTrainer::fresh_state(runs.plan));
    ConvexRuns::finish(trainer);
    const StepMetrics& last = trainer.state().metrics.back();
    EXPECT_GT(static_cast<double>(last.correct), 0.95 * static_cast<double>(last.records));
}

TEST(ConvexTrainer, GoesOnFromItsStateToTheSameBytes) {
    Settings settings = convex_settings(3);
    settings.training.learning_rate = 0.05;
    settings.convex.average = 0.6;
    settings.convex.l1 = 0.01;
    const Records records = some_records(30, 4, 3);
    const ConvexRuns runs(settings, 4);
    const Parameters expected = runs.trained(records);
    ConvexTrainer first = runs.start(records, ConvexTrainer::fresh_state(runs.plan));
    PhaseTimes times;
    for (int step = 0; step < 3; ++step) first.step(QuietCommunicator(), times);
    ConvexTrainer second = runs.start(records, ConvexState::unpacked(first.state().packed()));
    ConvexRuns::finish(second);
    EXPECT_EQ(second.result(), expected);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(3);
    EXPECT_EQ(runs.trained(records), expected);
    omp_set_num_threads(threads);
}

TEST(ConvexTrainer, OfNoRecordsStaysAtNothing) {
    Settings settings = convex_settings();
    settings.training.learning_rate = 0.1;
    EXPECT_EQ(ConvexRuns(settings, 2).trained(test::no_records(2)), Parameters(3));
}

TEST(CountedSum, IsMovedByOneRecordByNoMoreThanItsPart) {
    constexpr std::int64_t part = 60;  // of a record
    for (std::int64_t most = 1; most <= 6; ++most) {
        for (std::int64_t records = 0; records <= most + 2; ++records) {
            for (std::int64_t sum = -part * records; sum <= part * records; sum += 7) {
                for (const std::int64_t added : {-part, std::int64_t{-13}, std::int64_t{0}, part}) {
                    const std::int64_t before = counted_sum(sum, records, most),
                                       after = counted_sum(sum + added, records + 1, most);
                    EXPECT_LE(std::abs(after - before), part + 1);  // each rounded by a half
                }
            }
        }
    }
    EXPECT_EQ(counted_sum(part, 1, 5), part);
    EXPECT_EQ(counted_sum(10, 4, 5), 4);
    EXPECT_EQ(counted_sum(-10, 4, 5), -4);
    EXPECT_EQ(counted_sum(std::int64_t{1} << 62, 6, 5), 0);
    const std::int64_t most = std::int64_t{1} << 40;
    EXPECT_EQ(counted_sum(std::int64_t{1} << 62, 1, most), std::int64_t{1} << 62);
    EXPECT_EQ(counted_sum(-(std::int64_t{1} << 62), most, most), -(std::int64_t{1} << 22));
}

TEST(Proximal, MovesNoTwoApartAndNoneAwayFromNothing) {
    Settings settings = convex_settings();
    settings.convex.l1 = 3 * parameter_unit;
    settings.convex.box = 7 * parameter_unit;
    settings.training.learning_rate = 1;
    const Proximal proximal(settings, {false, true});
    const auto applied = [&](std::int64_t weight, std::int64_t bias) {
        Parameters both{weight, bias};
        proximal.apply(0, both);
        return both;
    };
    for (std::int64_t a = -20; a <= 20; ++a) {
        EXPECT_LE(std::abs(applied(a, a)[0]), std::abs(a));
        EXPECT_EQ(applied(a, a)[1], std::clamp<std::int64_t>(a, -7, 7));
        for (std::int64_t b = a; b <= 20; ++b) {
            for (const std::size_t p : {0, 1}) {
                EXPECT_LE(applied(a, a)[p], applied(b, b)[p]);
                EXPECT_LE(applied(b, b)[p] - applied(a, a)[p], b - a);
            }
        }
    }
    EXPECT_EQ(applied(2, 2)[0], 0);
    EXPECT_EQ(applied(-9, 0)[0], -6);
}

}  // namespace
}  // namespace holdfast
