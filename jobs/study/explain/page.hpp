#pragma once

#include <string>

#include "jobs/study/explain/shapes.hpp"

namespace holdfast {

inline constexpr const char* limited_rows =
    "Where a row is longer than the model's norm limit all columns count less, by one factor.";

/// One self-contained page: what the model promises, then a picture a column. model: the name of its file;
/// guarantee: in words.
std::string shapes_page(const Shapes& shapes, const std::string& model, const std::string& guarantee);

}  // namespace holdfast
