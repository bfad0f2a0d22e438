// What 000 recommends for a sparse list of levels. The list's index is 1-Lipschitz, the level at it is not
// (models/mathematics.md, smoothness): built for comparison, never drawn.

#include "models/privacy/mechanisms/cauchy.hpp"
#include "models/privacy/mechanisms/mechanism_info.hpp"

namespace holdfast::mechanisms {
namespace {

std::unique_ptr<const OutcomeLaw> paper_sparse_law(const LawParameters& p) {
    return make_flip_law(cauchy_table(p.epsilon, p.cap), p.classes, DistanceUsed::sparse);
}

}  // namespace

extern constinit const MechanismInfo paper_sparse{
    .name = "paper_sparse",
    .law = "cauchy with h = the largest certified k of a sparse list",
    .binary_only = true,
    .needs_sparse_levels = true,
    .not_private =
        "the largest certified k of a sparse list is not 1-Lipschitz: neighbours certified at 50 and at 10 "
        "lose 5.99 at a claimed epsilon of 1",
    .make_law = paper_sparse_law,
};

}  // namespace holdfast::mechanisms
