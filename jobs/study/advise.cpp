// holdfast advise: settings for a private table, by trials on public records. It never opens the private one.
//   holdfast advise --records 33000 --features 14 --epsilon 1 --out adult.toml --data adult.h5
//   holdfast advise --records 400 --features 30 --epsilon 1 --queries 100
//   holdfast advise --records 25000 --features 100 --columns coordinates --epsilon 0.1 --json

#include <spdlog/logger.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/scratch_folder.hpp"
#include "jobs/study/advise/candidates.hpp"
#include "jobs/study/advise/configuration_text.hpp"
#include "jobs/study/advise/judge.hpp"
#include "jobs/study/advise/stand_in.hpp"
#include "jobs/study/advise/trial.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

struct AdviseRequest {
    PublicNumbers numbers;
    std::string relation = "add_remove", columns = "amounts", like, out, kind, map, edges = "public";
    std::string data, ledger;  ///< named in the next command alone
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
    require(numbers.classes >= 1 && numbers.classes <= 100, "--classes", "from 1 (a regression) to 100");
    require(numbers.answers >= 0 && numbers.answers <= 1000000, "--queries",
            "from 0 (any number) to 1000000");
    require(numbers.epsilon >= 0.001 && numbers.epsilon <= 50, "--epsilon", "from 0.001 to 50");
    require(numbers.delta == 0 || (numbers.delta >= 1e-15 && numbers.delta < 0.5), "--delta",
            "0, or from 1e-15 to less than 0.5");
    const std::vector<double>& shares = numbers.class_shares;
    const bool positive = std::all_of(shares.begin(), shares.end(), [](double share) { return share > 0; });
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    require(shares.empty() || (!numbers.is_regression() && positive && std::abs(sum - 1) < 0.001 &&
                               shares.size() == static_cast<std::size_t>(numbers.classes)),
            "--class-shares", "one positive share of each class, which add up to 1");
}

PublicNumbers numbers_of(const AdviseRequest& request) {
    PublicNumbers numbers = request.numbers;
    numbers.relation = request.relation == "substitute" ? Relation::substitute : Relation::add_remove;
    numbers.columns = request.columns == "coordinates" ? Columns::coordinates : Columns::amounts;
    check(numbers);
    return numbers;
}

struct Tried {
    Candidate candidate;
    std::vector<RouteAccuracy> routes;  ///< the mean over the stand-ins that judge
    std::vector<ModelScore> scores;     ///< of noisy ones, on each stand-in
    double log_loss = 0;                ///< of noisy ones, the mean over the stand-ins that judge
};

/// A route of a candidate.
struct Choice {
    std::size_t candidate, route;
};

/// Everything that candidates are tried on.
struct Trials {
    const Context& context;
    const PublicNumbers& numbers;
    const std::vector<StandIn>& stand_ins;
    const ScratchFolder& scratch;
    std::int64_t trained = 0;
    MadeMechanisms made{};

    std::string train(const Settings& settings, const StandIn& stand_in, std::uint64_t noise) {
        const std::string run = scratch.file("run-" + std::to_string(trained++));
        train_on_stand_in(settings, stand_in, noise, run);
        return run;
    }
    /// The mean over several noises: as many as a training is short, since those differ most.
    ModelScore score(const Candidate& candidate, const StandIn& stand_in) {
        const auto noises = std::clamp<std::int64_t>(500 / candidate.settings.training.epochs, 1, 5);
        const Settings settings = settings_on(stand_in, candidate, numbers);
        ModelScore mean;
        for (std::int64_t noise = 0; noise < noises; ++noise) {
            const std::string run = train(settings, stand_in, static_cast<std::uint64_t>(noise));
            const ModelScore one = score_of_model(run, stand_in);
            mean.accuracy += one.accuracy / static_cast<double>(noises);
            mean.log_loss += one.log_loss / static_cast<double>(noises);
        }
        return mean;
    }
};

/// Route by route; where one stand-in has no answer there is none.
std::vector<RouteAccuracy> mean_of(const std::vector<std::vector<RouteAccuracy>>& stand_ins) {
    std::vector<RouteAccuracy> mean = stand_ins.front();
    for (std::size_t r = 0; r < mean.size(); ++r) {
        for (std::size_t i = 0; i < mean[r].by_answers.size(); ++i) {
            std::optional<double>& accuracy = mean[r].by_answers[i];
            for (std::size_t s = 1; s < stand_ins.size() && accuracy; ++s) {
                const std::optional<double>& other = stand_ins[s][r].by_answers[i];
                accuracy = other ? std::optional(*accuracy + *other) : std::nullopt;
            }
            if (accuracy) *accuracy /= static_cast<double>(stand_ins.size());
        }
    }
    return mean;
}

