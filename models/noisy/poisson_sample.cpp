#include "models/noisy/poisson_sample.hpp"

#include <array>
#include <numeric>

#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"
#include "models/privacy/noise/secret_stream.hpp"

namespace holdfast {

PoissonSample::PoissonSample(const SecretKey& key, std::uint64_t threshold,
                             std::span<const std::uint64_t> ids)
    : key_(key), threshold_(threshold), ids_(ids), taken_(ids.size()) {
    ensure(threshold <= everybody, "a probability is at most 1");
    ensure(ids.size() <= std::uint64_t{1} << 32, "an index of a record has 32 bits");
    if (threshold == everybody)
        std::iota(taken_.begin(), taken_.end(), 0U);
    else
        masks_.resize(ids.size());
}

std::span<const std::uint32_t> PoissonSample::of_step(std::int64_t step) {
    ensure(0 <= step && step < std::int64_t{1} << 36, "a step has 36 bits");
    if (threshold_ == everybody) return taken_;
    const auto window = static_cast<std::uint32_t>(step / window_steps);
    if (window_ != window) open_window(window);

    const auto bit = static_cast<unsigned>(step % window_steps);
    std::size_t count = 0;
    for (std::size_t i = 0; i < masks_.size(); ++i) {  // without a branch: whether one is taken is a coin
        taken_[count] = static_cast<std::uint32_t>(i);
        count += masks_[i] >> bit & 1U;
    }
    return std::span(taken_).first(count);
}

void PoissonSample::open_window(std::uint32_t window) {
    constexpr double multiply_adds_of_a_block = 512;  // that take about as long
    ThreadFailure failure;
    window_.reset();
#pragma omp parallel num_threads(threads_for(multiply_adds_of_a_block* static_cast <double>(ids_.size())))
    failure.guard([&] {
#pragma omp for schedule(static) nowait
        for (std::size_t i = 0; i < ids_.size(); ++i) masks_[i] = steps_of(ids_[i], window);
    });
    failure.rethrow();
    window_ = window;
}

std::uint16_t PoissonSample::steps_of(std::uint64_t id, std::uint32_t window) const {
    std::array<std::uint32_t, window_steps> words;
    SecretStream(key_, id, window).fill(std::as_writable_bytes(std::span(words)));
    unsigned mask = 0;
    for (std::size_t step = 0; step < words.size(); ++step)
        mask |= static_cast<unsigned>(words[step] < threshold_) << step;
    return static_cast<std::uint16_t>(mask);
}

}  // namespace holdfast
