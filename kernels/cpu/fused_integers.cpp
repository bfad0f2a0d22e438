#include "kernels/cpu/fused_integers.hpp"

#include "kernels/cpu/simd_target.hpp"

namespace holdfast::cpu {
namespace {

#if defined(__x86_64__)
bool has_vnni() {
    return __builtin_cpu_supports("avx512vnni") != 0;
}
#else
bool has_vnni() {
    return false;
}
#endif

}  // namespace

std::string fused_integers() {
    if (tiles_in_use() == Tiles::amx) return "AMX";
    // It is used beside AVX-512 alone.
    return simd_target().rfind("AVX3", 0) == 0 && has_vnni() ? "VNNI" : "";
}

}  // namespace holdfast::cpu