/// Is a candidate among those asked for: of one kind and one map, or of all?
bool asked_for(const Candidate& candidate, const AdviseRequest& request) {
    if (!candidate.map.ends_with(request.map)) return false;
    if (request.kind == "published") return candidate.noisy() || candidate.kind == "convex";
    return request.kind.empty() || candidate.kind == request.kind;
}

/// Noisy candidates on every stand-in, the others on those that judge.
std::vector<Tried> try_all(Trials& trials, const std::vector<std::int64_t>& answers,
                           const AdviseRequest& request) {
    std::vector<Tried> all;
    for (const Candidate& candidate : candidates(trials.numbers)) {
        if (!asked_for(candidate, request)) continue;
        trials.context.log->info("trying {}", candidate.name());
        Tried tried{candidate, {}, {}};
        if (candidate.noisy()) {
            const auto judging = std::count_if(trials.stand_ins.begin(), trials.stand_ins.end(),
                                               [](const StandIn& stand_in) { return stand_in.judges; });
            double accuracy = 0;
            for (const StandIn& stand_in : trials.stand_ins) {
                tried.scores.push_back(trials.score(candidate, stand_in));
                if (!stand_in.judges) continue;
                tried.log_loss += tried.scores.back().log_loss / static_cast<double>(judging);
                accuracy += tried.scores.back().accuracy / static_cast<double>(judging);
            }
            tried.routes = {{"noisy", std::vector<std::optional<double>>(answers.size(), accuracy)}};
        } else {
            std::vector<std::vector<RouteAccuracy>> each;
            for (const StandIn& stand_in : trials.stand_ins) {
                if (!stand_in.judges) continue;
                const Settings settings = settings_on(stand_in, candidate, trials.numbers);
                each.push_back(judged(candidate, trials.train(settings, stand_in, 0), stand_in,
                                      trials.numbers, answers, trials.made));
            }
            tried.routes = mean_of(each);
        }
        all.push_back(std::move(tried));
    }
    if (all.empty())
        throw Error(ExitCode::usage, "no model of this kind answers at these numbers",
                    "leave it out, or state a delta; bins are of amounts alone",
                    request.map.empty() ? "--kind" : "--map");
    return all;
}

/// The most accurate at the number of answers that stands at `place`, of equals the first: of all routes, but
/// of noisy models only that of the least log-loss, since who has a model reads its probabilities; for these
/// another model that is published must be more right by 2 points, where there is a noisy one.
Choice best_of(const std::vector<Tried>& tried, std::size_t place) {
    const auto calibrated = std::min_element(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
        return a.candidate.noisy() && (!b.candidate.noisy() || a.log_loss < b.log_loss);
    });
    const bool any_noisy =
        std::any_of(tried.begin(), tried.end(), [](const Tried& each) { return each.candidate.noisy(); });
    constexpr double worth_of_probabilities = 0.02;
    std::optional<Choice> best;
    double highest = -1;
    for (auto each = tried.begin(); each != tried.end(); ++each) {
        if (each->candidate.noisy() && each != calibrated) continue;
        for (std::size_t r = 0; r < each->routes.size(); ++r) {
            std::optional<double> accuracy = each->routes[r].by_answers[place];
            if (accuracy && any_noisy && each->routes[r].route == "published")
                *accuracy -= worth_of_probabilities;
            if (!accuracy || *accuracy <= highest) continue;
            highest = *accuracy;
            best = {static_cast<std::size_t>(each - tried.begin()), r};
        }
    }
    ensure(best.has_value(), "a published model answers any number");
    return *best;
}

/// What to expect of noisy settings, and by how much the best of those that were tried is better on each
/// stand-in, neighbours of these settings too on every second one.
struct Forecast {
    double lowest = 1, highest = 0;  ///< accuracy, over the stand-ins
    double log_loss = 0, regret = 0, greatest_regret = 0;
};

