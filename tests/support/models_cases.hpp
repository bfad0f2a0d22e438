#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/ops/step_message.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// Networks side by side (kernels/ops/models_pass.hpp) and what an engine adds for each: for the passes of
/// the host (tests/unit) and of a device (tests/gpu).
inline const Clip elementwise_clip{.kind = Clip::Kind::elementwise, .gamma = 0.06};
inline const Clip factored_clip{
    .kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};
inline const Clip wide_factors{
    .kind = Clip::Kind::factored, .gamma = 1, .delta_limit = 16, .activation_limit = 64};
inline const Clip no_clip{.kind = Clip::Kind::none};

struct ModelsCase {
    Network network;
    Clip clip;
    std::size_t records;
    bool wide = false;
};

/// Records of every size, NaN and infinities among them; a point and a record left out for each network.
struct ModelsProblem {
    ModelsProblem(const ModelsCase& of, std::size_t models, std::uint64_t seed)
        : network(of.network), clip(of.clip), wide(of.wide) {
        std::mt19937_64 engine(seed);
        std::normal_distribution<double> normal;
        const std::size_t stored = of.records + 3;
        for (std::size_t i = 0; i < stored * network.inputs(); ++i) {
            double value = normal(engine);
            if (engine() % 5 == 0) value = 0;
            if (engine() % 60 == 0) value = std::ldexp(value, static_cast<int>(engine() % 60) - 30);
            if (engine() % 90 == 0) value = engine() % 2 == 0 ? std::nan("") : HUGE_VAL;
            features.push_back(static_cast<float>(value));
            wide_features.push_back(value);
        }
        for (std::size_t i = 0; i < stored; ++i) {
            labels.push_back(static_cast<std::int32_t>(engine() % network.classes()));
            targets.push_back(std::ldexp(normal(engine), static_cast<int>(engine() % 20) - 10));
        }
        for (std::size_t i = 0; i < of.records; ++i)
            indices.push_back(static_cast<std::uint32_t>(engine() % stored));
        for (std::size_t model = 0; model < models; ++model) {
            points.push_back(network.initial_parameters(seed, model));
            for (std::int64_t& units : points.back()) {
                if (engine() % 40 == 0) units = engine() % 2 == 0 ? parameter_limit_units : 0;
            }
            const bool all = of.records == 0 || engine() % 3 == 0;
            without.push_back(all ? nothing_left_out : engine() % of.records);
        }
    }

    RecordSet records() const {
        RecordSet set{.features = wide ? nullptr : features.data(),
                      .wide_features = wide ? wide_features.data() : nullptr,
                      .labels = labels.data(),
                      .count = labels.size()};
        if (network.is_regression()) set.targets = targets.data();
        return set;
    }
    std::vector<std::uint32_t> left(std::size_t model) const {
        std::vector<std::uint32_t> some = indices;
        if (without[model] < some.size())
            some.erase(some.begin() + static_cast<std::ptrdiff_t>(without[model]));
        return some;
    }

    /// [models][parameters]
    using Sums = std::vector<std::vector<std::int64_t>>;
    Sums by(ModelsPass& pass) const {
        Sums sums;
        const std::size_t width = pass.models(), parameters = network.parameters();
        for (std::size_t first = 0; first < points.size(); first += width) {
            std::vector<std::int64_t> at(parameters * width), added(parameters * width, 0);
            std::vector<std::size_t> out(width, nothing_left_out);
            for (std::size_t lane = 0; lane < width; ++lane) {
                const std::size_t model = std::min(first + lane, points.size() - 1);
                out[lane] = without[model];
                for (std::size_t p = 0; p < parameters; ++p) at[p * width + lane] = points[model][p];
            }
            pass.add(at.data(), records(), indices, out, added.data());
            for (std::size_t lane = 0; lane < width && sums.size() < points.size(); ++lane) {
                sums.emplace_back();
                for (std::size_t p = 0; p < parameters; ++p) sums.back().push_back(added[p * width + lane]);
            }
        }
        return sums;
    }
    /// Each by itself, of the records that are left.
    Sums one_by_one(ModelsPass& pass) const {
        Sums sums;
        for (std::size_t model = 0; model < points.size(); ++model) {
            sums.emplace_back(network.parameters(), 0);
            const std::vector<std::size_t> nothing{nothing_left_out};
            pass.add(points[model].data(), records(), left(model), nothing, sums.back().data());
        }
        return sums;
    }
    Sums by_reference(Precision precision) const {
        return one_by_one(*make_models_pass("reference", precision, network.shape(), clip));
    }
    Sums by_engine(const std::string& backend, Precision precision) const {
        const auto made = make_backend(backend, precision);
        const auto engine = made->engine(network.shape(), clip);
        const RecordSet set = records();
        engine->set_records({&set, 1});
        const StepMessage layout = StepMessage::of(1, network.shape());
        Sums sums;
        for (std::size_t model = 0; model < points.size(); ++model) {
            const Variant point{points[model].data(), points[model].data()};
            const std::vector<std::uint32_t> some = left(model);
            const std::span<const std::uint32_t> batch = some;
            engine->run({&point, 1}, {&batch, 1});
            const auto message = engine->finish();
            const auto first = message.begin() + static_cast<std::ptrdiff_t>(layout.lower(0));
            sums.emplace_back(first, first + static_cast<std::ptrdiff_t>(layout.parameters));
        }
        return sums;
    }

    Network network;
    Clip clip;
    bool wide;
    std::vector<float> features;
    std::vector<double> wide_features, targets;
    std::vector<std::int32_t> labels;
    std::vector<std::uint32_t> indices;
    std::vector<std::vector<std::int64_t>> points;  // [models][parameters]
    std::vector<std::size_t> without;               // [models]
};

inline std::vector<ModelsCase> models_cases() {
    const InputTransform tight{0.5, 2, {0.0, 1.0}};
    return {{Network(7, {50, 50}, 2, Loss::cross_entropy, tight), elementwise_clip, 100},
            {Network(7, {50, 50}, 2, Loss::cross_entropy, tight), factored_clip, 100},
            {Network(7, {50, 50}, 2, Loss::cross_entropy, tight), wide_factors, 100},
            {Network(7, {50, 50}, 2, Loss::cross_entropy, tight), no_clip, 100},
            {Network(3, {5, 4}, 3, Loss::cross_entropy), factored_clip, 1, true},
            {Network(3, {5, 4}, 3, Loss::one_vs_rest), no_clip, 1},
            {Network(1, {1}, 2, Loss::binary_cross_entropy), elementwise_clip, 9},
            {Network(1, {}, 2, Loss::hinge), no_clip, 9, true},
            {Network(9, {}, 2, Loss::huber), elementwise_clip, 30, true},
            {Network(6, {3, 2, 9}, 2, Loss::binary_cross_entropy), no_clip, 333},
            {Network(6, {3, 2, 9}, 4, Loss::cross_entropy), factored_clip, 333},
            {Network(6, {3, 2, 9}, 4, Loss::cross_entropy), elementwise_clip, 1100, true},
            {Network(4, {6}, 1, Loss::squared_error), elementwise_clip, 40},
            {Network(4, {6}, 1, Loss::squared_error), no_clip, 40},
            {Network(4, {6}, 2, Loss::cross_entropy), no_clip, 0},
            {Network(4, {6}, 2, Loss::cross_entropy), factored_clip, 0}};
}

}  // namespace holdfast
