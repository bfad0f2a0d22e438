// holdfast advise: settings for a private table, by trials on public records. It never opens the private one.
//   holdfast advise --records 33000 --features 14 --epsilon 1 --out adult.toml
//   holdfast advise --records 400 --features 30 --epsilon 1 --queries 100
//   holdfast advise --records 25000 --features 100 --columns coordinates --epsilon 0.1 --json

#include <spdlog/logger.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/scratch_folder.hpp"
#include "jobs/study/advise/candidates.hpp"
#include "jobs/study/advise/configuration_text.hpp"
#include "jobs/study/advise/judge.hpp"
#include "jobs/study/advise/stand_in.hpp"
#include "jobs/study/advise/trial.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

struct Request {
    PublicNumbers numbers;
    std::string relation = "add_remove", columns = "amounts", like, out;
};

/// What is shown for, beside the number that was asked for.
const std::vector<std::int64_t> shown_answers{1, 100, 10000};
constexpr std::size_t place_of_hundred = 1;

void check(const PublicNumbers& numbers) {
    const auto require = [](bool holds, const char* option, const char* rule) {
        if (!holds) throw Error(ExitCode::usage, std::string("must be ") + rule, "a public number", option);
    };
    require(numbers.records >= 1 && numbers.records <= static_cast<std::int64_t>(most_expected_records),
            "--records", "from 1 to 10^12");
    require(numbers.features >= 1 && numbers.features <= 10000, "--features", "from 1 to 10000");
    require(numbers.classes >= 2 && numbers.classes <= 100, "--classes", "from 2 to 100");
    require(numbers.answers >= 0 && numbers.answers <= 1000000, "--queries",
            "from 0 (any number) to 1000000");
    require(numbers.epsilon >= 0.001 && numbers.epsilon <= 50, "--epsilon", "from 0.001 to 50");
    require(numbers.delta >= 1e-15 && numbers.delta < 0.5, "--delta", "from 1e-15 to less than 0.5");
}

PublicNumbers numbers_of(const Request& request) {
    PublicNumbers numbers = request.numbers;
    numbers.relation = request.relation == "substitute" ? Relation::substitute : Relation::add_remove;
    numbers.columns = request.columns == "coordinates" ? Columns::coordinates : Columns::amounts;
    check(numbers);
    return numbers;
}

struct Tried {
    Candidate candidate;
    std::vector<RouteAccuracy> routes;
};

/// A route of a candidate.
struct Choice {
    std::size_t candidate, route;
};

std::vector<Tried> try_all(const Context& context, const PublicNumbers& numbers, const StandIn& stand_in,
                           const ScratchFolder& scratch, const std::vector<std::int64_t>& answers) {
    std::vector<Tried> all;
    for (const Candidate& candidate : candidates(numbers)) {
        context.log->info("trying {}", candidate.name());
        const std::string run = scratch.file("run-" + std::to_string(all.size()));
        train_on_stand_in(candidate, numbers, stand_in, run);
        all.push_back({candidate, judged(candidate, run, stand_in, numbers, answers)});
    }
    return all;
}

/// The most accurate at the number of answers that stands at `place`; of equals the first.
Choice best_of(const std::vector<Tried>& tried, std::size_t place) {
    std::optional<Choice> best;
    double highest = -1;
    for (std::size_t c = 0; c < tried.size(); ++c) {
        for (std::size_t r = 0; r < tried[c].routes.size(); ++r) {
            const std::optional<double> accuracy = tried[c].routes[r].by_answers[place];
            if (!accuracy || *accuracy <= highest) continue;
            highest = *accuracy;
            best = {c, r};
        }
    }
    ensure(best.has_value(), "a published model answers any number");
    return *best;
}

std::string text_of_answers(std::int64_t answers) {
    return answers == 0 ? "any" : std::to_string(answers);
}

nlohmann::json as_json(const std::vector<Tried>& tried, const std::vector<std::int64_t>& answers) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Tried& each : tried) {
        for (const RouteAccuracy& route : each.routes) {
            nlohmann::json accuracies = nlohmann::json::object();
            for (std::size_t i = 0; i < answers.size(); ++i) {
                if (route.by_answers[i]) accuracies[text_of_answers(answers[i])] = *route.by_answers[i];
            }
            rows.push_back(
                {{"candidate", each.candidate.name()}, {"route", route.route}, {"accuracy", accuracies}});
        }
    }
    return rows;
}

/// The routes line by line: accuracy by number of answers.
std::string table_of(const std::vector<Tried>& tried, const std::vector<std::int64_t>& answers) {
    char cell[96];
    std::snprintf(cell, sizeof cell, "%-24s%-18s", "candidate", "route");
    std::string text = cell;
    for (const std::int64_t count : answers) {
        std::snprintf(cell, sizeof cell, "%-8s", text_of_answers(count).c_str());
        text += cell;
    }
    text += "answers\n";
    for (const Tried& each : tried) {
        for (const RouteAccuracy& route : each.routes) {
            std::snprintf(cell, sizeof cell, "%-24s%-18s", each.candidate.name().c_str(),
                          route.route.c_str());
            text += cell;
            for (const std::optional<double>& accuracy : route.by_answers) {
                std::snprintf(cell, sizeof cell, "%-8.4f", accuracy.value_or(0));
                text += accuracy ? cell : "-       ";
            }
            text += "\n";
        }
    }
    return text;
}