Forecast forecast_of(Trials& trials, const std::vector<Tried>& tried, const Tried& chosen) {
    Forecast forecast{.log_loss = chosen.log_loss};
    trials.context.log->info("trying neighbours of {}", chosen.candidate.name());
    const std::vector<Candidate> others = neighbours(chosen.candidate);
    for (std::size_t s = 0; s < trials.stand_ins.size(); ++s) {
        const ModelScore& own = chosen.scores[s];
        double least = own.log_loss;
        for (const Tried& each : tried)
            if (each.candidate.noisy()) least = std::min(least, each.scores[s].log_loss);
        for (const Candidate& other :
             s % 2 == 0 && trials.stand_ins.size() > 1 ? others : std::vector<Candidate>())
            least = std::min(least, trials.score(other, trials.stand_ins[s]).log_loss);
        forecast.lowest = std::min(forecast.lowest, own.accuracy);
        forecast.highest = std::max(forecast.highest, own.accuracy);
        forecast.regret += (own.log_loss - least) / static_cast<double>(trials.stand_ins.size());
        forecast.greatest_regret = std::max(forecast.greatest_regret, own.log_loss - least);
    }
    return forecast;
}

std::string text_of_answers(std::int64_t answers) {
    return answers == 0 ? "any" : std::to_string(answers);
}

/// What is learnt decides which figures of a model there are (ModelScore).
const char* name_of_accuracy(const PublicNumbers& numbers) {
    if (!numbers.class_shares.empty()) return "balanced_accuracy";
    return numbers.is_regression() ? "explained_variance" : "accuracy";
}
const char* name_of_loss(const PublicNumbers& numbers) {
    if (!numbers.class_shares.empty()) return "balanced_log_loss";
    return numbers.is_regression() ? "mean_squared_error" : "log_loss";
}

nlohmann::json as_json(const std::vector<Tried>& tried, const PublicNumbers& numbers,
                       const std::vector<std::int64_t>& answers) {
    const char *const accuracy = name_of_accuracy(numbers), *const loss = name_of_loss(numbers);
    nlohmann::json rows = nlohmann::json::array();
    for (const Tried& each : tried) {
        for (const RouteAccuracy& route : each.routes) {
            nlohmann::json accuracies = nlohmann::json::object();
            for (std::size_t i = 0; i < answers.size(); ++i) {
                if (route.by_answers[i]) accuracies[text_of_answers(answers[i])] = *route.by_answers[i];
            }
            rows.push_back(
                {{"candidate", each.candidate.name()}, {"route", route.route}, {accuracy, accuracies}});
            if (!each.candidate.noisy()) continue;
            rows.back()[loss] = each.log_loss;
            for (const ModelScore& score : each.scores)
                rows.back()["stand_ins"].push_back({{accuracy, score.accuracy}, {loss, score.log_loss}});
        }
    }
    return rows;
}

/// The routes line by line: accuracy by number of answers.
std::string table_of(const std::vector<Tried>& tried, const std::vector<std::int64_t>& answers) {
    std::string text = printed("%-30s%-18s", "candidate", "route");
    for (const std::int64_t count : answers) text += printed("%-8s", text_of_answers(count).c_str());
    text += "answers\n";
    for (const Tried& each : tried) {
        for (const RouteAccuracy& route : each.routes) {
            text += printed("%-30s%-18s", each.candidate.name().c_str(), route.route.c_str());
            for (const std::optional<double>& accuracy : route.by_answers) {
                text += accuracy ? printed("%-8.4f", *accuracy) : "-       ";
            }
            text += "\n";
        }
    }
    return text;
}

std::string said_of(const PublicNumbers& numbers) {
    std::string learnt =
        numbers.is_regression() ? "numbers in [0, 1]" : std::to_string(numbers.classes) + " classes";
    for (std::size_t c = 0; c < numbers.class_shares.size(); ++c)
        learnt += printed(c == 0 ? " of shares %g" : ":%g", numbers.class_shares[c]);
    return printed("%lld records of %lld features in [0, 1] (%s), %s, %s answers, epsilon %g, delta %g, %s",
                   static_cast<long long>(numbers.records), static_cast<long long>(numbers.features),
                   numbers.columns == Columns::amounts ? "amounts" : "coordinates", learnt.c_str(),
                   text_of_answers(numbers.answers).c_str(), numbers.epsilon, numbers.delta,
                   name_of(numbers.relation));
}

