#include "models/certify/relaxation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/base/threads.hpp"
#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

constexpr double tiny = 0x1p-900;            // above what underflows take from any sum here
constexpr double sums = 1 + 0x1p-20;         // relative, of a sum of bounds of errors
constexpr std::size_t most_terms = 1 << 20;  // of a row: then (n + 8) u is below 1/8 in either precision
constexpr int ascents = 12;                  // of the slopes of one margin

/// Bound of the rounding errors of a sum of `terms` products of size `magnitude` together, whose factors were
/// each rounded once: gamma_(n+4) with room.
double rounding(std::size_t terms, double magnitude, double unit_roundoff = 0x1p-53) {
    return 2 * static_cast<double>(terms + 8) * unit_roundoff * magnitude + tiny;
}

}  // namespace

/// sum of coefficients z + constant, at least; z >= 0 are the activations of one hidden layer.
struct Relaxation::Affine {
    std::vector<double> coefficients;
    double constant = 0;
    double magnitude = 0;  ///< of the terms added up in the constant
    std::size_t terms = 0;
    double errors = 0;  ///< to be taken off
    void add(double term) {
        constant += term;
        magnitude += std::abs(term);
        ++terms;
    }
};

/// Of units that are 0 at some point of the box and above 0 at another, whose activation counts positively:
/// z >= alpha a, alpha in [0, 1].
struct Relaxation::Slopes {
    enum class Kind { none, nearest, stated } kind;
    std::vector<double> stated = {};  ///< of the last hidden layer; elsewhere the nearest
    std::vector<double> corner =
        {};  ///< out: the first hidden layer's activations where the bound is attained

    double of(bool last, std::size_t unit, double lower, double upper) const {
        if (kind == Kind::none) return 0;
        if (kind == Kind::stated && last) return stated[unit];
        return upper > -lower ? 1 : 0;
    }
};

void Relaxation::Rows::add(const std::int64_t* least, const std::int64_t* greatest) {
    const auto append = [](std::vector<double>& to, std::int64_t units) {
        to.push_back(parameter_value(units));
    };
    for (std::size_t j = 0; j < columns; ++j) {
        append(lower, least[j]);
        append(upper, greatest[j]);
        size.push_back(std::max(std::abs(lower.back()), std::abs(upper.back())));
    }
    append(bias_lower, least[columns]);
    append(bias_upper, greatest[columns]);
    bias_size.push_back(std::max(std::abs(bias_lower.back()), std::abs(bias_upper.back())));
    ++rows;
}

bool Relaxation::sharpens(const Network& network) {
    if (!network.shape().is_dense() || network.layers().size() < 3) return false;
    return std::all_of(network.layers().begin(), network.layers().end(),
                       [](const Layer& layer) { return layer.in < most_terms && layer.out < most_terms; });
}

Relaxation::Relaxation(const Network& network, Precision precision, const std::int64_t* lower,
                       const std::int64_t* upper)
    : classes_(network.classes()),
      unit_roundoff_(precision == Precision::single_precision ? 0x1p-24 : 0x1p-53),
      least_normal_(precision == Precision::single_precision ? 0x1p-126 : tiny),
      // Within it nothing saturates, in either precision.
      limit_(0x1p58),
      margins_{0, network.layers().back().in, {}, {}, {}, {}, {}, {}},
      logits_(margins_) {
    const std::size_t last = network.layers().size() - 1;
    for (std::size_t l = 0; l < last; ++l) {
        const LayerShape& layer = network.layers()[l];
        Rows rows{0, layer.in, {}, {}, {}, {}, {}, {}};
        for (std::size_t o = 0; o < layer.out; ++o) {
            const std::size_t first = network.offset(l) + o * (layer.in + 1);
            rows.add(lower + first, upper + first);
        }
        hidden_.push_back(std::move(rows));
    }
    const MarginRows rows(network, precision, lower, upper);
    const LastLayer layer = rows.layer();
    const std::size_t pairs = classes_ * (classes_ - 1) / 2, columns = margins_.columns + 1;
    for (std::size_t pair = 0; pair < pairs; ++pair)
        margins_.add(layer.lower + pair * columns, layer.upper + pair * columns);
    for (std::size_t c = 0; classes_ > 2 && c < classes_; ++c) {
        const std::size_t first = network.offset(last) + c * columns;
        logits_.add(lower + first, upper + first);
    }
}

/// Of the row's value, the program's less the exact one: in size at most.
double Relaxation::error(const Rows& rows, std::size_t row, const Units& below) const {
    double inherited = 0, magnitude = rows.bias_size[row];
    for (std::size_t i = 0; i < rows.columns; ++i) {
        const double size = rows.size[row * rows.columns + i];
        inherited += size * below.error[i];
        magnitude += size * (std::max(0.0, below.upper[i]) + below.error[i]);
    }
    const double underflow = static_cast<double>(rows.columns + 8) * least_normal_;
    return sums * (inherited + rounding(rows.columns, magnitude, unit_roundoff_) + underflow);
}

