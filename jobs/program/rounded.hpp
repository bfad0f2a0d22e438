#pragma once

#include <string>

namespace holdfast {

/// The least decimal of so many significant digits that is no less than the value: a cost on the screen.
std::string round_up_text(double value, int digits = 6);
/// The greatest that is no more than the value: a part of a budget that is left.
std::string round_down_text(double value, int digits = 6);

}  // namespace holdfast
