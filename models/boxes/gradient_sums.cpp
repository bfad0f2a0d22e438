#include "models/boxes/gradient_sums.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "kernels/base/floating_point.hpp"
#include "kernels/base/threads.hpp"
#include "kernels/ops/correct_rule.hpp"
#include "models/nets/interval_pass.hpp"

namespace holdfast {
namespace {

// Sums one thread may hold; beyond it the levels go in groups, each another pass over the records.
constexpr std::size_t bytes_per_thread = std::size_t{256} << 20;

/// Up to panel_height records of one batch.
struct Work {
    const Batch* batch;
    std::span<const std::uint32_t> indices;
};

std::vector<Work> cut_into_panels(std::span<const Batch> batches) {
    std::vector<Work> work;
    for (const Batch& batch : batches) {
        for (std::size_t first = 0; first < batch.indices.size(); first += panel_height) {
            const std::size_t count = std::min(panel_height, batch.indices.size() - first);
            work.push_back({&batch, std::span(batch.indices).subspan(first, count)});
        }
    }
    return work;
}

template <typename Real>
void count_correct(const Network& network, BasicConstInterval<Real> logits, const BasicPanel<Real>& panel,
                   LevelSums& sums) {
    for (std::size_t r = 0; r < panel.count(); ++r) {
        const auto label = static_cast<std::size_t>(panel.labels()[r]);
        const Correct correct =
            correct_of(network.outputs(), label, logits.lower + r, logits.upper + r, panel_height);
        sums.surely_correct += correct.surely;
        sums.possibly_correct += correct.possibly;
    }
}

LevelSums empty_sums(std::size_t parameters, std::int64_t selected) {
    LevelSums sums;
    sums.lower.assign(parameters, 0);
    sums.upper.assign(parameters, 0);
    if (selected > 0) {
        sums.least_upper.emplace_back(parameters, static_cast<std::size_t>(selected));
        sums.least_negated_lower.emplace_back(parameters, static_cast<std::size_t>(selected));
    }
    return sums;
}

void add(const LevelSums& part, LevelSums& total) {
    for (std::size_t p = 0; p < total.lower.size(); ++p) {
        total.lower[p] += part.lower[p];
        total.upper[p] += part.upper[p];
    }
    total.surely_correct += part.surely_correct;
    total.possibly_correct += part.possibly_correct;
}

/// A level as the threads work on it.
struct Level {
    std::int64_t selected;
    PackedNetwork parameters;
};

/// One panel at one level: sums are the thread's own, selections (of `shared`) all threads'.
template <typename Real>
void add_panel(const Network& network, const Level& level, const Clip& clip, const BasicPanel<Real>& panel,
               bool selectable, BasicIntervalPass<Real>& pass, LevelSums& sums, LevelSums& shared) {
    count_correct(network, pass.forward(level.parameters, panel), panel, sums);
    if (level.selected == 0 || !selectable) {
        pass.accumulate(level.parameters, panel, clip, sums.lower.data(), sums.upper.data());
    } else {
        const typename BasicIntervalPass<Real>::Selections selections{shared.least_upper[0],
                                                                      shared.least_negated_lower[0]};
        pass.accumulate(level.parameters, panel, clip, sums.lower.data(), sums.upper.data(), &selections);
    }
}

/// What one thread computes with, and its sums of all levels.
template <typename Real>
struct Worker {
    Worker(const Network& network, const BasicBackend<Real>& backend, std::size_t levels)
        : pass(network, backend), panel(network.empty_panel<Real>()) {
        require_sound_arithmetic();
        for (std::size_t level = 0; level < levels; ++level)
            sums.push_back(empty_sums(network.parameters(), 0));
    }
    BasicIntervalPass<Real> pass;
    BasicPanel<Real> panel;
    std::vector<LevelSums> sums;
};

/// How threads share a group: pieces of panels x levels, so that one panel and many levels feed all of them.
struct Sharing {
    Sharing(const Network& network, std::size_t panels, std::size_t level_count)
        : threads(threads_for(2.0 * panel_height * static_cast<double>(panels * level_count) *
                              static_cast<double>(network.parameters()))),
          levels(level_count) {
        const auto wanted = static_cast<std::size_t>(threads == 1 ? 1 : 4 * threads);
        if (panels > 0) parts = std::clamp<std::size_t>((wanted + panels - 1) / panels, 1, levels);
        pieces = panels * parts;
    }
    int threads;
    std::size_t levels, parts = 1, pieces = 0;

