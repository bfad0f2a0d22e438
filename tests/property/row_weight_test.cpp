// Rows of a person, weighed and clipped one by one, are together no more than one record
// (models/mathematics.md, rows of a person), whatever they are.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/backends.hpp"
#include "kernels/ops/whole_persons.hpp"
#include "models/nets/network.hpp"
#include "models/training/plan.hpp"
#include "tests/support/convolution_cases.hpp"

namespace holdfast {
namespace {

TEST(RowWeight, OfAPersonAddToOneAtMost) {
    for (std::uint64_t rows = 1; rows <= most_rows_of_a_person; ++rows) {
        const double weight = row_weight(rows);
        ASSERT_EQ(rows_of_weight(weight), rows);
        ASSERT_GT(weight, 0);
        ASSERT_LE(static_cast<double>(rows) * weight, 1.0) << rows;  // exact: 17 and 30 bits
        ASSERT_GE(static_cast<double>(rows + 1) * weight, 1.0 - 0x1p-13) << rows;
    }
    EXPECT_EQ(row_weight(1), 1.0);
    EXPECT_EQ(row_weight(4), 0.25);
}

/// One person, and a network at a point and in a box.
struct Person {
    Network network;
    std::size_t rows;
    std::vector<std::int64_t> lower, upper;
    Records records;
};

/// Rows alike, opposite, tiny, huge, with any labels; parameters ordinary or at their ends.
Person any_person(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    const std::size_t inputs = 1 + engine() % 20, classes = 2 + engine() % 3;
    std::vector<std::size_t> hidden(engine() % 3);
    for (std::size_t& width : hidden) width = 1 + engine() % 10;
    const Loss loss = classes == 2 && seed % 2 == 0 ? Loss::binary_cross_entropy : Loss::cross_entropy;
    Person person{Network(inputs, hidden, classes, loss), 1 + engine() % 9, {}, {}, {}};
    person.lower = person.network.initial_parameters(seed, 0);
    for (std::int64_t& units : person.lower)
        if (seed % 3 == 0 && engine() % 4 == 0)
            units = engine() % 2 == 0 ? parameter_limit_units : -parameter_limit_units;
    person.upper = person.lower;
    for (std::int64_t& units : person.upper)
        units = std::min(units + static_cast<std::int64_t>(engine() % (1ULL << 48)), parameter_limit_units);
    person.records.features = FeatureMatrix(inputs, true);
    std::normal_distribution<double> normal;
    std::vector<double> first(inputs);
    for (std::size_t r = 0; r < person.rows; ++r) {
        std::vector<double> row(inputs);
        for (double& value : row) {
            value = normal(engine) * (seed % 5 == 0 ? 1e3 : 1);
            if (engine() % 16 == 0) value *= std::ldexp(1.0, static_cast<int>(engine() % 2000) - 1000);
        }
        if (r == 0) first = row;
        if (seed % 2 == 0) row = first;
        person.records.features.append(row.data());
        person.records.labels.push_back(static_cast<std::int32_t>(engine() % classes));
        person.records.ids.push_back(7);
        person.records.rows.push_back(r);
    }
    weigh_persons(person.records, person.rows, "test");
    return person;
}

/// Lower and upper sums of some of the rows, [2][parameters].
std::vector<std::vector<std::int64_t>> sums_of(const Person& person, const Backend& backend, const Clip& clip,
                                               bool box, const double* weights,
                                               std::span<const std::uint32_t> rows) {
    const auto engine = backend.engine(person.network.shape(), clip);
    RecordSet set = person.records.view();
    set.weights = weights;
    set.rows_of_persons = weights != nullptr;
    engine->set_records(std::vector{set});
    const Variant variant{person.lower.data(), box ? person.upper.data() : person.lower.data()};
    engine->run({&variant, 1}, std::vector{rows});
    const auto message = engine->finish();
    const StepMessage layout = StepMessage::of(1, person.network.shape());
    std::vector<std::vector<std::int64_t>> ends;
    for (const std::size_t at : {layout.lower(0), layout.upper(0)})
        ends.emplace_back(message.begin() + static_cast<std::ptrdiff_t>(at),
                          message.begin() + static_cast<std::ptrdiff_t>(at + layout.parameters));
    return ends;
}

long double square_of(const std::vector<std::int64_t>& entries) {
    long double square = 0;
    for (const std::int64_t entry : entries)
        square += static_cast<long double>(entry) * static_cast<long double>(entry);
    return square;
}

std::vector<std::uint32_t> all_rows(const Person& person) {
    std::vector<std::uint32_t> rows(person.rows);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    return rows;
}

Clip whole(std::uint64_t seed) {
    return {.kind = Clip::Kind::norm, .norm_limit = seed % 4 == 0 ? 0.01 : 1.0};
}
/// Clips of boxes.
Clip by_entries(std::uint64_t seed) {
    using Kind = Clip::Kind;
    if (seed % 3 != 0)
        return {.kind = seed % 3 == 1   ? Kind::elementwise
                        : seed % 6 == 2 ? Kind::record_norm
                                        : Kind::tensor_norm,
                .gamma = seed % 4 == 0 ? 0.5 : 0.06,
                .norm_limit = seed % 4 == 0 ? 0.01 : 1.0};
    return {.kind = Clip::Kind::factored,
            .delta_limit = seed % 4 == 0 ? 1.0 : 0.2,
            .activation_limit = seed % 8 == 0 ? 3.0 : 0.3};
}

/// Gamma of a person's entries, as make_plan() charges them.
std::int64_t largest_entry(const Person& person, const Backend& backend, const Clip& clip, bool bias) {
    Settings settings;
    settings.clip = clip;
    settings.training.rows_at_most = static_cast<std::int64_t>(person.rows);
    const TrainingPlan plan{settings,
                            settings.feature_map(person.network.inputs(), default_feature_range),
                            person.network,
                            std::shared_ptr<const Backend>(&backend, [](const Backend*) {}),
                            1,
                            {0}};
    return bias ? plan.gradient_scale().bias_units : plan.gradient_scale().weight_units;
}

class RowsOfAPerson : public testing::TestWithParam<Precision> {
  protected:
    std::vector<std::shared_ptr<const Backend>> backends() const {
        return {make_backend("reference", GetParam(), Product::exact, 0),
                make_backend("cpu", GetParam(), Product::exact, 0)};
    }
};

TEST_P(RowsOfAPerson, AddToNoMoreThanARecord) {
    const auto all = backends();
    double closest_norm = 0, closest_entry = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const Person person = any_person(seed);
        const std::vector<std::uint32_t> rows = all_rows(person);
        const double* weights = person.records.weights.data();
        const Clip norm = whole(seed), clip = by_entries(seed);
        const long double square = square_of(sums_of(person, *all[1], norm, false, weights, rows)[0]);
        const auto limit = static_cast<long double>(norm.scale(GetParam()).weight_units);
        ASSERT_LE(square, limit * limit) << "seed " << seed;
        closest_norm = std::max(closest_norm, static_cast<double>(square / (limit * limit)));
        for (const bool box : {false, true}) {
            const auto ends = sums_of(person, *all[1], clip, box, weights, rows);
            std::size_t at = 0;
            for (const Layer& layer : person.network.layers()) {
                for (std::size_t p = 0; p < layer.parameters(); ++p, ++at) {
                    const bool bias = p % (layer.in + 1) == layer.in;
                    const std::int64_t gamma = largest_entry(person, *all[1], clip, bias);
                    for (const auto& end : ends) {
                        if (!box && &end != &ends[0]) continue;
                        ASSERT_LE(std::abs(end[at]), gamma) << "seed " << seed << ", parameter " << at;
                        closest_entry = std::max(closest_entry, std::abs(static_cast<double>(end[at])) /
                                                                    static_cast<double>(gamma));
                    }
                }
            }
        }
    }
    EXPECT_GT(closest_norm, 0.99);
    EXPECT_GT(closest_entry, 0.99);
}

TEST_P(RowsOfAPerson, ThroughConvolutionsAddToNoMoreThanARecord) {
    const auto all = backends();
    double closest = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Person person = any_person(seed);
        const std::size_t classes = person.network.classes();
        const NetworkShape shape =
            convolutional_network(seed, person.network.loss(), person.network.outputs());
        person.network = Network(shape.layers, classes, shape.loss);
        person.lower = person.network.initial_parameters(seed, 0);
        person.records.features = FeatureMatrix(person.network.inputs(), true);
        std::mt19937_64 engine(seed);
        std::normal_distribution<double> normal;
        for (std::size_t r = 0; r < person.rows; ++r) {
            std::vector<double> row(person.network.inputs());
            for (std::size_t j = 0; j < row.size(); ++j) row[j] = seed % 2 == 0 ? j % 3 : normal(engine);
            person.records.features.append(row.data());
        }
        const std::vector<std::uint32_t> rows = all_rows(person);
        const Clip norm = whole(seed);
        const auto sums = [&](const Backend& backend) {
            return sums_of(person, backend, norm, false, person.records.weights.data(), rows)[0];
        };
        const long double square = square_of(sums(*all[1]));
        const auto limit = static_cast<long double>(norm.scale(GetParam()).weight_units);
        ASSERT_LE(square, limit * limit) << "seed " << seed;
        closest = std::max(closest, static_cast<double>(square / (limit * limit)));
        ASSERT_TRUE(seed >= 20 || sums(*all[0]) == sums(*all[1])) << "seed " << seed;
    }
    EXPECT_GT(closest, 0.98);
}