/// The place asked for; where none of them answers so many, that of a hundred.
std::size_t answered_place(const std::vector<Tried>& tried, std::size_t asked) {
    const bool answered = std::any_of(tried.begin(), tried.end(), [&](const Tried& each) {
        return std::any_of(each.routes.begin(), each.routes.end(),
                           [&](const auto& route) { return route.by_answers[asked].has_value(); });
    });
    return answered ? asked : place_of_hundred;
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
        const Choice best = best_of(same, answered_place(same, asked));
        texts[kind] = configuration_text(same[best.candidate].candidate.settings, head);
    }
    return texts;
}

/// What is said of stand-ins that are smaller than the table.
std::string scaled_of(const PublicNumbers& numbers, const StandIn& stand_in) {
    if (stand_in.records == numbers.records) return "";
    return "(their noise, members and distances weigh as they will on " + std::to_string(numbers.records) +
           " records)\n";
}

std::string text_of(const std::vector<StandIn>& stand_ins) {
    std::string text = "stand-ins of " + std::to_string(stand_ins.front().records) + " records:\n";
    for (const StandIn& stand_in : stand_ins) text += "  " + stand_in.description + "\n";
    return text;
}

std::string text_of(const Forecast& forecast, const Tried& chosen, const PublicNumbers& numbers,
                    const std::vector<StandIn>& stand_ins) {
    const bool regression = numbers.is_regression();
    std::string text = printed(
        "Least %s of the published ones, %.4f; the best settings tried on each stand-in, its own "
        "neighbours too, have %.4f less (%.4f at most)\n",
        regression ? "mean squared error" : "log-loss", forecast.log_loss, forecast.regret,
        forecast.greatest_regret);
    const char* unit = regression                     ? "of the variance explained"
                       : numbers.class_shares.empty() ? "right"
                                                      : "right, all classes counted alike";
    if (stand_ins.size() == 1)
        return text + printed(
                          "Expect about %.2f %s if the table is as hard as %s; no easier or harder one was "
                          "tried\n",
                          forecast.lowest, unit, stand_ins[0].name.c_str());
    text += printed("Expect from %.2f to %.2f %s, as hard as the table is:", forecast.lowest,
                    forecast.highest, unit);
    for (std::size_t s = 0; s < stand_ins.size(); ++s)
        text += printed("%s %s %.4f", s > 0 ? "," : "", stand_ins[s].name.c_str(), chosen.scores[s].accuracy);
    return text + "\n";
}

/// How to go on: whose budget pays for the configuration; measured constants have such an account already.
std::string next_of(const AdviseRequest& request, const PublicNumbers& numbers) {
    if (request.data.empty() || request.out.empty()) return "";
    if (std::filesystem::exists(request.ledger))
        return next_command({"train", "--config", request.out, "--data", request.data, "--ledger",
                             request.ledger, "--out", beside_dataset(request.data, "-run")});
    const std::string ledger =
        request.ledger.empty() ? beside_dataset(request.data, ".ledger") : request.ledger;
    return next_command({"account", "--ledger", ledger, "--data", request.data, "--budget",
                         printed("%g", numbers.epsilon), "--budget-delta", printed("%g", numbers.delta),
                         "--relation", name_of(numbers.relation), "--config", request.out});
}