    std::size_t panel(std::size_t piece) const { return piece / parts; }
    std::size_t first_level(std::size_t piece) const { return piece % parts * levels / parts; }
    std::size_t last_level(std::size_t piece) const { return (piece % parts + 1) * levels / parts; }
};

/// All panels at the levels of one group, added to `totals`.
template <typename Real>
void sum_group(const Network& network, const BasicBackend<Real>& backend, const Clip& clip,
               const std::vector<Level>& levels, const std::vector<Work>& work, std::span<LevelSums> totals) {
    const Sharing sharing(network, work.size(), levels.size());
    ThreadFailure failure;
    std::mutex mutex;
#pragma omp parallel num_threads(sharing.threads)
    {
        std::optional<Worker<Real>> worker;
        failure.guard([&] { worker.emplace(network, backend, levels.size()); });
#pragma omp for schedule(dynamic) nowait
        for (std::size_t piece = 0; piece < sharing.pieces; ++piece) {
            failure.guard([&] {
                if (!worker) return;
                const Work& part = work[sharing.panel(piece)];
                worker->panel.load(part.batch->records, part.indices);
                for (std::size_t l = sharing.first_level(piece); l < sharing.last_level(piece); ++l) {
                    add_panel(network, levels[l], clip, worker->panel, part.batch->selectable, worker->pass,
                              worker->sums[l], totals[l]);
                }
            });
        }
        const std::lock_guard lock(mutex);
        for (std::size_t l = 0; worker && l < levels.size(); ++l) add(worker->sums[l], totals[l]);
    }
    failure.rethrow();
}

}  // namespace

std::vector<std::int64_t> packed(std::int64_t records, std::span<const LevelSums> levels) {
    std::vector<std::int64_t> message{records};
    for (const LevelSums& level : levels) {
        message.insert(message.end(), level.lower.begin(), level.lower.end());
        message.insert(message.end(), level.upper.begin(), level.upper.end());
        message.insert(message.end(), {level.surely_correct, level.possibly_correct});
    }
    return message;
}

std::int64_t unpack(std::span<const std::int64_t> message, std::size_t parameters,
                    std::span<LevelSums> levels) {
    auto at = message.begin();
    const std::int64_t records = *at++;
    for (LevelSums& level : levels) {
        for (std::vector<std::int64_t>* side : {&level.lower, &level.upper}) {
            const auto end = at + static_cast<std::ptrdiff_t>(parameters);
            side->assign(at, end);
            at = end;
        }
        level.surely_correct = *at++;
        level.possibly_correct = *at++;
    }
    return records;
}

template <typename Real>
std::vector<LevelSums> gradient_sums(const Network& network, const BasicBackend<Real>& backend,
                                     const Clip& clip, std::span<const BoxView> boxes,
                                     std::span<const Batch> batches,
                                     std::span<const std::int64_t> selection_counts) {
    const std::vector<Work> work = cut_into_panels(batches);
    const std::size_t bytes_per_level = 2 * sizeof(std::int64_t) * network.parameters();
    const std::size_t group_size = std::max<std::size_t>(1, bytes_per_thread / bytes_per_level);
    std::vector<LevelSums> totals;
    for (const std::int64_t count : selection_counts)
        totals.push_back(empty_sums(network.parameters(), count));
    for (std::size_t first = 0; first < boxes.size();) {
        std::vector<Level> group;
        std::size_t last = first;
        for (; last < std::min(first + group_size, boxes.size()); ++last) {
            group.push_back({selection_counts[last],
                             PackedNetwork(network, backend, boxes[last].lower, boxes[last].upper)});
        }
        sum_group(network, backend, clip, group, work, std::span(totals).subspan(first, last - first));
        first = last;
    }
    for (std::size_t level = 0; level < boxes.size(); ++level) {
        if (boxes[level].lower == boxes[level].upper) totals[level].upper = totals[level].lower;
    }
    return totals;
}
template std::vector<LevelSums> gradient_sums(const Network&, const Backend&, const Clip&,
                                              std::span<const BoxView>, std::span<const Batch>,
                                              std::span<const std::int64_t>);
template std::vector<LevelSums> gradient_sums(const Network&, const BasicBackend<float>&, const Clip&,
                                              std::span<const BoxView>, std::span<const Batch>,
                                              std::span<const std::int64_t>);

}  // namespace holdfast