TEST_P(RowsOfAPerson, AreTheSameOnEveryBackend) {
    const auto all = backends();
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const Person person = any_person(seed);
        const std::vector<std::uint32_t> rows = all_rows(person);
        const double* weights = person.records.weights.data();
        for (const bool box : {false, true}) {
            const Clip clip = box || seed % 4 < 2 ? by_entries(seed) : whole(seed);
            const auto both = sums_of(person, *all[0], clip, box, weights, rows);
            ASSERT_EQ(sums_of(person, *all[1], clip, box, weights, rows), both) << "seed " << seed;
            // A row is what it is beside no other; weights of 1 are none.
            std::vector<std::vector<std::int64_t>> added(2, std::vector<std::int64_t>(both[0].size()));
            for (const std::uint32_t row : rows) {
                const auto one = sums_of(person, *all[1], clip, box, weights, {&row, 1});
                for (std::size_t p = 0; p < added[0].size(); ++p)
                    for (int end = 0; end < 2; ++end) added[end][p] += one[end][p];
            }
            ASSERT_EQ(added[0], both[0]);
            const std::vector<double> ones(person.rows, 1.0);
            ASSERT_EQ(sums_of(person, *all[1], clip, box, ones.data(), rows)[0],
                      sums_of(person, *all[1], clip, box, nullptr, rows)[0]);
        }
    }
}

