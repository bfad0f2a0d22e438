#include "models/robust/dense_lanes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/base/sixteen_sums.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast {
namespace dense_lanes_test {

/// Rows of which some factors are 0, with a start or without.
struct Sum {
    std::vector<double> factors, rows, start;
    std::size_t stride;
    bool begins;

    Sum(std::size_t terms, std::size_t length, std::mt19937_64& engine)
        : factors(terms),
          rows(terms * (length + 3)),
          start(length),
          stride(length + 3),
          begins(terms % 2 == 1) {
        std::normal_distribution<double> normal;
        for (double& factor : factors) factor = engine() % 4 == 0 ? 0 : normal(engine);
        for (double& value : rows) value = normal(engine);
        for (double& value : start) value = normal(engine);
    }
    WeightedRows rows_of() const { return {factors, rows.data(), stride, begins ? start.data() : nullptr}; }
    std::vector<double> in_plain_loops() const {
        std::vector<double> sums(start.size());
        for (std::size_t j = 0; j < sums.size(); ++j) {
            if (begins) sums[j] = start[j];
            for (std::size_t t = 0; t < factors.size(); ++t) sums[j] += factors[t] * rows[t * stride + j];
        }
        return sums;
    }
};

TEST(DenseLanes, HaveTheBitsOfPlainLoopsOnEveryInstructionSet) {
    for (const std::string& target : simd_targets()) {
        const SimdTargetOverride on(target);
        std::mt19937_64 engine(7);
        for (std::size_t length : {0, 1, 5, 15, 16, 17, 40, 112, 127, 128, 144, 300}) {
            for (std::size_t terms : {0, 1, 2, 3, 7, 20}) {
                const Sum sum(terms, length, engine);
                const std::vector<double> expected = sum.in_plain_loops();
                std::vector<double> found(length, 9);
                sum_rows(sum.rows_of(), found.data(), length);
                EXPECT_EQ(found, expected) << target << " " << length << " " << terms;
                EXPECT_EQ(squares_of_rows(sum.rows_of(), length),
                          in_sixteen_sums(length, [&](std::size_t j) { return expected[j] * expected[j]; }))
                    << target << " " << length << " " << terms;
            }
        }
    }
}

TEST(DenseLanes, OfSharedRowsAreThoseOfEachAlone) {
    for (const std::string& target : simd_targets()) {
        const SimdTargetOverride on(target);
        std::mt19937_64 engine(9);
        for (std::size_t length : {1, 16, 47, 48, 112, 130}) {
            for (std::size_t count : {1, 3, 4, 6, 8}) {
                const Sum rows(5, length, engine);
                std::vector<Sum> sums;
                std::vector<std::vector<double>> found(count, std::vector<double>(length, 9));
                std::vector<const double*> factors;
                std::vector<double*> results;
                for (std::size_t i = 0; i < count; ++i) {
                    sums.push_back(rows);
                    sums.back().factors = Sum(5, 0, engine).factors;
                }
                for (std::size_t i = 0; i < count; ++i) {
                    factors.push_back(sums[i].factors.data());
                    results.push_back(found[i].data());
                }
                sum_rows({5, rows.rows.data(), rows.stride, rows.start.data()}, factors, results, length);
                for (std::size_t i = 0; i < count; ++i)
                    EXPECT_EQ(found[i], sums[i].in_plain_loops()) << target << " " << length << " " << count;
            }
            const std::vector<double> a = Sum(1, length, engine).start, b = Sum(1, length, engine).start;
            EXPECT_EQ(product_of(a.data(), b.data(), length),
                      in_sixteen_sums(length, [&](std::size_t j) { return a[j] * b[j]; }))
                << target;
        }
    }
}

TEST(DenseLanes, RoundToUnitsAndTakeThemBack) {
    for (const std::string& target : simd_targets()) {
        const SimdTargetOverride on(target);
        std::mt19937_64 engine(8);
        for (std::size_t length : {1, 16, 37, 200}) {
            const Sum sum(3, length, engine);
            const std::vector<double> entries = sum.in_plain_loops();
            std::vector<std::int64_t> before(length), sums;
            for (std::int64_t& value : before) value = static_cast<std::int64_t>(engine() >> 4);
            sums = before;
            double squares = 0;
            for (std::size_t j = 0; j < length; ++j)
                squares += std::pow(std::nearbyint(entries[j] * 1000), 2);
            EXPECT_EQ(add_units_of_rows(sum.rows_of(), length, 1000, 1, sums.data()), squares) << target;
            for (std::size_t j = 0; j < length; ++j)
                EXPECT_EQ(sums[j] - before[j], static_cast<std::int64_t>(std::nearbyint(entries[j] * 1000)));
            add_units_of_rows(sum.rows_of(), length, 1000, -1, sums.data());
            EXPECT_EQ(sums, before) << target;
        }
    }
}

}  // namespace dense_lanes_test
}  // namespace holdfast
