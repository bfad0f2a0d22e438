#include "models/idp/idp_bounds.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>

#include "kernels/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

class IdpBoundsFile : public testing::Test {
  protected:
    TemporaryFolder place_;
    RunFolder folder_ = RunFolder::create(place_.file("run"), false);
    RunManifest manifest_;

    void SetUp() override { manifest_.digest = "abc"; }
    IdpBounds some() const {
        IdpBounds bounds{"abc", {0, 1}, 1e-3, {}};
        bounds.classes = {IdpClass{0.1, 0.1 + 0x1p-40, 77, {0.25, 1.0 / 3}, 2, true}, std::nullopt};
        return bounds;
    }
    void write(const IdpBounds& bounds) const { bounds.write(folder_, idp_claim(bounds.range, 5, 5), 2); }
    IdpBounds read(std::size_t classes = 2) const { return IdpBounds::read(folder_, manifest_, classes); }
    void spoil(const std::string& text) const { std::ofstream(folder_.file(IdpBounds::file_name)) << text; }
};

TEST_F(IdpBoundsFile, ComesBackBitByBitForTheOwnerAlone) {
    EXPECT_FALSE(IdpBounds::known(folder_));
    write(some());
    EXPECT_TRUE(IdpBounds::known(folder_));
    struct stat status {};
    ASSERT_EQ(stat(folder_.file(IdpBounds::file_name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    const IdpBounds back = read();
    ASSERT_TRUE(back.classes[0]);
    EXPECT_EQ(back.classes[0]->lower, some().classes[0]->lower);
    EXPECT_EQ(back.classes[0]->upper, some().classes[0]->upper);
    EXPECT_EQ(back.classes[0]->record, 77U);
    EXPECT_EQ(back.classes[0]->input, some().classes[0]->input);
    EXPECT_TRUE(back.classes[0]->complete);
    EXPECT_FALSE(back.classes[1]);
    EXPECT_EQ(back.range, (FeatureRange{0, 1}));
}

TEST_F(IdpBoundsFile, LeavesALabelOnlyAboveTheUpperBound) {
    const IdpBounds bounds = some();
    const double upper = bounds.classes[0]->upper;
    EXPECT_FALSE(bounds.stays(0, upper));
    EXPECT_TRUE(bounds.stays(0, std::nextafter(upper, 1)));
    EXPECT_FALSE(bounds.stays(0, NAN));
    EXPECT_FALSE(bounds.stays(1, 1e300)) << "nothing is known of this class";
}

TEST_F(IdpBoundsFile, KeepsWhatEitherKnowsBetter) {
    IdpBounds later = some();
    later.classes = {IdpClass{0.12, 0.5, 8, {0, 0}, 1, false}, IdpClass{0, 0.3, {}, {}, 1, false}};
    later.keep_better(some());
    EXPECT_EQ(later.classes[0]->lower, 0.12);
    EXPECT_EQ(later.classes[0]->record, 8U);
    EXPECT_EQ(later.classes[0]->upper, some().classes[0]->upper);
    EXPECT_EQ(later.classes[1]->upper, 0.3);
}

TEST_F(IdpBoundsFile, RefusesOtherFleetsAndDamage) {
    EXPECT_THROW(read(), Error) << "none was written";
    write(some());
    EXPECT_THROW(read(3), Error);
    manifest_.digest = "abd";
    EXPECT_THROW(read(), Error);
    manifest_.digest = "abc";
    std::string text;
    std::getline(std::ifstream(folder_.file(IdpBounds::file_name)), text, '\0');
    for (const char* field :
         {"\"upper\"", "\"lower\"", "\"fleet\"", "\"classes\"", "\"format\"", "\"low\""}) {
        std::string damaged = text;
        damaged.replace(damaged.find(field), 2, "\"x");
        spoil(damaged);
        EXPECT_THROW(read(), Error) << field;
    }
    for (const char* other : {"", "[]", "{", "null", "7"}) {
        spoil(other);
        EXPECT_THROW(read(), Error) << other;
    }
    std::string negative = text;
    negative.replace(negative.find("\"upper\""), 8, "\"upper\":-");
    spoil(negative);
    EXPECT_THROW(read(), Error);
}

TEST(IdpClaim, SaysWhatItHoldsFor) {
    const Guarantee whole = idp_claim({0, 1}, 10, 10), sample = idp_claim({0, 1}, 4, 10);
    EXPECT_TRUE(whole.is_proved());
    EXPECT_EQ(whole.relation(), "remove");
    EXPECT_EQ(sample.conditions().size(), whole.conditions().size() + 1);
    EXPECT_EQ(query_range(default_feature_range), (FeatureRange{0, 1}));
    EXPECT_EQ(query_range({-2, 3}), (FeatureRange{-2, 3}));
}

}  // namespace
}  // namespace holdfast
