#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// The name of `known` that differs from `name` by the fewest letters put in, left out or changed; "" if
/// `known` is empty or nothing is near.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

/// The first few names, and how many more there are.
std::string listed(const std::vector<std::string>& names);

/// What to tell who asked for `name`: the nearest known name, or all of them.
std::string name_hint(const std::string& name, const std::vector<std::string>& known);

}  // namespace holdfast
