#pragma once

#include "kernels/ops/selection.hpp"

namespace holdfast::cpu {

/// As keep_least, but of `size` = 2 count values about two fifths are dropped: to drop exactly half takes
/// many passes over them, this takes two. What is at the threshold or above it is dropped, unless keep_least
/// had to do it.
using DropSome = LeftValues (*)(std::int64_t* values, std::size_t size, std::size_t count);
DropSome drop_some();

}  // namespace holdfast::cpu
