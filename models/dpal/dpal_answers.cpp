#include "models/dpal/dpal_answers.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "kernels/base/streams.hpp"
#include "kernels/base/threads.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

DpalAnswers::DpalAnswers(const Settings& settings, const Network& network,
                         std::vector<std::int64_t> parameters)
    : settings_(settings),
      network_(network),
      parameters_(std::move(parameters)),
      noise_(settings, network, normaliser_of(settings, {})) {
    const std::int64_t draws = settings.dpal.variant == "adlm" ? 1 : settings.dpal.draws;
    for (std::int64_t draw = 0; draw < draws; ++draw)
        draws_.push_back(noise_.of_answer(parameters_, static_cast<std::uint64_t>(draw)));
}

auto DpalAnswers::of(const Records& queries, const std::string& attack, double radius) const
    -> std::vector<Answer> {
    const InputTransform input = network_.transform();
    const double ends[] = {input.apply<double>(input.range.low), input.apply<double>(input.range.high)};
    const DpalPass::Climb climb{attack,
                                std::abs(input.scale) * radius,
                                settings_.dpal.steps,
                                {std::min(ends[0], ends[1]), std::max(ends[0], ends[1])},
                                {static_cast<std::uint64_t>(settings_.training.seed)},
                                streams::attack_starts(0)};
    const std::size_t panels = (queries.size() + panel_height - 1) / panel_height,
                      classes = network_.outputs();
    const PackedNetwork<double> parameters = DpalPass(network_.shape()).pack(parameters_);
    std::vector<Answer> answers(queries.size());
    ThreadFailure failure;
    const int threads = threads_for(2.0 * static_cast<double>(queries.size() * draws_.size()) *
                                    static_cast<double>(network_.shape().products()));
#pragma omp parallel num_threads(threads)
    {
        std::optional<DpalPass> pass;
        std::vector<double> x(network_.inputs() * panel_height);
        failure.guard([&] { pass.emplace(network_.shape()); });
#pragma omp for schedule(dynamic)
        for (std::size_t panel = 0; panel < panels; ++panel) {
            failure.guard([&] {
                if (!pass) return;
                const std::size_t first = panel * panel_height,
                                  count = std::min(panel_height, queries.size() - first);
                std::vector<std::uint32_t> rows(count);
                std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(first));
                pass->load(queries.view(), rows, x.data());
                if (!attack.empty())
                    pass->climb(parameters, noise_.fixed(), climb, &queries.labels[first],
                                &queries.ids[first], count, x.data());
                std::vector<double> means(count * classes);
                for (const LayerNoise& draw : draws_) {
                    pass->forward(parameters, x.data(), draw);
                    for (std::size_t r = 0; r < count; ++r) {
                        const std::vector<double> scores = pass->scores(r);
                        for (std::size_t k = 0; k < classes; ++k)
                            means[r * classes + k] += scores[k] / static_cast<double>(draws_.size());
                    }
                }
                for (std::size_t r = 0; r < count; ++r) {
                    double* const of = &means[r * classes];
                    const auto label = std::max_element(of, of + classes) - of;
                    const double lower = of[label] - noise_.bound_of_means();
                    of[label] = -1;
                    answers[first + r] = {static_cast<std::int32_t>(label), lower,
                                          *std::max_element(of, of + classes) + noise_.bound_of_means()};
                }
            });
        }
    }
    failure.rethrow();
    return answers;
}

double DpalAnswers::size(const Answer& answer, double radius) const {
    const double scale = std::abs(network_.transform().scale);
    return noise_.size(parameters_, answer.lower, answer.upper, scale * radius) / scale;
}

}  // namespace holdfast
