#include "models/fleet/fleet_outputs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

/// A few megabytes of networks: what is read at once.
constexpr std::size_t slab_bytes = std::size_t{16} << 20;

/// The outputs of any network, from an engine each.
class EngineOutputs final : public ModelsOutputs {
  public:
    EngineOutputs(Precision precision, const NetworkShape& shape)
        : backend_(make_backend("cpu", precision)), shape_(shape) {}

    void reserve(std::size_t models) override { parameters_.reserve(models * shape_.parameters()); }
    void add(std::span<const std::int64_t> parameters) override {
        parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
    }
    void clear() override { parameters_.clear(); }
    std::size_t models() const override { return parameters_.size() / shape_.parameters(); }
    void outputs(const RecordSet& records,
                 const std::function<void(const ModelsBlock&)>& visit) const override {
        const std::unique_ptr<Engine> engine = backend_->engine(shape_, {});
        engine->set_records(std::vector{records});
        std::vector<std::uint32_t> all(records.count);
        std::iota(all.begin(), all.end(), 0);
        const std::size_t rows = shape_.outputs();
        for (std::size_t model = 0; model < models(); ++model) {
            const std::int64_t* parameters = parameters_.data() + model * shape_.parameters();
            const std::int64_t* last = parameters + shape_.offset(shape_.last());
            engine->outputs({parameters, parameters}, {rows, last, last}, all, [&](const OutputBlock& block) {
                std::vector<double> values(block.count * rows);
                for (std::size_t r = 0; r < block.count; ++r)
                    for (std::size_t o = 0; o < rows; ++o)
                        values[r * rows + o] = block.lower[o * block.stride + r];
                visit({model, 1, block.first, block.count, rows, 1, values.data()});
            });
        }
    }

  private:
    std::shared_ptr<const Backend> backend_;
    NetworkShape shape_;
    std::vector<std::int64_t> parameters_;
};

/// Packed, of one network.
std::size_t bytes_of(Precision precision, const NetworkShape& shape) {
    const bool narrow = precision == Precision::single_precision && shape.is_dense();
    return shape.parameters() * (narrow ? sizeof(float) : sizeof(double));
}

}  // namespace

NetworkShape Decision::shape() const {
    NetworkShape shape = network_->shape();
    shape.layers.back().out = rows();
    return shape;
}

std::unique_ptr<ModelsOutputs> Decision::outputs(Precision precision) const {
    if (shape().is_dense()) return make_models_outputs(precision, shape());
    return std::make_unique<EngineOutputs>(precision, shape());
}

void Decision::append(std::span<const std::int64_t> parameters, std::vector<std::int64_t>& to) const {
    ensure(parameters.size() == network_->parameters(), "a network has its parameters");
    const std::size_t last = network_->layers().size() - 1, hidden = network_->offset(last);
    if (network_->classes() != 2) return void(to.insert(to.end(), parameters.begin(), parameters.end()));
    const MarginRows margin(*network_, Precision::double_precision, parameters.data(), parameters.data());
    to.insert(to.end(), parameters.begin(), parameters.begin() + static_cast<std::ptrdiff_t>(hidden));
    to.insert(to.end(), margin.layer().lower, margin.layer().lower + network_->layers()[last].in + 1);
}

FleetOutputs::FleetOutputs(const FleetReader& fleet, const Communicator& world, std::size_t memory)
    : FleetOutputs(fleet, world, fleet.settings().training.precision, memory) {}

FleetOutputs::FleetOutputs(const FleetReader& fleet, const Communicator& world, Precision precision,
                           std::size_t memory)
    : fleet_(fleet),
      precision_(precision),
      decision_(fleet.network()),
      first_(fleet.count() * world.rank() / world.size()),
      count_(fleet.count() * (world.rank() + 1) / world.size() - first_) {
    const NetworkShape shape = decision_.shape();
    nominal_ = decision_.outputs(precision);
    models_ = decision_.outputs(precision);
    std::vector<std::int64_t> own;
    decision_.append(fleet.nominal(), own);
    nominal_->add(own);
    in_memory_ = static_cast<std::size_t>(count_) * bytes_of(precision, shape) <= memory;
    if (!in_memory_) return;
    models_->reserve(static_cast<std::size_t>(count_));
    const auto some = static_cast<std::int64_t>(slab_bytes / (sizeof(double) * shape.parameters()) + 1);
    read_all(some, [&](std::span<const std::int64_t> parameters) { add(parameters); });
}

void FleetOutputs::read_all(std::int64_t some,
                            const std::function<void(std::span<const std::int64_t>)>& use) const {
    std::vector<std::int64_t> parameters;
    for (std::int64_t at = first_; at < first_ + count_; at += some) {
        const std::int64_t now = std::min(some, first_ + count_ - at);
        parameters.resize(static_cast<std::size_t>(now) * fleet_.network().parameters());
        fleet_.read(at, now, parameters);
        use(parameters);
    }
}

void FleetOutputs::add(std::span<const std::int64_t> parameters) const {
    const std::size_t each = fleet_.network().parameters();
    std::vector<std::int64_t> rows;
    for (std::size_t first = 0; first < parameters.size(); first += each)
        decision_.append(parameters.subspan(first, each), rows);
    models_->add(rows);
}

std::vector<double> FleetOutputs::nominal(const Records& queries) const {
    std::vector<double> values(queries.size() * decision_.rows());
    nominal_->outputs(queries.view(), [&](const ModelsBlock& block) {
        for (std::size_t r = 0; r < block.records; ++r)
            for (std::size_t o = 0; o < block.rows; ++o)
                values[(block.first_record + r) * block.rows + o] = block.at(r, o, 0);
    });
    return values;
}

void FleetOutputs::visit(const Records& queries, const std::function<void(const ModelsBlock&)>& use) const {
    const auto from = [&](std::int64_t first) {
        models_->outputs(queries.view(), [&](const ModelsBlock& block) {
            ModelsBlock numbered = block;
            numbered.first += static_cast<std::size_t>(first);
            use(numbered);
        });
    };
    if (in_memory_) return from(first_);
    const std::size_t each = bytes_of(precision_, decision_.shape());
    std::int64_t at = first_;
    read_all(static_cast<std::int64_t>(4 * slab_bytes / each + 1),
             [&](std::span<const std::int64_t> parameters) {
                 add(parameters);
                 from(at);
                 at += static_cast<std::int64_t>(models_->models());
                 models_->clear();
             });
}

}  // namespace holdfast
