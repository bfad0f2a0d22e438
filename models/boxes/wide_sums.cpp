#include "models/boxes/wide_sums.hpp"

#include <algorithm>

namespace holdfast {
namespace {

using Wide = std::vector<__int128>;

constexpr __int128 sum_limit = __int128{1} << 62;

void add_values(const std::vector<std::int64_t>& part, Wide& total) {
    for (std::size_t p = 0; p < total.size(); ++p) total[p] += part[p];
}

void narrow(const Wide& wide, std::vector<std::int64_t>& sums) {
    for (std::size_t p = 0; p < wide.size(); ++p)
        sums[p] = static_cast<std::int64_t>(std::clamp(wide[p], -sum_limit, sum_limit));
}

void merge(Selection& part, Selection& total) {
    for (std::size_t entry = 0; entry < total.entries(); ++entry) {
        for (const std::int64_t value : part.values(entry)) total.insert(entry, value);
    }
}

void add_rest(LevelSums& part, LevelSums& total) {
    total.surely_correct += part.surely_correct;
    total.possibly_correct += part.possibly_correct;
    for (std::size_t i = 0; i < total.least_upper.size(); ++i) {
        merge(part.least_upper[i], total.least_upper[i]);
        merge(part.least_negated_lower[i], total.least_negated_lower[i]);
    }
}

}  // namespace

WideSums::WideSums(std::size_t levels, std::size_t parameters)
    : lower_(levels, Wide(parameters)), upper_(levels, Wide(parameters)) {}

void WideSums::add(std::vector<LevelSums> part) {
    for (std::size_t level = 0; level < part.size(); ++level) {
        add_values(part[level].lower, lower_[level]);
        add_values(part[level].upper, upper_[level]);
        if (!rest_.empty()) add_rest(part[level], rest_[level]);
    }
    if (rest_.empty()) rest_ = std::move(part);
}

std::vector<LevelSums> WideSums::clamped() {
    for (std::size_t level = 0; level < rest_.size(); ++level) {
        narrow(lower_[level], rest_[level].lower);
        narrow(upper_[level], rest_[level].upper);
    }
    return std::move(rest_);
}

}  // namespace holdfast