/// What a selection keeps of an entry, in order: of upper bounds, of lower ones negated.
std::vector<std::vector<std::int64_t>> selected_of(const Person& person, const Backend& backend,
                                                   const Clip& clip, const RecordSet& set, std::size_t count,
                                                   std::span<const std::uint32_t> rows) {
    const auto engine = backend.engine(person.network.shape(), clip);
    engine->set_records(std::vector{set});
    const Variant box{person.lower.data(), person.upper.data(), count};
    engine->run({&box, 1}, std::vector{rows});
    engine->finish();
    LeastEntries least = engine->take_selection(0);
    std::vector<std::vector<std::int64_t>> kept;
    for (Selection* side : {&least.upper, &least.negated_lower}) {
        for (std::size_t p = 0; p < side->entries(); ++p) {
            const auto values = side->values(p);
            kept.emplace_back(values.begin(), values.end());
            std::sort(kept.back().begin(), kept.back().end());
        }
    }
    return kept;
}

/// Some persons of the same network, one of them with more rows than a panel takes.
Person several_persons(std::uint64_t seed, std::size_t many = 150) {
    Person all = any_person(seed);
    const std::size_t rows = all.records.size(), wanted = seed % 10 == 0 ? many : rows;
    for (std::size_t r = rows; r < wanted + rows + 3; ++r) {  // two more: of many rows, of three
        const std::size_t from = (r * 7) % rows;
        all.records.features.append(all.records.features.wide_values().data() +
                                    from * all.records.features.columns());
        all.records.labels.push_back(static_cast<std::int32_t>(r % 2));
        all.records.ids.push_back(r < rows + wanted ? 8 : 9);
        all.records.rows.push_back(r);
    }
    all.rows = all.records.size();
    weigh_persons(all.records, 200, "test");
    return all;
}

