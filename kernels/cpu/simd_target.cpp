#include "kernels/cpu/simd_target.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "kernels/base/error.hpp"
#include "kernels/cpu/integer_tiles.hpp"
#include "kernels/cpu/targets.hpp"

#include <hwy/nanobenchmark.h>

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
// libhwy measures the clock for its benchmarks whenever it is loaded, which took a quarter of every start.
// Its call comes here instead: nothing of this program asks for the clock.
std::uint64_t hwy::platform::TimerResolution() {
    return 1;
}

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
std::optional<Tiles> chosen_tiles;  // by an override

// Highway chooses the target at the next call after its choice was undone.
void restrict_targets(std::int64_t targets, std::optional<Tiles> tiles) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
    chosen_tiles = tiles;
}
}  // namespace

Tiles tiles_in_use() {
    if (chosen_tiles) return *chosen_tiles;
    return cpu::amx_is_granted() ? Tiles::amx : Tiles::none;
}

std::vector<std::string> tile_targets() {
    std::vector<std::string> names{"plain tiles"};
    if (cpu::amx_is_granted()) names.emplace_back("AMX");
    return names;
}

SimdTargetOverride::SimdTargetOverride(const std::string& target) {
    const std::vector<std::string> tiles = tile_targets();
    if (std::find(tiles.begin(), tiles.end(), target) != tiles.end()) {
        restrict_targets(0, target == "AMX" ? Tiles::amx : Tiles::plain);
        return;
    }
    const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
    const auto named = std::find_if(targets.begin(), targets.end(), [&](std::int64_t candidate) {
        return hwy::TargetName(candidate) == target;
    });
    if (named == targets.end())
        throw Error(ExitCode::usage, "no instruction set \"" + target + "\" here", "see `holdfast doctor`");
    restrict_targets(*named, Tiles::none);
}
SimdTargetOverride::~SimdTargetOverride() {
    restrict_targets(0, std::nullopt);
}

}  // namespace holdfast
#endif  // HWY_ONCE
