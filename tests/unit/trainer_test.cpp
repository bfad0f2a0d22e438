// One step: what the boxes of removals hold when it divides by the count of the batch that is left, and the
// decay it refuses; layers without bias, and with dropout.

#include "models/boxes/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "models/certify/answers.hpp"

namespace holdfast {
namespace trainer_test {

Records records_with(const std::vector<std::size_t>& kept) {
    Records records{FeatureMatrix(2, true), {}, {}, {}};
    for (const std::size_t i : kept) {
        const double feature = 1.0 + static_cast<double>(i);  // every gradient has the same sign
        records.features.wide_values().insert(records.features.wide_values().end(), {feature, 2 * feature});
        records.labels.push_back(1);
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

/// One step of one batch: boxes of levels 0..levels for removals, divided by the batch's own count.
std::vector<LevelState> after_a_step(const Records& records, std::int64_t levels) {
    Settings settings;
    settings.network.hidden = {};
    settings.training.batches = 1;
    settings.training.epochs = 1;
    settings.training.normalise = Normalise::actual;
    settings.certificate.relation = Relation::remove;
    settings.certificate.charge_rule = ChargeRule::per_batch;
    settings.certificate.levels = levels;
    settings.clip.gamma = 100;
    const Records none{FeatureMatrix(2, true), {}, {}, {}};
    const TrainingPlan plan = make_plan(settings, {.features = 2, .found = records.size()},
                                        make_backend("cpu", Precision::double_precision, Product::exact));
    MemberTrainer trainer(plan, records, none, MemberTrainer::fresh_state(plan, 0));
    trainer.step(*make_serial_communicator());
    std::vector<LevelState> boxes;
    for (std::int64_t k = 0; k <= levels; ++k) boxes.push_back(trainer.box(static_cast<std::size_t>(k)));
    return boxes;
}

TEST(ActualNormaliser, DividesByTheRecordsThatAreLeft) {
    const std::vector<LevelState> boxes = after_a_step(records_with({0, 1, 2, 3, 4}), 2);
    for (std::size_t first = 0; first < 5; ++first) {
        for (std::size_t second = first + 1; second < 5; ++second) {
            std::vector<std::size_t> left;
            for (std::size_t i = 0; i < 5; ++i) {
                if (i != first && i != second) left.push_back(i);
            }
            const LevelState run = after_a_step(records_with(left), 0).front();
            for (std::size_t p = 0; p < run.lower.size(); ++p) {
                EXPECT_LE(boxes[2].lower[p], run.lower[p]) << "without " << first << ", " << second;
                EXPECT_GE(boxes[2].upper[p], run.lower[p]) << "without " << first << ", " << second;
            }
        }
    }
}

TEST(ActualNormaliser, RefusesABatchThatMayBecomeEmpty) {
    EXPECT_NO_THROW(after_a_step(records_with({0, 1, 2}), 2));
    try {
        after_a_step(records_with({0, 1}), 2);
        ADD_FAILURE() << "no records are left to be averaged";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input) << error.what();
    }
}

// The nominal run and bounds of the widest box, when due; no parameter depends on it.
TEST(Validation, LooksAtHeldOutRecordsAndDecidesNothing) {
    Settings settings;
    settings.network.hidden = {3};
    settings.training.epochs = 3;
    settings.training.batches = 2;
    settings.training.expected_records = 9;
    settings.training.learning_rate = 0.5;
    settings.certificate.levels = 2;
    const Records none{FeatureMatrix(2, true), {}, {}, {}};
    Records records = records_with({0, 1, 2, 3, 4, 5, 6, 7, 8}), held_out = records_with({0, 2, 4});
    records.labels[3] = held_out.labels[1] = 0;
    const auto trained = [&](std::int64_t every) {
        TrainingPlan plan = make_plan(settings, {.features = 2},
                                      make_backend("cpu", Precision::double_precision, Product::exact));
        if (every > 0) plan.held_out = std::make_shared<const HeldOut>(HeldOut{held_out, every});
        MemberTrainer trainer(plan, records, none, MemberTrainer::fresh_state(plan, 0));
        while (!trainer.done()) trainer.step(*make_serial_communicator());
        return std::pair(trainer.state(), plan);
    };
    const auto [judged, plan] = trained(1);
    const MemberState now_and_then = trained(4).first, plain = trained(0).first;
    for (std::size_t step = 0; step < 6; ++step) {
        const ValidationMetrics& seen = judged.metrics[step].validation;
        EXPECT_TRUE(seen.there);
        EXPECT_LE(0, seen.loss_lower);
        EXPECT_LE(seen.loss_lower, seen.loss);
        EXPECT_LE(seen.loss, seen.loss_upper);
        EXPECT_LE(seen.accuracy_lower, seen.accuracy);
        EXPECT_LE(seen.accuracy, seen.accuracy_upper);
        EXPECT_EQ(now_and_then.metrics[step].validation.there, step == 3 || step == 5);
        EXPECT_TRUE(judged.metrics[step].to_json(0).contains("validation_loss"));
        EXPECT_FALSE(plain.metrics[step].to_json(0).contains("validation_loss"));
    }
    EXPECT_LT(judged.metrics[5].validation.loss_lower, judged.metrics[5].validation.loss_upper);

    // What is said of the end is said of its parameters.
    const Answers answers = answers_of(plan.network, *plan.backend, judged.levels[0].lower, held_out);
    double right = 0, loss = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        right += answers.labels[i] == held_out.labels[i] ? 1 : 0;
        loss += std::log1p(std::exp((held_out.labels[i] == 1 ? -1 : 1) * answers.logits[i]));
    }
    EXPECT_DOUBLE_EQ(judged.metrics[5].validation.accuracy, right / 3);
    EXPECT_NEAR(judged.metrics[5].validation.loss, loss / 3, 1e-9);

    for (std::size_t level = 0; level < 3; ++level) {
        EXPECT_EQ(judged.levels[level].lower, plain.levels[level].lower);
        EXPECT_EQ(judged.levels[level].upper, plain.levels[level].upper);
    }
}

// Ranks hold other levels: the nominal run of one, the widest box of another.
TEST(Validation, OfRanksWithOtherLevelsIsJoined) {
    StepMetrics first, second;
    first.level = 1;
    first.correct = 5;
    first.validation = {true, 0.5, 0.4, 0.6, 0.9, 0.8, 1.0};
    second.level = 7;
    second.validation = {true, -1, 0.1, 3, -1, 0.2, 1.0};
    for (const bool swap : {false, true}) {
        StepMetrics joined = swap ? second : first;
        joined.merge(swap ? first : second);
        EXPECT_EQ(joined.level, 7);
        EXPECT_EQ(joined.correct, 5);
        EXPECT_EQ(joined.validation.loss, 0.5);
        EXPECT_EQ(joined.validation.accuracy, 0.9);
        EXPECT_EQ(joined.validation.loss_upper, 3);
        EXPECT_EQ(joined.validation.accuracy_lower, 0.2);
    }
}

/// 40 images of 1 x 4 x 4 pixels.
Records images() {
    const KeyedHash hash{5};
    Records records{FeatureMatrix(16, true), {}, {}, {}};
    for (std::uint64_t id = 0; id < 40; ++id) {
        std::vector<double> pixels;
        for (std::uint64_t p = 0; p < 16; ++p) pixels.push_back(hash.normal(id, p));
        records.features.append(pixels.data());
        records.labels.push_back(static_cast<std::int32_t>(id % 2));
        records.ids.push_back(id);
        records.rows.push_back(id);
    }
    return records;
}

Settings of_images(Relation relation, ChargeRule rule) {
    Settings settings;
    settings.network.image = {1, 4, 4};
    settings.network.layers = {"conv 3 2x2 no_bias", "max_pool 2x2 stride 1", "dropout 0.4", "dense 4"};
    settings.training.epochs = 3;
    settings.training.batches = 2;
    settings.training.momentum = 0.5;
    settings.training.expected_records = 40;
    settings.certificate.levels = 2;
    settings.certificate.relation = relation;
    settings.certificate.charge_rule = rule;
    check(settings);
    return settings;
}

TrainingPlan plan_of(const Settings& settings) {
    return make_plan(settings, {.features = 16}, make_backend("cpu", Precision::double_precision));
}

TEST(Layers, WithoutBiasKeepItAt0InEveryBox) {
    const Records none{FeatureMatrix(16, true), {}, {}, {}};
    for (const Relation relation : {Relation::add_remove, Relation::substitute, Relation::remove}) {
        for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
            const TrainingPlan plan = plan_of(of_images(relation, rule));
            const std::vector<std::size_t> pinned = plan.network.pinned();
            ASSERT_EQ(pinned.size(), 3U);
            MemberTrainer trainer(plan, images(), none, MemberTrainer::fresh_state(plan, 0));
            while (!trainer.done()) trainer.step(*make_serial_communicator());
            for (std::size_t level = 0; level < plan.levels.size(); ++level) {
                const LevelState box = trainer.box(level);
                std::size_t points = 0;
                for (std::size_t p = 0; p < box.lower.size(); ++p) points += box.lower[p] == box.upper[p];
                for (const std::size_t p : pinned) {
                    EXPECT_EQ(box.lower[p], 0);
                    EXPECT_EQ(box.upper[p], 0);
                }
                EXPECT_EQ(points == box.lower.size(), level == 0);
            }
        }
    }
}

struct Trained {
    LevelState state, box;
};

/// [steps]: of the greatest level, after every step.
std::vector<Trained> each_step(const Settings& settings) {
    const Records none{FeatureMatrix(16, true), {}, {}, {}};
    const TrainingPlan plan = plan_of(settings);
    MemberTrainer trainer(plan, images(), none, MemberTrainer::fresh_state(plan, 0));
    std::vector<Trained> steps;
    while (!trainer.done()) {
        trainer.step(*make_serial_communicator());
        steps.push_back({trainer.state().levels.back(), trainer.box(plan.levels.size() - 1)});
    }
    return steps;
}

bool equal_from(std::size_t first, std::size_t end, const LevelState& one, const LevelState& other) {
    const auto same = [&](const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
        return a.size() == b.size() &&
               (a.empty() || std::equal(a.begin() + static_cast<std::ptrdiff_t>(first),
                                        a.begin() + static_cast<std::ptrdiff_t>(end),
                                        b.begin() + static_cast<std::ptrdiff_t>(first)));
    };
    return same(one.lower, other.lower) && same(one.upper, other.upper) &&
           same(one.lower_slots, other.lower_slots) && same(one.upper_slots, other.upper_slots);
}

// By the definition: a layer takes the steps of the whole network while it moves, and none from then on.
TEST(Layers, ThatStayAreWhatTheirLastStepLeft) {
    for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
        Settings settings = of_images(Relation::add_remove, rule);
        settings.training.l2 = 0.01;
        settings.training.l1 = 0.001;
        const std::vector<Trained> whole = each_step(settings);
        settings.training.layer_steps = {0, 3};
        const Network network = plan_of(settings).network;
        const std::size_t second = network.offset(1), last = network.offset(2), end = network.parameters();
        const std::vector<std::int64_t> initial = plan_of(settings).initial_parameters(0);
        const std::vector<Trained> steps = each_step(settings);
        for (std::size_t step = 0; step < steps.size(); ++step) {
            const LevelState& box = steps[step].box;
            EXPECT_TRUE(std::equal(initial.begin(), initial.begin() + static_cast<std::ptrdiff_t>(second),
                                   box.lower.begin()));
            EXPECT_TRUE(equal_from(0, second, box, {box.k, box.upper, box.upper, {}, {}}));
            if (step < 3) continue;
            EXPECT_TRUE(equal_from(second, last, steps[step].state, steps[2].state));
            EXPECT_TRUE(equal_from(second, last, box, steps[2].box));
            EXPECT_FALSE(equal_from(last, end, box, steps[2].box));
        }
        // The first step is that of the whole network from one point.
        EXPECT_TRUE(equal_from(second, end, steps[0].state, whole[0].state));
        // And the one behind a common state, of the layers that still move.
        settings.training.layer_steps = {3, 3};
        const std::vector<Trained> common = each_step(settings);
        for (std::size_t step = 0; step < 3; ++step) {
            EXPECT_TRUE(equal_from(0, end, common[step].state, whole[step].state));
            EXPECT_TRUE(equal_from(0, end, common[step].box, whole[step].box));
        }
        EXPECT_TRUE(equal_from(last, end, common[3].state, whole[3].state));
        EXPECT_FALSE(equal_from(second, last, common[3].state, whole[3].state));
    }
}

