// Draws of Gaussian noise a second, in bulk, beside std::normal_distribution of mt19937_64 (which any one may
// foretell, and whose law is not exact); and the sampling of records.
//   build/microbench_noise --benchmark_filter=noise
// Named NAME/SIGMA/THREADS or NAME/THREADS. Counter draws/s: of all threads together.

#include <benchmark/benchmark.h>
#include <omp.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "models/noisy/poisson_sample.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

using Values = std::vector<std::int64_t>;

void fill_exactly(double sigma, Values& values) {
    GaussianNoise(sigma).fill(values, SecretKey::fresh(), 0);
}

void fill_by_library(double sigma, Values& values) {
#pragma omp parallel
    {
        std::mt19937_64 generator(static_cast<std::uint64_t>(omp_get_thread_num()));
        std::normal_distribution<double> normal(0, sigma);
#pragma omp for
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::llrint(normal(generator));
    }
}

void report(benchmark::State& state, std::size_t draws_of_an_iteration) {
    const double draws = static_cast<double>(state.iterations()) * static_cast<double>(draws_of_an_iteration);
    state.counters["draws/s"] = benchmark::Counter(draws, benchmark::Counter::kIsRate);
}

void register_noise(const char* name, void (*fill)(double, Values&), std::size_t draws, int log2_sigma,
                    int threads) {
    const std::string text =
        std::string(name) + "/2^" + std::to_string(log2_sigma) + "/" + std::to_string(threads);
    benchmark::RegisterBenchmark(text.c_str(),
                                 [=](benchmark::State& state) {
                                     omp_set_num_threads(threads);
                                     Values values(draws, 1);  // its pages are there before the first draw
                                     for (auto _ : state) {
                                         fill(std::ldexp(1.1, log2_sigma), values);
                                         benchmark::ClobberMemory();
                                     }
                                     report(state, draws);
                                 })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

void register_sample(int threads) {
    const std::string text = "sample_records/" + std::to_string(threads);
    benchmark::RegisterBenchmark(text.c_str(),
                                 [=](benchmark::State& state) {
                                     omp_set_num_threads(threads);
                                     constexpr std::int64_t steps = 16;  // that share their random bits
                                     std::vector<std::uint64_t> ids(1 << 20);
                                     std::iota(ids.begin(), ids.end(), std::uint64_t{0});
                                     const SecretKey key = SecretKey::fresh();
                                     PoissonSample sample(key, PoissonSample::everybody / 64, ids);
                                     std::int64_t step = 0;
                                     for (auto _ : state) {
                                         for (std::int64_t end = step + steps; step < end; ++step)
                                             benchmark::DoNotOptimize(sample.of_step(step).size());
                                     }
                                     report(state, ids.size() * static_cast<std::size_t>(steps));
                                 })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    using namespace holdfast;
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    const int most = omp_get_max_threads();
    for (const int threads : most > 1 ? std::vector{1, most} : std::vector{1}) {
        for (const int log2_sigma : {4, 20, 40, 50})
            register_noise("noise", fill_exactly, 1 << 22, log2_sigma, threads);
        register_noise("std_normal", fill_by_library, 1 << 22, 20, threads);
        register_sample(threads);
    }
    benchmark::RunSpecifiedBenchmarks();
}
