#pragma once

#include <cstdint>
#include <string>

namespace holdfast {

/// The day of a time in milliseconds since 1970, by UTC: "2026-11-22".
std::string date_of(std::int64_t milliseconds);

}  // namespace holdfast
