// The recorded cases of the AGT package, in compatibility mode. Skips where the numbers are absent.

#include <gtest/gtest.h>

#include <filesystem>

#include "dist/files/hdf5.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/checks/golden_case.hpp"

namespace holdfast {
namespace {

class GoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenTest, IsReproduced) {
    std::string path = HOLDFAST_SHARED "/golden/";
    path.append(GetParam()).append(".h5");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no golden numbers at " << path;
    const GoldenComparison result = replay_golden_case(path);
    ASSERT_EQ(result.unsupported, "");
    EXPECT_LT(result.nominal, 1e-9);
    EXPECT_LT(result.lower, 1e-9);
    EXPECT_LT(result.upper, 1e-9);
    EXPECT_LT(result.logits, 1e-9);
    EXPECT_EQ(result.certified_mismatches, 0);
    EXPECT_TRUE(result.enclosed);
}

// The level of paired poison is the maximum of the two counts: 7 records were recorded as 5 and 2 others.
TEST(PairedGoldenTest, CountsEachRecordOnce) {
    const std::string recorded = HOLDFAST_SHARED "/golden/12_mlp1_ce2_poison_feat_label.h5";
    if (!std::filesystem::exists(recorded)) GTEST_SKIP() << "no golden numbers at " << recorded;
    const TemporaryFolder folder;
    const std::string path = folder.file("paired.h5");
    std::filesystem::copy_file(recorded, path);
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    {
        hdf5::File file = hdf5::File::open_update(path);
        for (const auto& [name, value] :
             {std::pair("paired_poison", 1), {"k_poison", 7}, {"label_k_poison", 4}})
            file.write_attribute(name, static_cast<std::int64_t>(value));
        file.close();
    }
    const GoldenComparison result = replay_golden_case(path);
    EXPECT_LT(result.lower, 1e-9);
    EXPECT_LT(result.upper, 1e-9);
    EXPECT_EQ(result.certified_mismatches, 0);
}

INSTANTIATE_TEST_SUITE_P(
    AgtPackage, GoldenTest,
    testing::Values("01_logreg_ce2_priv_k1", "03_mlp1_ce2_priv_k20_rump", "03_mlp1_ce2_priv_k20_exact",
                    "03_mlp1_ce2_priv_k20_nguyen", "04_mlp1_ce2_priv_k5_l2_batches", "05_mlp2_ce4_priv_k5",
                    "06_mlp3_bce_priv_k1", "07_mlp1_mse_priv_k5", "09_mlp1_bce_priv_k5_nesterov_l2",
                    "10_mlp1_ce2_unlearn_k5", "12_mlp1_ce2_poison_feat_label", "14_mlp1_mse_poison_label",
                    "15_logreg_bce_poison_flip", "16_conv2_bce_priv_k5", "18_logreg_ce2_priv_k5_l1",
                    "19_mlp1_ce2_priv_k5_public", "20_finetune_transform_bce_priv_k5",
                    "21_mlp1_ce2_priv_k5_normclip_nobias", "23_blobs3000_mlp128_ce2_priv_k20",
                    "24_mlp1_ce2_priv_k0", "k1_blobs_logreg_ce2", "k3_blobs_mlp32x2_bce"),
    [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace holdfast
