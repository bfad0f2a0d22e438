#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "kernels/ops/engine.hpp"

namespace holdfast {

/// The outputs that networks [first, first + count) of those added give to records [first_record,
/// first_record + records): of record r, row o and network i at values[(r * rows + o) * stride + i], r and i
/// counted from the firsts.
struct ModelsBlock {
    std::size_t first, count, first_record, records, rows, stride;
    const double* values;
    double at(std::size_t record, std::size_t row, std::size_t network) const {
        return values[(record * rows + row) * stride + network];
    }
};

/// Networks of one shape that answer the same records side by side. What each gives is, bit by bit, what an
/// Engine gives at its point (Engine::outputs): the same chains of fma in the same order. Held packed, so
/// that a network costs its parameters in the precision and no more.
class ModelsOutputs {
  public:
    virtual ~ModelsOutputs() = default;

    virtual void reserve(std::size_t models) = 0;  ///< memory for so many
    /// Packs some more. parameters: [count, parameters] of the shape, in parameter units.
    virtual void add(std::span<const std::int64_t> parameters) = 0;
    virtual void clear() = 0;  ///< those added
    virtual std::size_t models() const = 0;

    /// All added networks on all the records, block by block, from several threads at once and in any order.
    virtual void outputs(const RecordSet& records,
                         const std::function<void(const ModelsBlock&)>& visit) const = 0;
};

/// Of dense layers, on the host's processors. Error (internal): others.
std::unique_ptr<ModelsOutputs> make_models_outputs(Precision precision, const NetworkShape& network);

}  // namespace holdfast
