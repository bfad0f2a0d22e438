#include "jobs/answers/evaluate/poisoned_votes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "jobs/program/queries.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/answers.hpp"
#include "models/privacy/run_off.hpp"

namespace holdfast {
namespace {

/// What one way of counting says of every query.
struct Counted {
    const char* rule;
    std::vector<std::int64_t> labels, distances;  // [queries]
    Counted(const char* name, std::size_t queries) : rule(name), labels(queries, 0), distances(queries, 0) {}
};

/// Every member's answer to query q; `alone`: its label, which one record may turn.
std::vector<MemberAnswer> answers_to(std::size_t q, const std::vector<Certificates>& members, bool alone) {
    std::vector<MemberAnswer> answers;
    for (const Certificates& member : members)
        answers.push_back({member.labels[q], alone ? 0 : member.distances[q], {}});
    return answers;
}

/// [queries][members, classes], of the nominal parameters.
std::vector<std::vector<double>> logits_of(const FinishedRun& run, const Records& queries, int device) {
    const BoxesReader parameters(run.folder);
    const auto backend = make_backend(backend_for(run.network.shape(), "auto"),
                                      run.settings.training.arithmetic(), Product::exact, device);
    const Records mapped = run.features(queries);
    const std::size_t classes = run.classes();
    std::vector<std::vector<double>> logits(queries.size());
    std::vector<std::int64_t> lower, upper;
    for (std::size_t m = 0; m < run.members(); ++m) {
        parameters.read(m, 0, lower, upper);
        const Answers answers = answers_of(run.network, *backend, lower, mapped);
        for (std::size_t q = 0; q < queries.size(); ++q) {
            const auto first = answers.logits.begin() + static_cast<std::ptrdiff_t>(q * classes);
            logits[q].insert(logits[q].end(), first, first + static_cast<std::ptrdiff_t>(classes));
        }
    }
    return logits;
}

void count_run_offs(const FinishedRun& run, const std::vector<Certificates>& members, const Records& queries,
                    std::size_t first, int device, Counted& plain, Counted& boxes) {
    const std::vector<std::vector<double>> logits = logits_of(run, queries, device);
    const int classes = static_cast<int>(run.classes());
    for (std::size_t i = 0; i < queries.size(); ++i) {
        const std::size_t q = first + i;
        const RunOff turned = run_off(answers_to(q, members, true), logits[i], classes);
        const RunOff standing = run_off(answers_to(q, members, false), logits[i], classes);
        plain.labels[q] = boxes.labels[q] = turned.label;
        plain.distances[q] = turned.distance;
        boxes.distances[q] = std::max(turned.distance, standing.distance);
    }
}

Guarantee claim_of(const FinishedRun& run) {
    Guarantee claim = run.certificate->claim();
    claim.combine(Guarantee::proved(
        "where a record falls to one member alone, a query that a rule counts at k is "
        "answered by that rule with the same label on every dataset at distance at most k"));
    return claim;
}

/// 0, 1, 2, 5, 10, 20, … up to the farthest distance.
std::vector<std::int64_t> counts_up_to(std::int64_t farthest) {
    std::vector<std::int64_t> counts{0};
    for (std::int64_t decade = 1; decade <= farthest; decade *= 10) {
        for (const std::int64_t count : {decade, 2 * decade, 5 * decade}) {
            if (count <= farthest) counts.push_back(count);
        }
    }
    return counts;
}

nlohmann::json json_of(const Counted& counted, const std::vector<std::int64_t>& counts,
                       const std::vector<std::int32_t>& truth) {
    std::vector<std::int64_t> right(counts.size(), 0);
    for (std::size_t q = 0; q < truth.size(); ++q) {
        for (std::size_t i = 0; i < counts.size(); ++i)
            right[i] += counted.labels[q] == truth[q] && counted.distances[q] >= counts[i];
    }
    nlohmann::json certified = nlohmann::json::array();
    for (const std::int64_t queries : right)
        certified.push_back(static_cast<double>(queries) / static_cast<double>(truth.size()));
    return {{"rule", counted.rule}, {"accuracy", certified.front()}, {"certified_accuracy", certified}};
}

}  // namespace

nlohmann::json poisoned_votes(const Context& context, const FinishedRun& run,
                              const std::vector<Certificates>& members, const Records& queries) {
    if (members.size() < 2) return nullptr;
    // 1. By the vote: each member alone, and as its certificate has it.
    const std::size_t asked = queries.size();
    const int classes = static_cast<int>(run.classes());
    Counted plain("partition", asked), boxes("boxes", asked);
    for (std::size_t q = 0; q < asked; ++q) {
        const Evidence turned = aggregate(answers_to(q, members, true), classes, 0);
        const Evidence standing = aggregate(answers_to(q, members, false), classes, run.cap());
        plain.labels[q] = boxes.labels[q] = turned.label;
        plain.distances[q] = turned.distance;
        boxes.distances[q] = std::max(turned.distance, standing.distance);
    }
    std::vector<Counted> all{plain, boxes};

    // 2. By two rounds, whose logits the ranks compute for their share of the queries.
    if (classes > 2) {
        const auto [first, last] = share_of(context.world, asked);
        Counted run_off("run_off", asked), run_off_boxes("run_off_boxes", asked);
        count_run_offs(run, members, part_of(queries, first, last), first,
                       choose_device(run.how.backend, context.world), run_off, run_off_boxes);
        for (Counted* counted : {&run_off, &run_off_boxes}) {
            context.world.sum(counted->labels);
            context.world.sum(counted->distances);
            all.push_back(*counted);
        }
    }

    // 3. Right answers that so many poisoned records cannot take.
    std::int64_t farthest = 0;
    for (const Counted& counted : all)
        farthest = std::max(farthest, *std::max_element(counted.distances.begin(), counted.distances.end()));
    const std::vector<std::int64_t> counts = counts_up_to(farthest);
    nlohmann::json rules = nlohmann::json::array();
    for (const Counted& counted : all) rules.push_back(json_of(counted, counts, queries.labels));
    return {{"counts", counts}, {"rules", rules}, {"guarantee", claim_of(run).to_json()}};
}

std::string poisoned_votes_text(const nlohmann::json& votes) {
    std::string text = "right on every dataset so many records away (" +
                       votes["guarantee"]["relation"].get<std::string>() + "), by how votes are counted\n" +
                       printed("%-24s", "records");
    for (const std::int64_t count : votes["counts"]) text += printed("%-8lld", static_cast<long long>(count));
    text += "\n";
    for (const auto& row : votes["rules"]) {
        text += printed("%-24s", row["rule"].get<std::string>().c_str());
        for (const double accuracy : row["certified_accuracy"]) text += printed("%-8.4f", accuracy);
        text += "\n";
    }
    return text;
}

}  // namespace holdfast
