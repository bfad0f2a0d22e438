#include "models/training/settings.hpp"

#include <algorithm>
#include <numeric>

namespace holdfast {

std::vector<std::int64_t> Settings::level_values() const {
    std::vector<std::int64_t> values{0};
    if (contiguous_levels()) {
        values.resize(static_cast<std::size_t>(levels) + 1);
        std::iota(values.begin(), values.end(), 0);
        return values;
    }
    values.insert(values.end(), level_list.begin(), level_list.end());
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

double Settings::learning_rate_at(std::int64_t step) const {
    return std::max(learning_rate / (1.0 + learning_rate_decay * static_cast<double>(step)),
                    learning_rate_floor);
}

Loss Settings::resolved_loss() const {
    if (loss == "auto") return classes == 2 ? Loss::binary_cross_entropy : Loss::cross_entropy;
    return loss == "binary_cross_entropy" ? Loss::binary_cross_entropy : Loss::cross_entropy;
}

Network Settings::network(std::size_t inputs, FeatureRange range) const {
    return Network(inputs, {hidden.begin(), hidden.end()}, static_cast<std::size_t>(classes), resolved_loss(),
                   {input_shift, input_scale, range});
}

}  // namespace holdfast
