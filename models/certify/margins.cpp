#include "models/certify/margins.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/ops/fixed_grid.hpp"

namespace holdfast {
namespace {

/// Rows of parameter units, lower and upper, to be packed.
struct Rows {
    std::vector<std::int64_t> lower, upper;
    void add(std::int64_t least, std::int64_t greatest) {
        lower.push_back(least);
        upper.push_back(greatest);
    }
};

/// The box of the last layer, [out, columns].
struct LastBox {
    const std::int64_t *lower, *upper;
    std::size_t columns;

    void add_negated(std::size_t c, Rows& rows) const {
        for (std::size_t j = c * columns; j < (c + 1) * columns; ++j) rows.add(-upper[j], -lower[j]);
    }
    void add_margin(std::size_t a, std::size_t b, Rows& rows) const {
        for (std::size_t j = 0; j < columns; ++j) {
            rows.add(lower[a * columns + j] - upper[b * columns + j],
                     upper[a * columns + j] - lower[b * columns + j]);
        }
    }
    void add_magnitude(std::size_t c, Rows& rows) const {
        for (std::size_t j = c * columns; j < (c + 1) * columns; ++j) {
            const std::int64_t most = std::max(std::abs(lower[j]), std::abs(upper[j]));
            rows.add(-most, most);
        }
    }
    void add_logit(std::size_t c, Rows& rows) const {
        for (std::size_t j = c * columns; j < (c + 1) * columns; ++j) rows.add(lower[j], upper[j]);
    }
};

Rows rows_of(const LastBox& last, const Network& network, bool point) {
    Rows rows;
    const std::size_t classes = network.classes();
    if (network.outputs() == 1) {
        last.add_negated(0, rows);
        return rows;
    }
    for (std::size_t a = 0; a < classes; ++a) {
        for (std::size_t b = a + 1; b < classes; ++b) last.add_margin(a, b, rows);
    }
    if (classes == 2) return rows;
    for (std::size_t c = 0; c < classes; ++c) last.add_magnitude(c, rows);
    for (std::size_t c = 0; point && c < classes; ++c) last.add_logit(c, rows);
    return rows;
}

/// On the grids of fixed precision, rows of [columns], the bias last.
std::vector<std::int64_t> on_grid(const std::int64_t* units, std::size_t rows, std::size_t columns) {
    constexpr std::int64_t unit = std::int64_t{1} << (50 + fixed_weight_exponent);
    std::vector<std::int64_t> rounded;
    for (std::size_t i = 0; i < rows * columns; ++i) {
        const bool bias = i % columns == columns - 1;
        rounded.push_back(unit *
                          (bias ? fixed_parameter(units[i]) : fixed_weight(units[i], fixed_half_limit)));
    }
    return rounded;
}

/// The last layer's box; in fixed precision, of more than two classes, on the grids.
struct GridBox {
    GridBox(const Network& network, Precision precision, const std::int64_t* of_lower,
            const std::int64_t* of_upper)
        : last{of_lower + first_of(network), of_upper + first_of(network), network.layers().back().in + 1} {
        if (precision != Precision::fixed || network.classes() == 2) return;
        lower = on_grid(last.lower, network.outputs(), last.columns);
        upper = on_grid(last.upper, network.outputs(), last.columns);
        last = {lower.data(), upper.data(), last.columns};
    }
    static std::size_t first_of(const Network& network) {
        return network.offset(network.layers().size() - 1);
    }
    std::vector<std::int64_t> lower, upper;
    LastBox last;
};

/// 4 (n + 4) u (S_a + S_b) + the least normal number, computed in Real.
template <typename Real>
double slack(std::size_t inputs, double magnitude_a, double magnitude_b) {
    constexpr std::size_t most_inputs = std::size_t{1} << 20;
    static_assert(most_inputs * double{std::numeric_limits<Real>::epsilon()} < 0.25);
    const Real rounding = inputs + 4 > most_inputs
                              ? std::numeric_limits<Real>::infinity()
                              : static_cast<Real>(2 * (inputs + 4)) * std::numeric_limits<Real>::epsilon();
    const Real magnitudes = static_cast<Real>(magnitude_a) + static_cast<Real>(magnitude_b);
    return static_cast<double>(rounding * magnitudes + std::numeric_limits<Real>::min());
}

}  // namespace

MarginRows::MarginRows(const Network& network, Precision precision, const std::int64_t* lower,
                       const std::int64_t* upper)
    : columns_(network.layers().back().in + 1),
      point_(lower == upper && network.classes() == 2) {  // magnitudes are none
    const GridBox box(network, precision, lower, upper);
    Rows rows = rows_of(box.last, network, lower == upper);
    lower_ = std::move(rows.lower);
    upper_ = std::move(rows.upper);
}

MarginRows::MarginRows(const Network& network, Precision precision, const std::int64_t* lower,
                       const std::int64_t* upper, Logits)
    : columns_(network.layers().back().in + 1), point_(false) {
    const GridBox box(network, precision, lower, upper);
    Rows rows;
    for (std::size_t c = 0; c < network.outputs(); ++c) box.last.add_logit(c, rows);
    lower_ = std::move(rows.lower);
    upper_ = std::move(rows.upper);
}

MarginRows MarginRows::of_logits(const Network& network, Precision precision, const std::int64_t* lower,
                                 const std::int64_t* upper) {
    return {network, precision, lower, upper, Logits()};
}

LastLayer MarginRows::layer() const {
    return {lower_.size() / columns_, lower_.data(), point_ ? lower_.data() : upper_.data()};
}

Margins::Margins(std::size_t classes, std::size_t inputs, Precision precision, const OutputBlock& values)
    : classes_(classes), inputs_(inputs), precision_(precision), values_(values) {}

bool Margins::surely_before(std::size_t a, std::size_t b, std::size_t r) const {
    if (classes_ == 2) return least(a, b, r) > 0;
    const auto of = precision_ == Precision::double_precision ? &slack<double> : &slack<float>;
    return least(a, b, r) > of(inputs_, magnitude(a, r), magnitude(b, r));
}

std::size_t Margins::winner(std::size_t r) const {
    if (classes_ == 2) return least(1, 0, r) > 0 ? 1 : 0;
    return greatest_logit(classes_, [&](std::size_t c) { return logit(c, r); });
}

bool Margins::certified_among_many(std::size_t c, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != c && !surely_before(c, other, r)) return false;
    }
    return true;
}

