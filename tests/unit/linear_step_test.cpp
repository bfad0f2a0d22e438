// Whole steps of networks without hidden layers (kernels/ops/linear_step.hpp): bit by bit those of the plain
// loops, panel by panel, whatever the loss, the clip, the precision, the width and the instruction set.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "kernels/ops/step_message.hpp"
#include "models/nets/network.hpp"

namespace holdfast {
namespace linear_step_test {

const Clip factored{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3},
    wide_factors{.kind = Clip::Kind::factored, .gamma = 1, .delta_limit = 1, .activation_limit = 64},
    elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.06},
    whole{.kind = Clip::Kind::norm, .norm_limit = 0.7};

const InputTransform as_it_is{}, tight{0, 1, {0.0, 1.0}}, uneven{0, 1, {-0.1, 1.1}},
    scaled{0.25, 1.7, {-1.5, 1.75}}, saturating{1e6, 1e305, {-1e300, 1e300}};

struct Problem {
    Network network;
    Clip clip;
    bool wide;  // features as doubles
    std::size_t records;
};

std::string described(const Problem& problem) {
    return std::string(info_of(problem.network.shape().loss).name) + ", " +
           std::to_string(problem.network.inputs()) + " features, " +
           std::to_string(problem.network.outputs()) + " outputs, " + std::to_string(problem.records) +
           " records, clip " + std::to_string(static_cast<int>(problem.clip.kind)) +
           (problem.wide ? ", wide" : "");
}

/// Features of every size, some of them none; a batch of records in any order.
class Step {
  public:
    Step(const Problem& problem, std::uint64_t seed) : problem_(problem) {
        std::mt19937_64 engine(seed);
        std::normal_distribution<double> normal;
        const std::size_t stored = problem.records + 5, inputs = problem.network.inputs();
        for (std::size_t i = 0; i < stored * inputs; ++i) {
            double value = normal(engine);
            switch (engine() % 60) {
                case 0:
                    value = std::ldexp(value, static_cast<int>(engine() % 400) - 200);
                    break;
                case 1:
                    value = std::nan("");
                    break;
                case 2:
                    value = engine() % 2 == 0 ? HUGE_VAL : -HUGE_VAL;
                    break;
                case 3:
                case 4:
                case 5:
                    value = engine() % 2 == 0 ? 0.0 : -0.0;
                    break;
                default:
                    break;
            }
            values_.push_back(static_cast<float>(value));
            wide_values_.push_back(value);
        }
        for (std::size_t i = 0; i < stored; ++i)
            labels_.push_back(static_cast<std::int32_t>(engine() % problem.network.classes()));
        for (std::size_t i = 0; problem.network.is_regression() && i < stored; ++i)
            targets_.push_back(std::ldexp(normal(engine), static_cast<int>(engine() % 40) - 20));
        for (std::size_t i = 0; i < problem.records; ++i)
            batch_.push_back(static_cast<std::uint32_t>(engine() % stored));
        for (int point = 0; point < 2; ++point) {
            points_.push_back(problem.network.initial_parameters(seed, static_cast<std::uint64_t>(point)));
            for (std::int64_t& units : points_.back()) {
                if (engine() % 30 == 0)
                    units = engine() % 2 == 0 ? parameter_limit_units : -parameter_limit_units;
            }
        }
    }

    std::vector<std::int64_t> by(const std::string& backend, Precision precision) const {
        const auto made = make_backend(backend, precision);
        const auto engine = made->engine(problem_.network.shape(), problem_.clip);
        const RecordSet records{problem_.wide ? nullptr : values_.data(),
                                problem_.wide ? wide_values_.data() : nullptr,
                                labels_.data(),
                                labels_.size(),
                                true,
                                targets_.empty() ? nullptr : targets_.data()};
        RecordSet unlabelled = records;
        unlabelled.labels = nullptr;
        engine->set_records(std::vector{records, unlabelled});
        std::vector<Variant> variants;
        for (const auto& point : points_) variants.push_back({point.data(), point.data()});
        const std::span<const std::uint32_t> all(batch_);
        engine->run(variants, std::vector{all, all.first(all.size() / 3)});
        const auto message = engine->finish();
        return {message.begin(), message.end()};
    }

