#include "models/convex/symmetric.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace holdfast {
namespace symmetric_test {

/// Of two rows and columns, whose eigenvalues have a formula.
Symmetric pair_of(double a, double b, double c) {
    Symmetric matrix(2);
    matrix.row(0)[0] = a;
    matrix.row(1)[0] = b;
    matrix.row(1)[1] = c;
    return matrix;
}

TEST(Symmetric, ItsLeastEigenvalueIsNoLessThanSaidAndHardlyMore) {
    std::mt19937_64 engine(1);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (int trial = 0; trial < 2000; ++trial) {
        const double a = std::abs(uniform(engine)), c = std::abs(uniform(engine)),
                     b = uniform(engine) * std::sqrt(a * c);
        const long double exact =
            ((long double){a} + c) / 2 - std::hypot(((long double){a} - c) / 2, (long double){b});
        const double said = pair_of(a, b, c).least_eigenvalue(Upper(0));
        EXPECT_LE(said, exact);
        EXPECT_GE(said, exact - (a + c) * 0x1p-19);
        EXPECT_LE(pair_of(a, b, c).least_eigenvalue(Upper(0.25)), exact - 0.25);
    }
}

TEST(Symmetric, OfWhatMayBeSingularNothingIsSaidAboveNothing) {
    EXPECT_LE(pair_of(1, 1, 1).least_eigenvalue(Upper(0)), 0);
    EXPECT_LE(pair_of(1, 2, 1).least_eigenvalue(Upper(0)), -1);
    EXPECT_LE(pair_of(1, NAN, 1).least_eigenvalue(Upper(0)), -1);
    EXPECT_LE(pair_of(INFINITY, 0, 1).least_eigenvalue(Upper(0)), 0);
}

TEST(Symmetric, ATriangleTimesItsInverseIsOne) {
    std::mt19937_64 engine(2);
    std::uniform_real_distribution<double> uniform(-1, 1);
    Symmetric triangle(5);
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < i; ++j) triangle.row(i)[j] = uniform(engine);
        triangle.row(i)[i] = 1 + uniform(engine) / 2;
    }
    const Symmetric inverse = triangle.inverse_of_triangle();
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = 0;
            for (std::size_t l = j; l <= i; ++l) sum += triangle.row(i)[l] * inverse.row(l)[j];
            EXPECT_NEAR(sum, i == j ? 1 : 0, 1e-13);
        }
    }
}

}  // namespace symmetric_test
}  // namespace holdfast
