#include "models/convex/influences.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/base/monotone_exp.hpp"
#include "kernels/base/next.hpp"
#include "kernels/ops/loss_rule.hpp"
#include "models/convex/convex_reach.hpp"
#include "models/training/iterate_average.hpp"

namespace holdfast {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
/// Of a slope or a derivative computed by monotone_exp, far more than its error.
constexpr double slack = 0x1p-30;
/// Of one try to the next, how much further margins may move than was found.
constexpr double further = 1.05;
/// Of every record with every other's gradient: a minute of a core.
constexpr double most_products = 1e11;
/// Of every record with itself, of which a matrix is made up to some hundred times: a second each.
constexpr double most_squares = 2e9;

/// What a chain of so many roundings is off, of the sizes it adds: gamma_n <= 2 n u.
Upper chain(std::size_t terms) {
    return Upper::of_count(terms) * Upper(0x1p-52);
}

Upper length_of(std::span<const double> values) {
    Upper squares;
    for (const double value : values) squares = squares + Upper(std::abs(value)) * Upper(std::abs(value));
    return sqrt(squares);
}

/// The sums of the 0, 1, …, most largest, of what is above 0. [most + 1]
std::vector<Upper> sums_of_largest(std::span<const double> values, std::size_t most) {
    std::vector<double> largest(std::min(most, values.size()));
    std::partial_sort_copy(values.begin(), values.end(), largest.begin(), largest.end(), std::greater<>());
    largest.resize(most, 0);
    std::vector<Upper> sums{Upper(0)};
    for (const double value : largest) sums.push_back(sums.back() + Upper(std::max(value, 0.0)));
    return sums;
}

/// p (1 - p) at a margin of this size.
double slope_at(double size) {
    const double rest = monotone_exp(-size);
    return rest / ((1 + rest) * (1 + rest));
}

/// |p - y| where the margin is so far on the label's side.
double pull_at(double margin) {
    return 1 / (1 + monotone_exp(margin));
}

struct Slopes {
    double least, greatest;
};

/// Of the clamped derivative over all margins within so far of one.
Slopes slopes_within(double margin, double within, bool positive, double limit) {
    const double near = next_below(std::abs(margin) - within),
                 far = (Upper(std::abs(margin)) + Upper(within)).value(),
                 towards = positive ? margin : -margin;
    Slopes slopes{far > 600 ? 0 : slope_at(far) * (1 - slack), slope_at(std::max(near, 0.0)) * (1 + slack)};
    if (limit >= 1) return slopes;
    if (pull_at(towards - within) * (1 + slack) >= limit) slopes.least = 0;
    if (pull_at(towards + within) * (1 - slack) > limit) slopes.greatest = 0;
    return slopes;
}

/// Of the rows of a matrix [rows][size] the exact ones as a network sees them, and the bias.
std::vector<double> rows_of(const Network& network, const FeatureMatrix& features) {
    const std::size_t inputs = network.inputs();
    std::vector<double> rows((inputs + 1) * features.rows(), 1);
    for (std::size_t row = 0; row < features.rows(); ++row) {
        for (std::size_t j = 0; j < inputs; ++j)
            rows[row * (inputs + 1) + j] = network.transform().apply<double>(features.at(row, j));
    }
    return rows;
}

/// Triangle times vector.
void multiply(const Symmetric& triangle, const double* vector, double* result) {
    for (std::size_t i = 0; i < triangle.size(); ++i) {
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) sum += triangle.row(i)[j] * vector[j];
        result[i] = sum;
    }
}

/// Adds weight row row' of rows [count][size] for every kind of weights.
void add_squares(std::span<const double> rows, std::size_t size,
                 std::span<const std::pair<std::span<const double>, Symmetric*>> kinds) {
    constexpr std::size_t block = 256;
    const std::size_t count = rows.size() / size;
    for (std::size_t first = 0; first < count; first += block) {
        const std::size_t end = std::min(count, first + block);
#pragma omp parallel for schedule(dynamic, 4)
        for (std::size_t i = 0; i < size; ++i) {
            for (const auto& [weights, matrix] : kinds) {
                double* sums = matrix->row(i);
                for (std::size_t r = first; r < end; ++r) {
                    const double* row = rows.data() + r * size;
                    const double weighed = weights[r] * row[i];
                    for (std::size_t j = 0; j <= i; ++j) sums[j] += weighed * row[j];
                }
            }
        }
    }
}

}  // namespace

