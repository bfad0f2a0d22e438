#include "models/certify/margins.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>

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

/// The last layer's box, [out, columns].
struct LastLayer {
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

Rows rows_of(const LastLayer& last, const Network& network, bool point) {
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

}  // namespace

template <typename Real>
MarginLayer::MarginLayer(const Network& network, const BasicBackend<Real>& backend, const std::int64_t* lower,
                         const std::int64_t* upper) {
    const std::size_t last = network.layers().size() - 1, columns = network.layers()[last].in + 1;
    const Rows rows = rows_of({lower + network.offset(last), upper + network.offset(last), columns}, network,
                              lower == upper);
    const bool point = rows.lower == rows.upper;  // magnitudes are none
    layer_ = backend.pack({columns - 1, rows.lower.size() / columns}, rows.lower.data(),
                          point ? rows.lower.data() : rows.upper.data());
}

template <typename Real>
BasicMargins<Real>::BasicMargins(std::size_t classes, std::size_t inputs, BasicConstInterval<Real> values)
    : classes_(classes), values_(values) {
    constexpr std::size_t most_inputs = std::size_t{1} << 20;
    static_assert(most_inputs * double{std::numeric_limits<Real>::epsilon()} < 0.25);
    rounding_ = inputs + 4 > most_inputs
                    ? std::numeric_limits<Real>::infinity()
                    : static_cast<Real>(2 * (inputs + 4)) * std::numeric_limits<Real>::epsilon();
}

template <typename Real>
bool BasicMargins<Real>::surely_before(std::size_t a, std::size_t b, std::size_t r) const {
    if (classes_ == 2) return least(a, b, r) > 0;
    const Real slack = rounding_ * (magnitude(a)[r] + magnitude(b)[r]) + std::numeric_limits<Real>::min();
    return least(a, b, r) > slack;
}

template <typename Real>
std::size_t BasicMargins<Real>::winner(std::size_t r) const {
    if (classes_ == 2) return least(1, 0, r) > 0 ? 1 : 0;
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes_; ++c) best = logit(c)[r] > logit(best)[r] ? c : best;
    return best;
}

template <typename Real>
bool BasicMargins<Real>::certified(std::size_t c, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != c && !surely_before(c, other, r)) return false;
    }
    return true;
}

template <typename Real>
bool BasicMargins<Real>::beaten(std::size_t j, std::size_t r) const {
    for (std::size_t other = 0; other < classes_; ++other) {
        if (other != j && surely_before(other, j, r)) return true;
    }
    return false;
}

template MarginLayer::MarginLayer(const Network&, const Backend&, const std::int64_t*, const std::int64_t*);
template MarginLayer::MarginLayer(const Network&, const BasicBackend<float>&, const std::int64_t*,
                                  const std::int64_t*);
template class BasicMargins<double>;
template class BasicMargins<float>;

}  // namespace holdfast
