// replay_golden FILE…: a line a case; exit 1 unless every case that can be replayed agrees within 1e-9.

#include <algorithm>
#include <cstdio>

#include "kernels/base/error.hpp"
#include "tools/checks/golden_case.hpp"

int main(int argc, char** argv) {
    using namespace holdfast;
    if (argc < 2) {
        std::fprintf(stderr, "usage: replay_golden FILE…\n");
        return static_cast<int>(ExitCode::usage);
    }
    bool agrees = true;
    std::printf("%-40s %-10s %-10s %-10s %-10s %-10s %s\n", "case", "nominal", "lower", "upper", "logits",
                "mismatches", "enclosed");
    for (int i = 1; i < argc; ++i) {
        try {
            const GoldenComparison result = replay_golden_case(argv[i]);
            if (!result.unsupported.empty()) {
                std::printf("%-40s not replayed: %s\n", result.name.c_str(), result.unsupported.c_str());
                continue;
            }
            std::printf("%-40s %-10.2g %-10.2g %-10.2g %-10.2g %-10d %s", result.name.c_str(), result.nominal,
                        result.lower, result.upper, result.logits, result.certified_mismatches,
                        result.enclosed ? "yes" : "no");
            if (result.tighter > 0) std::printf(", tighter by up to %.2g", result.tighter);
            std::printf("\n");
            agrees &= std::max({result.nominal, result.lower, result.upper, result.logits}) < 1e-9 &&
                      result.certified_mismatches == 0 && result.enclosed;
        } catch (const Error& error) {
            std::fprintf(stderr, "replay_golden: %s\n", error.what());
            return static_cast<int>(error.code());
        }
    }
    return agrees ? 0 : 1;
}
