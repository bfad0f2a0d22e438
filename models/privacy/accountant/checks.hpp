#pragma once

#include <string>

#include "kernels/base/error.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

// What the accountants refuse alike.

inline void check_delta(const Rational& delta) {
    if (delta <= 0 || delta >= 1)
        throw Error(ExitCode::usage, "not in (0, 1)", "give a value such as 1e-6", "delta");
}

inline void check_not_negative(const Rational& value, const std::string& name) {
    if (value < 0) throw Error(ExitCode::usage, "below 0", "give a value such as 0.1", name);
}

}  // namespace holdfast
