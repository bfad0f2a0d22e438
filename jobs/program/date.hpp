#pragma once

#include <cstdint>
#include <string>

namespace holdfast {

/// The day of a time in milliseconds since 1970, by UTC: "2026-11-22".
std::string date_of(std::int64_t milliseconds);
/// The same to the second: "2026-11-22T17:54:38Z".
std::string time_of(std::int64_t milliseconds);

}  // namespace holdfast