std::string said_of(const PublicNumbers& numbers) {
    char text[400];
    std::snprintf(
        text, sizeof text,
        "%lld records of %lld features in [0, 1] (%s), %lld classes, %s answers, epsilon %g, delta %g, %s",
        static_cast<long long>(numbers.records), static_cast<long long>(numbers.features),
        numbers.columns == Columns::amounts ? "amounts" : "coordinates",
        static_cast<long long>(numbers.classes), text_of_answers(numbers.answers).c_str(), numbers.epsilon,
        numbers.delta, name_of(numbers.relation));
    return text;
}

/// Of every kind of candidate the best one's configuration, at the answers asked for or where it has none at
/// 100.
nlohmann::json configurations_of(const std::vector<Tried>& tried, std::size_t asked,
                                 const std::string& head) {
    nlohmann::json texts = nlohmann::json::object();
    for (const Tried& each : tried) {
        const std::string& kind = each.candidate.kind;
        if (texts.contains(kind)) continue;
        std::vector<Tried> same;
        std::copy_if(tried.begin(), tried.end(), std::back_inserter(same),
                     [&](const Tried& other) { return other.candidate.kind == kind; });
        const bool answers_it = std::any_of(each.routes.begin(), each.routes.end(), [&](const auto& route) {
            return route.by_answers[asked].has_value();
        });
        const Choice best = best_of(same, answers_it ? asked : place_of_hundred);
        texts[kind] = configuration_text(same[best.candidate].candidate.settings, head);
    }
    return texts;
}

/// What is said of a stand-in that is smaller than the table.
std::string scaled_of(const PublicNumbers& numbers, const StandIn& stand_in) {
    if (stand_in.records == numbers.records) return "";
    return "\n(its noise, members and distances weigh as they will on " + std::to_string(numbers.records) +
           " records; accuracies are those of so many fewer, and serve to compare)";
}

void advise(const Context& context, const Request& request) {
    // 1. What anybody may know.
    const PublicNumbers numbers = numbers_of(request);
    if (!context.world.is_root()) return;

    // 2. A public table like it.
    const ScratchFolder scratch;
    const std::string path = scratch.file("stand_in.h5");
    const StandIn stand_in =
        request.like.empty() ? generated_stand_in(numbers, path) : stand_in_like(request.like, numbers, path);

    // 3. Every candidate on it, by every route.
    std::vector<std::int64_t> answers = shown_answers;
    answers.push_back(0);
    std::size_t asked = static_cast<std::size_t>(std::find(answers.begin(), answers.end(), numbers.answers) -
                                                 answers.begin());
    if (asked == answers.size()) answers.push_back(numbers.answers);
    const std::vector<Tried> tried = try_all(context, numbers, stand_in, scratch, answers);
    const Choice best = best_of(tried, asked);

    // 4. What is advised, and a configuration of it.
    const Tried& winner = tried[best.candidate];
    const std::string route = winner.routes[best.route].route;
    const double accuracy = *winner.routes[best.route].by_answers[asked];
    char reason[200];
    std::snprintf(
        reason, sizeof reason, "Advised: %s, by %s: %.4f of %s answers right on the stand-in, the most",
        winner.candidate.name().c_str(), route.c_str(), accuracy, text_of_answers(numbers.answers).c_str());
    const std::string text = said_of(numbers) + "\nstand-in of " + std::to_string(stand_in.records) +
                             " records, " + stand_in.description + scaled_of(numbers, stand_in) + "\n\n" +
                             table_of(tried, answers) + "\n" + reason + "\n";
    const std::string head = "Written by holdfast advise, from public numbers alone:\n" + text;
    const std::string configuration = configuration_text(winner.candidate.settings, head);
    if (!request.out.empty()) write_file_atomically(request.out, configuration, public_mode);
    context.print({{"routes", as_json(tried, answers)},
                   {"advised",
                    {{"kind", winner.candidate.kind},
                     {"candidate", winner.candidate.name()},
                     {"route", route},
                     {"accuracy", accuracy}}},
                   {"stand_in", {{"records", stand_in.records}, {"description", stand_in.description}}},
                   {"configuration", configuration},
                   {"configurations", configurations_of(tried, asked, head)}},
                  request.out.empty() ? text : text + "configuration: " + request.out + "\n");
}

}  // namespace

Run declare_advise(const Command& command) {
    auto request = std::make_shared<Request>();
    PublicNumbers& numbers = request->numbers;
    command
        .add_option("--records", numbers.records,
                    "Public number of training records, not the count of the private ones")
        .required();
    command.add_option("--features", numbers.features, "Columns of a record, scaled to [0, 1]").required();
    command.add_option("--classes", numbers.classes, "Classes").show_default();
    command.add_option("--queries", numbers.answers, "How many answers are wanted; 0: any number")
        .show_default();
    command.add_option("--epsilon", numbers.epsilon, "What all of it may cost").required();
    command.add_option("--delta", numbers.delta, "and its delta").show_default();
    command.add_option("--relation", request->relation, "What a neighbouring dataset is")
        .one_of({"add_remove", "substitute"})
        .show_default();
    command
        .add_option("--columns", request->columns,
                    "amounts: amounts, counts, flags, categories; coordinates: signed ones about 1/2, as of "
                    "an embedding")
        .one_of({"amounts", "coordinates"})
        .show_default();
    command.add_option(
        "--like", request->like,
        "Public records FILE[:SPLIT] to try settings on, instead of generated ones: that they are public is "
        "yours to vouch for");
    command.add_option("--out", request->out, "Configuration file to write, which holdfast train takes");
    return [request](const Context& context) { advise(context, *request); };
}

}  // namespace holdfast