bool Margins::beaten(std::size_t j, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != j && surely_before(other, j, r)) return true;
    }
    return false;
}

Verdicts::Verdicts(const Margins& margins)
    : stride_(margins.values_.stride),
      certified_(margins.classes_ * stride_, 1),
      beaten_(margins.classes_ * stride_, 0) {
    if (margins.precision_ == Precision::double_precision) {
        compare<double>(margins);
    } else {
        compare<float>(margins);
    }
}

template <typename Real>
void Verdicts::compare(const Margins& margins) {
    const OutputBlock& values = margins.values_;
    const std::size_t classes = margins.classes_, inputs = margins.inputs_, count = values.count;
    const double *lower = values.lower, *upper = values.upper,
                 *magnitudes = upper + margins.pairs() * stride_;
    for (std::size_t a = 0; a < classes; ++a) {
        for (std::size_t b = a + 1; b < classes; ++b, lower += stride_, upper += stride_) {
            std::uint8_t *const certified[] = {&certified_[a * stride_], &certified_[b * stride_]},
                                *const beaten[] = {&beaten_[a * stride_], &beaten_[b * stride_]};
            for (std::size_t r = 0; r < count; ++r) {
                const double needed = classes == 2 ? 0.0
                                                   : slack<Real>(inputs, magnitudes[a * stride_ + r],
                                                                 magnitudes[b * stride_ + r]);
                const std::uint8_t before = lower[r] > needed ? 1 : 0, behind = -upper[r] > needed ? 1 : 0;
                certified[0][r] &= before;
                certified[1][r] &= behind;
                beaten[0][r] |= behind;
                beaten[1][r] |= before;
            }
        }
    }
}

}  // namespace holdfast