TEST(Layers, AStoppedTrainingWithDropoutGoesOnToTheSameBytes) {
    const Records none{FeatureMatrix(16, true), {}, {}, {}};
    const TrainingPlan plan = plan_of(of_images(Relation::add_remove, ChargeRule::per_epoch));
    const auto trained = [&](std::int64_t stop) {
        auto trainer =
            std::make_unique<MemberTrainer>(plan, images(), none, MemberTrainer::fresh_state(plan, 0));
        while (!trainer->done()) {
            if (trainer->state().step == stop) {
                MemberState state = MemberState::unpacked(trainer->state().packed());
                trainer = std::make_unique<MemberTrainer>(plan, images(), none, std::move(state));
            }
            trainer->step(*make_serial_communicator());
        }
        return trainer->state().packed();
    };
    const std::vector<std::byte> straight = trained(-1);
    for (const std::int64_t stop : {1, 4}) EXPECT_EQ(trained(stop), straight) << stop;
    // And the mask counts: without it another network comes out.
    Settings whole = plan.settings;
    std::erase(whole.network.layers, "dropout 0.4");
    const TrainingPlan other = plan_of(whole);
    MemberTrainer trainer(other, images(), none, MemberTrainer::fresh_state(other, 0));
    while (!trainer.done()) trainer.step(*make_serial_communicator());
    EXPECT_NE(trainer.state().levels.front().lower, MemberState::unpacked(straight).levels.front().lower);
}

