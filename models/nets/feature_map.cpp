#include "models/nets/feature_map.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"

namespace holdfast {
namespace {

/// More than any row of at most 2^20 entries gains by rounding: a sum of squares in double is off by 2^-32,
/// an entry rounded to double and then to float by 2^-23 (models/mathematics.md, norm of a mapped record).
constexpr double margin = 1 + 0x1p-20;

double largest(FeatureRange range) {
    return std::max(std::abs(range.low), std::abs(range.high));
}

/// NaN counts as the low end.
double clamped(double value, FeatureRange range) {
    return value >= range.low ? std::min(value, range.high) : range.low;
}

/// Calls act with what is derived, if anything is.
template <typename Act>
void with(const DerivedFeatures& derived, Act act) {
    std::visit(
        [&](const auto& features) {
            if constexpr (!std::is_same_v<std::decay_t<decltype(features)>, std::monostate>) act(features);
        },
        derived);
}

}  // namespace

std::string FeatureMap::problem(std::size_t columns, const DerivedFeatures& derived, bool keep,
                                double norm_limit) {
    if (!(norm_limit == 0 || (norm_limit >= least_norm_limit && norm_limit <= greatest_norm_limit)))
        return "a norm limit that is neither 0 nor in 1e-6..1e6";
    double outputs = keep ? static_cast<double>(columns) : 0;
    std::size_t wanted = columns;
    with(derived, [&](const auto& features) { wanted = features.columns(); });
    if (wanted != columns)
        return std::to_string(wanted) + " columns, where records have " + std::to_string(columns);
    if (const auto* bins = std::get_if<FeatureBins>(&derived)) {
        if (const std::string problem = bins->problem(); !problem.empty()) return problem;
    }
    with(derived, [&](const auto& features) { outputs += static_cast<double>(features.outputs()); });
    if (keep && std::holds_alternative<Scattering>(derived)) return "pixels beside their scattering";
    if (outputs < 1) return "no entry at all";
    if (outputs > static_cast<double>(most_outputs))
        return "more than " + std::to_string(most_outputs) + " entries a record";
    return "";
}

FeatureMap::FeatureMap(std::size_t columns, InputTransform input, DerivedFeatures derived, bool keep,
                       double norm_limit)
    : columns_(columns), input_(input), derived_(std::move(derived)), keep_(keep), norm_limit_(norm_limit) {
    ensure(is_identity() || problem(columns, derived_, keep, norm_limit).empty(), "a map fits the columns");
}

std::size_t FeatureMap::outputs() const {
    std::size_t count = keep_ ? columns_ : 0;
    with(derived_, [&](const auto& features) { count += features.outputs(); });
    return count;
}

InputTransform FeatureMap::network_input() const {
    if (is_identity()) return input_;
    FeatureRange hull{0, 0};
    const auto take = [&](FeatureRange range) {
        hull = {std::min(hull.low, range.low), std::max(hull.high, range.high)};
    };
    // What a float adds to an end by rounding is taken off again: the ends stay the ends.
    if (keep_) take({input_.apply<double>(input_.range.low), input_.apply<double>(input_.range.high)});
    with(derived_, [&](const auto& features) { take(features.entries()); });
    if (norm_limit_ > 0) hull = {std::max(hull.low, -norm_limit_), std::min(hull.high, norm_limit_)};
    if (hull.low == hull.high) hull.high = 1;  // of a prefix that gives 0 alone: a range has a width
    return {.range = hull};
}

double FeatureMap::norm_bound() const {
    if (norm_limit_ > 0) return norm_limit_;
    double squares = 0;
    if (keep_) {
        const FeatureRange ends{input_.apply<double>(input_.range.low),
                                input_.apply<double>(input_.range.high)};
        squares += static_cast<double>(columns_) * largest(ends) * largest(ends);
    }
    with(derived_, [&](const auto& features) { squares += features.norm() * features.norm(); });
    return std::sqrt(squares) * margin;
}

void FeatureMap::clip(double* row) const {
    double squares = 0;
    const std::size_t count = outputs();
    for (std::size_t j = 0; j < count; ++j) squares = std::fma(row[j], row[j], squares);
    const double length = std::sqrt(squares), most = norm_limit_ / margin;
    if (length <= most) return;
    const double factor = most / length;
    for (std::size_t j = 0; j < count; ++j) row[j] *= factor;
}

/// columns: clamped to the public range; shifted and scaled on return.
void FeatureMap::map_row(double* columns, double* mapped) const {
    double* derived = mapped + (keep_ ? columns_ : 0);
    const auto* fourier = std::get_if<FourierFeatures>(&derived_);
    with(derived_, [&](const auto& features) {
        if (fourier == nullptr) features.apply(columns, derived);
    });
    for (std::size_t j = 0; j < columns_; ++j) columns[j] = input_.apply<double>(columns[j]);
    if (fourier != nullptr) fourier->apply(columns, derived);
    if (keep_) std::copy(columns, columns + columns_, mapped);
    if (norm_limit_ > 0) clip(mapped);
}

template <typename Real>
void FeatureMap::map_rows(const FeatureMatrix& features, std::vector<Real>& mapped) const {
    constexpr double limit = RealFormat<Real>::saturation;
    const std::size_t count = outputs();
    mapped.resize(features.rows() * count);
    const int threads =
        threads_for(static_cast<double>(features.rows()) * static_cast<double>(count + columns_));
    std::vector<double> rows(static_cast<std::size_t>(threads) * (columns_ + count));  // one of each a thread
    ThreadFailure failure;
#pragma omp parallel for num_threads(threads)
    for (std::size_t row = 0; row < features.rows(); ++row) {
        failure.guard([&] {
            double* columns =
                rows.data() + static_cast<std::size_t>(omp_get_thread_num()) * (columns_ + count);
            double* entries = columns + columns_;
            for (std::size_t j = 0; j < columns_; ++j)
                columns[j] = clamped(features.at(row, j), input_.range);
            map_row(columns, entries);
            for (std::size_t j = 0; j < count; ++j)
                mapped[row * count + j] = static_cast<Real>(std::clamp(entries[j], -limit, limit));
        });
    }
    failure.rethrow();
}

Records FeatureMap::operator()(Records records) const {
    if (is_identity()) return records;
    const FeatureMatrix& features = records.features;
    ensure(features.columns() == columns_, "a map takes records of its columns");
    FeatureMatrix mapped(outputs(), features.wide());
    if (features.wide()) {
        map_rows(features, mapped.wide_values());
    } else {
        map_rows(features, mapped.values());
    }
    records.features = std::move(mapped);
    return records;
}

}  // namespace holdfast
