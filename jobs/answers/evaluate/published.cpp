#include "jobs/answers/evaluate/published.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/answers/evaluate/fleet.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/publication.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/dpal/dpal_answers.hpp"

namespace holdfast {
namespace {

const std::vector<std::string> published_attacks{"fgsm", "ifgsm", "mim", "pgd"};

using PublishedAnswers = std::vector<DpalAnswers::Answer>;

void check_question(const PublishedQuestion& question) {
    for (const std::string& attack : question.attacks)
        if (std::find(published_attacks.begin(), published_attacks.end(), attack) == published_attacks.end())
            throw Error(ExitCode::usage, "no attack is named \"" + attack + "\"",
                        "name some of fgsm, ifgsm, mim, pgd", "--attack");
    for (const double radius : question.radii)
        if (!(radius > 0) || !std::isfinite(radius))
            throw Error(ExitCode::usage, "a radius is a number above 0", "give one or several, as .01,.02",
                        "--input-radius");
    if (!question.attacks.empty() && question.radii.empty())
        throw Error(ExitCode::usage, "how far an attack may move a query is not said",
                    "give a radius or several in the units of the features, as --input-radius .01,.02",
                    "--attack");
}

/// The part that is right, and has this size, if one is asked for.
double part_right(const DpalAnswers& model, const PublishedAnswers& answers, const Records& data,
                  std::optional<double> radius) {
    std::size_t right = 0;
    for (std::size_t q = 0; q < answers.size(); ++q)
        right +=
            answers[q].label == data.labels[q] && (!radius || model.size(answers[q], *radius) >= *radius);
    return static_cast<double>(right) / static_cast<double>(answers.size());
}

std::string table_of(const nlohmann::json& rows) {
    if (rows.empty()) return "";
    std::string text = "attack  radius    right     right, and as published certified: attacked  as it is\n";
    for (const nlohmann::json& row : rows)
        text += printed("%-8s%-10g%-10.4f%-35s%-10.4f%.4f\n", row["attack"].get<std::string>().c_str(),
                        row["radius"].get<double>(), row["conventional"].get<double>(), "",
                        row["certified_attacked"].get<double>(), row["certified_clean"].get<double>());
    return text;
}

}  // namespace

void evaluate_published(const Context& context, const FinishedRun& run, const PublishedQuestion& question) {
    check_question(question);
    if (run.how.threads > 0) omp_set_num_threads(static_cast<int>(run.how.threads));
    const Records data = read_queries(context, run.form(), question.data);
    require_labels(data, run.classes(), question.data);
    const DpalAnswers model(run.settings, run.network, parameters_of(run));

    const PublishedAnswers clean = model.of(data, "", 0);
    std::vector<std::int32_t> labels;
    for (const DpalAnswers::Answer& answer : clean) labels.push_back(answer.label);
    const Quality quality = quality_of(labels, data.labels, run.classes(), {}, data.ids);
    nlohmann::json rows = nlohmann::json::array();
    for (const double radius : question.radii) {
        for (const std::string& attack : question.attacks.empty() ? published_attacks : question.attacks) {
            const PublishedAnswers attacked = model.of(data, attack, radius);
            rows.push_back({{"attack", attack},
                            {"radius", radius},
                            {"conventional", part_right(model, attacked, data, std::nullopt)},
                            {"certified_attacked", part_right(model, attacked, data, radius)},
                            {"certified_clean", part_right(model, clean, data, radius)}});
        }
    }
    nlohmann::json result = {{"data", question.data},
                             {"queries", data.size()},
                             {"classes", run.classes()},
                             {"relation", name_of(run.settings.certificate.relation)},
                             {"members", 1},
                             {"variant", run.settings.dpal.variant},
                             {"accuracy", {{"single", quality.accuracy}, {"ensemble", quality.accuracy}}},
                             {"quality", to_json(quality)},
                             {"attacks", rows},
                             {"guarantee", run.certificate->claim().to_json()}};
    const std::string kept = kept_evaluation(context, run.folder, result);
    const auto schema = run.schema();
    context.print(result, run.certificate->claim().lines() + "\n" + table_of(rows) +
                              text_of(quality, schema ? schema->classes : std::vector<std::string>()) + kept +
                              next_command({"report", run.folder.path()}));
}

}  // namespace holdfast