void advise(const Context& context, const AdviseRequest& request) {
    // 1. What anybody may know.
    const PublicNumbers numbers = numbers_of(request);
    if (!context.world.is_root()) return;

    // 2. Public tables like it.
    const ScratchFolder scratch;
    const std::string path = scratch.file("stand_in.h5");
    const std::vector<StandIn> stand_ins = request.like.empty() ? generated_stand_ins(numbers, path)
                                                                : stand_ins_like(request.like, numbers, path);

    // 3. Every candidate on them, by every route.
    std::vector<std::int64_t> answers = shown_answers;
    answers.push_back(0);
    std::size_t asked = static_cast<std::size_t>(std::find(answers.begin(), answers.end(), numbers.answers) -
                                                 answers.begin());
    if (asked == answers.size()) answers.push_back(numbers.answers);
    Trials trials{context, numbers, stand_ins, scratch};
    std::vector<Tried> tried = try_all(trials, answers, request);
    asked = answered_place(tried, asked);
    const Choice best = best_of(tried, asked);

    // 4. What is advised, what may be expected of it, and a configuration of it.
    const Tried& winner = tried[best.candidate];
    const std::string route = winner.routes[best.route].route;
    const double accuracy = *winner.routes[best.route].by_answers[asked];
    nlohmann::json advised = {{"kind", winner.candidate.kind},
                              {"candidate", winner.candidate.name()},
                              {"route", route},
                              {name_of_accuracy(numbers), accuracy}};
    std::string reason =
        numbers.is_regression()
            ? printed("Advised: %s: %.4f of the variance explained on stand-ins that judge\n",
                      winner.candidate.name().c_str(), accuracy)
            : printed("Advised: %s, by %s: %.4f of %s answers right on stand-ins that judge%s\n",
                      winner.candidate.name().c_str(), route.c_str(), accuracy,
                      text_of_answers(answers[asked]).c_str(),
                      numbers.class_shares.empty() ? "" : ", all classes counted alike");
    if (winner.candidate.noisy()) {
        const Forecast forecast = forecast_of(trials, tried, winner);
        advised.update(
            {{name_of_loss(numbers), forecast.log_loss},
             {"regret", forecast.regret},
             {"greatest_regret", forecast.greatest_regret},
             {std::string("expected_") + name_of_accuracy(numbers), {forecast.lowest, forecast.highest}}});
        reason += text_of(forecast, winner, numbers, stand_ins);
    }
    // Training takes the edges that were measured where none are stated.
    if (request.edges == "measured")
        for (Tried& each : tried) each.candidate.settings.features.edges.clear();
    const std::string text = said_of(numbers) + "\n" + text_of(stand_ins) +
                             scaled_of(numbers, stand_ins.front()) + "\n" + table_of(tried, answers) + "\n" +
                             reason;
    const std::string head = "Written by holdfast advise, from public numbers alone:\n" + text;
    const std::string configuration = configuration_text(winner.candidate.settings, head);
    if (!request.out.empty()) write_file_atomically(request.out, configuration, public_mode);
    nlohmann::json descriptions = nlohmann::json::array();
    for (const StandIn& stand_in : stand_ins) descriptions.push_back(stand_in.description);
    context.print({{"routes", as_json(tried, numbers, answers)},
                   {"advised", advised},
                   {"stand_in", {{"records", stand_ins.front().records}, {"descriptions", descriptions}}},
                   {"configuration", configuration},
                   {"configurations", configurations_of(tried, asked, head)}},
                  request.out.empty()
                      ? text
                      : text + "configuration: " + request.out + "\n" + next_of(request, numbers));
}

}  // namespace

Run declare_advise(const Command& command) {
    auto request = std::make_shared<AdviseRequest>();
    PublicNumbers& numbers = request->numbers;
    command
        .add_option("--records", numbers.records,
                    "Public number of training records, not the count of the private ones")
        .required();
    command.add_option("--features", numbers.features, "Columns of a record, scaled to [0, 1]").required();
    command
        .add_option("--classes", numbers.classes,
                    "Classes; 1: none, what is learnt are numbers, scaled to [0, 1] by a public range")
        .show_default();
    command
        .add_option(
            "--class-shares", numbers.class_shares,
            "Public shares of the classes, as 0.97,0.03: their records count so that all classes count "
            "alike (training.class_weights), and settings are judged by balanced accuracy")
        .separated_by(',');
    command.add_option("--queries", numbers.answers, "How many answers are wanted; 0: any number")
        .show_default();
    command.add_option("--epsilon", numbers.epsilon, "What all of it may cost").required();
    command.add_option("--delta", numbers.delta, "and its delta; 0: pure").show_default();
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
    command
        .add_option("--kind", request->kind,
                    "Try settings of this kind alone; published: noisy or convex, whose parameters may leave")
        .one_of({"noisy", "convex", "votes", "boxes", "published"});
    command.add_option("--map", request->map, "Try the columns as they are, or bins of them, alone")
        .one_of({"columns", "bins"});
    command
        .add_option("--edges", request->edges,
                    "Between the bins: public, of any table, which the configuration states; measured, which "
                    "the dataset has (holdfast measure)")
        .one_of({"public", "measured"})
        .show_default();
    command.add_output("--out", request->out, OutputKind::edited,
                       "Configuration file to write, which holdfast train takes");
    command.add_option("--data", request->data,
                       "The dataset that is to be trained on: never opened here, only named in the command "
                       "that --out ends with");
    command.add_option("--ledger", request->ledger,
                       "and the file that will pay (by default beside it, ending in .ledger); one that is "
                       "there has their account");
    return [request](const Context& context) { advise(context, *request); };
}

}  // namespace holdfast
