#include "kernels/ops/models_outputs.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/base/aligned.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/threads.hpp"
#include "kernels/cpu/models_outputs_kernels.hpp"

namespace holdfast {
namespace {

/// As the networks see them, [count, inputs] (Panel::load).
template <typename Real>
std::vector<Real> seen(const RecordSet& records, std::size_t inputs, const InputTransform& transform) {
    std::vector<Real> values(records.count * inputs);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = transform.apply<Real>(records.feature(i));
    return values;
}

template <typename Real>
class CpuModelsOutputs final : public ModelsOutputs {
  public:
    explicit CpuModelsOutputs(const NetworkShape& network)
        : network_(network), kernels_(cpu::models_outputs_kernels<Real>()) {}

    void reserve(std::size_t models) override {
        weights_.reserve((models + kernels_.group - 1) / kernels_.group * kernels_.group *
                         network_.parameters());
    }
    void add(std::span<const std::int64_t> parameters) override {
        const std::size_t each = network_.parameters(), added = parameters.size() / each;
        ensure(parameters.size() == added * each, "whole networks");
        const std::size_t before = models_;
        models_ += added;
        weights_.resize(groups() * each * kernels_.group);
#pragma omp parallel for schedule(static) num_threads(threads_for(static_cast <double>(parameters.size())))
        for (std::size_t i = 0; i < added; ++i) {
            const std::size_t place = before + i;
            Real* to = weights_.data() + place / kernels_.group * each * kernels_.group;
            for (std::size_t p = 0; p < each; ++p)
                to[p * kernels_.group + place % kernels_.group] =
                    parameter_value<Real>(parameters[i * each + p]);
        }
    }
    void clear() override {
        models_ = 0;
        weights_.clear();
    }
    std::size_t models() const override {
        return models_;
    }

    void outputs(const RecordSet& records,
                 const std::function<void(const ModelsBlock&)>& visit) const override {
        constexpr std::size_t most = cpu::models_outputs_records;
        const std::vector<Real> features = seen<Real>(records, network_.inputs(), network_.input);
        const double products = static_cast<double>(models_) * static_cast<double>(records.count) *
                                static_cast<double>(network_.products());
        ThreadFailure failure;
#pragma omp parallel num_threads(threads_for(products))
        {
            Scratch scratch;
            failure.guard([&] {
                require_sound_arithmetic();
                scratch = Scratch(network_, kernels_.group);
            });
#pragma omp for schedule(dynamic)
            for (std::size_t group = 0; group < groups(); ++group) {
                failure.guard([&] {
                    for (std::size_t first = 0; first < records.count; first += most)
                        answer(group, first, std::min(most, records.count - first), features.data(), scratch,
                               visit);
                });
            }
        }
        failure.rethrow();
    }

  private:
    /// Of one thread.
    struct Scratch {
        std::array<AlignedVector<Real>, 2> hidden;
        AlignedVector<double> outputs;
        Scratch() = default;
        Scratch(const NetworkShape& network, std::size_t group)
            : outputs(cpu::models_outputs_records * network.outputs() * group) {
            for (AlignedVector<Real>& rows : hidden)
                rows.resize(cpu::models_outputs_records * network.widest() * group);
        }
    };

    std::size_t groups() const {
        return (models_ + kernels_.group - 1) / kernels_.group;
    }

    void answer(std::size_t group, std::size_t first, std::size_t count, const Real* features,
                Scratch& scratch, const std::function<void(const ModelsBlock&)>& visit) const {
        const std::size_t lanes = kernels_.group;
        kernels_.forward({network_,
                          weights_.data() + group * network_.parameters() * lanes,
                          features + first * network_.inputs(),
                          count,
                          {scratch.hidden[0].data(), scratch.hidden[1].data()},
                          scratch.outputs.data()});
        visit({group * lanes, std::min(lanes, models_ - group * lanes), first, count, network_.outputs(),
               lanes, scratch.outputs.data()});
    }

    NetworkShape network_;
    const cpu::ModelsOutputsKernels<Real>& kernels_;
    AlignedVector<Real> weights_;  // [groups, parameters, group]; of places without a network 0
    std::size_t models_ = 0;
};

}  // namespace

std::unique_ptr<ModelsOutputs> make_models_outputs(Precision precision, const NetworkShape& network) {
    ensure(network.is_dense(), "networks of dense layers answer side by side");
    if (precision == Precision::single_precision) return std::make_unique<CpuModelsOutputs<float>>(network);
    return std::make_unique<CpuModelsOutputs<double>>(network);
}

}  // namespace holdfast