bool Influences::cover(const Settings& settings, const Network& network, const Records& records) {
    const std::size_t count = records.size();
    const double size = static_cast<double>(network.inputs()) + 1;
    if (static_cast<double>(count) * size * size > most_squares) return false;
    return network.outputs() == 1 && network.loss() == Loss::binary_cross_entropy &&
           settings.training.batches == 1 && settings.training.l2 > 0 && settings.convex.l1 == 0 &&
           records.weights.empty() && !records.rows_of_persons && network.inputs() < most_columns &&
           count > 0 && static_cast<double>(count) <= static_cast<double>(most_records_of(settings));
}

Influences::Influences(const Settings& settings, const FeatureMap& features, const Network& network,
                       const Records& records, std::span<const std::int64_t> parameters, std::size_t most)
    : settings_(settings),
      bounds_(settings, features),
      network_(network),
      size_(network.inputs() + 1),
      records_(records.size()),
      share_(0),
      metric_(size_),
      ridge_(size_),
      pulled_(most + 1),
      levels_(most + 1) {
    const std::vector<double> rows = rows_of(network, records.features);
    std::vector<double> theta;
    for (const std::int64_t parameter : parameters) theta.push_back(parameter_value<double>(parameter));
    theta_ = length_of(theta) * Upper(1 + 0x1p-50);
    margin_off_ = chain(size_ + 3) * bounds_.norm() * theta_;
    pull_off_ = bounds_.derivative_rounding(1, Upper(2) * theta_);
    const double limit = settings.convex.derivative_limit;
    for (std::size_t r = 0; r < records_; ++r) {
        double margin = 0;
        for (std::size_t j = 0; j < size_; ++j) margin += rows[r * size_ + j] * theta[j];
        margins_.push_back(margin);
        positive_.push_back(records.labels[r] == 1);
        pulls_.push_back(std::clamp(
            loss_derivative(network.loss(), 1, 0, records.labels[r], &margin, &margin, 1), -limit, limit));
    }
    const auto most_records = static_cast<double>(bounds_.most_records());
    share_ = (most_records + 1 - static_cast<double>(records_)) / most_records / bounds_.normaliser();
    choose_coordinates(rows);
    add_up(theta);
    set_levels(rows);
}

/// f(n - k) / B.
Upper Influences::share_without(std::size_t removed) const {
    const auto most = static_cast<double>(bounds_.most_records());
    return (Upper(most + 1 - static_cast<double>(records_ - removed)) / most) / bounds_.normaliser();
}

// Any W will do that has an inverse: one that makes the Hessian at the result nearly I.
void Influences::choose_coordinates(const std::vector<double>& rows) {
    Symmetric hessian(size_);
    std::vector<double> slopes;
    for (std::size_t r = 0; r < records_; ++r) slopes.push_back(share_ * slope_at(std::abs(margins_[r])));
    const std::pair<std::span<const double>, Symmetric*> one[] = {{slopes, &hessian}};
    add_squares(rows, size_, one);
    for (std::size_t i = 0; i < size_; ++i) hessian.row(i)[i] += settings_.training.l2;
    const std::optional<Symmetric> root = hessian.factor();
    for (std::size_t i = 0; !root && i < size_; ++i) metric_.row(i)[i] = 1;
    if (root) metric_ = root->inverse_of_triangle();

    Upper squares;
    for (std::size_t i = 0; i < size_; ++i) {
        const Upper length = length_of({metric_.row(i), i + 1});
        squares = squares + length * length;
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l <= j; ++l) sum += metric_.row(i)[l] * metric_.row(j)[l];
            ridge_.row(i)[j] = settings_.training.l2 * sum;
        }
    }
    metric_size_ = sqrt(squares);
    row_off_ = chain(size_) * metric_size_ * bounds_.norm();
    rows_.resize(rows.size());