// What is offered to a selection is a person: here, each by a step of its own, added by plain loops. Of who
// may be poisoned it is the sum of what each row could change.
TEST_P(RowsOfAPerson, AreSelectedTogether) {
    const auto all = backends();
    std::int64_t apart = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Person persons = several_persons(seed);
        const Clip clip =
            seed % 2 == 0 ? Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06} : by_entries(seed);
        const bool poisoned = clip.kind == Clip::Kind::elementwise && seed % 4 == 0;
        RecordSet set = persons.records.view(true), alone = set;
        if (poisoned)
            set.poison = Poison{.input_radius = seed % 8 == 0 ? 0.3 : 0, .labels = Poison::Labels::any};
        alone.poison = set.poison;
        const std::vector<std::uint32_t> rows = all_rows(persons);
        const std::size_t entries = persons.network.parameters(), count = 1 + seed % 3;
        std::vector<std::vector<std::int64_t>> expected(2 * entries);
        for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
            while (end < rows.size() && persons.records.ids[end] == persons.records.ids[first]) ++end;
            std::vector<std::int64_t> person(2 * entries);
            for (std::size_t r = first; r < end; ++r) {
                if (!poisoned) {
                    const auto ends = sums_of(persons, *all[0], clip, true, set.weights, {&rows[r], 1});
                    for (std::size_t p = 0; p < entries; ++p) {
                        person[p] += ends[1][p];
                        person[entries + p] -= ends[0][p];
                    }
                    continue;
                }
                const auto row = selected_of(persons, *all[0], clip, alone, 1, {&rows[r], 1});
                for (std::size_t p = 0; p < row.size(); ++p)
                    if (!row[p].empty()) person[p] += row[p].front();
            }
            for (std::size_t p = 0; p < person.size(); ++p)
                if (!poisoned || person[p] < 0) expected[p].push_back(person[p]);
        }
        for (auto& values : expected) {
            std::sort(values.begin(), values.end());
            values.resize(std::min(values.size(), count));
        }
        for (const auto& backend : all)
            ASSERT_EQ(selected_of(persons, *backend, clip, set, count, rows), expected)
                << "seed " << seed << " " << backend->name();
        alone.weights = nullptr;
        alone.rows_of_persons = false;
        apart += selected_of(persons, *all[0], clip, alone, count, rows) != expected;
    }
    EXPECT_GT(apart, 50);  // rows would be others
}

// What the lemma calls false: without weights the same rows move the sum by far more than they are charged.
TEST_P(RowsOfAPerson, ClippedAndAddedAreMoreThanARecord) {
    const auto all = backends();
    double worst = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Person person = any_person(seed);
        const Clip norm = whole(seed);
        const long double square =
            square_of(sums_of(person, *all[1], norm, false, nullptr, all_rows(person))[0]);
        const auto limit = static_cast<long double>(norm.scale(GetParam()).weight_units);
        worst = std::max(worst, static_cast<double>(std::sqrt(square) / limit));
    }
    EXPECT_GT(worst, 4);
}

using EntriesOfAPerson = RowsOfAPerson;

Clip clipped_after(std::uint64_t seed) {
    constexpr double gammas[] = {0.06, 0.5, 1e-3, 30};
    return {.kind = Clip::Kind::elementwise, .gamma = gammas[seed % 4], .after = true};
}
Clip scaled_after(std::uint64_t seed) {
    Clip clip = clipped_after(seed);
    clip.kind = seed % 3 == 0 ? Clip::Kind::tensor_norm : Clip::Kind::record_norm;
    clip.norm_limit = clip.gamma;
    return clip;
}

/// Where each person of records begins, and the end.
std::vector<std::size_t> starts_of(const Person& persons) {
    std::vector<std::size_t> starts;
    for (std::size_t r = 0; r < persons.records.size(); ++r)
        if (r == 0 || persons.records.ids[r] != persons.records.ids[r - 1]) starts.push_back(r);
    starts.push_back(persons.records.size());
    return starts;
}

/// And many of three rows each, of which no panel holds a whole number.
Person crowd(std::uint64_t seed) {
    Person all = several_persons(seed);
    const std::size_t rows = all.records.size();
    for (std::size_t r = 0; r < 180; ++r) {
        const std::size_t from = (r * 5) % rows;
        all.records.features.append(all.records.features.wide_values().data() +
                                    from * all.records.features.columns());
        all.records.labels.push_back(static_cast<std::int32_t>(r % 2));
        all.records.ids.push_back(100 + r / 3);
        all.records.rows.push_back(rows + r);
    }
    all.rows = all.records.size();
    weigh_persons(all.records, 200, "test");
    return all;
}

