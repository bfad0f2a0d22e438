#include "kernels/cpu/simd_target.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/base/error.hpp"
#include "kernels/cpu/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/simd_target.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace holdfast::cpu::HWY_NAMESPACE {

std::string TargetName() {
    return hwy::TargetName(HWY_TARGET);
}

}  // namespace holdfast::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace holdfast {
namespace cpu {

HWY_EXPORT(TargetName);

namespace {
std::string target_name() {
    return HWY_DYNAMIC_DISPATCH(TargetName)();
}
}  // namespace

}  // namespace cpu

std::string simd_target() {
    return cpu::target_name();
}

std::vector<std::string> simd_targets() {
    std::vector<std::string> names;
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets())
        names.emplace_back(hwy::TargetName(target));
    return names;
}

namespace {
// Highway chooses the target at the next call after its choice was undone.
void restrict_targets(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
}
}  // namespace

SimdTargetOverride::SimdTargetOverride(const std::string& target) {
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const auto named = std::find_if(targets.begin(), targets.end(), [&](std::int64_t candidate) {
        return hwy::TargetName(candidate) == target;
    });
    if (named == targets.end())
        throw Error(ExitCode::usage, "no instruction set \"" + target + "\" here", "see `holdfast doctor`");
    restrict_targets(*named);
}
SimdTargetOverride::~SimdTargetOverride() {
    restrict_targets(0);
}

}  // namespace holdfast
#endif  // HWY_ONCE