#pragma omp parallel for
    for (std::size_t r = 0; r < records_; ++r) multiply(metric_, &rows[r * size_], &rows_[r * size_]);
    for (std::size_t r = 0; r < records_; ++r) {
        lengths_.push_back(length_of({&rows_[r * size_], size_}) + row_off_);
        longest_ = max(longest_, lengths_.back());
    }
}

/// W S, W times the gradient at the result, and how far any records' parts of it reach.
void Influences::add_up(std::span<const double> parameters) {
    Upper sizes;
    std::vector<double> pulled;
    sum_.assign(size_, 0);
    for (std::size_t r = 0; r < records_; ++r) {
        for (std::size_t i = 0; i < size_; ++i) sum_[i] += pulls_[r] * rows_[r * size_ + i];
        const Upper pull = Upper(std::abs(pulls_[r])) + pull_off_;
        pulled.push_back((pull * lengths_[r]).value());
        sizes = sizes + Upper(pulled.back());
        sum_off_ = sum_off_ + pull * row_off_ + pull_off_ * lengths_[r];
    }
    sum_off_ = sum_off_ + chain(records_ + 2) * sizes;
    sum_size_ = length_of(sum_) + sum_off_;

    std::vector<double> gradient(size_);
    multiply(metric_, parameters.data(), gradient.data());
    for (std::size_t i = 0; i < size_; ++i)
        gradient[i] = settings_.training.l2 * gradient[i] + share_ * sum_[i];
    rest_ = length_of(gradient) + chain(size_ + 4) * Upper(settings_.training.l2) * metric_size_ * theta_ +
            Upper(share_ * (1 + 0x1p-40)) * (sum_off_ + chain(8) * sum_size_);

    const std::vector<Upper> largest = sums_of_largest(pulled, levels_.size() - 1);
    const Upper of_rest = sum_size_ / static_cast<double>(bounds_.most_records()) / bounds_.normaliser();
    for (std::size_t k = 0; k < levels_.size(); ++k)
        pulled_[k] = share_without(gone(k)) * largest[k] + Upper::of_count(gone(k)) * of_rest;
}

// Of numbers a quarter apart, and of the most: the levels between have the bounds of the next.
void Influences::set_levels(const std::vector<double>& rows) {
    std::vector<std::size_t> last{0};
    while (last.back() + 1 < levels_.size())
        last.push_back(std::min(last.back() + 1 + last.back() / 4, levels_.size() - 1));
    const auto pairs = static_cast<double>(records_) * static_cast<double>(records_ * size_);
    std::vector<Drawn> records;
    if (pairs <= most_products)
        records = drawn(rows, std::vector<double>(records_, 0), last);
    else
        records.assign(records_, {std::vector<Upper>(last.size(), Upper(never)), {}, {}});
    std::vector<Upper> within(records_);
    for (std::size_t i = 0; i < last.size(); ++i) {
        const Upper pull = pulled_[last[i]] + rest_;
        for (std::size_t r = 0; r < records_; ++r)
            within[r] = max(within[r], Upper(further) * min(records[r].straight[i], lengths_[r] * pull));
        const Level level = level_of(last[i], records, i, within);
        if (!level.shown) break;
        const std::size_t first = i == 0 ? 0 : last[i - 1] + 1;
        std::fill(levels_.begin() + static_cast<std::ptrdiff_t>(first),
                  levels_.begin() + static_cast<std::ptrdiff_t>(last[i]) + 1, level);
    }
}

