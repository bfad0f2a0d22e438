// Noisy training on copies: whatever they are, a record adds one vector, of its own, within the clip.

#include "models/noisy/robust_sums.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/backends.hpp"
#include "models/robust/scattering_slope.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/secret_keys.hpp"

namespace holdfast {
namespace robust_sums_test {

constexpr std::size_t features = 5;

Settings settings_of(const std::string& attack, std::int64_t copies) {
    Settings settings;
    settings.network.hidden = {6};
    settings.network.classes = 3;
    settings.network.loss = "cross_entropy";
    settings.training.kind = "noisy";
    settings.training.epochs = 4;
    settings.training.expected_records = 40;
    settings.clip = {.kind = Clip::Kind::norm, .norm_limit = 0.8};
    settings.certificate.levels = 0;
    settings.noise.multiplier = 1.5;
    settings.robust.attack = attack;
    settings.robust.input_radius = attack == "none" ? 0 : 0.2;
    settings.robust.steps = 3;
    settings.robust.copies = copies;
    if (attack == "worst_case") {
        settings.network.hidden = {};
    } else {
        settings.robust.noise = 0.3;
    }
    check(settings);
    return settings;
}

std::vector<Settings> cases() {
    std::vector<Settings> all{settings_of("worst_case", 1)};
    for (const char* attack : {"none", "fgsm", "ifgsm", "mim", "pgd"}) {
        for (const std::int64_t copies : {1, 4}) all.push_back(settings_of(attack, copies));
    }
    for (Settings of_l2 : {all.front(), all.back()}) {
        of_l2.robust.norm = "l2";
        all.push_back(of_l2);
    }
    for (Settings centred : {all.front(), all.back()}) {
        centred.noise.centre = 1.5;
        all.push_back(centred);
    }
    return all;
}

Records records_of(std::size_t count, double size = 1) {
    const KeyedHash hash{9};
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    for (std::uint64_t i = 0; i < count; ++i) {
        for (std::uint64_t j = 0; j < features; ++j)
            records.features.wide_values().push_back(size * (2 * hash.uniform(j, i) - 1));
        records.labels.push_back(static_cast<std::int32_t>(hash(99, i) % 3));
        records.ids.push_back(1000 + 7 * i);
        records.rows.push_back(i);
    }
    return records;
}

/// The records in another order, perhaps without some.
Records chosen(const Records& records, const std::vector<std::size_t>& indices) {
    Records some{FeatureMatrix(features, true), {}, {}, {}};
    for (const std::size_t i : indices) {
        some.features.append_row_of(records.features, i);
        some.labels.push_back(records.labels[i]);
        some.ids.push_back(records.ids[i]);
        some.rows.push_back(some.rows.size());
    }
    return some;
}

struct Training {
    /// centre: what was measured, where that is asked for.
    explicit Training(const Settings& settings, std::vector<double> centre = {.3, -.2, 0, .1, 1})
        : plan(make_plan(settings, {.features = features, .found = 40}, make_backend("cpu"))),
          key(test::known_key('r')),
          parameters(plan.initial_parameters(0)),
          centre(settings.noise.centre > 0 ? std::move(centre) : std::vector<double>()) {
        for (std::size_t p = 0; p < parameters.size(); ++p) parameters[p] *= 3;
    }
    std::vector<std::int64_t> sums(const Records& records, std::int64_t step = 2) const {
        std::vector<std::uint32_t> all(records.size());
        std::iota(all.begin(), all.end(), 0);
        const NoisyStepSums of_step =
            RobustSums(plan, records, key).of({parameters, centre, step}, all, *make_serial_communicator());
        EXPECT_EQ(of_step.records, static_cast<std::int64_t>(records.size()));
        return of_step.sums;
    }
    std::vector<std::int64_t> vector_of(const Records& records, std::uint32_t index,
                                        std::int64_t step = 2) const {
        return vector_of_rows(records, {index}, step);
    }
    std::vector<std::int64_t> vector_of_rows(const Records& records, const std::vector<std::uint32_t>& rows,
                                             std::int64_t step = 2) const {
        return RobustSums(plan, records, key).vector_of({parameters, centre, step}, rows);
    }
    /// |v|^2 <= S^2, in integers.
    bool within_clip(const std::vector<std::int64_t>& vector) const { return share(vector) <= 1; }
    double share(const std::vector<std::int64_t>& vector) const {
        const auto limit = static_cast<__int128>(plan.gradient_scale().weight_units);
        __int128 squares = 0;
        for (const std::int64_t entry : vector) squares += static_cast<__int128>(entry) * entry;
        return squares > limit * limit ? 2
                                       : static_cast<double>(squares) / static_cast<double>(limit * limit);
    }

