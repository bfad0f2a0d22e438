#include "models/robust/input_certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "kernels/base/next.hpp"
#include "kernels/base/threads.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/margins.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/convex/upper.hpp"
#include "models/robust/scattering_slope.hpp"

namespace holdfast {
namespace {

void require_classifier(const Model& model) {
    if (model.network.is_regression())
        throw Error(ExitCode::usage, "a regression has no label that could change",
                    "certify a model of classes", "--model");
}

/// What the rows of a linear model do with the features, every number bounded from above.
class LinearRows {
  public:
    explicit LinearRows(const Model& model)
        : network_(model.network),
          map_(model.feature_map()),
          columns_(network_.inputs() + 1),
          rows_(deciding_rows(network_, model.parameters)),
          classes_(network_.classes()) {
        rows_.resize(classes_ * columns_);  // of class 1 of two: 0
        const bool single = model.precision == Precision::single_precision,
                   mapped = !model.feature_map().is_identity();
        const bool floats = single || mapped;  // a narrow file's mapped features are
        const double unit = floats ? 0x1p-24 : 0x1p-53;
        const auto terms = static_cast<double>(network_.inputs() + 4);
        const double seen = mapped ? 4 * unit + 2 * terms * 0x1p-53 : 4 * unit;
        const double chain = terms * (single ? 0x1p-24 : 0x1p-53);
        rounding_ = chain + seen <= 0.125 && network_.inputs() <= most_inputs
                        ? 2 * (chain + seen)
                        : std::numeric_limits<double>::infinity();
        underflow_ = floats ? 0x1p-80 : 0x1p-800;
        scale_ = Upper(std::abs(mapped ? model.feature_map().input().scale : network_.transform().scale));
        if (const auto* map = std::get_if<Scattering>(&map_.derived())) {
            scattering_ = map;
            mapped_ = Upper(2 * map->rounding());
            // Both ends of the range are exact, and their difference rounds once.
            scale_ = Upper(1) / std::nextafter(map->range().high - map->range().low, 0.0);
        }
        for (std::size_t c = 0; c < classes_; ++c) {
            slopes_.push_back(slope(c, c));
            for (std::size_t j = 0; j < c; ++j) pairs_.push_back(slope(c, j));
        }
    }

    /// logits: [classes] as computed for this query, of which that of the label is the greatest.
    double radius(const FeatureMatrix& mapped, std::size_t query, const double* logits,
                  std::size_t label) const {
        std::vector<Upper> sizes = sizes_of(mapped, query);
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < classes_; ++j) {
            if (j == label) continue;
            const Slope& both = pair(label, j);
            const Upper moved = slopes_[label].moved + slopes_[j].moved;
            const Upper lost = Upper(2 * rounding_) * (sizes[label] + sizes[j] + mapped_ * moved) +
                               Upper(4 * underflow_) + mapped_ * both.moved;
            const double gap = next_below(next_below(logits[label] - logits[j]) - lost.value());
            if (!(gap > 0)) return 0;
            const Upper slope = scale_ * (both.length + Upper(rounding_) * moved);
            least = std::min(least, next_below(gap / slope.value()));
        }
        return std::max(least, 0.0);
    }

  private:
    /// Of w_c - w_j, or w_c: how fast it changes with the input, in the units of scale_, at most, and how
    /// fast with each feature's own move, whatever their signs.
    struct Slope {
        Upper length, moved;
    };
    Slope slope(std::size_t c, std::size_t j) const {
        const Upper plain = length(c, j);
        if (scattering_ == nullptr) return {plain, plain};
        const Upper longest = Upper(scattering_->largest_weight()) * plain;
        if (map_.norm_limit() > 0) return {longest, longest};
        std::vector<double> w;
        for (std::size_t i = 0; i + 1 < columns_; ++i)
            w.push_back(parameter_value(rows_[c * columns_ + i] - (c == j ? 0 : rows_[j * columns_ + i])));
        const ScatteringSlope found = slope_of(*scattering_, w);
        return {found.by_image, found.by_entries};
    }
    const Slope& pair(std::size_t c, std::size_t j) const {
        const std::size_t high = std::max(c, j);
        return pairs_[high * (high - 1) / 2 + std::min(c, j)];
    }
    static constexpr std::size_t most_inputs = std::size_t{1} << 20;
    /// |w_c - w_j|, or |w_c| where j = c, without the biases. Differences of integers are exact, and a
    /// conversion rounds once.
    Upper length(std::size_t c, std::size_t j) const {
        Upper squares;
        for (std::size_t i = 0; i + 1 < columns_; ++i) {
            const std::int64_t units = rows_[c * columns_ + i] - (c == j ? 0 : rows_[j * columns_ + i]);
            const Upper size = size_of(units);
            squares = squares + size * size;
        }
        return sqrt(squares);
    }
    static Upper size_of(std::int64_t units) {
        return Upper(std::nextafter(std::abs(parameter_value(units)), std::numeric_limits<double>::max()));
    }
    /// |b_c| + sum of |w_ci| |z_i| of each class.
    std::vector<Upper> sizes_of(const FeatureMatrix& mapped, std::size_t query) const {
        std::vector<Upper> seen;
        for (std::size_t i = 0; i + 1 < columns_; ++i)
            seen.emplace_back(std::abs(network_.transform().apply<double>(mapped.at(query, i))));
        std::vector<Upper> sizes;
        for (std::size_t c = 0; c < classes_; ++c) {
            Upper size = size_of(rows_[(c + 1) * columns_ - 1]);
            for (std::size_t i = 0; i + 1 < columns_; ++i)
                size = size + size_of(rows_[c * columns_ + i]) * seen[i];
            sizes.push_back(size);
        }
        return sizes;
    }

