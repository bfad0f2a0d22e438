#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/nets/network.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// What a training must know of its data besides the records; all of it public but `found`.
struct DataShape {
    std::size_t features;  ///< of a record, before they are mapped
    FeatureRange range = default_feature_range;
    std::uint64_t found = 0;         ///< records found: counts only where no public number is stated
    std::size_t public_records = 0;  ///< trained on beside
};

/// Public records by which a training is judged while it goes on, and which decide nothing in it
/// (models/mathematics.md, early stopping).
struct HeldOut {
    Records records;         ///< as the network wants them
    std::int64_t every = 1;  ///< steps from one look to the next; at the end there is one besides
};

/// What all members of a run share.
struct TrainingPlan {
    Settings settings;
    FeatureMap features;  ///< what has become of records before they meet the network
    Network network;
    std::shared_ptr<const Backend> backend;             ///< of settings.training.precision
    double normaliser;                                  ///< the public constant B, public records counted in
    std::vector<std::int64_t> levels;                   ///< the k of this rank's levels, ascending
    std::vector<std::int64_t> initial = {};             ///< parameters of the file that network.initial names
    std::shared_ptr<const HeldOut> held_out = nullptr;  ///< or none

    /// What a member starts from, whatever the records: public.
    std::vector<std::int64_t> initial_parameters(std::uint64_t member) const;

    /// What an engine clips by.
    Clip clip() const {
        Clip clip = settings.clip;
        clip.after =
            (clip.kind == Clip::Kind::elementwise || clip.by_scales()) && settings.training.clips_after();
        return clip;
    }

    /// What gradients are summed and charged in. By factors, a record adds the entries of all positions of a
    /// convolution, each at most Gamma (models/mathematics.md, convolution by factors); and each of a
    /// person's V weighed rows is rounded, by half a unit, and its factor by 2 eps (rows of a person).
    GradientScale gradient_scale() const {
        GradientScale scale = settings.clip.scale(backend->arithmetic());
        if (settings.clip.kind != Clip::Kind::factored) return scale;  // nor do rows add more than a record
        std::size_t positions = 1;
        for (const Layer& layer : network.layers()) positions = std::max(positions, layer.positions());
        scale.record_limit /= static_cast<std::int64_t>(positions);
        if (!settings.training.weighs_rows()) return scale;
        const std::int64_t rounding = (settings.training.most_rows() + 1) / 2 + 1;
        scale.weight_units += rounding;
        scale.bias_units += rounding;
        return scale;
    }
};

/// B, the number of records of a member's batch: the stated public count, or where none is stated the count
/// found, to two significant digits.
double normaliser_of(const Settings& settings, const DataShape& data);

/// A plan of all levels. Error (usage): settings that do not fit the network or the public records.
TrainingPlan make_plan(const Settings& settings, const DataShape& data,
                       std::shared_ptr<const Backend> backend);

}  // namespace holdfast
