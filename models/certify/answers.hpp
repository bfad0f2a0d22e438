#pragma once

#include <cstdint>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/ops/engine.hpp"
#include "models/nets/network.hpp"

namespace holdfast {

/// What one network answers.
struct Answers {
    std::vector<std::int32_t> labels;  ///< [queries]; none of a regression, whose one logit is the answer
    std::vector<double> logits;        ///< [queries, outputs]
};

/// The labels that certify() gives as nominal, bit by bit, without asking any level: a class of two is
/// decided by its margin (models/certify/margins.hpp), so where two logits agree up to rounding it need not
/// be that of the greater. parameters: [network.parameters()].
Answers answers_of(const Network& network, const Backend& backend,
                   const std::vector<std::int64_t>& parameters, const Records& queries);

/// The rows whose values decide a label, [classes or 1, in + 1] in parameter units: of more than two classes
/// the logits, of which the greatest wins, of equals the least; of two the margin of class 0 over class 1.
std::vector<std::int64_t> deciding_rows(const Network& network, const std::vector<std::int64_t>& parameters);
/// Their values as the program computes them, [queries, classes]; class 1 of two has 0.
std::vector<double> deciding_values(const Network& network, const Backend& backend,
                                    const std::vector<std::int64_t>& parameters, const Records& queries);

}  // namespace holdfast