/// Lower bound of the row's value over the box (of its negative, if negated), by the relaxation with these
/// slopes.
double Relaxation::least(const Rows& rows, std::size_t row, bool negated, const std::vector<Units>& units,
                         Slopes& slopes) const {
    // Activations are not negative: whatever they are, the lower weights serve best.
    Affine bound;
    bound.add(negated ? -rows.bias_upper[row] : rows.bias_lower[row]);
    double magnitude = 0;
    for (std::size_t i = 0; i < rows.columns; ++i) {
        const std::size_t at = row * rows.columns + i;
        bound.coefficients.push_back(negated ? -rows.upper[at] : rows.lower[at]);
        magnitude += rows.size[at] * std::max(0.0, units.back().upper[i]);
    }
    bound.errors += rounding(1, magnitude);
    for (std::size_t l = units.size(); l-- > 1;) {
        const Units& layer = units[l];
        const Rows& weights = hidden_[l];
        std::vector<double> below(weights.columns, 0.0), sizes(weights.columns, 0.0);
        for (std::size_t j = 0; j < weights.rows; ++j) {
            const double c = bound.coefficients[j], lower = layer.lower[j], upper = layer.upper[j];
            if (c == 0 || upper <= 0) continue;
            double slope = c;
            if (lower < 0 && c > 0)
                slope = std::clamp(slopes.of(l + 1 == hidden_.size(), j, lower, upper) * c, 0.0, c);
            if (lower < 0 && c < 0) {  // the chord: least at an end, for any slope
                slope = std::clamp(c * (upper / (upper - lower)), c, 0.0);
                const double offset = std::min(-slope * lower, (c - slope) * upper);
                bound.add(offset);
                bound.errors += rounding(1, std::abs(offset));
            }
            if (slope == 0) continue;
            bound.add(slope * (slope > 0 ? weights.bias_lower[j] : weights.bias_upper[j]));
            const double* row_of = (slope > 0 ? weights.lower : weights.upper).data() + j * weights.columns;
            for (std::size_t i = 0; i < weights.columns; ++i) {
                const double term = slope * row_of[i];
                below[i] += term;
                sizes[i] += std::abs(term);
            }
        }
        double doubtful = 0;
        for (std::size_t i = 0; i < weights.columns; ++i)
            doubtful += sizes[i] * std::max(0.0, units[l - 1].upper[i]);
        bound.errors += rounding(weights.rows, doubtful);
        bound.coefficients = std::move(below);
    }
    slopes.corner.resize(units.front().lower.size());
    for (std::size_t i = 0; i < units.front().lower.size(); ++i) {
        const double c = bound.coefficients[i];
        slopes.corner[i] = std::max(0.0, c > 0 ? units.front().lower[i] : units.front().upper[i]);
        bound.add(c * slopes.corner[i]);
    }
    const double off = sums * (bound.errors + rounding(bound.terms, bound.magnitude));
    const double value = bound.constant - off;
    return value - std::abs(value) * 0x1p-50;
}

/// The best of the fixed slopes.
double Relaxation::least_of_all(const Rows& rows, std::size_t row, bool negated,
                                const std::vector<Units>& units) const {
    Slopes none{Slopes::Kind::none}, nearest{Slopes::Kind::nearest};
    return std::max(least(rows, row, negated, units, none), least(rows, row, negated, units, nearest));
}

std::vector<Relaxation::Units> Relaxation::units_of(std::span<const double> record) const {
    std::vector<Units> all;
    const Rows& first = hidden_.front();
    Units units;
    for (std::size_t o = 0; o < first.rows; ++o) {
        double lower = first.bias_lower[o], upper = first.bias_upper[o], magnitude = first.bias_size[o];
        for (std::size_t j = 0; j < first.columns; ++j) {
            const double x = record[j];
            const std::size_t at = o * first.columns + j;
            lower += (x >= 0 ? first.lower[at] : first.upper[at]) * x;
            upper += (x >= 0 ? first.upper[at] : first.lower[at]) * x;
            magnitude += first.size[at] * std::abs(x);
        }
        const double off = sums * rounding(first.columns, magnitude);
        units.lower.push_back(lower - off);
        units.upper.push_back(upper + off);
        units.error.push_back(sums * (rounding(first.columns, magnitude, unit_roundoff_) +
                                      static_cast<double>(first.columns + 8) * least_normal_));
    }
    all.push_back(std::move(units));
    for (std::size_t l = 1; l < hidden_.size(); ++l) {
        Units next;
        for (std::size_t o = 0; o < hidden_[l].rows; ++o) {
            next.lower.push_back(least_of_all(hidden_[l], o, false, all));
            next.upper.push_back(-least_of_all(hidden_[l], o, true, all));
            next.error.push_back(error(hidden_[l], o, all.back()));
        }
        all.push_back(std::move(next));
    }
    return all;
}