// A person's entries are within what a record's are, whatever the rows; those of persons together are the
// sums of each alone, in any order of theirs and of their rows, on every backend; and who has one row has the
// entries of a record.
TEST_P(EntriesOfAPerson, AreHeldTogetherAndAreTheSameOnEveryBackend) {
    const auto all = backends();
    std::int64_t held = 0, apart = 0, more_than_a_row = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        Person persons = seed % 12 == 1 ? crowd(seed) : several_persons(seed);
        const double scale = seed % 3 == 0 ? 0.01 : 1;  // rows that never fill their room
        for (double& value : persons.records.features.wide_values())
            value = scale == 1 ? value : std::clamp(value, -1.0, 1.0) * scale;
        const Clip clip = clipped_after(seed);
        const auto gamma = clip.scale(GetParam()).weight_units;
        const double* weights = persons.records.weights.data();
        const std::vector<std::size_t> starts = starts_of(persons);
        const std::vector<std::uint32_t> rows = all_rows(persons);
        std::mt19937_64 engine(seed);
        for (const bool box : {false, true}) {
            std::vector<std::vector<std::int64_t>> added(2, std::vector<std::int64_t>(persons.lower.size()));
            std::vector<std::uint32_t> shuffled;
            for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
                std::vector<std::uint32_t> own(rows.begin() + static_cast<std::ptrdiff_t>(starts[i]),
                                               rows.begin() + static_cast<std::ptrdiff_t>(starts[i + 1]));
                const auto one = sums_of(persons, *all[0], clip, box, weights, own);
                Clip before = clip;
                before.after = false;
                const auto other = sums_of(persons, *all[0], before, box, weights, own);
                if (own.size() == 1) {
                    ASSERT_EQ(one, other);
                }
                apart += one != other;
                for (std::size_t p = 0; p < added[0].size(); ++p) {
                    for (int end = 0; end < 2; ++end) {
                        ASSERT_LE(std::abs(one[end][p]), gamma) << "seed " << seed;
                        held += std::abs(one[end][p]) == gamma;
                        added[end][p] += one[end][p];
                    }
                    more_than_a_row += std::abs(one[0][p]) > std::abs(other[0][p]);
                }
                std::shuffle(own.begin(), own.end(), engine);
                shuffled.insert(shuffled.begin(), own.begin(), own.end());
            }
            for (const auto& backend : all) {
                ASSERT_EQ(sums_of(persons, *backend, clip, box, weights, rows), added)
                    << "seed " << seed << " " << backend->name();
                ASSERT_EQ(sums_of(persons, *backend, clip, box, weights, shuffled), added) << "seed " << seed;
            }
        }
    }
    EXPECT_GT(held, 1000);
    EXPECT_GT(apart, 100);
    EXPECT_GT(more_than_a_row, 1000);  // less of the bound is wasted than by parts
}

// Equal rows come to what one of them does, but for roundings: of each row, of the weight, of odd factors.
TEST_P(EntriesOfAPerson, AreTheMeanOfEqualRows) {
    const auto all = backends();
    const double eps = GetParam() == Precision::double_precision ? 0x1p-52 : 0x1p-23;
    std::int64_t inside = 0;
    for (std::uint64_t seed = 1; seed < 40; seed += 2) {
        for (const std::size_t count : {2, 3, 7, 150}) {
            Person person = any_person(seed);
            for (double& value : person.records.features.wide_values()) value = std::clamp(value, -1.0, 1.0);
            Records rows;
            rows.features = FeatureMatrix(person.network.inputs(), true);
            for (std::size_t r = 0; r < count; ++r) {
                rows.features.append(person.records.features.wide_values().data());
                rows.labels.push_back(person.records.labels[0]);
                rows.ids.push_back(7);
                rows.rows.push_back(r);
            }
            person.records = rows;
            person.rows = count;
            weigh_persons(person.records, 200, "test");
            const std::vector<double> alone(count, 1.0);
            const Clip clip = clipped_after(3 + 4 * seed);  // Gamma is 30: nothing is clipped
            for (const auto& backend : all) {
                for (const bool box : {false, true}) {
                    const auto mean = sums_of(person, *backend, clip, box, person.records.weights.data(),
                                              all_rows(person)),
                               one = sums_of(person, *backend, clip, box, alone.data(), all_rows(person));
                    for (int end = 0; end < 2; ++end) {
                        for (std::size_t p = 0; p < mean[end].size(); ++p) {
                            const auto n = static_cast<double>(count),
                                       single = static_cast<double>(one[end][p]) / n;
                            const double off = n / 2 + 2 + std::abs(single) * (n * 0x1p-30 + 8 * eps);
                            ASSERT_LE(std::abs(static_cast<double>(mean[end][p]) - single), off)
                                << "seed " << seed << ", " << count << " rows, " << backend->name();
                            inside += std::abs(single) > 10 * off;
                        }
                    }
                }
            }
        }
    }
    EXPECT_GT(inside, 1000);
}

