#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <filesystem>
#include <set>

#include "jobs/study/doctor/checks.hpp"
#include "jobs/study/doctor/diagnosis.hpp"
#include "kernels/cpu/fused_integers.hpp"
#include "kernels/cpu/simd_target.hpp"
#include "tests/support/variable.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#include <nlohmann/json.hpp>
#endif

namespace holdfast {
namespace {

const Finding& find(const std::vector<Finding>& findings, const std::string& name) {
    const auto found =
        std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.name == name; });
    if (found == findings.end()) throw std::out_of_range("no finding named " + name);
    return *found;
}

TEST(Doctor, FindsTheArithmeticOfThisBuildSound) {
    for (const Finding& finding : check_arithmetic()) {
        EXPECT_EQ(finding.health, Health::ok) << finding.name << ": " << finding.value;
        EXPECT_TRUE(finding.remedy.empty());
    }
}

TEST(Doctor, FindsAnotherRoundingModeWrong) {
    ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
    const std::vector<Finding> findings = check_arithmetic();
    ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
    EXPECT_EQ(find(findings, "rounding").health, Health::wrong);
    EXPECT_FALSE(find(findings, "rounding").remedy.empty());
}

TEST(Doctor, SaysWhenFixedPrecisionPays) {
    const auto said = [] { return find(check_libraries(), "fixed precision").value; };
    EXPECT_EQ(said().rfind("by ", 0) == 0, !cpu::fused_integers().empty());
    for (const std::string& target : simd_targets()) {
        if (target.rfind("AVX3", 0) == 0) continue;
        const SimdTargetOverride only(target);
        EXPECT_NE(said().find("with 16 slower"), std::string::npos) << target;
    }
    // The last one has neither, wherever this runs.
    EXPECT_NE(simd_targets().back().rfind("AVX3", 0), 0U);
}

#if defined(__x86_64__)
constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

std::vector<Finding> arithmetic_under(unsigned mode) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | mode);
    std::vector<Finding> findings = check_arithmetic();
    _mm_setcsr(before);
    return findings;
}

TEST(Doctor, FindsFlushedSubnormalsWrong) {
    EXPECT_EQ(find(arithmetic_under(flush_to_zero), "subnormal results").health, Health::wrong);
    EXPECT_EQ(find(arithmetic_under(denormals_are_zero), "subnormal operands").health, Health::wrong);
}
#endif

TEST(Doctor, IsNotSoundWhereNoGuaranteeHolds) {
    const auto world = make_serial_communicator();
    EXPECT_TRUE(diagnose(*world).sound);
    ASSERT_EQ(std::fesetround(FE_DOWNWARD), 0);
    const Diagnosis diagnosis = diagnose(*world);
    ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
    EXPECT_FALSE(diagnosis.sound);
}

TEST(Doctor, WritesOneJsonObjectWithARemedyForEveryComplaint) {
    const nlohmann::json json = diagnosis_json(diagnose(*make_serial_communicator()));
    EXPECT_TRUE(json.at("sound").get<bool>());
    std::set<std::string> groups;
    for (const auto& finding : json.at("findings")) {
        groups.insert(finding.at("group").get<std::string>());
        EXPECT_EQ(finding.at("status") == "ok", finding.at("remedy").get<std::string>().empty()) << finding;
        EXPECT_FALSE(finding.at("value").get<std::string>().empty()) << finding;
    }
    EXPECT_EQ(groups, (std::set<std::string>{"Accelerators", "Arithmetic", "Cluster", "Libraries", "Ranks",
                                             "Resources"}));
}

TEST(Doctor, WritesATableWithTheRemediesUnderTheirLines) {
    const Variable path("PATH", "");
    const std::string text = diagnosis_text(diagnose(*make_serial_communicator()));
    EXPECT_NE(text.find("ok       rounding            to nearest\n"), std::string::npos) << text;
    const std::size_t line = text.find("missing  mpirun              not on PATH\n");
    ASSERT_NE(line, std::string::npos) << text;
    EXPECT_EQ(text.find("apt-get install openmpi-bin", line),
              text.find_first_not_of(' ', text.find('\n', line) + 1));
}

TEST(Doctor, LooksForProgramsOnThePath) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "doctor_path";
    std::filesystem::create_directories(folder);
    std::filesystem::remove(folder / "srun");
    const Variable path("PATH", folder.string());
    EXPECT_EQ(find(check_cluster(), "srun").health, Health::missing);
    std::filesystem::create_symlink("/bin/true", folder / "srun");
    EXPECT_EQ(find(check_cluster(), "srun").health, Health::ok);
    EXPECT_EQ(find(check_cluster(), "srun").value, (folder / "srun").string());
    std::filesystem::remove_all(folder);
}

TEST(Doctor, WarnsOfAFenceThatIsNoBarrier) {
    const Variable space("PMIX_NAMESPACE", "slurm.pmix.17.0");
    {
        const Variable fence("SLURM_PMIX_FENCE", "tree");
        EXPECT_EQ(find(check_cluster(), "PMIx fence").health, Health::warn);
        EXPECT_NE(find(check_cluster(), "PMIx fence").remedy.find("export SLURM_PMIX_FENCE=ring"),
                  std::string::npos);
    }
    const Variable fence("SLURM_PMIX_FENCE", "ring");
    EXPECT_EQ(find(check_cluster(), "PMIx fence").health, Health::ok);
}

TEST(Doctor, WarnsOfMoreThreadsThanCores) {
    EXPECT_EQ(find(check_resources({.ranks = 1 << 20, .cores = 2}), "OpenMP threads").health, Health::warn);
}

TEST(Doctor, CountsTheRanksOfThisHost) {
    const auto world = make_serial_communicator();
    EXPECT_EQ(share_of_host(*world).ranks, 1);
    EXPECT_GE(share_of_host(*world).cores, 1);
    EXPECT_EQ(find(check_ranks(*world), "ranks").value, "1 (serial) on 1 host");
}

}  // namespace
}  // namespace holdfast
