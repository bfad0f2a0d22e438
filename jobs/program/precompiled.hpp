#pragma once

// What takes the compiler longest of what jobs include, read once for all of them. No file includes this one:
// each names what it uses.

#include <fmt/format.h>
#include <gmpxx.h>
#include <spdlog/logger.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#if FMT_VERSION / 10000 == 9
// All of the formatting of a line of the log: it stands in the library, and need not be compiled with each
// file.
extern template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                                   fmt::format_args, fmt::detail::locale_ref);
#endif