using ScalesOfAPerson = RowsOfAPerson;

// A person's entries are within what a record's are; those of persons together are the sums of each alone, on
// every backend; who has one row has the entries of a record; and what a box holds is in its sums.
TEST_P(ScalesOfAPerson, AreHeldTogetherAndAreTheSameOnEveryBackend) {
    const auto all = backends();
    std::int64_t held = 0, apart = 0, strictly = 0;
    for (std::uint64_t seed = 0; seed < 90; ++seed) {
        const Person persons = several_persons(seed, 120);
        const Clip clip = scaled_after(seed);
        Clip before = clip;
        before.after = false;
        const auto gamma = clip.scale(GetParam()).weight_units;
        const double* weights = persons.records.weights.data();
        const std::vector<std::size_t> starts = starts_of(persons);
        const std::vector<std::uint32_t> rows = all_rows(persons);
        Person inner = persons;
        std::mt19937_64 engine(seed);
        for (std::size_t p = 0; p < inner.lower.size(); ++p) {
            const auto width = static_cast<std::uint64_t>(persons.upper[p] - persons.lower[p]);
            inner.lower[p] += static_cast<std::int64_t>(engine() % (width / 2 + 1));
            inner.upper[p] = inner.lower[p] + static_cast<std::int64_t>(engine() % (width / 2 + 1));
        }
        std::vector<std::vector<std::int64_t>> added(2, std::vector<std::int64_t>(persons.lower.size()));
        for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
            const std::span own = std::span(rows).subspan(starts[i], starts[i + 1] - starts[i]);
            const auto one = sums_of(persons, *all[0], clip, true, weights, own),
                       inside = sums_of(inner, *all[0], clip, true, weights, own),
                       point = sums_of(inner, *all[0], clip, false, weights, own);
            const bool same = one == sums_of(persons, *all[0], before, true, weights, own);
            if (own.size() == 1) {
                ASSERT_TRUE(same);
            }
            apart += !same;
            for (std::size_t p = 0; p < added[0].size(); ++p) {
                ASSERT_TRUE(one[0][p] <= inside[0][p] && inside[0][p] <= point[0][p] &&
                            point[0][p] <= inside[1][p] && inside[1][p] <= one[1][p])
                    << "seed " << seed;
                strictly += one[0][p] < inside[0][p];
                for (std::size_t end = 0; end < 2; ++end) {
                    ASSERT_LE(std::abs(one[end][p]), gamma) << "seed " << seed;
                    held += std::abs(one[end][p]) == gamma;
                    added[end][p] += one[end][p];
                }
            }
        }
        std::vector<std::vector<std::int64_t>> expected = {};
        for (const auto& backend : all) {
            ASSERT_EQ(sums_of(persons, *backend, clip, true, weights, rows), added) << "seed " << seed;
            const auto offered =
                selected_of(persons, *backend, clip, persons.records.view(true), starts.size(), rows);
            if (expected.empty()) expected = offered;
            ASSERT_EQ(offered, expected) << "seed " << seed;
            for (std::size_t p = 0; p < added[0].size(); ++p)
                ASSERT_EQ(std::accumulate(offered[p].begin(), offered[p].end(), std::int64_t{0}),
                          added[1][p]);
        }
    }
    EXPECT_GT(held, 1000);
    EXPECT_GT(apart, 100);
    EXPECT_GT(strictly, 1000);
}

