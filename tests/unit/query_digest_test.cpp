#include "models/privacy/ledger/query_digest.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

TEST(QueryDigest, NamesAQueryByItsValues) {
    const std::vector<double> values{0.5, 0.0, -3.25}, negative_zero{0.5, -0.0, -3.25}, shorter{0.5, 0.0},
        moved{0.0, 0.5, -3.25};
    EXPECT_EQ(query_digest(values), query_digest(negative_zero));
    EXPECT_NE(query_digest(values), query_digest(shorter));
    EXPECT_NE(query_digest(values), query_digest(moved));
    const double nan = std::nan("");
    EXPECT_THROW(query_digest(std::span<const double>(&nan, 1)), Error);
}

}  // namespace
}  // namespace holdfast