    TrainingPlan plan;
    SecretKey key;
    std::vector<std::int64_t> parameters;
    std::vector<double> centre;
};

std::vector<std::int64_t> difference(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
    for (std::size_t p = 0; p < a.size(); ++p) a[p] -= b[p];
    return a;
}

TEST(RobustSums, ARecordMoreAddsItsOneVectorWithinTheClip) {
    const Records all = records_of(30);
    std::vector<std::size_t> others(all.size() - 1), backwards(all.size());
    std::iota(others.begin(), others.end(), 1);
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    for (const Settings& settings : cases()) {
        const Training training(settings);
        const std::vector<std::int64_t> with = training.sums(all), vector = training.vector_of(all, 0);
        EXPECT_EQ(difference(with, training.sums(chosen(all, others))), vector) << settings.robust.attack;
        EXPECT_EQ(with, training.sums(chosen(all, backwards))) << "in another order";
        EXPECT_TRUE(training.within_clip(vector));
        EXPECT_GT(training.share(vector), 0);
        const int threads = omp_get_max_threads();
        omp_set_num_threads(3);
        EXPECT_EQ(with, training.sums(all)) << "on other threads";
        omp_set_num_threads(threads);
        EXPECT_EQ(with == training.sums(all, 3), settings.robust.attack == "worst_case")
            << "copies of each step are drawn anew";
    }
}

/// What the sums must not do is seen by the same comparison: bits of a record's place in the batch move
/// others, and copies that are clipped one by one and added leave the clip.
TEST(RobustSums, WouldBeCaughtOtherwise) {
    Settings settings = settings_of("none", 4);
    settings.robust.noise = 2;
    const Training training(settings);
    Records all = records_of(30);
    std::vector<std::size_t> others(all.size() - 1);
    std::iota(others.begin(), others.end(), 1);
    Records fewer = chosen(all, others);
    const auto by_place = [](Records records) {
        std::iota(records.ids.begin(), records.ids.end(), 0);
        return records;
    };
    EXPECT_FALSE(
        training.within_clip(difference(training.sums(by_place(all)), training.sums(by_place(fewer)))));
    const Training far(settings_of("none", 1));
    std::vector<std::int64_t> added(far.parameters.size());
    for (std::int64_t copy = 0; copy < 4; ++copy) {
        const std::vector<std::int64_t> one = far.vector_of(records_of(30, 50), 0, copy);
        for (std::size_t p = 0; p < added.size(); ++p) added[p] += one[p];
    }
    EXPECT_FALSE(far.within_clip(added));
}

TEST(RobustSums, FillTheClipAndNeverLeaveIt) {
    for (const Settings& settings : cases()) {
        const Training training(settings);
        double largest = 0;
        for (const double size : {1e-9, 1.0, 30.0, 1e5}) {
            const Records records = records_of(20, size);
            for (std::uint32_t i = 0; i < 20; ++i) {
                const double share = training.share(training.vector_of(records, i));
                ASSERT_LE(share, 1);
                largest = std::max(largest, share);
            }
        }
        EXPECT_GT(largest, 0.99) << settings.robust.attack;
    }
}

/// Copies that do not differ from the record leave the gradient that the engine has.
TEST(RobustSums, OfTheRecordItselfAreItsGradient) {
    for (const char* loss : {"cross_entropy", "binary_cross_entropy"}) {
        Settings settings = settings_of("none", 1);
        settings.robust.noise = 1e-14;
        settings.network.loss = loss;
        settings.network.classes = loss == std::string("cross_entropy") ? 3 : 2;
        const Training training(settings);
        Records records = records_of(25);
        for (std::int32_t& label : records.labels)
            label %= static_cast<std::int32_t>(settings.network.classes);
        const auto engine = training.plan.backend->engine(training.plan.network.shape(), settings.clip);
        engine->set_records(std::vector{records.view(true)});
        for (std::uint32_t i = 0; i < records.size(); ++i) {
            const Variant point{training.parameters.data(), training.parameters.data()};
            engine->run({&point, 1}, std::vector{std::span<const std::uint32_t>(&i, 1)});
            const auto message = engine->finish();
            const std::vector<std::int64_t> vector = training.vector_of(records, i);
            const double tolerance =
                1e-6 * static_cast<double>(training.plan.gradient_scale().weight_units) + 2;
            for (std::size_t p = 0; p < vector.size(); ++p)
                ASSERT_NEAR(static_cast<double>(vector[p]), static_cast<double>(message[1 + p]), tolerance);
        }
    }
}

/// Before there is a centre a record adds its inputs, of the clip's length where they are noise.centre long.
TEST(CentredInputs, AreMeasuredWithinTheClip) {
    for (const double size : {1e-9, 0.5, 30.0, 1e300}) {
        Settings settings = settings_of("none", 1);
        settings.noise.centre = 2;
        const Training training(settings, {});
        const Records records = records_of(20, size);
        const auto limit = static_cast<double>(training.plan.gradient_scale().weight_units);
        for (std::uint32_t record = 0; record < 20; ++record) {
            const std::vector<std::int64_t> vector = training.vector_of(records, record, 0);
            ASSERT_TRUE(training.within_clip(vector));
            double squares = 0;
            const auto input = [&](std::size_t i) {
                return training.plan.network.transform().apply<double>(records.features.at(record, i));
            };
            for (std::size_t i = 0; i < features; ++i) squares += input(i) * input(i);
            const double scale = limit / std::max(2.0, std::sqrt(squares));
            for (std::size_t p = 0; p < vector.size(); ++p)
                ASSERT_NEAR(static_cast<double>(vector[p]), p < features ? scale * input(p) : 0,
                            1e-6 * limit + 2);
        }
    }
}

/// W x + b reads x - c where b' = b + W c: the gradient by W and b' is that of the moved record there.
TEST(CentredInputs, HaveTheGradientOfInputsLessTheCentre) {
    for (const char* attack : {"none", "worst_case"}) {
        Settings settings = settings_of(attack, 1), centred = settings;
        settings.clip.norm_limit = centred.clip.norm_limit = 100;  // clips nothing
        centred.noise.centre = 1;
        const Training there(centred);
        Training moved(settings);
        const std::size_t outputs = moved.plan.network.layers().front().out;
        for (std::size_t o = 0; o < outputs; ++o) {
            std::int64_t* const row = &moved.parameters[o * (features + 1)];
            for (std::size_t i = 0; i < features; ++i)
                row[features] += std::llround(there.centre[i] * static_cast<double>(row[i]));
        }
        const Records records = records_of(10);
        Records less = records;
        for (std::size_t i = 0; i < less.features.wide_values().size(); ++i)
            less.features.wide_values()[i] -= there.centre[i % features];
        for (std::uint32_t record = 0; record < 10; ++record) {
            const std::vector<std::int64_t> one = there.vector_of(records, record),
                                            other = moved.vector_of(less, record);
            for (std::size_t p = 0; p < one.size(); ++p)
                ASSERT_NEAR(static_cast<double>(one[p]), static_cast<double>(other[p]), 20)
                    << attack << " " << p;
        }
    }
}

/// log(1 + sum over j of exp(the greatest lead of j in the ball)), by hand, and its derivative by
/// differences.
TEST(RobustSums, OfTheWorstCaseAreItsGradient) {
    Settings settings = settings_of("worst_case", 1);
    settings.clip.norm_limit = 100;  // clips nothing
    for (const char* norm : {"linf", "l2"}) {
        settings.robust.norm = norm;
        const Training training(settings);
        const Records records = records_of(6);
        const double unit = std::ldexp(1.0, training.plan.gradient_scale().exponent);
        const auto loss = [&](const std::vector<std::int64_t>& units, std::uint32_t index) {
            const auto truth = static_cast<std::size_t>(records.labels[index]);
            double sum = 1;
            for (std::size_t j = 0; j < 3; ++j) {
                if (j == truth) continue;
                double lead = 0, size = 0, squares = 0;
                for (std::size_t i = 0; i <= features; ++i) {
                    const double w = parameter_value(units[j * (features + 1) + i]) -
                                     parameter_value(units[truth * (features + 1) + i]);
                    lead += w * (i < features ? records.features.at(index, i) : 1);
                    if (i == features) continue;
                    size += std::abs(w);
                    squares += w * w;
                }
                sum += std::exp(lead + 0.2 * (norm == std::string("l2") ? std::sqrt(squares) : size));
            }
            return std::log(sum);
        };
        for (std::uint32_t index = 0; index < 6; ++index) {
            const std::vector<std::int64_t> vector = training.vector_of(records, index, 3);
            for (std::size_t p = 0; p < vector.size(); ++p) {
                std::vector<std::int64_t> above = training.parameters, below = above;
                above[p] += std::int64_t{1} << 30;
                below[p] -= std::int64_t{1} << 30;
                const double slope = (loss(above, index) - loss(below, index)) / 0x1p-19;
                ASSERT_NEAR(static_cast<double>(vector[p]) * unit, slope, 1e-5) << norm << " " << p;
            }
        }
    }
}

/// Behind a scattering the ball adds radius times the bound of the slope to each lead: the same by hand.
TEST(RobustSums, OfTheWorstCaseBehindAScatteringAreItsGradient) {
    Settings settings = settings_of("worst_case", 1);
    settings.clip.norm_limit = 1000;  // clips nothing
    settings.robust.norm = "l2";
    settings.features.map = FeatureSettings::Map::scattering;
    settings.features.image = {1, 4, 8};
    check(settings);
    const TrainingPlan plan =
        make_plan(settings, {.features = 32, .range = {-1, 3}, .found = 40}, make_backend("cpu"));
    const Scattering& map = std::get<Scattering>(plan.features.derived());
    const std::size_t columns = plan.network.inputs();
    const KeyedHash hash{5};
    std::vector<std::int64_t> parameters;
    for (std::uint64_t p = 0; p < plan.network.parameters(); ++p)
        parameters.push_back(parameter_units(0.2 * hash.normal(1, p)));
    Records records{FeatureMatrix(32, true), {}, {}, {}};
    for (std::uint64_t i = 0; i < 3; ++i) {
        for (std::uint64_t j = 0; j < 32; ++j)
            records.features.wide_values().push_back(4 * hash.uniform(10 + i, j) - 1);
        records.labels.push_back(static_cast<std::int32_t>(i));
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    records = plan.features(std::move(records));
    const auto loss = [&](const std::vector<std::int64_t>& units, std::uint32_t index) {
        double sum = 1;
        const auto truth = static_cast<std::size_t>(records.labels[index]);
        for (std::size_t j = 0; j < 3; ++j) {
            if (j == truth) continue;
            std::vector<double> w;
            double lead =
                parameter_value(units[j * (columns + 1) + columns] - units[truth * (columns + 1) + columns]);
            for (std::size_t i = 0; i < columns; ++i) {
                w.push_back(parameter_value(units[j * (columns + 1) + i] - units[truth * (columns + 1) + i]));
                lead += w.back() * records.features.at(index, i);
            }
            sum += std::exp(lead + 0.2 * slope_of(map, w).by_image.value() / 4);  // of a range of 4
        }
        return std::log(sum);
    };
    const SecretKey key = test::known_key('r');
    const double unit = std::ldexp(1.0, plan.gradient_scale().exponent);
    for (std::uint32_t index = 0; index < 3; ++index) {
        const std::vector<std::uint32_t> rows{index};
        const std::vector<std::int64_t> vector =
            RobustSums(plan, records, key).vector_of({parameters, {}, 3}, rows);
        for (std::size_t p = 0; p < vector.size(); p += p % (columns + 1) == columns ? 1 : 29) {
            std::vector<std::int64_t> above = parameters, below = parameters;
            above[p] += std::int64_t{1} << 36;
            below[p] -= std::int64_t{1} << 36;
            ASSERT_NEAR(static_cast<double>(vector[p]) * unit,
                        (loss(above, index) - loss(below, index)) / 0x1p-13, 2e-4)
                << p;
        }
    }
}

/// The definition in plain loops of a linear network (models/privacy/mathematics.md, drawn labels): p less
/// the posterior of what was drawn, times (x, 1).
TEST(RobustSums, OfCorrectedLabelsAreTheGradientOfTheirLikelihood) {
    Settings settings = settings_of("none", 1);
    settings.robust.noise = 0;
    settings.network.hidden = {};
    settings.clip.norm_limit = 100;  // clips nothing
    settings.training.labels = "corrected";
    settings.training.label_unit = 0.05;
    check(settings);
    const Training training(settings);
    Records records = records_of(12);
    for (std::uint64_t i = 0; i < 36; ++i)
        records.evidence.push_back(static_cast<std::uint8_t>(KeyedHash{3}(i, i) % 65));
    const double unit = std::ldexp(1.0, training.plan.gradient_scale().exponent);
    for (std::uint32_t index = 0; index < 12; ++index) {
        const auto softmax = [&](bool drawn) {
            std::vector<double> p;
            double sum = 0;
            for (std::size_t c = 0; c < 3; ++c) {
                double z = drawn ? 0.05 * records.evidence[3 * index + c] : 0;
                for (std::size_t i = 0; i <= features; ++i)
                    z += parameter_value(training.parameters[c * (features + 1) + i]) *
                         (i < features ? records.features.at(index, i) : 1);
                p.push_back(std::exp(z));
                sum += p.back();
            }
            for (double& one : p) one /= sum;
            return p;
        };
        const std::vector<double> model = softmax(false), posterior = softmax(true);
        const std::vector<std::int64_t> vector = training.vector_of(records, index);
        for (std::size_t c = 0; c < 3; ++c)
            for (std::size_t i = 0; i <= features; ++i)
                ASSERT_NEAR(static_cast<double>(vector[c * (features + 1) + i]) * unit,
                            (model[c] - posterior[c]) * (i < features ? records.features.at(index, i) : 1),
                            unit);
    }
}

// Persons of several rows, clipped once
// ----------------------------------------------------------------------

constexpr std::int64_t most_rows = 4;

/// Rows dealt to persons of one to four of them, side by side, each weighed.
Records persons_of(Records rows) {
    std::size_t row = 0;
    for (std::size_t person = 0; row < rows.size(); ++person)
        for (std::size_t i = 0; i <= person % most_rows && row < rows.size(); ++i)
            rows.ids[row++] = 50 + person;
    weigh_persons(rows, most_rows, "test");
    return rows;
}

std::vector<std::uint32_t> rows_of(const Records& records, std::uint64_t id) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < records.size(); ++i)
        if (records.ids[i] == id) rows.push_back(i);
    return rows;
}

Settings clipped_after(Settings settings) {
    settings.training.rows_at_most = most_rows;
    settings.training.clip_rows = "after";
    check(settings);
    return settings;
}

Settings of_rows_alone() {
    Settings settings = settings_of("none", 1);
    settings.robust.noise = 0;
    return clipped_after(settings);
}

TEST(RowsClippedAfter, APersonMoreAddsOneVectorWithinTheClip) {
    std::vector<Settings> all_settings{of_rows_alone()};
    for (const Settings& settings : cases()) all_settings.push_back(clipped_after(settings));
    for (const Settings& settings : all_settings) {
        const Training training(settings);
        for (const double size : {1.0, 1e5}) {
            const Records rows = records_of(30, size), all = persons_of(rows);
            for (const std::uint64_t id : {50, 53, 57}) {
                const std::vector<std::uint32_t> mine = rows_of(all, id);
                std::vector<std::uint32_t> everybody(all.size()), others;
                std::iota(everybody.begin(), everybody.end(), 0);
                std::set_difference(everybody.begin(), everybody.end(), mine.begin(), mine.end(),
                                    std::back_inserter(others));
                const RobustSums sums(training.plan, all, training.key);
                const auto of = [&](const std::vector<std::uint32_t>& indices) {
                    return sums.of({training.parameters, training.centre, 2}, indices,
                                   *make_serial_communicator());
                };
                const NoisyStepSums with = of(everybody), without = of(others);
                const std::vector<std::int64_t> vector = training.vector_of_rows(all, mine);
                EXPECT_EQ(difference(with.sums, without.sums), vector) << settings.robust.attack;
                EXPECT_EQ(with.records, without.records + 1);
                EXPECT_LE(with.correct - without.correct, 1);
                EXPECT_TRUE(training.within_clip(vector));
            }
        }
    }
}

/// The definition in plain loops (models/privacy/mathematics.md, rows clipped after) of a linear network: the
/// sum of w (p - e_y) (x, 1) over the rows, shortened as a whole.
TEST(RowsClippedAfter, AreTheMeanOfTheirGradientsShortenedAsAWhole) {
    Settings settings = of_rows_alone();
    settings.network.hidden = {};
    const Training training(settings);
    const double unit = std::ldexp(1.0, training.plan.gradient_scale().exponent);
    int shortened = 0, whole = 0;
    for (const double size : {0.05, 1.0, 20.0}) {
        const Records all = persons_of(records_of(40, size));
        for (std::uint64_t id = 50; id < 62; ++id) {
            const std::vector<std::uint32_t> rows = rows_of(all, id);
            std::vector<long double> mean(training.parameters.size());
            for (const std::uint32_t row : rows) {
                long double logits[3] = {}, total = 0;
                for (std::size_t c = 0; c < 3; ++c)
                    for (std::size_t i = 0; i <= features; ++i)
                        logits[c] += static_cast<long double>(
                                         parameter_value(training.parameters[c * (features + 1) + i])) *
                                     (i < features ? all.features.at(row, i) : 1);
                for (const long double logit : logits) total += std::exp(logit - logits[0]);
                for (std::size_t c = 0; c < 3; ++c) {
                    const long double share =
                        std::exp(logits[c] - logits[0]) / total - (static_cast<int>(c) == all.labels[row]);
                    for (std::size_t i = 0; i <= features; ++i)
                        mean[c * (features + 1) + i] +=
                            share * (i < features ? all.features.at(row, i) : 1) / rows.size();
                }
            }
            long double squares = 0;
            for (const long double entry : mean) squares += entry * entry;
            const long double norm = std::sqrt(squares), limit = settings.clip.norm_limit;
            (norm > limit ? shortened : whole) += 1;
            const std::vector<std::int64_t> vector = training.vector_of_rows(all, rows);
            for (std::size_t p = 0; p < vector.size(); ++p)
                ASSERT_NEAR(static_cast<double>(vector[p]) * unit,
                            static_cast<double>(mean[p] * std::min(1.0L, limit / norm)), 1e-6);
        }
    }
    EXPECT_GT(shortened, 5);
    EXPECT_GT(whole, 5);
}

/// Of two rows whose gradients are long and apart the mean fills the clip, where rows that are each clipped
/// by their part do not; and rows that are each clipped to the whole, and added, leave it.
TEST(RowsClippedAfter, WasteLessOfTheClipAndAreNoSum) {
    Settings settings = of_rows_alone();
    settings.network.hidden = {};
    const Training training(settings);
    const Records rows = records_of(40, 20);
    Records pairs = rows;
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs.ids[i] = i / 2;
    weigh_persons(pairs, most_rows, "test");
    int longer = 0, beyond = 0;
    for (std::uint32_t i = 0; i < rows.size(); i += 2) {
        const std::vector<std::int64_t> one = training.vector_of(rows, i),
                                        other = training.vector_of(rows, i + 1);
        std::vector<std::int64_t> sum(one.size()), mean(one.size());
        for (std::size_t p = 0; p < sum.size(); ++p) {
            sum[p] = one[p] + other[p];
            mean[p] = sum[p] / 2;
        }
        const double after = training.share(training.vector_of_rows(pairs, {i, i + 1}));
        ASSERT_LE(after, 1);
        longer += after > 1.2 * training.share(mean) ? 1 : 0;
        beyond += training.within_clip(sum) ? 0 : 1;
    }
    EXPECT_GT(longer, 3);
    EXPECT_GT(beyond, 3);
}

TEST(RowsClippedAfter, AreRefusedWhereTheyAreNotDefined) {
    const auto refused = [](void (*change)(Settings&), const char* words) {
        Settings settings = of_rows_alone();
        change(settings);
        EXPECT_NE(error_of([&] { check(settings); }).message().find(words), std::string::npos) << words;
    };
    refused([](Settings& s) { s.training.precision = Precision::single_precision; }, "in double");
    refused(
        [](Settings& s) {
            s.network.hidden = NetworkSettings{}.hidden;
            s.network.layers = {"dense 3", "dropout 0.5"};
        },
        "by dense layers");
    refused(
        [](Settings& s) {
            s.network.loss = "hinge";
            s.network.classes = 2;
        },
        "by the cross-entropy");
    refused(
        [](Settings& s) {
            s.training.kind = "boxes";
            s.clip.kind = Clip::Kind::factored;
        },
        "clipped already");
    refused(
        [](Settings& s) {
            s.training.kind = "boxes";
            s.clip.kind = Clip::Kind::none;
        },
        "entries and norms");
}

TEST(RobustSums, SettingsThatDoNotGoTogetherAreRefused) {
    const auto refused = [](void (*change)(Settings&), const char* words) {
        Settings settings = settings_of("worst_case", 1);
        change(settings);
        EXPECT_NE(error_of([&] { check(settings); }).message().find(words), std::string::npos) << words;
    };
    refused([](Settings& s) { s.network.hidden = {4}; }, "linear model");
    refused([](Settings& s) { s.robust.copies = 2; }, "in place of copies");
    refused([](Settings& s) { s.robust.input_radius = 0; }, "may move nothing");
    refused([](Settings& s) { s.training.precision = Precision::single_precision; }, "in double");
    refused([](Settings& s) { s.features.norm_limit = 1; }, "features as they are");
    refused([](Settings& s) { s.features.map = FeatureSettings::Map::scattering; },
            "in l2 behind a scattering");
    refused(
        [](Settings& s) {
            s.robust.attack = "pgd";
            s.robust.norm = "l2";
            s.features.map = FeatureSettings::Map::scattering;
        },
        "features as they are");
    refused([](Settings& s) { s.training.rows_at_most = 3; }, "clipped together");
    refused(
        [](Settings& s) {
            s.training.epochs = 1;
            s.noise.centre = 1;
        },
        "learn nothing");
    refused(
        [](Settings& s) {
            s.robust = {};
            s.training.precision = Precision::single_precision;
            s.noise.centre = 1;
        },
        "centred inputs");
    const auto not_centred = [&](void (*change)(Settings&), const char* words) {
        Settings settings = settings_of("worst_case", 1);
        settings.robust = {};
        settings.noise.centre = 1;
        change(settings);
        EXPECT_NE(error_of([&] { check(settings); }).message().find(words), std::string::npos) << words;
    };
    not_centred([](Settings& s) { s.network.loss = "one_vs_rest"; }, "by the cross-entropy");
    not_centred([](Settings& s) { s.training.rows_at_most = 3; }, "clipped together");
    not_centred([](Settings& s) { s.training.l1 = 0.1; }, "as large as every other");
    not_centred([](Settings& s) { s.noise.centre = 1e-9; }, "so short");
}

}  // namespace robust_sums_test
}  // namespace holdfast
