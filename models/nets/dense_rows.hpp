#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace holdfast {

/// y = W x + b in double, in a fixed order: y_i starts at b_i, and w_ij x_j is rounded and added with one
/// more rounding for j = 0, 1, …
class DenseRows {
  public:
    /// weight [out, in], bias [out]
    DenseRows(std::size_t in, const std::vector<double>& weight, std::vector<double> bias)
        : bias_(std::move(bias)) {
        for (std::size_t j = 0; j < in; ++j) {
            for (std::size_t i = 0; i < out(); ++i) columns_.push_back(weight[i * in + j]);
        }
    }

    std::size_t out() const { return bias_.size(); }
    std::size_t in() const { return columns_.size() / out(); }
    void apply(const double* x, double* y) const {
        for (std::size_t i = 0; i < out(); ++i) y[i] = bias_[i];
        const double* column = columns_.data();
        for (std::size_t j = 0; j < in(); ++j, column += out()) add(column, x[j], y);
    }
    /// y that no x from `low` to `high` exceeds, or falls below: every operation is monotone.
    void bound(const double* low, const double* high, double* least, double* greatest) const {
        for (std::size_t i = 0; i < out(); ++i) least[i] = greatest[i] = bias_[i];
        const double* column = columns_.data();
        for (std::size_t j = 0; j < in(); ++j, column += out()) {
            for (std::size_t i = 0; i < out(); ++i) {
                least[i] += column[i] * (column[i] > 0 ? low[j] : high[j]);
                greatest[i] += column[i] * (column[i] > 0 ? high[j] : low[j]);
            }
        }
    }

  private:
    void add(const double* column, double x, double* y) const {
        for (std::size_t i = 0; i < out(); ++i) y[i] += column[i] * x;
    }

    std::vector<double> columns_;  // [in, out]
    std::vector<double> bias_;
};

}  // namespace holdfast
