// How fast each kernel of the cpu backend is at the layer sizes of the published experiments: one panel, one
// core.
//   build/microbench --benchmark_filter=imdb
// "_signed": of features of both signs. Counters: madds/s, the multiply-adds a second that the result needs
// (an interval kernel those of both bounds, the backward one those of both ends of a weight too: 4 a
// parameter); of_dgemm, the same over what OpenBLAS dgemm does on this core in this run.

#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "kernels/backends.hpp"
#include "kernels/base/aligned.hpp"
#include "kernels/base/random.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast {
namespace {

using Values = AlignedVector<double>;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Multiply-adds a second of dgemm on one core, the best of a few.
double measured_dgemm_rate() {
    constexpr int n = 768, repeats = 5;
    const std::vector<double> a(n * n, 1.5), b(n * n, 0.5);
    std::vector<double> c(n * n);
    double best = 0;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double start = now();
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0,
                    c.data(), n);
        best = std::max(best, static_cast<double>(n) * n * n / (now() - start));
    }
    return best;
}

/// Values in [low, low + 1), and bounds a hundredth around them.
struct Box {
    Values lower, upper;
    Box(std::size_t size, double low, std::uint64_t stream) : lower(size), upper(size) {
        const KeyedHash hash{5};
        for (std::size_t i = 0; i < size; ++i) {
            lower[i] = low + hash.uniform(stream, i);
            upper[i] = lower[i] + 0.01;
        }
    }
    Interval view(bool point) { return {lower.data(), point ? lower.data() : upper.data()}; }
};

/// What a layer reads: bounds of activations, or the features of the data, a point, whose signs make a
/// difference.
enum class Reads { activations, nonnegative_features, signed_features };

/// A layer, its parameters and one panel of everything that goes in or comes out.
struct Workbench {
    LayerShape shape;
    bool point;
    Reads reads;
    std::unique_ptr<PanelOperations<double>> operations = make_operations("cpu");
    std::vector<std::int64_t> lower, upper;
    std::unique_ptr<PackedLayer> layer;
    Box in, out, in_gradient;
    std::size_t stride = row_stride(shape.in);
    Box rows;
    std::vector<std::int64_t> sum_lower, sum_upper;

    Workbench(LayerShape layer_shape, bool is_point, Reads what_it_reads)
        : shape(layer_shape),
          point(is_point),
          reads(what_it_reads),
          in(shape.in * panel_height, reads == Reads::signed_features ? -0.5 : 0.0, 1),
          out(shape.out * panel_height, -0.5, 2),
          in_gradient(shape.in * panel_height, 0.0, 3),
          rows(stride * panel_height, 0.0, 4),
          sum_lower(shape.parameters()),
          sum_upper(shape.parameters()) {
        const KeyedHash hash{6};
        for (std::size_t p = 0; p < shape.parameters(); ++p) {
            lower.push_back(parameter_units(hash.uniform(0, p) - 0.5));
            upper.push_back(lower.back() + parameter_units(0.01));
        }
        layer = operations->pack(shape, lower.data(), point ? lower.data() : upper.data());
        operations->transpose(shape.in, in.lower.data(), rows.lower.data(), stride);
        operations->transpose(shape.in, in.upper.data(), rows.upper.data(), stride);
    }

    void forward_input() { operations->forward_input(*layer, in.lower.data(), out.view(point)); }
    void forward() { operations->forward(*layer, in.view(point), out.view(point)); }
    void backward() {
        operations->backward(*layer, out.view(point), in.view(point), in_gradient.view(point));
    }
    void accumulate(const Clip& clip) {
        operations->accumulate({shape, clip, out.view(point), rows.view(point || reads != Reads::activations),
                                stride, panel_height},
                               {sum_lower.data(), point ? sum_lower.data() : sum_upper.data()});
    }
    void elementwise() { accumulate({.kind = Clip::Kind::elementwise, .gamma = 0.05}); }
    void factored() {
        accumulate(
            {.kind = Clip::Kind::factored, .gamma = 0.05, .delta_limit = 0.2, .activation_limit = 0.25});
    }
};

struct Kernel {
    const char* name;
    void (Workbench::*run)();
    double interval_factor;  // multiply-adds of an interval call over those of a point call
    bool on_input;           // of a first layer
    bool on_hidden;          // of the others
};

constexpr Kernel kernels[] = {
    {"forward_input", &Workbench::forward_input, 2, true, false},
    {"forward", &Workbench::forward, 2, false, true},
    {"backward", &Workbench::backward, 4, false, true},
    {"accumulate_elementwise", &Workbench::elementwise, 2, true, true},
    {"accumulate_factored", &Workbench::factored, 2, true, true},
};

struct NamedLayer {
    const char* workload;
    LayerShape shape;
    bool is_input;
};

constexpr NamedLayer layers[] = {
    {"blobs", {6, 128}, true}, {"blobs", {128, 2}, false}, {"imdb", {768, 100}, true},
    {"imdb", {100, 2}, false}, {"amex", {188, 128}, true}, {"amex", {128, 128}, false},
    {"amex", {128, 2}, false},
};

void register_benchmark(const NamedLayer& layer, const Kernel& kernel, Reads reads, bool point,
                        double dgemm_rate) {
    const LayerShape shape = layer.shape;
    const std::string name =
        std::string(layer.workload) + "/" + std::to_string(shape.in) + "x" + std::to_string(shape.out) + "/" +
        kernel.name + (reads == Reads::signed_features ? "_signed" : "") + (point ? "/point" : "/interval");
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
        Workbench bench(shape, point, reads);
        for (auto _ : state) {
            (bench.*kernel.run)();
            benchmark::ClobberMemory();
        }
        const double work = static_cast<double>(state.iterations()) *
                            static_cast<double>(shape.in * shape.out * panel_height) *
                            (point ? 1.0 : kernel.interval_factor);
        state.counters["madds/s"] = benchmark::Counter(work, benchmark::Counter::kIsRate);
        state.counters["of_dgemm"] = benchmark::Counter(work / dgemm_rate, benchmark::Counter::kIsRate);
    })->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    using namespace holdfast;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const double dgemm_rate = measured_dgemm_rate();
    benchmark::AddCustomContext("simd_target", simd_target());
    benchmark::AddCustomContext("openblas_core", openblas_get_corename());
    benchmark::AddCustomContext("dgemm_madds_per_second", std::to_string(dgemm_rate));
    for (const NamedLayer& layer : layers) {
        for (const Kernel& kernel : kernels) {
            if (!(layer.is_input ? kernel.on_input : kernel.on_hidden)) continue;
            const std::vector<Reads> inputs =
                layer.is_input ? std::vector{Reads::nonnegative_features, Reads::signed_features}
                               : std::vector{Reads::activations};
            for (const Reads reads : inputs) {
                for (const bool point : {true, false})
                    register_benchmark(layer, kernel, reads, point, dgemm_rate);
            }
        }
    }
    benchmark::RunSpecifiedBenchmarks();
}
