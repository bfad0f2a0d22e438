#include "kernels/base/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace holdfast {
namespace {

bool same_letter(char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Levenshtein's distance, letters compared without case.
std::size_t edits(const std::string& from, const std::string& to) {
    std::vector<std::size_t> row(to.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < to.size(); ++j) {
            const std::size_t replaced = diagonal + (same_letter(from[i], to[j]) ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

}  // namespace

std::string nearest_name(const std::string& name, const std::vector<std::string>& known) {
    std::string nearest;
    std::size_t least = std::max<std::size_t>(2, name.size() / 2) + 1;
    for (const std::string& candidate : known) {
        if (const std::size_t distance = edits(name, candidate); distance < least) {
            least = distance;
            nearest = candidate;
        }
    }
    return nearest;
}

std::string name_hint(const std::string& name, const std::vector<std::string>& known) {
    if (const std::string nearest = nearest_name(name, known); !nearest.empty())
        return "did you mean '" + nearest + "'?";
    return "there are: " + listed(known);
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 12;
    std::string all;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) all += (i ? ", " : "") + names[i];
    return names.size() <= most ? all : all + " and " + std::to_string(names.size() - most) + " more";
}

}  // namespace holdfast
