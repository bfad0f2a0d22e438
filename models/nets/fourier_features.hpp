#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/ops/input_transform.hpp"
#include "models/nets/dense_rows.hpp"

namespace holdfast {

/// Random Fourier features (Rahimi and Recht 2007): of each of m public frequencies w the pair (cos, sin)(w
/// x) / sqrt m, so that the products of two records' features come near to exp(-|x - x'|^2 / (2
/// bandwidth^2)).
class FourierFeatures {
  public:
    static constexpr double unit = 0x1p-40;  ///< of a frequency, in turns
    static constexpr std::int64_t limit = std::int64_t{1} << 53;
    static constexpr double least_bandwidth = 1e-3, greatest_bandwidth = 1e6;

    /// frequencies [m, columns], in units. Must have no problem().
    FourierFeatures(std::size_t columns, std::vector<std::int64_t> frequencies);
    /// What is wrong with them; empty: nothing.
    static std::string problem(std::size_t columns, const std::vector<std::int64_t>& frequencies);
    /// Each frequency is a normal number of standard deviation 1/(2 pi bandwidth) turns, rounded to units: a
    /// function of the public seed, the same on every machine.
    static FourierFeatures drawn(std::size_t columns, std::size_t frequencies, double bandwidth,
                                 std::uint64_t seed);

    const std::vector<std::int64_t>& frequencies() const { return frequencies_; }
    std::size_t columns() const { return frequencies_.size() / turns_.out(); }
    std::size_t outputs() const { return 2 * turns_.out(); }
    FeatureRange entries() const { return {-1, 1}; }
    double norm() const { return 1; }  ///< up to 2^-48
    /// The entries [outputs] of a record's columns, as the network would see these.
    void apply(const double* columns, double* entries) const;

  private:
    std::vector<std::int64_t> frequencies_;
    DenseRows turns_;
    double scale_;
};

}  // namespace holdfast