bool Relaxation::certifies(std::size_t label, std::span<const double> record) const {
    const std::vector<Units> units = units_of(record);
    for (const Units& layer : units) {
        for (std::size_t i = 0; i < layer.upper.size(); ++i) {
            // Strict, so that what is not a number certifies nothing.
            if (!(std::abs(layer.lower[i]) < limit_ && std::abs(layer.upper[i]) < limit_ &&
                  layer.error[i] < limit_))
                return false;
        }
    }
    const auto holds = [&](std::size_t row, bool negated, double needed) {
        if (least_of_all(margins_, row, negated, units) > needed) return true;
        // Slopes are improved along a supergradient: the bound is concave in them, and its derivative by one
        // is the coefficient times the unit's least value where the bound is attained.
        if (units.size() != 2) return false;
        const Units& last = units.back();
        Slopes slopes{Slopes::Kind::stated};
        for (std::size_t j = 0; j < last.lower.size(); ++j)
            slopes.stated.push_back(last.upper[j] > -last.lower[j] ? 1 : 0);
        for (int step = 1; step <= ascents; ++step) {
            if (least(margins_, row, negated, units, slopes) > needed) return true;
            const Rows& weights = hidden_.back();
            for (std::size_t j = 0; j < last.lower.size(); ++j) {
                double value = weights.bias_lower[j];
                for (std::size_t i = 0; i < weights.columns; ++i)
                    value += weights.lower[j * weights.columns + i] * slopes.corner[i];
                const double width = last.upper[j] - last.lower[j];
                if (!(width > 0)) continue;
                slopes.stated[j] = std::clamp(slopes.stated[j] + value / width * (2.0 / step), 0.0, 1.0);
            }
        }
        return false;
    };
    if (classes_ == 2) return holds(0, label == 1, error(margins_, 0, units.back()));
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other == label) continue;
        const std::size_t a = std::min(label, other), b = std::max(label, other);
        const double needed = sums * (error(logits_, a, units.back()) + error(logits_, b, units.back()));
        if (!holds(a * (2 * classes_ - a - 1) / 2 + (b - a - 1), label > other, needed)) return false;
    }
    return true;
}

namespace {

/// What a network sees of query q, in the precision it is computed in.
std::vector<double> seen(const Network& network, Precision precision, const Records& queries, std::size_t q) {
    std::vector<double> record;
    for (std::size_t j = 0; j < network.inputs(); ++j) {
        const double feature = queries.features.at(q, j);
        record.push_back(precision == Precision::single_precision
                             ? static_cast<double>(network.transform().apply<float>(feature))
                             : network.transform().apply<double>(feature));
    }
    return record;
}

}  // namespace

Certificates sharpened(const Network& network, Precision precision, const Records& queries,
                       std::size_t levels, const LevelLoader& load, Certificates found) {
    if (precision == Precision::fixed) return found;  // whose roundings it does not bound
    if (!Relaxation::sharpens(network)) return found;
    // A level that certifies speaks for all below it, so any search will do: halving, from the interval's on.
    std::vector<std::size_t> yes(queries.size()), no(queries.size(), levels);
    for (std::size_t q = 0; q < queries.size(); ++q) yes[q] = static_cast<std::size_t>(found.distances[q]);
    for (;;) {
        std::map<std::size_t, std::vector<std::size_t>> by_level;
        for (std::size_t q = 0; q < queries.size(); ++q) {
            if (yes[q] + 1 < no[q]) by_level[yes[q] + (no[q] - yes[q]) / 2].push_back(q);
        }
        if (by_level.empty()) break;
        for (const auto& [level, asked] : by_level) {
            std::vector<std::int64_t> lower, upper;
            load(level, lower, upper);
            const Relaxation relaxation(network, precision, lower.data(), upper.data());
            const int threads = threads_for(static_cast<double>(asked.size()) *
                                            static_cast<double>(network.parameters()) * 10);
            ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 16) num_threads(threads)
            for (std::size_t i = 0; i < asked.size(); ++i) {
                failure.guard([&, at = level] {
                    const std::size_t q = asked[i];
                    const auto label = static_cast<std::size_t>(found.labels[q]);
                    const bool held = relaxation.certifies(label, seen(network, precision, queries, q));
                    (held ? yes : no)[q] = at;
                });
            }
            failure.rethrow();
        }
    }
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const auto distance = static_cast<std::int64_t>(yes[q]);
        if (distance == found.distances[q]) continue;
        found.distances[q] = distance;
        if (network.classes() == 2)
            found.class_distances[2 * q + static_cast<std::size_t>(1 - found.labels[q])] = distance + 1;
    }
    return found;
}

}  // namespace holdfast
