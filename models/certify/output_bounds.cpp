#include "models/certify/output_bounds.hpp"

#include <numeric>

#include "kernels/base/error.hpp"

namespace holdfast {

OutputBounder::OutputBounder(const Network& network, const Backend& backend, const Records& queries)
    : network_(network), queries_(queries.size()), engine_(backend.engine(network.shape(), {})) {
    engine_->set_records(std::vector{queries.view()});
}

OutputBounds OutputBounder::over(const std::vector<std::int64_t>& lower,
                                 const std::vector<std::int64_t>& upper) const {
    ensure(lower.size() == network_.parameters() && upper.size() == lower.size(),
           "a box of the network's parameters");
    const std::size_t outputs = network_.outputs(), last = network_.offset(network_.layers().size() - 1);
    const bool point = lower == upper;
    const std::vector<std::int64_t>& above = point ? lower : upper;
    OutputBounds bounds{std::vector<double>(queries_ * outputs), std::vector<double>(queries_ * outputs)};
    std::vector<std::uint32_t> all(queries_);
    std::iota(all.begin(), all.end(), 0);
    // Blocks come from several threads, each with queries of its own.
    engine_->outputs({lower.data(), above.data()}, {outputs, lower.data() + last, above.data() + last}, all,
                     [&](const OutputBlock& block) {
                         for (std::size_t r = 0; r < block.count; ++r) {
                             for (std::size_t c = 0; c < outputs; ++c) {
                                 const std::size_t to = (block.first + r) * outputs + c;
                                 bounds.lower[to] = block.lower[c * block.stride + r];
                                 bounds.upper[to] = block.upper[c * block.stride + r];
                             }
                         }
                     });
    return bounds;
}

}  // namespace holdfast