// Decay by more than the whole parameter would turn its order round (lemma 1 of update_rule.hpp).
TEST(Sgd, RefusesADecayAboveOne) {
    Settings settings;
    settings.training.learning_rate = 2;
    settings.training.l2 = 0.5;
    EXPECT_NO_THROW(make_sgd(settings.training, -40));
    settings.training.l2 = 0.51;
    try {
        make_sgd(settings.training, -40);
        ADD_FAILURE() << "learning_rate * l2 = 1.02";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    }
}

// They are the steps of a run that has no private records, and every level starts where they end.
TEST(PublicSteps, MoveThePointThatAllLevelsStartFrom) {
    const Records open = records_with({0, 1, 2, 3, 4}), none = records_with({});
    Settings settings;
    settings.network.hidden = {3};
    settings.training.epochs = 4;
    settings.training.batches = 1;
    settings.training.learning_rate_decay = 0.5;
    settings.training.normalise = Normalise::actual;
    settings.training.public_batch_size = 2;
    settings.training.public_steps = 4;
    settings.certificate.levels = 3;
    const TrainingPlan plan = make_plan(settings, {.features = 2, .public_records = 5}, make_backend("cpu"));
    const MemberState unmoved = MemberTrainer::fresh_state(plan, 7),
                      moved = MemberTrainer::fresh_state(plan, 7, open);
    MemberTrainer without_private(plan, none, open, unmoved);
    while (!without_private.done()) without_private.step(*make_serial_communicator());
    EXPECT_NE(moved.levels[0].lower, unmoved.levels[0].lower);
    EXPECT_EQ(moved.step, 0);
    ASSERT_EQ(moved.levels.size(), 4U);
    for (const LevelState& level : moved.levels) {
        EXPECT_EQ(level.lower, without_private.box(0).lower) << "level " << level.k;
        EXPECT_EQ(level.upper, level.lower) << "level " << level.k;
    }
}

