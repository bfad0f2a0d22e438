#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/certify/norm.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/guarantee.hpp"

namespace holdfast {

/// How far each query may move until a published model could answer otherwise: post-processing, which no
/// ledger pays for, whatever is asked.
struct InputCertificates {
    std::vector<std::int32_t> labels;  ///< [queries], as answers_of() has them
    std::vector<double> radii;         ///< [queries]: the label stands at every input within it; 0: unknown
};

/// In l-infinity the largest of the `radii`, ascending, whose box of inputs the model answers alike, bit by
/// bit (models/mathematics.md, input box). queries: as predict takes them, not mapped. backend: of the host.
/// Error (usage): a regression; features that are mapped.
InputCertificates certify_boxes(const Model& model, const Backend& backend, std::span<const double> radii,
                                const Records& queries);

/// In l2, the largest radius that the lengths of the last layer's rows and the norms of the layers before
/// prove, with all that rounding can do on the way (models/mathematics.md, deep radius). Error
/// (usage): a regression; pooling; features that are mapped, but for a scattering and a limit of their norm;
/// fixed precision.
InputCertificates certify_l2_radii(const Model& model, const Backend& backend, const Records& queries);

/// What either promises: of answers at the query, not of records.
Guarantee input_claim(Norm norm);
/// What every radius leaves to whoever asks.
void require_as_moved(Guarantee& claim);

}  // namespace holdfast
