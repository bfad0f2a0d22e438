#include "models/training/wide_sums.hpp"

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

void merge(Selection& part, Selection& total) {
    for (std::size_t entry = 0; entry < total.entries(); ++entry) {
        for (const std::int64_t value : part.values(entry)) total.insert(entry, value);
    }
}

}  // namespace

void WideSums::add(std::span<const std::int64_t> message,
                   std::vector<std::optional<LeastEntries>> selections) {
    for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += message[i];
    if (selections_.empty()) {
        selections_ = std::move(selections);
        return;
    }
    for (std::size_t level = 0; level < selections.size(); ++level) {
        if (!selections[level]) continue;
        merge(selections[level]->upper, selections_[level]->upper);
        merge(selections[level]->negated_lower, selections_[level]->negated_lower);
    }
}

StepSums WideSums::clamped() {
    std::vector<std::int64_t> message;
    message.reserve(total_.size());
    for (const __int128 sum : total_) message.push_back(clamped_sum(sum));
    return {layout_, std::move(message), std::move(selections_)};
}

}  // namespace holdfast
