#include "models/privacy/guarantee.hpp"

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

TEST(GuaranteeWords, StatusesAreExactAndOnlyGetWeaker) {
    Guarantee guarantee = Guarantee::proved("each answer is private", "add_remove");
    guarantee.require("features were scaled by public constants");
    guarantee.require("features were scaled by public constants");
    EXPECT_EQ(guarantee.text(),
              "proved: each answer is private, neighbours: add_remove; provided that features were scaled by "
              "public constants");
    guarantee.combine(Guarantee::as_published("Theorem 5.3", "not smooth"));
    EXPECT_EQ(guarantee.status(), "as published (gap: not smooth)");
    guarantee.weaken("batches assumed not to move");
    EXPECT_EQ(guarantee.status(), "as published (gap: not smooth; batches assumed not to move)");
    EXPECT_TRUE(guarantee.is_private());
    guarantee.combine(Guarantee::not_private("sparse levels", "not 1-Lipschitz"));
    EXPECT_EQ(guarantee.status(), "not differentially private");
    EXPECT_FALSE(guarantee.is_private());
    EXPECT_THROW(Guarantee::as_published("a claim", ""), Error);
}

}  // namespace
}  // namespace holdfast
