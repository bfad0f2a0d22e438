// How long a training step of a convolutional network takes on the cpu backend: at a point, as a plain run
// takes it, and in a box, as one level of a certified run does; with what is left when a part is left out.
//   OMP_NUM_THREADS=2 build/microbench_convolution
// The network is that of the published experiments on images of 28 x 28: convolutions 1-16 (4x4, stride 2)
// and 16-32 (4x4), dense 100, dense 1. tools/python/plain_step.py times the same step in PyTorch.

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"

namespace holdfast {
namespace {

constexpr std::size_t batch = 1000;

NetworkShape network() {
    const Convolution first{{1, 28, 28}, {4, 4, 2}}, second{{16, 13, 13}, {4, 4}};
    return {
        {{{16, 16}, first}, {{256, 32}, second}, {{3200, 100}}, {{100, 1}}}, Loss::binary_cross_entropy, {}};
}

/// How wide the box of a level is, about the parameters; 0: a point.
void register_step(const std::string& name, Precision precision, const Clip& clip, double radius) {
    benchmark::RegisterBenchmark(
        name.c_str(),
        [=](benchmark::State& state) {
            const NetworkShape shape = network();
            const KeyedHash hash{3};
            std::vector<float> features(batch * shape.inputs());
            for (std::size_t i = 0; i < features.size(); ++i)
                features[i] = static_cast<float>(hash.uniform(1, i) - 0.5);
            std::vector<std::int32_t> labels(batch);
            std::vector<std::uint32_t> indices(batch);
            for (std::uint32_t i = 0; i < batch; ++i) {
                labels[i] = static_cast<std::int32_t>(i % 2);
                indices[i] = i;
            }
            std::vector<std::int64_t> lower, upper;
            for (const Layer& layer : shape.layers) {
                const double width = 2 / std::sqrt(static_cast<double>(layer.in));
                for (std::size_t p = 0; p < layer.parameters(); ++p) {
                    const double middle = width * (hash.uniform(2, lower.size()) - 0.5);
                    lower.push_back(parameter_units(middle - radius));
                    upper.push_back(parameter_units(middle + radius));
                }
            }
            const auto backend = make_backend("cpu", precision);
            const auto engine = backend->engine(shape, clip);
            engine->set_records(std::vector{RecordSet{features.data(), nullptr, labels.data(), batch}});
            const std::vector<Variant> variants{{lower.data(), radius == 0 ? lower.data() : upper.data()}};
            for (auto _ : state) {
                engine->run(variants, std::vector<std::span<const std::uint32_t>>{indices});
                benchmark::DoNotOptimize(engine->finish().data());
            }
            state.counters["madds/s"] =
                benchmark::Counter(3.0 * batch * static_cast<double>(shape.products() * state.iterations()),
                                   benchmark::Counter::kIsRate);
        })
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    using namespace holdfast;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const Clip elementwise{.kind = Clip::Kind::elementwise, .gamma = 0.06},
        factored{.kind = Clip::Kind::factored, .gamma = 0.06, .delta_limit = 0.2, .activation_limit = 0.3};
    for (const auto& [precision, of] :
         {std::pair{Precision::double_precision, "double"}, {Precision::single_precision, "single"}}) {
        for (const auto& [clip, by] : {std::pair{elementwise, "elementwise"}, {factored, "factored"}}) {
            const std::string name = std::string(of) + "/" + by;
            register_step(name + "/plain", precision, clip, 0);
            register_step(name + "/level", precision, clip, 1e-3);
        }
    }
    benchmark::RunSpecifiedBenchmarks();
}