    const Network& network_;
    FeatureMap map_;
    const Scattering* scattering_ = nullptr;  // of the map
    std::size_t columns_;
    std::vector<std::int64_t> rows_;  // [classes, columns]
    std::size_t classes_;
    double rounding_ = 0, underflow_ = 0;
    Upper scale_, mapped_;               // mapped_: what a map's own rounding does, at both ends
    std::vector<Slope> slopes_, pairs_;  // [classes]; of c > j, one after the other
};

}  // namespace

Norm norm_named(const std::string& name) {
    if (name == "linf") return Norm::linf;
    if (name == "l2") return Norm::l2;
    if (name == "l1") return Norm::l1;
    throw Error(ExitCode::usage, "no such norm: " + name, "give linf, l2 or l1", "--norm");
}

const char* distance_in(Norm norm) {
    switch (norm) {
        case Norm::linf:
            return "the largest difference of a feature";
        case Norm::l2:
            return "the length of the difference";
        case Norm::l1:
            return "the sum of the differences of all features";
    }
    return "";
}

InputCertificates certify_boxes(const Model& model, const Backend& backend, std::span<const double> radii,
                                const Records& queries) {
    require_classifier(model);
    if (!model.feature_map().is_identity())
        throw Error(
            ExitCode::usage, "boxes of inputs are bounded through no map of features",
            "ask --smoothing, which alone certifies a model that reads bins; or --norm l2 of a linear "
            "model with a norm limit or a scattering; or train with features.map = \"none\" and "
            "features.norm_limit = 0",
            "--model");
    const LevelLoader load = [&](std::size_t, auto& lower, auto& upper) { lower = upper = model.parameters; };
    const InputRadius radius = [&](std::size_t level) { return level == 0 ? 0 : radii[level - 1]; };
    const Certificates found =
        certify(model.network, backend, queries, radii.size() + 1, load, LevelSearch::bisection, radius);
    InputCertificates result{found.labels, {}};
    for (const std::int64_t levels : found.distances)
        result.radii.push_back(radius(static_cast<std::size_t>(levels)));
    return result;
}

InputCertificates certify_linear_radii(const Model& model, const Backend& backend, const Records& queries) {
    require_classifier(model);
    const FeatureMap map = model.feature_map();
    if (model.network.layers().size() != 1)
        throw Error(ExitCode::usage, "radii in l2 are proved of models without hidden layers",
                    "ask --norm linf, or train with network.hidden = []", "--norm");
    if (!std::holds_alternative<std::monostate>(map.derived()) &&
        !std::holds_alternative<Scattering>(map.derived()))
        throw Error(ExitCode::usage,
                    "radii in l2 are proved of features as they are or scattered, not of bins or the like",
                    "train with features.map = \"none\" or \"scattering\"", "--norm");
    if (model.precision == Precision::fixed)
        throw Error(ExitCode::usage, "radii in l2 are not proved in fixed precision",
                    "ask --norm linf, or train with training.precision = \"double\"", "--norm");
    if (!map.is_identity()) {
        const InputTransform found = model.network.transform(), known = map.network_input();
        if (found.shift != 0 || found.scale != 1 || found.range.low > known.range.low ||
            found.range.high < known.range.high)
            throw Error(
                ExitCode::usage,
                "radii in l2 are not proved where the network scales or cuts what its features are mapped to",
                "write the model with the network's input as its map gives it: shift 0, scale 1, the whole "
                "range",
                "--norm");
    }
    const Records mapped = map(queries);
    const std::size_t classes = model.network.classes();
    const std::vector<double> logits = deciding_values(model.network, backend, model.parameters, mapped);
    const LinearRows rows(model);
    InputCertificates result{std::vector<std::int32_t>(queries.size()), std::vector<double>(queries.size())};
    const int threads = threads_for(static_cast<double>(queries.size() * model.parameters.size()) * 4);
#pragma omp parallel for num_threads(threads)
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const double* of_query = logits.data() + q * classes;
        const std::size_t label = greatest_logit(classes, [&](std::size_t c) { return of_query[c]; });
        result.labels[q] = static_cast<std::int32_t>(label);
        result.radii[q] = rows.radius(mapped.features, q, of_query, label);
    }
    return result;
}

Guarantee input_claim(Norm norm) {
    Guarantee claim =
        Guarantee::proved(std::string("at every input within its radius of a query, in ") +
                          distance_in(norm) + ", this program gives the label that it gives at the query");
    require_as_moved(claim);
    return claim;
}

void require_as_moved(Guarantee& claim) {
    claim.require(
        "the input reaches the program as it was moved: a radius is in the units of the features as the "
        "program holds them, and what is done before them is not in it");
}

}  // namespace holdfast