/// within: [records] how far their margins move at most, as assumed: from what is likely to what is shown.
Influences::Level Influences::level_of(std::size_t removed, const std::vector<Drawn>& records, std::size_t at,
                                       std::vector<Upper>& within) const {
    constexpr int most_tries = 24;
    const Upper pull = pulled_[removed] + rest_;
    const double box =
        settings_.convex.box > 0 ? settings_.convex.box : parameter_value<double>(parameter_limit_units);
    for (int tries = 0; tries < most_tries; ++tries) {
        const Spectrum spectrum = spectrum_within(within, removed);
        const double least = next_below(spectrum.least - spectrum.removed.value());
        if (!(least > 0)) return {};
        const Upper reach = pull / least, longest = Upper(1) / least,
                    stretch = min(metric_size_, sqrt(spectrum.greatest / settings_.training.l2)),
                    start = theta_ + stretch * reach;
        const double shortest = next_below(1 / spectrum.greatest.value()),
                     middle = (shortest + longest.value()) / 2;
        const Upper half =
            max(Upper(longest.value() - middle), Upper(middle - shortest)) + Upper(longest.value() * 0x1p-50);
        bool holds = true;
        for (std::size_t r = 0; r < records_; ++r) {
            const Upper straight = Upper(middle) * records[r].straight[at] + half * records[r].length * pull,
                        needed = min(straight, lengths_[r] * reach);
            if (needed.value() < within[r].value()) continue;
            holds = false;
            within[r] = needed * Upper(further);
        }
        if (!(start.value() < 0.999 * box)) return {};
        if (holds) return {true, middle, half, settled(start)};
    }
    return {};
}

/// Of the Hessians between the result and where no record's margin has moved further, in coordinates.
Influences::Spectrum Influences::spectrum_within(const std::vector<Upper>& within,
                                                 std::size_t removed) const {
    const Upper share = share_without(gone(removed));
    std::vector<double> least(records_), greatest(records_);
    std::vector<double> leverages;
    Upper weighed, off;
    for (std::size_t r = 0; r < records_; ++r) {
        const Upper length = lengths_[r];
        const Slopes slopes = slopes_within(margins_[r], (within[r] + margin_off_).value(), positive_[r],
                                            settings_.convex.derivative_limit);
        least[r] = slopes.least;
        greatest[r] = slopes.greatest;
        leverages.push_back((share * Upper(slopes.least) * length * length).value());
        weighed = weighed + Upper(slopes.greatest) * length * length;
        off = off + Upper(slopes.greatest) * row_off_ * (Upper(2) * length + row_off_);
    }
    Symmetric low(size_), high(size_);
    const std::pair<std::span<const double>, Symmetric*> kinds[] = {{least, &low}, {greatest, &high}};
    add_squares(rows_, size_, kinds);
    const Upper ridge = Upper(settings_.training.l2) * metric_size_ * metric_size_;
    off = share * off + chain(records_ + 2 * size_ + 16) * (ridge + share * weighed);
    const double greatest_trace = (ridge + share * weighed).value();
    for (std::size_t i = 0; i < size_; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            low.row(i)[j] = ridge_.row(i)[j] + share_ * low.row(i)[j];
            high.row(i)[j] =
                (i == j ? greatest_trace : 0) - (ridge_.row(i)[j] + share.value() * high.row(i)[j]);
        }
    }
    const Upper rounded = off + chain(2) * Upper(greatest_trace);
    return {low.least_eigenvalue(off), Upper(greatest_trace) + Upper(-high.least_eigenvalue(rounded)),
            sums_of_largest(leverages, removed).back()};
}

/// How far from its minimum, of at most this length, a training ends: it begins at 0.
Upper Influences::settled(Upper start) const {
    const TrainingSettings& training = settings_.training;
    const std::int64_t averaged = averaged_steps(settings_.convex.average, bounds_.steps());
    const Upper size = bounds_.size(),
                underflow = Upper::of_count(static_cast<std::size_t>(bounds_.most_records())) *
                            bounds_.gradient() * Upper(0x1p-125);
    Upper apart = start, all;
    for (std::int64_t step = 0; step < bounds_.steps(); ++step) {
        const Upper decay(training.learning_rate_at(step) * training.l2);
        apart = bounds_.kept(step) * apart + bounds_.rounding(step, size) + Upper(0x1p-51) * decay * start +
                underflow;
        if (step >= bounds_.steps() - averaged) all = all + apart;
    }
    const ConvexReach reach(bounds_, settings_);
    return all / static_cast<double>(averaged) + reach.average_rounding();
}

std::size_t Influences::shown() const {
    std::size_t count = 0;
    while (count + 1 < levels_.size() && levels_[count + 1].shown) ++count;
    return count;
}