  private:
    Problem problem_;
    std::vector<float> values_;
    std::vector<double> wide_values_;
    std::vector<std::int32_t> labels_;
    std::vector<double> targets_;
    std::vector<std::uint32_t> batch_;
    std::vector<std::vector<std::int64_t>> points_;
};

struct LinearStepIn : testing::TestWithParam<Precision> {
    static void expect_the_bits_of_the_reference(const Problem& problem, std::uint64_t seed) {
        const Step step(problem, seed);
        const std::vector<std::int64_t> expected = step.by("reference", GetParam());
        for (const std::string& target : simd_targets()) {
            const SimdTargetOverride override(target);
            ASSERT_EQ(step.by("cpu", GetParam()), expected) << described(problem) << " on " << target;
        }
    }
};

TEST_P(LinearStepIn, HasTheBitsOfTheReferenceForEveryLossAndClip) {
    std::uint64_t seed = 0;
    for (const LossInfo& info : losses()) {
        for (const std::size_t classes : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
            if (info.of_numbers != (classes == 1) || (info.one_logit && classes > 2)) continue;
            for (const Clip& clip : {factored, wide_factors, elementwise, whole}) {
                const Network network(1 + seed % 23, {}, classes, info.loss,
                                      seed % 2 == 0 ? scaled : as_it_is);
                expect_the_bits_of_the_reference({network, clip, seed % 3 == 0, 40 + seed % 90}, seed);
                ++seed;
            }
        }
    }
}

TEST_P(LinearStepIn, HasTheBitsOfTheReferenceAtEveryWidth) {
    for (std::size_t inputs = 1; inputs <= 34; ++inputs) {
        for (const bool wide : {false, true}) {
            const Network network(inputs, {}, 2, Loss::binary_cross_entropy,
                                  inputs % 2 == 0 ? tight : uneven);
            expect_the_bits_of_the_reference({network, inputs % 3 == 0 ? elementwise : factored, wide, 70},
                                             inputs);
        }
    }
}

TEST_P(LinearStepIn, HasTheBitsOfTheReferenceForAnyNumberOfRecords) {
    for (const std::size_t records :
         {0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 3100}) {
        for (const Clip& clip : {factored, elementwise, whole}) {
            const Network network(9, {}, 2, Loss::binary_cross_entropy, tight);
            expect_the_bits_of_the_reference({network, clip, false, records}, records);
        }
    }
}

TEST_P(LinearStepIn, HasTheBitsOfTheReferenceUnderEveryTransform) {
    std::uint64_t seed = 0;
    for (const InputTransform& input : {as_it_is, tight, uneven, scaled, saturating}) {
        for (const Clip& clip : {factored, wide_factors, elementwise, whole}) {
            for (const bool wide : {false, true})
                expect_the_bits_of_the_reference(
                    {Network(11, {}, 3, Loss::cross_entropy, input), clip, wide, 100}, ++seed);
        }
    }
}

// As many records as are added before sums are brought home, each at both limits of the clip.
TEST_P(LinearStepIn, AddsUpTheLargestEntries) {
    const std::size_t records = 5000;
    const std::vector<float> values(3 * records, 1.0F);
    const std::vector<std::int32_t> labels(records, 0);
    std::vector<std::uint32_t> batch(records);
    for (std::size_t i = 0; i < records; ++i) batch[i] = static_cast<std::uint32_t>(i);
    const std::vector<std::int64_t> theta(4, parameter_units(100.0));
    for (const Clip& clip : {factored, elementwise, whole}) {
        const Network network(3, {}, 2, Loss::hinge, tight);
        const auto backend = make_backend("cpu", GetParam());
        const auto engine = backend->engine(network.shape(), clip);
        engine->set_records(std::vector{RecordSet{values.data(), nullptr, labels.data(), records, true}});
        const auto sums_of = [&](std::size_t count) {
            engine->run(std::vector<Variant>{{theta.data(), theta.data()}},
                        std::vector{std::span<const std::uint32_t>(batch).first(count)});
            const auto message = engine->finish();
            return std::vector<std::int64_t>(message.begin(), message.end());
        };
        const std::vector<std::int64_t> one = sums_of(1), all = sums_of(records);
        EXPECT_GT(one[StepMessage::of(1, network.shape()).lower(0)], 0);
        for (std::size_t i = 0; i < one.size(); ++i)
            ASSERT_EQ(all[i], static_cast<std::int64_t>(records) * one[i]) << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, LinearStepIn,
                         testing::Values(Precision::double_precision, Precision::single_precision),
                         [](const auto& info) {
                             return info.param == Precision::single_precision ? "single" : "double";
                         });

}  // namespace linear_step_test
}  // namespace holdfast
