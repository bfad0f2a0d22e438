#include "jobs/answers/evaluate/certified_losses.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/program/queries.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/loss_bounds.hpp"

namespace holdfast {
namespace {

/// Of a member, [levels]. Collective.
std::vector<LossBounds> losses_of(const Context& context, const FinishedRun& run, std::size_t member,
                                  const Records& mine, const std::vector<double>& targets) {
    std::vector<LossBounds> levels;
    const int device = choose_device(run.how.backend, context.world);
    const auto add = [&](std::size_t, const OutputBounds& bounds) {
        const std::vector<LossBounds> all =
            gathered(context.world, loss_bounds(run.network.loss(), bounds, targets));
        levels.push_back(mean_of(all));
    };
    if (!run.certificate->output_bounds(member, mine, device, add))
        throw Error(ExitCode::usage,
                    "a run of kind \"" + run.manifest.kind + "\" has no boxes to bound a loss",
                    "train with training.kind = \"boxes\"", "training.kind");
    for (std::size_t k = 1; k < levels.size(); ++k) {  // what a level reaches the next one does
        levels[k].best = std::min(levels[k].best, levels[k - 1].best);
        levels[k].worst = std::max(levels[k].worst, levels[k - 1].worst);
        levels[k].surely = std::min(levels[k].surely, levels[k - 1].surely);
        levels[k].possibly = std::max(levels[k].possibly, levels[k - 1].possibly);
    }
    return levels;
}

Guarantee claim_of(const FinishedRun& run) {
    Guarantee claim = run.certificate->claim();
    claim.combine(
        Guarantee::proved("so the exact loss at the outputs computed, its mean over the queries and over the "
                          "members, lies between best and worst of level k, and the part answered rightly "
                          "between its worst and best"));
    return claim;
}

}  // namespace

nlohmann::json certified_losses(const Context& context, const FinishedRun& run, const Records& queries,
                                const std::vector<double>& targets) {
    const auto [first, last] = share_of(context.world, queries.size());
    const Records mine = run.features(part_of(queries, first, last));
    const std::vector<double> wanted(targets.begin() + static_cast<std::ptrdiff_t>(first),
                                     targets.begin() + static_cast<std::ptrdiff_t>(last));
    std::vector<std::vector<LossBounds>> members;
    for (std::size_t member = 0; member < run.members(); ++member)
        members.push_back(losses_of(context, run, member, mine, wanted));

    nlohmann::json rows = nlohmann::json::array();
    LossBounds nominal;
    for (std::size_t level = 0; level < run.levels().size(); ++level) {
        std::vector<LossBounds> of_members;
        for (const auto& member : members) of_members.push_back(member[level]);
        const LossBounds mean = mean_of(of_members);
        if (level == 0) nominal = mean;
        nlohmann::json row = {{"k", run.levels()[level]},
                              {"best", mean.best},
                              {"nominal", (nominal.best + nominal.worst) / 2},
                              {"worst", mean.worst}};
        if (!run.network.is_regression()) {
            row["accuracy_best"] = mean.possibly;
            row["accuracy_nominal"] = nominal.surely;
            row["accuracy_worst"] = mean.surely;
        }
        rows.push_back(row);
    }
    return {
        {"loss", info_of(run.network.loss()).name}, {"levels", rows}, {"guarantee", claim_of(run).to_json()}};
}

std::string loss_table(const nlohmann::json& losses) {
    const nlohmann::json& rows = losses["levels"];
    const bool classifier = rows[0].contains("accuracy_best");
    std::string text = "certified " + losses["loss"].get<std::string>() +
                       "\nk        best      nominal   worst" +
                       (classifier ? "       accuracy: worst   nominal   best\n" : "\n");
    const std::size_t stride = std::max<std::size_t>(1, rows.size() / 10);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i % stride != 0 && i + 1 != rows.size()) continue;
        const nlohmann::json& row = rows[i];
        text += printed("%-8lld %-9.4g %-9.4g %-9.4g", row["k"].get<long long>(), row["best"].get<double>(),
                        row["nominal"].get<double>(), row["worst"].get<double>());
        if (classifier) {
            text += printed("            %-9.4f %-9.4f %.4f", row["accuracy_worst"].get<double>(),
                            row["accuracy_nominal"].get<double>(), row["accuracy_best"].get<double>());
        }
        text += "\n";
    }
    return text;
}

}  // namespace holdfast
