#include "jobs/study/advise/judge.hpp"

#include <algorithm>
#include <bit>

#include "jobs/program/quality.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/publication.hpp"
#include "models/kinds/kinds.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/privacy/routes/batch_route.hpp"
#include "models/privacy/routes/session_route.hpp"

namespace holdfast {
namespace {

using Accuracies = std::vector<std::optional<double>>;

/// Answer by answer; others are seldom better, and take long.
constexpr const char* answering[] = {"stable_rr", "stable_gauss", "permute_and_flip"};

/// Of parameters that are given noise for the whole budget when they are published: that which covers a
/// record among as many as there will be. Nothing: they are not to be published, or no noise serves.
std::optional<double> published(const Candidate& candidate, const FinishedRun& run, const Records& tests,
                                const PublicNumbers& numbers) {
    const Kind& kind = kind_named(candidate.settings.training.kind);
    const std::optional<Rational> sensitivity =
        kind.sensitivity(kind.settled(candidate.settings), run.features);
    if (!sensitivity) return std::nullopt;
    const PublicationTerms terms{decimal_value(numbers.epsilon, "--epsilon"),
                                 decimal_value(numbers.delta, "--delta")};
    return published_accuracy(run, *sensitivity, terms, tests);
}

/// As it would be with so many times the members, or of one model the records: distances are so many times as
/// large; beyond 5000 they serve for any epsilon that serves at all. Rounded down to five bits: few distinct
/// ones, for the law of each takes long.
Evidence enlarged(Evidence evidence, double times) {
    const auto enlarge = [&](std::int64_t& count) {
        const auto large = static_cast<std::uint64_t>(std::min(5e3, static_cast<double>(count) * times));
        const int dropped = std::max(0, static_cast<int>(std::bit_width(large)) - 5);
        count = static_cast<std::int64_t>(large >> dropped << dropped);
    };
    enlarge(evidence.distance);
    enlarge(evidence.cap);
    for (std::int64_t& distance : evidence.class_distances) {
        enlarge(distance);
        distance = std::min(distance, evidence.cap + 1);
    }
    evidence.votes.clear();  // nothing here looks at them
    return evidence;
}

/// What one budget buys of a run's answers.
class Answering {
  public:
    Answering(const PublicNumbers& numbers, const EvidenceTable& table, MadeMechanisms& made)
        : epsilon_(decimal_value(numbers.epsilon, "--epsilon")),
          delta_(decimal_value(numbers.delta, "--delta")),
          table_(table),
          made_(made),
          shares_(distance_shares(table, 0)),
          sizes_{.classes = table.classes(), .cap = table.farthest()} {}

    std::optional<double> by(const MechanismInfo& info, std::int64_t answers) const {
        if (answers == 0) return std::nullopt;
        return answers_accuracy(info, sizes_, table_, made_.shares(epsilon_, delta_, answers), made_)
            .accuracy;
    }
    std::optional<double> in_session(std::int64_t answers) const {
        if (answers == 0) return std::nullopt;
        return session_accuracy(shares_, session_terms(epsilon_, delta_, 1, answers), answers);
    }
    std::optional<double> at_once(std::int64_t answers) const {
        if (answers == 0) return std::nullopt;
        return batch_accuracy(shares_, epsilon_, delta_, answers);
    }

  private:
    Rational epsilon_, delta_;
    const EvidenceTable& table_;
    MadeMechanisms& made_;
    std::vector<DistanceShare> shares_;
    MechanismParameters sizes_;
};

}  // namespace

ModelScore score_of_model(const std::string& path, const StandIn& stand_in) {
    const FinishedRun run = FinishedRun::open(path);
    const Records tests = DatasetReader(stand_in.path, "test").read_all();
    const std::vector<double> logits = nominal_logits(run, tests);
    if (run.network.is_regression()) {
        const NumericQuality quality = quality_of(logits, tests.targets);
        return {quality.explained(), quality.squared_error};
    }
    const std::vector<double> probabilities =
        probabilities_of(run.network.loss(), logits, run.network.outputs());
    std::vector<std::int32_t> labels;
    for (auto row = probabilities.begin(); row != probabilities.end();
         row += static_cast<std::ptrdiff_t>(run.classes())) {
        const auto end = row + static_cast<std::ptrdiff_t>(run.classes());
        labels.push_back(static_cast<std::int32_t>(std::max_element(row, end) - row));
    }
    const Quality quality = quality_of(labels, tests.labels, run.classes(), probabilities);
    return {quality.accuracy, quality.probabilities->log_loss};
}

std::vector<RouteAccuracy> judged(const Candidate& candidate, const std::string& path,
                                  const StandIn& stand_in, const PublicNumbers& numbers,
                                  const std::vector<std::int64_t>& answers, MadeMechanisms& made) {
    const FinishedRun run = FinishedRun::open(path);
    const Records tests = DatasetReader(stand_in.path, "test").read_all();
    const auto alone = make_serial_communicator();
    const Context context{*alone, nullptr};
    std::vector<Evidence> evidence =
        ensemble_evidence(run, certify_members(context, run, tests, Asker::owner));
    const std::int64_t members = candidate.settings.ensemble.members, tried = run.settings.ensemble.members;
    const double times =
        members > 1 ? static_cast<double>(members) / static_cast<double>(tried) : 1 / stand_in.share(numbers);
    for (Evidence& each : evidence) each = enlarged(std::move(each), times);
    EvidenceTable table(static_cast<int>(run.classes()), tests.labels);
    table.add_model(evidence);
    const Answering answering_run(numbers, table, made);
    std::vector<RouteAccuracy> routes;
    const auto add = [&](const char* name, auto accuracy) {
        Accuracies& line = routes.emplace_back(RouteAccuracy{name, {}}).by_answers;
        for (const std::int64_t count : answers) line.push_back(accuracy(count));
    };
    for (const char* name : answering) {
        const MechanismInfo& info = mechanism_info(name);
        if ((info.binary_only && run.classes() > 2) || (info.gaussian && numbers.delta == 0)) continue;
        add(name, [&](std::int64_t count) { return answering_run.by(info, count); });
    }
    if (numbers.delta > 0) {
        add("session", [&](std::int64_t count) { return answering_run.in_session(count); });
        add("batch", [&](std::int64_t count) { return answering_run.at_once(count); });
    }
    if (const std::optional<double> accuracy = published(candidate, run, tests, numbers))
        add("published", [&](std::int64_t) { return accuracy; });
    return routes;
}

}  // namespace holdfast
