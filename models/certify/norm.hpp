#pragma once

#include <string>

namespace holdfast {

/// How far apart two queries are, in the units of the features as the program holds them, each counted as the
/// nearest end of the public range where it is beyond.
enum class Norm { linf, l2, l1 };
/// "linf", "l2" or "l1"; Error (usage): none of them.
Norm norm_named(const std::string& name);
/// "the length of the difference", or what else it is.
const char* distance_in(Norm norm);

}  // namespace holdfast