// Equal rows come to what one of them does; of others each counts by C over the sum of their norms.
TEST_P(ScalesOfAPerson, AreTheSumOfTheRowsNorms) {
    const auto all = backends();
    std::int64_t scaled = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        if (seed % 3 == 0) continue;  // parameters at their ends, whose entries no unit holds
        Person person = any_person(seed);
        for (double& value : person.records.features.wide_values()) value = std::clamp(value, -1.0, 1.0);
        const bool equal = seed % 2 == 0;
        if (equal) std::fill(person.records.labels.begin(), person.records.labels.end(), 1);
        const std::vector<std::uint32_t> rows = all_rows(person);
        const Clip clip{.kind = Clip::Kind::record_norm, .norm_limit = 0.25, .after = true},
            free{.kind = Clip::Kind::elementwise, .gamma = 64};
        const double unit = std::ldexp(1.0, clip.scale(GetParam()).exponent),
                     wide = std::ldexp(1.0, free.scale(Precision::double_precision).exponent),
                     weight = person.records.weights[0];
        const auto wide_backend = make_backend("reference", Precision::double_precision, Product::exact, 0);
        std::vector<double> sum(person.lower.size());
        double norms = 0;
        for (const std::uint32_t& row : rows) {
            const auto raw = sums_of(person, *wide_backend, free, false, nullptr, {&row, 1})[0];
            norms += weight * wide * static_cast<double>(std::sqrt(square_of(raw)));
            for (std::size_t p = 0; p < sum.size(); ++p)
                sum[p] += weight * wide * static_cast<double>(raw[p]);
        }
        const double scale = std::min(1.0, clip.norm_limit / norms);
        scaled += scale < 1;
        const auto n = static_cast<double>(person.rows);
        const double off = GetParam() == Precision::double_precision ? 1e-5 : 1e-4 + n * unit;
        for (const auto& backend : all) {
            const auto ours = sums_of(person, *backend, clip, false, person.records.weights.data(), rows)[0];
            const auto single = sums_of(person, *backend, clip, false, nullptr, {rows.data(), 1})[0];
            for (std::size_t p = 0; p < sum.size(); ++p) {
                ASSERT_NEAR(static_cast<double>(ours[p]) * unit, scale * sum[p], off) << "seed " << seed;
                if (equal) {
                    ASSERT_NEAR(static_cast<double>(ours[p]), static_cast<double>(single[p]), n + off / unit);
                }
            }
        }
    }
    EXPECT_GT(scaled, 50);
}

// What is offered to a selection are a person's bounds. Poisoned, whatever becomes of the rows within the
// radius, the bound moves by no more than what was offered.
TEST_P(EntriesOfAPerson, AreSelectedAndPoisonedTogether) {
    const auto all = backends();
    std::int64_t moved = 0, exactly = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const Person persons = several_persons(seed);
        const Clip clip = clipped_after(seed);
        const std::vector<std::size_t> starts = starts_of(persons);
        const std::vector<std::uint32_t> rows = all_rows(persons);
        const std::size_t entries = persons.network.parameters(), count = starts.size() - 1;
        RecordSet set = persons.records.view(true);
        std::vector<std::vector<std::int64_t>> expected(2 * entries);
        for (std::size_t i = 0; i < count; ++i) {
            const auto one = sums_of(persons, *all[0], clip, true, set.weights,
                                     std::span(rows).subspan(starts[i], starts[i + 1] - starts[i]));
            for (std::size_t p = 0; p < entries; ++p) {
                expected[p].push_back(one[1][p]);
                expected[entries + p].push_back(-one[0][p]);
            }
        }
        for (auto& values : expected) std::sort(values.begin(), values.end());
        for (const auto& backend : all)
            ASSERT_EQ(selected_of(persons, *backend, clip, set, count, rows), expected) << "seed " << seed;

        const std::span first = std::span(rows).first(starts[1]);
        set.poison = Poison{.input_radius = seed % 4 == 0 ? 0 : 0.3, .labels = Poison::Labels::any};
        const auto offered = selected_of(persons, *all[1], clip, set, 1, first);
        ASSERT_EQ(selected_of(persons, *all[0], clip, set, 1, first), offered);
        const auto as_is = sums_of(persons, *all[0], clip, true, set.weights, first);
        std::mt19937_64 engine(seed);
        for (int draw = 0; draw < 8; ++draw) {
            Person other = persons;
            for (std::size_t r = 0; r < starts[1]; ++r) {
                other.records.labels[r] = static_cast<std::int32_t>(engine() % persons.network.classes());
                for (std::size_t j = 0; j < persons.network.inputs(); ++j)
                    other.records.features.wide_values()[r * persons.network.inputs() + j] +=
                        set.poison->input_radius * (static_cast<double>(engine() % 3) - 1);
            }
            const auto they = sums_of(other, *all[0], clip, true, set.weights, first);
            for (std::size_t p = 0; p < entries; ++p) {
                const std::int64_t up = offered[p].empty() ? 0 : -offered[p].front(),
                                   down = offered[entries + p].empty() ? 0 : -offered[entries + p].front();
                ASSERT_LE(they[1][p], as_is[1][p] + up) << "seed " << seed;
                ASSERT_GE(they[0][p], as_is[0][p] - down) << "seed " << seed;
                ASSERT_LE(as_is[1][p] + up, clip.scale(GetParam()).weight_units);
                moved += they[1][p] > as_is[1][p];
                exactly += they[1][p] > as_is[1][p] && they[1][p] == as_is[1][p] + up;
            }
        }
    }
    EXPECT_GT(moved, 1000);
    EXPECT_GT(exactly, 100);
}

