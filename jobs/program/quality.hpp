#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

/// How good answers are, beside guessing.
struct Quality {
    std::vector<std::vector<std::uint64_t>> confusion;  ///< [true class][answered class]
    std::uint64_t queries = 0;
    double accuracy = 0, lowest = 0, highest = 0;  ///< its interval of 95% (Wilson), over such queries
    double commonest = 0;                          ///< of who always says the commonest class
    double balanced = 0;  ///< mean over the classes that occur of the part that is right

    /// Is it sure, at that interval, to be better than the commonest class?
    bool beats_guessing() const { return lowest > commonest; }
};

/// labels, truth: [queries], at least one; both below `classes`.
Quality quality_of(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth,
                   std::size_t classes);

/// {accuracy, interval, commonest_class, balanced_accuracy, beats_guessing, confusion}
nlohmann::json to_json(const Quality& quality);
/// Some lines: the figures, a table of up to ten classes, and a sentence where the model is no better than
/// guessing. names: of the classes, or none.
std::string text_of(const Quality& quality, const std::vector<std::string>& names = {});

}  // namespace holdfast