/// What queries, given as rows, are drawn by towards 0, or of sign 0 either way, by the records that draw
/// most: of so many of them.
std::vector<Influences::Drawn> Influences::drawn(std::span<const double> rows, std::span<const double> signs,
                                                 std::span<const std::size_t> counts) const {
    constexpr std::size_t together = 16;
    std::vector<Drawn> result(signs.size());
#pragma omp parallel for schedule(dynamic)
    for (std::size_t first = 0; first < signs.size(); first += together) {
        const std::size_t count = std::min(together, signs.size() - first);
        std::vector<double> columns(size_ * together, 0), parts(records_ * together), mapped(size_);
        for (std::size_t q = 0; q < count; ++q) {
            multiply(metric_, &rows[(first + q) * size_], mapped.data());
            for (std::size_t i = 0; i < size_; ++i)
                columns[i * together + q] = signs[first + q] < 0 ? mapped[i] : -mapped[i];
        }
        for (std::size_t r = 0; r < records_; ++r) {
            double sums[together] = {};
            for (std::size_t i = 0; i < size_; ++i) {
                for (std::size_t q = 0; q < together; ++q)
                    sums[q] += rows_[r * size_ + i] * columns[i * together + q];
            }
            for (std::size_t q = 0; q < together; ++q) parts[q * records_ + r] = pulls_[r] * sums[q];
        }
        for (std::size_t q = 0; q < count; ++q) {
            for (std::size_t i = 0; i < size_; ++i) mapped[i] = columns[i * together + q];
            const std::span<const double> mine(&parts[q * records_], records_);
            result[first + q] = drawn_by({&rows[(first + q) * size_], size_}, mapped, mine, counts);
            if (signs[first + q] != 0) continue;
            for (double& value : mapped) value = -value;
            std::vector<double> opposite(mine.begin(), mine.end());
            for (double& part : opposite) part = -part;
            const Drawn other = drawn_by({&rows[(first + q) * size_], size_}, mapped, opposite, counts);
            for (std::size_t i = 0; i < counts.size(); ++i)
                result[first + q].straight[i] = max(result[first + q].straight[i], other.straight[i]);
        }
    }
    return result;
}

/// mapped: against the side of the query; parts: what each record's gradient is along it.
Influences::Drawn Influences::drawn_by(std::span<const double> row, std::span<const double> mapped,
                                       std::span<const double> parts,
                                       std::span<const std::size_t> counts) const {
    double of_sum = 0;
    for (std::size_t i = 0; i < size_; ++i) of_sum -= mapped[i] * sum_[i];
    const Upper size = length_of(row), off = chain(size_) * metric_size_ * size,
                length = length_of(mapped) + off;
    const Upper part_off = chain(size_ + 2) * length * longest_ + length * row_off_ + longest_ * off +
                           pull_off_ * length * longest_;
    const Upper sum = Upper(std::max(of_sum, 0.0)) + chain(size_) * length * sum_size_ + length * sum_off_ +
                      off * sum_size_;
    const Upper of_rest = sum / static_cast<double>(bounds_.most_records()) / bounds_.normaliser();
    const std::vector<Upper> largest = sums_of_largest(parts, levels_.size() - 1);
    Drawn result{{}, size, length};
    for (const std::size_t k : counts) {
        const Upper removed = Upper::of_count(gone(k));
        result.straight.push_back(share_without(gone(k)) * (largest[k] + removed * part_off) +
                                  removed * of_rest + length * rest_);
    }
    return result;
}

std::vector<std::vector<Upper>> Influences::moved(const Records& queries,
                                                  std::span<const double> signs) const {
    std::vector<std::size_t> counts(levels_.size());
    std::iota(counts.begin(), counts.end(), 0);
    std::vector<std::vector<Upper>> result;
    for (const Drawn& query : drawn(rows_of(network_, queries.features), signs, counts)) {
        result.emplace_back(levels_.size(), Upper(never));
        for (std::size_t k = 0; k < levels_.size(); ++k) {
            const Level& level = levels_[k];
            if (level.shown)
                result.back()[k] = Upper(level.middle) * query.straight[k] +
                                   level.half * query.length * (pulled_[k] + rest_) +
                                   query.size * level.settled;
        }
    }
    return result;
}

}  // namespace holdfast
