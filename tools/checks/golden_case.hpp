#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// How a run of this program compares with one recorded case of the AGT package, trained in compatibility
/// mode (substitute, remove or poison, per_batch, sequential batches, actual counts).
struct GoldenComparison {
    std::string name;
    std::string unsupported;  ///< why the case cannot be replayed; empty if it was
    double nominal = 0, lower = 0,
           upper = 0;              ///< largest absolute differences over all steps, levels and parameters
    double logits = 0;             ///< largest absolute difference of logits or their bounds
    int certified_mismatches = 0;  ///< by the package's rule, where its margin is at least 1e-9
    /// How far boxes lie within theirs where ours are tighter, which is then no difference: of a clip by
    /// norm, whose bounds we clamp to gamma as well, as no entry exceeds its gradient's norm.
    double tighter = 0;
    bool enclosed = true;  ///< their nominal parameters and ours lie in our boxes
};

/// Error (input): not a golden file.
GoldenComparison replay_golden_case(const std::string& path);

}  // namespace holdfast
