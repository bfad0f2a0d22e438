#include "kernels/ops/models_pass.hpp"

#include "kernels/cpu/cpu.hpp"
#include "kernels/cpu/models_kernels.hpp"

namespace holdfast {
namespace {

template <typename Real>
class CpuModelsPass final : public ModelsPass {
  public:
    CpuModelsPass(const NetworkShape& network, const Clip& clip)
        : network_(network), clip_(clip), kernels_(cpu::models_kernels<Real>()) {
        const std::size_t panel = cpu::models_panel, models = kernels_.models;
        buffers_.weights.resize(network.parameters() * models);
        buffers_.gathered.resize(network.parameters() * models);
        buffers_.features.assign(panel * (network.inputs() + 1), Real{1});
        buffers_.feature_factors.assign(panel * (network.inputs() + 1), Real{1});
        std::size_t widest = 0;
        for (const Layer& layer : network.layers) {
            buffers_.activations.emplace_back(panel * (layer.out + 1) * models, Real{1});
            widest = std::max(widest, layer.out);
        }
        for (AlignedVector<Real>* rows : {&buffers_.delta, &buffers_.before, &buffers_.delta_factors})
            rows->resize(panel * widest * models);
        buffers_.activation_factors.resize(panel * (widest + 1) * models);
    }

    std::size_t models() const override { return kernels_.models; }
    void add(const std::int64_t* parameters, const RecordSet& records, std::span<const std::uint32_t> indices,
             std::span<const std::size_t> without, std::int64_t* sums) override {
        ensure(without.size() == models(), "what every network does without");
        ensure(records.weights == nullptr || clip_.kind == Clip::Kind::none,
               "rows of persons are clipped by an engine");
        kernels_.add({network_, clip_, parameters, records, indices, without, sums}, buffers_);
    }

  private:
    NetworkShape network_;
    Clip clip_;
    const cpu::ModelsKernels<Real>& kernels_;
    cpu::ModelsBuffers<Real> buffers_;
};

}  // namespace

template <typename Real>
std::unique_ptr<ModelsPass> make_cpu_models_pass(const NetworkShape& network, const Clip& clip) {
    return std::make_unique<CpuModelsPass<Real>>(network, clip);
}
template std::unique_ptr<ModelsPass> make_cpu_models_pass<double>(const NetworkShape&, const Clip&);
template std::unique_ptr<ModelsPass> make_cpu_models_pass<float>(const NetworkShape&, const Clip&);

}  // namespace holdfast
