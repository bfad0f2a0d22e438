#pragma once

#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

inline constexpr int refused = -1;  ///< drawn instead of a label, by a mechanism that may refuse

/// What a mechanism draws from, over checked evidence. Outcomes are classes; a mechanism that may refuse adds
/// that as the last.
class OutcomeLaw {
  public:
    virtual ~OutcomeLaw() = default;
    virtual std::vector<double> law(const Evidence& evidence) const = 0;
    virtual std::vector<Rational> exact_law(const Evidence& evidence) const = 0;
    virtual int draw(const Evidence& evidence, RandomBits& bits) const = 0;
};

}  // namespace holdfast