using RecordsByClass = RowsOfAPerson;

// Each record is a person of its own, whose entries are at most its weight's part of the bound: sums and
// selections are those of the records one by one.
TEST_P(RecordsByClass, CountByTheirLabelsOnEveryBackend) {
    const auto all = backends();
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        Person person = several_persons(seed);
        person.records.rows_of_persons = false;
        std::iota(person.records.ids.begin(), person.records.ids.end(), 0);
        const std::vector<double> weights{0.25, 1.0, 0x1p-10, 307 * weight_unit};
        weigh_by_class(person.records, weights);
        const Clip clip =
            seed % 2 == 0 ? Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06} : by_entries(seed);
        const RecordSet set = person.records.view(true);
        const std::vector<std::uint32_t> rows = all_rows(person);
        const std::size_t entries = person.network.parameters(), count = 1 + seed % 3;
        const std::int64_t gamma = clip.scale(GetParam()).weight_units;
        std::vector<std::vector<std::int64_t>> selected(2 * entries);
        std::vector<std::vector<std::int64_t>> added(2, std::vector<std::int64_t>(entries));
        for (const std::uint32_t row : rows) {
            const auto one = sums_of(person, *all[0], clip, true, set.weights, {&row, 1});
            const auto label = static_cast<std::size_t>(person.records.labels[row]);
            ASSERT_EQ(end_of_person(set, rows, row), row + 1);  // also where the weight is that of many rows
            for (std::size_t p = 0; p < entries; ++p) {
                if (clip.kind == Clip::Kind::elementwise) {
                    ASSERT_LE(std::max(one[1][p], -one[0][p]), part_of(gamma, weights[label]))
                        << "seed " << seed;
                }
                for (std::size_t end = 0; end < 2; ++end) added[end][p] += one[end][p];
                selected[p].push_back(one[1][p]);
                selected[entries + p].push_back(-one[0][p]);
            }
        }
        for (auto& values : selected) {
            std::sort(values.begin(), values.end());
            values.resize(std::min(values.size(), count));
        }
        for (const auto& backend : all) {
            const auto engine = backend->engine(person.network.shape(), clip);
            engine->set_records(std::vector{set});
            const Variant box{person.lower.data(), person.upper.data()};
            engine->run({&box, 1}, std::vector{std::span<const std::uint32_t>(rows)});
            const auto message = engine->finish();
            const StepMessage layout = StepMessage::of(1, person.network.shape());
            EXPECT_LE(message[layout.possibly_correct(0)],
                      static_cast<std::int64_t>(rows.size()));  // of records
            for (std::size_t p = 0; p < entries; ++p) {
                ASSERT_EQ(message[layout.lower(0) + p], added[0][p])
                    << "seed " << seed << " " << backend->name();
                ASSERT_EQ(message[layout.upper(0) + p], added[1][p])
                    << "seed " << seed << " " << backend->name();
            }
            ASSERT_EQ(selected_of(person, *backend, clip, set, count, rows), selected)
                << "seed " << seed << " " << backend->name();
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, RecordsByClass,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Precisions, EntriesOfAPerson,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Precisions, ScalesOfAPerson,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(Precisions, RowsOfAPerson,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace holdfast
