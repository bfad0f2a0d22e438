#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "models/robust/smoothing.hpp"

namespace holdfast {

/// What holdfast certify is asked of a published model.
struct ModelQuestion {
    std::string model, queries, norm;
    std::vector<double> radii;
    std::vector<std::string> attacks;  ///< none: certificates alone
    std::uint64_t steps = 0, restarts = 0;
    Smoothing smoothing;      ///< of noise 0: the model as it is
    std::string service_key;  ///< a file, made where it is not there: the key of the noise
    std::string page;         ///< an HTML page: shares by radius; empty: none
    std::string out;          ///< a CSV table of the queries' radii; empty: none
};

/// At how many queries the label stands wherever they may move within each radius, and at how many no attack
/// changes it; or at how many the smoothed answer stands. Nothing of a training is looked at but the model.
/// Collective. Errors (usage): no radius, or one that is not above 0; as certify_boxes()',
/// certify_l2_radii()', certify_smoothed()' and Surrogate's; (input): as read_model()'s and
/// read_queries()'; (internal): an attack succeeded within a certified radius, so that the certificate is
/// wrong.
void certify_model(const Context& context, ModelQuestion question);

}  // namespace holdfast
