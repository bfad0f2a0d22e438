#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "dist/comm/communicator.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/boxes/trainer.hpp"
#include "models/training/gradient_sums.hpp"
#include "tests/support/host_executed.hpp"
#include "tests/support/selections.hpp"

namespace holdfast {

/// Whole steps by an engine against the same by the operations of a backend: for the kernels on the host
/// (tests/unit) and on a device (tests/gpu).
inline Records records_for_steps(std::mt19937_64& engine, std::size_t count, std::size_t features,
                                 std::size_t classes, bool wide) {
    Records records{FeatureMatrix(features, wide), {}, {}, {}};
    std::normal_distribution<double> normal;
    std::vector<double> row(features);
    for (std::size_t i = 0; i < count; ++i) {
        for (double& value : row) {
            value = engine() % 8 == 0 ? 0.0 : normal(engine) * (engine() % 40 == 0 ? 1e6 : 1.0);
        }
        records.features.append(row.data());
        records.labels.push_back(static_cast<std::int32_t>(engine() % classes));
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

struct StepCase {
    Network network;
    Clip clip;
    Records private_records, public_records;
    std::vector<std::uint32_t> private_batch, public_batch;
    std::vector<std::vector<std::int64_t>> lower, upper;  // [level]
    std::vector<std::int64_t> ks, selected;

    std::vector<Variant> variants() const {
        std::vector<Variant> all;
        for (std::size_t level = 0; level < lower.size(); ++level) {
            const bool point = ks[level] == 0;
            all.push_back({lower[level].data(), point ? lower[level].data() : upper[level].data(),
                           static_cast<std::size_t>(selected[level])});
        }
        return all;
    }
    std::unique_ptr<Engine> engine(const Backend& backend) const {
        std::unique_ptr<Engine> made = backend.engine(network.shape(), clip);
        made->set_records(std::vector{private_records.view(true), public_records.view()});
        return made;
    }
    StepSums by(Engine& engine) const {
        const std::vector<Variant> all = variants();
        engine.run(all, std::vector<std::span<const std::uint32_t>>{private_batch, public_batch});
        const auto message = engine.finish();
        return {StepMessage::of(all.size(), network.shape()),
                {message.begin(), message.end()},
                take_selections(engine, all)};
    }
    StepSums by(const Backend& backend) const { return by(*engine(backend)); }
    /// Bounds of every private record's logits, [variants][outputs, records], lower then upper.
    std::vector<std::vector<double>> outputs_by(const Backend& backend) const {
        const auto made = engine(backend);
        const std::size_t last = network.offset(network.layers().size() - 1), rows = network.outputs(),
                          count = private_batch.size();
        std::vector<std::vector<double>> all;
        for (const Variant& box : variants()) {
            std::vector<double> bounds(2 * rows * count);
            const auto keep = [&](const OutputBlock& block) {
                for (std::size_t o = 0; o < rows; ++o) {
                    std::copy_n(block.lower + o * block.stride, block.count,
                                bounds.data() + o * count + block.first);
                    std::copy_n(block.upper + o * block.stride, block.count,
                                bounds.data() + (rows + o) * count + block.first);
                }
            };
            made->outputs(box, {rows, box.lower + last, box.upper + last}, private_batch, keep);
            all.push_back(std::move(bounds));
        }
        return all;
    }
};

/// Any loss of one logit, or any of a logit a class.
inline Loss any_loss(bool one_logit, std::uint64_t number) {
    std::vector<Loss> fitting;
    for (const LossInfo& info : losses()) {
        if (info.one_logit == one_logit) fitting.push_back(info.loss);
    }
    return fitting[number % fitting.size()];
}

inline std::vector<std::uint32_t> random_batch(std::mt19937_64& engine, std::size_t records) {
    std::vector<std::uint32_t> batch;
    const std::uint64_t kept = engine() % 4;
    for (std::uint32_t i = 0; i < records; ++i) {
        if (engine() % 4 <= kept) batch.push_back(i);
    }
    std::shuffle(batch.begin(), batch.end(), engine);
    return batch;
}

/// Numbers for a regression to learn, of every size; of a classifier none.
inline void give_targets(std::mt19937_64& engine, const Network& network, Records& records) {
    std::normal_distribution<double> normal;
    for (std::size_t i = 0; network.is_regression() && i < records.size(); ++i)
        records.targets.push_back(std::ldexp(normal(engine), engine() % 9 == 0 ? 20 : 0));
}

/// Levels 0, then growing boxes: none selecting, all, or some.
inline void add_levels(std::mt19937_64& engine, bool select, StepCase& step) {
    const std::vector<std::int64_t> middle = step.network.initial_parameters(engine(), 0);
    double radius = 1e-6;
    const std::int64_t largest = 1 + static_cast<std::int64_t>(engine() % 5);
    for (std::int64_t k = 0; k <= largest; ++k) {
        step.ks.push_back(k);
        step.lower.push_back(middle);
        step.upper.push_back(middle);
        for (std::size_t p = 0; p < middle.size() && k > 0; ++p) {
            step.lower.back()[p] -= parameter_units(radius * static_cast<double>(engine() % 3));
            step.upper.back()[p] += parameter_units(radius * static_cast<double>(engine() % 3));
        }
        step.selected.push_back(select && k > 0 && engine() % 8 > 0 ? k * (engine() % 6 == 0 ? 400 : 2) : 0);
        radius *= 8;
    }
}

/// One of many networks, batches and settings, by its seed.
inline StepCase random_step(std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    const std::size_t inputs = 1 + engine() % (seed % 4 == 0 ? 90 : 20);
    std::vector<std::size_t> hidden(seed % 4);
    for (std::size_t& width : hidden) width = 1 + engine() % (engine() % 4 == 0 ? 80 : 20);
    const bool one_logit = engine() % 3 == 0;
    const std::size_t classes = one_logit ? 2 : 2 + engine() % 4;
    const bool factored = engine() % 2 == 0;
    const Loss loss = any_loss(one_logit, seed);
    StepCase step{
        Network(inputs, hidden, info_of(loss).of_numbers ? 1 : classes, loss,
                {engine() % 2 == 0 ? 0.0 : 0.25, engine() % 2 == 0 ? 1.0 : 1.7}),
        factored
            ? Clip{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3}
            : Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06},
        records_for_steps(engine, engine() % 700, inputs, classes, engine() % 2 == 0),
        records_for_steps(engine, engine() % 2 * (engine() % 90), inputs, classes, false),
        {},
        {},
        {},
        {},
        {},
        {}};
    step.private_batch = random_batch(engine, step.private_records.size());
    step.public_batch = random_batch(engine, step.public_records.size());
    if (seed % 16 == 5) step.private_batch.clear();
    if (seed % 16 == 9) step.private_batch.resize(std::min<std::size_t>(1, step.private_batch.size()));
    if (seed % 16 == 5 || seed % 8 == 1) step.public_batch.clear();
    give_targets(engine, step.network, step.private_records);  // the public ones have labels for numbers
    add_levels(engine, engine() % 2 == 0, step);
    return step;
}

inline std::vector<std::vector<std::int64_t>> sorted_values(std::optional<LeastEntries>& least) {
    if (!least) return {};
    return sorted_values(*least);
}

inline void expect_same(StepSums expected, StepSums actual, const StepCase& step) {
    ASSERT_EQ(actual.records,
              static_cast<std::int64_t>(step.private_batch.size() + step.public_batch.size()));
    ASSERT_EQ(expected.message, actual.message);
    ASSERT_EQ(expected.levels.size(), actual.levels.size());
    for (std::size_t level = 0; level < expected.levels.size(); ++level) {
        ASSERT_EQ(sorted_values(expected.levels[level].least), sorted_values(actual.levels[level].least))
            << "level " << level;
    }
}

/// Sums, selections and outputs.
inline void expect_same(const StepCase& step, const Backend& expected, const Backend& actual) {
    expect_same(step.by(expected), step.by(actual), step);
    ASSERT_EQ(step.outputs_by(expected), step.outputs_by(actual));
}

/// A device's kernels, run on the host, give what `cpu` gives; and what `reference` gives, which takes
/// longer.
inline void expect_same_of_a_device(const StepCase& step, Arithmetic arithmetic, bool reference_too) {
    const auto device = make_host_executed_backend(std::size_t{1} << 30, arithmetic);
    EXPECT_EQ(device->arithmetic().activation_bits, arithmetic.activation_bits);
    for (const char* name : {"cpu", "reference"}) {
        const auto backend = make_backend(name, arithmetic);
        SCOPED_TRACE(name);
        expect_same(step, *backend, *device);
        if (testing::Test::HasFatalFailure() || !reference_too) return;
    }
}

/// Less and less memory: records streamed, levels parted, chunks of 64 records, until one level is too much.
inline void expect_same_in_any_memory(const StepCase& step, Arithmetic arithmetic) {
    const auto cpu = make_backend("cpu", arithmetic);
    const auto outputs = step.outputs_by(*cpu);
    int fitted = 0;
    for (std::size_t memory = std::size_t{8} << 20;; memory /= 4) {
        SCOPED_TRACE(std::to_string(memory) + " bytes");
        try {
            const auto device = make_host_executed_backend(memory, arithmetic);
            expect_same(step.by(*cpu), step.by(*device), step);
            ASSERT_EQ(outputs, step.outputs_by(*device));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            break;
        }
        ++fitted;
    }
    EXPECT_GE(fitted, 1);
}

/// One record with a feature that may be anything.
inline StepCase step_with_feature(double value, const std::vector<std::size_t>& hidden) {
    std::mt19937_64 engine(11);
    StepCase step{Network(3, hidden, 3, Loss::cross_entropy),
                  Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06},
                  records_for_steps(engine, 1, 3, 3, true),
                  records_for_steps(engine, 0, 3, 3, true),
                  {0},
                  {},
                  {},
                  {},
                  {},
                  {}};
    step.private_records.features.wide_values()[1] = value;
    for (const std::int64_t k : {0, 3}) {
        step.ks.push_back(k);
        step.selected.push_back(0);
        step.lower.push_back(step.network.initial_parameters(2, 0));
        for (std::int64_t& units : step.lower.back()) units *= 500;
        step.upper.push_back(step.lower.back());
        for (std::int64_t& units : step.upper.back()) units += k;
    }
    return step;
}

/// In fixed precision: within what is stated and beyond, and no number at all.
inline void expect_same_for_any_feature(const Backend& expected, const Backend& actual) {
    for (const std::vector<std::size_t>& hidden : std::vector<std::vector<std::size_t>>{{}, {4}, {4, 5}}) {
        for (const double value : {1.0, -4.0, 4.00001, 1e7, 1e305, std::nan(""), HUGE_VAL, -HUGE_VAL})
            expect_same(step_with_feature(value, hidden), expected, actual);
    }
}

/// Every weight and feature as large as fixed precision lets it be, or beyond; a point, and a box of both
/// signs.
inline StepCase largest_step() {
    const std::size_t inputs = 300;
    StepCase step{Network(inputs, {20}, 2, Loss::cross_entropy),
                  Clip{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 1, .activation_limit = 64},
                  {FeatureMatrix(inputs, true), {}, {}, {}},
                  {FeatureMatrix(inputs, true), {}, {}, {}},
                  {},
                  {},
                  {},
                  {},
                  {0, 3},
                  {0, 4}};
    for (std::uint32_t i = 0; i < 40; ++i) {
        const std::vector<double> row(inputs, i % 2 == 0 ? 1e9 : -1e9);
        step.private_records.features.append(row.data());
        step.private_records.labels.push_back(static_cast<std::int32_t>(i % 3 / 2));
        step.private_records.ids.push_back(i);
        step.private_records.rows.push_back(i);
        step.private_batch.push_back(i);
    }
    for (std::int64_t level = 0; level < 2; ++level) {
        std::vector<std::int64_t> lower(step.network.parameters(), parameter_units(100)), upper = lower;
        for (std::size_t p = 0; p < lower.size(); ++p) {
            if (p % 3 == 0) lower[p] = upper[p] = -lower[p];
            if (level == 1 && p % 5 == 0) lower[p] = -upper[p];
        }
        for (std::size_t p = 0; level == 1 && p < lower.size(); ++p) {
            if (lower[p] > upper[p]) std::swap(lower[p], upper[p]);
        }
        step.lower.push_back(lower);
        step.upper.push_back(upper);
    }
    return step;
}

/// More inputs than an int32 adds products of digits, all of them the largest, (-128)^2, in 16 bits: units of
/// features (2^-13) and of weights (2^-11) are 128 = 256 - 128.
inline StepCase longest_step() {
    const std::size_t inputs = 140000;
    StepCase step{Network(inputs, {}, 2, Loss::cross_entropy),
                  Clip{.kind = Clip::Kind::elementwise, .gamma = 0.06},
                  {FeatureMatrix(inputs, false), {}, {}, {}},
                  {FeatureMatrix(inputs, false), {}, {}, {}},
                  {0, 1},
                  {},
                  {},
                  {},
                  {0, 1},
                  {0, 0}};
    const std::vector<double> row(inputs, 0x1p-6);
    for (std::uint32_t i = 0; i < 2; ++i) {
        step.private_records.features.append(row.data());
        step.private_records.labels.push_back(static_cast<std::int32_t>(i));
        step.private_records.ids.push_back(i);
        step.private_records.rows.push_back(i);
    }
    const std::vector<std::int64_t> middle(step.network.parameters(), parameter_units(0x1p-4));
    step.lower = {middle, middle};
    step.upper = step.lower;
    for (std::int64_t& units : step.upper[1]) units *= 3;
    return step;
}

/// The state at the end of a training, as bytes.
inline std::vector<std::byte> trained(const Settings& settings, std::shared_ptr<const Backend> backend,
                                      const Communicator& ranks) {
    std::mt19937_64 engine(7);
    const Records records = records_for_steps(engine, 300, 6, 3, false),
                  open = records_for_steps(engine, 40, 6, 3, false);
    const TrainingPlan plan =
        make_plan(settings, {.features = 6, .found = records.size()}, std::move(backend));
    MemberTrainer trainer(plan, records, open, MemberTrainer::fresh_state(plan, 1));
    while (!trainer.done()) trainer.step(ranks);
    return trainer.state().packed();
}

/// Trainings of every relation, charge rule and clip that go together.
inline std::vector<Settings> trainings() {
    std::vector<Settings> all;
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
            Settings settings;
            settings.network.hidden = {9};
            settings.network.classes = 3;
            settings.training.epochs = 2;
            settings.training.batches = 2;
            settings.certificate.levels = 4;
            settings.certificate.relation = relation;
            settings.certificate.charge_rule = rule;
            all.push_back(settings);
            if (rule != ChargeRule::per_epoch && relation != Relation::add_remove) continue;
            settings.clip.kind = Clip::Kind::factored;
            settings.network.hidden = {7, 5};
            settings.network.input_scale = 0.5;
            all.push_back(settings);
        }
    }
    return all;
}

}  // namespace holdfast