TEST(PublicBatchesOfAStep, CountInTheNormaliser) {
    Settings settings;
    settings.training.batches = 4;
    settings.training.expected_records = 100;
    EXPECT_EQ(normaliser_of(settings, {.features = 2, .public_records = 8}), 27);
    settings.training.public_batch_size = 5;
    EXPECT_EQ(normaliser_of(settings, {.features = 2, .public_records = 8}), 30);
}

std::string refusal(const Settings& settings, std::size_t public_records = 0) {
    try {
        make_plan(settings, {.features = 16, .public_records = public_records}, make_backend("cpu"));
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_FALSE(error.hint().empty());
        return error.where();
    }
    return "";
}

TEST(MakePlan, RefusesWhatDoesNotFitTheLayersOrThePublicRecords) {
    Settings settings;
    settings.network.hidden = {3};
    settings.certificate.product.layers = {Product::exact, Product::exact};
    EXPECT_EQ(refusal(settings), "");
    settings.certificate.product.layers.push_back(Product::rump);
    EXPECT_EQ(refusal(settings), "certificate.product");
    settings.certificate.product = {};
    settings.training.public_batch_size = 3;
    EXPECT_EQ(refusal(settings), "training.public_batch_size");
    EXPECT_EQ(refusal(settings, 2), "training.public_batch_size");
    EXPECT_EQ(refusal(settings, 3), "");

    Settings image;
    image.network.hidden = Settings{}.network.hidden;
    image.network.image = {1, 4, 4};
    image.network.layers = {"conv 2 2x2", "relu", "flatten"};
    EXPECT_EQ(refusal(image), "");
    image.clip.kind = Clip::Kind::factored;
    EXPECT_EQ(refusal(image), "");
    image.certificate.relation = Relation::substitute;
    EXPECT_EQ(refusal(image), "");
    for (const ChargeRule selecting : {ChargeRule::per_batch, ChargeRule::both}) {
        image.certificate.charge_rule = selecting;
        EXPECT_EQ(refusal(image), "clip.kind");
    }
    image.clip.kind = Clip::Kind::tensor_norm;
    EXPECT_EQ(refusal(image), "clip.kind");
}

// By factors a convolution of 9 positions is charged 9 Gamma a record: at 2^20 records that passes 64 bits,
// whatever number of levels lies between.
TEST(ConvolutionByFactors, ChargesNoMoreRecordsThanFitWhicheverLevelsAreListed) {
    Settings settings;
    settings.network.hidden = Settings{}.network.hidden;
    settings.network.image = {1, 4, 4};
    settings.network.layers = {"conv 2 2x2"};
    settings.clip.kind = Clip::Kind::factored;
    const auto refused = [&](ChargeRule rule, const std::vector<std::int64_t>& listed) {
        settings.certificate.charge_rule = rule;
        settings.certificate.level_list = listed;
        return refusal(settings) == "clip.kind";
    };
    for (const ChargeRule rule : {ChargeRule::per_epoch, ChargeRule::per_batch, ChargeRule::both}) {
        EXPECT_TRUE(refused(rule, {1, std::int64_t{1} << 20}));
        EXPECT_TRUE(refused(rule, {(std::int64_t{1} << 20) / 9 + 1}));
        EXPECT_FALSE(refused(rule, {(std::int64_t{1} << 20) / 9}));
        EXPECT_FALSE(refused(rule, {}));
    }
}

}  // namespace trainer_test
}  // namespace holdfast
