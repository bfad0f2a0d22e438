#include "tools/checks/audit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"
#include "models/privacy/mechanisms/mechanism_list.hpp"
#include "models/training/phase_times.hpp"
#include "tools/checks/epsilon_bounds.hpp"

namespace holdfast {
namespace {

/// "score >= threshold", or its complement; more likely in the world after the change, or before it.
struct Event {
    double threshold = 0;
    bool above = true, likelier_after = true;

    bool holds(double score) const { return (score >= threshold) == above; }
};

std::int64_t count(const Event& event, std::span<const double> scores) {
    return std::count_if(scores.begin(), scores.end(), [&](double score) { return event.holds(score); });
}

/// About epsilon_of_event of the bounds that so many counts will have (Wilson's), for choosing an event.
double promise(double likely, double unlikely, double trials, double delta, double deviations) {
    const double z2 = deviations * deviations / trials;
    const auto end = [&](double count, double sign) {
        const double p = count / trials;
        return (p + z2 / 2 + sign * std::sqrt(z2 * (p * (1 - p) + z2 / 4))) / (1 + z2);
    };
    return (end(likely, -1) - delta) / end(unlikely, 1);
}

/// The event of the greatest promise, the thresholds all scores there are.
Event best_event(std::span<const double> before, std::span<const double> after, double delta,
                 double deviations) {
    std::vector<double> low(before.begin(), before.end()), high(after.begin(), after.end());
    std::sort(low.begin(), low.end());
    std::sort(high.begin(), high.end());
    std::vector<double> thresholds(low);
    thresholds.insert(thresholds.end(), high.begin(), high.end());
    const auto at_least = [](const std::vector<double>& sorted, double threshold) {
        return static_cast<double>(sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), threshold));
    };
    const auto trials = static_cast<double>(before.size());
    Event best;
    double greatest = 0;
    for (const double threshold : thresholds) {
        const double above_before = at_least(low, threshold), above_after = at_least(high, threshold);
        for (const bool above : {true, false}) {
            const double of_before = above ? above_before : trials - above_before,
                         of_after = above ? above_after : trials - above_after;
            for (const bool likelier_after : {true, false}) {
                const double value =
                    promise(likelier_after ? of_after : of_before, likelier_after ? of_before : of_after,
                            trials, delta, deviations);
                if (value > greatest) {
                    greatest = value;
                    best = {threshold, above, likelier_after};
                }
            }
        }
    }
    return best;
}

/// ln of the greatest (p(S) - delta)/q(S) over sets S of outcomes: one of those that hold the outcomes of the
/// greatest p/q (Neyman and Pearson).
Rational one_sided_epsilon(const std::vector<Rational>& p, const std::vector<Rational>& q,
                           const Rational& delta) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return p[a] * q[b] > p[b] * q[a]; });
    Rational epsilon = 0, of_p = 0, of_q = 0;
    for (const std::size_t outcome : order) {
        of_p += p[outcome];
        of_q += q[outcome];
        epsilon = std::max(epsilon, epsilon_of_event(of_p, of_q, delta));
    }
    return epsilon;
}

// Evidences: all there are of a small cap, few classes and members; neighbours as evidence.hpp says.

std::vector<std::vector<std::int64_t>> vectors(std::size_t size, std::int64_t largest) {
    std::vector<std::vector<std::int64_t>> all{{}};
    for (std::size_t i = 0; i < size; ++i) {
        std::vector<std::vector<std::int64_t>> longer;
        for (const auto& start : all) {
            for (std::int64_t entry = 0; entry <= largest; ++entry) {
                longer.push_back(start);
                longer.back().push_back(entry);
            }
        }
        all = std::move(longer);
    }
    return all;
}

std::vector<Evidence> evidences(const Mechanism& mechanism) {
    const MechanismParameters& parameters = mechanism.parameters();
    const auto classes = static_cast<std::size_t>(parameters.classes);
    std::vector<Evidence> all;
    Evidence evidence;
    evidence.classes = parameters.classes;
    evidence.cap = parameters.cap;
    if (mechanism.info().needs_votes) {
        for (auto& votes : vectors(classes, parameters.members)) {
            if (std::accumulate(votes.begin(), votes.end(), std::int64_t{0}) != parameters.members) continue;
            evidence.votes = votes;
            evidence.label = static_cast<int>(std::max_element(votes.begin(), votes.end()) - votes.begin());
            all.push_back(evidence);
        }
        return all;
    }
    for (evidence.label = 0; evidence.label < parameters.classes; ++evidence.label) {
        const auto label = static_cast<std::size_t>(evidence.label);
        if (!mechanism.info().needs_class_distances) {
            for (evidence.distance = 0; evidence.distance <= parameters.cap; ++evidence.distance)
                all.push_back(evidence);
            continue;
        }
        for (auto& distances : vectors(classes, parameters.cap + 1)) {
            if (distances[label] != 0) continue;
            evidence.class_distances = distances;
            evidence.distance = parameters.cap;
            for (std::size_t j = 0; j < classes; ++j) {
                if (j != label)
                    evidence.distance =
                        std::min(evidence.distance, std::max<std::int64_t>(distances[j] - 1, 0));
            }
            all.push_back(evidence);
        }
    }
    return all;
}

bool neighbours(const Evidence& a, const Evidence& b) {
    if (!a.votes.empty()) {
        std::int64_t moved = 0;
        for (std::size_t j = 0; j < a.votes.size(); ++j) moved += std::abs(a.votes[j] - b.votes[j]);
        return moved <= 2;
    }
    for (std::size_t j = 0; j < a.class_distances.size(); ++j) {
        if (std::abs(a.class_distances[j] - b.class_distances[j]) > 1) return false;
    }
    if (std::abs(a.distance - b.distance) > 1) return false;
    return a.label == b.label || (a.distance == 0 && b.distance == 0);
}

std::size_t outcome_of(const Mechanism& mechanism, const Evidence& evidence, RandomBits& bits) {
    const int drawn = mechanism.draw(evidence, bits);
    return drawn == refused ? mechanism.outcomes() - 1 : static_cast<std::size_t>(drawn);
}

/// Outcomes in the order of how much likelier the change made them, in the first half of the draws.
Scores ranked(const std::vector<std::size_t>& before, const std::vector<std::size_t>& after,
              std::size_t outcomes) {
    std::vector<double> before_counts(outcomes, 0), after_counts(outcomes, 0);
    for (std::size_t i = 0; i < before.size() / 2; ++i) {
        ++before_counts[before[i]];
        ++after_counts[after[i]];
    }
    const auto scores = [&](const std::vector<std::size_t>& drawn) {
        std::vector<double> result;
        for (const std::size_t outcome : drawn) {
            const double all = before_counts[outcome] + after_counts[outcome];
            result.push_back(all == 0 ? 0 : (after_counts[outcome] - before_counts[outcome]) / all);
        }
        return result;
    };
    return {scores(before), scores(after)};
}

std::string subject_of(const Mechanism& mechanism) {
    return std::string(mechanism.info().name) + ", " + std::to_string(mechanism.parameters().classes) +
           " classes";
}

}  // namespace

Rational epsilon_of_scores(const Scores& scores, const Rational& delta, const Rational& error) {
    const std::size_t half = scores.before.size() / 2;
    ensure(half > 0 && scores.after.size() == scores.before.size(), "scores of both worlds");
    const std::span before(scores.before), after(scores.after);
    const double deviations = std::sqrt(-2 * std::log(error.get_d() / 2));
    const Event event = best_event(before.first(half), after.first(half), delta.get_d(), deviations);
    const std::span likely = event.likelier_after ? after : before,
                    unlikely = event.likelier_after ? before : after;
    const auto trials = static_cast<std::int64_t>(before.size() - half);
    return epsilon_of_event(proportion_lower(count(event, likely.subspan(half)), trials, error / 2),
                            proportion_upper(count(event, unlikely.subspan(half)), trials, error / 2), delta);
}

Scores scores_of(const Play& play, std::int64_t runs, const SecretKey& key) {
    Scores scores;
    scores.before.resize(static_cast<std::size_t>(runs));
    scores.after.resize(static_cast<std::size_t>(runs));
    ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 16)
    for (std::size_t i = 0; i < scores.before.size(); ++i) {
        failure.guard([&] {
            scores.before[i] = play(false, key.derived("audit before", std::to_string(i)));
            scores.after[i] = play(true, key.derived("audit after", std::to_string(i)));
        });
    }
    failure.rethrow();
    return scores;
}

Rational epsilon_of_laws(const std::vector<Rational>& p, const std::vector<Rational>& q,
                         const Rational& delta) {
    return std::max(one_sided_epsilon(p, q, delta), one_sided_epsilon(q, p, delta));
}

std::vector<EvidencePair> neighbouring_evidences(const Mechanism& mechanism) {
    const std::vector<Evidence> all = evidences(mechanism);
    std::vector<EvidencePair> pairs;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (neighbours(all[i], all[j])) pairs.push_back({all[i], all[j]});
        }
    }
    return pairs;
}

Rational epsilon_of_draws(const Mechanism& mechanism, const EvidencePair& pair, std::int64_t draws,
                          const Rational& error, RandomBits& bits) {
    std::vector<std::size_t> before, after;
    for (std::int64_t i = 0; i < draws; ++i) {
        before.push_back(outcome_of(mechanism, pair.before, bits));
        after.push_back(outcome_of(mechanism, pair.after, bits));
    }
    return epsilon_of_scores(ranked(before, after, mechanism.outcomes()), mechanism.delta(), error);
}

std::vector<Finding> audit_mechanism(const Mechanism& mechanism, std::int64_t draws, const Rational& error,
                                     RandomBits& bits) {
    const Claim claim{mechanism.epsilon(), mechanism.delta()};
    Stopwatch watch;
    Finding exact{subject_of(mechanism), claim, 0, "", 0};
    EvidencePair worst;
    const std::vector<EvidencePair> pairs = neighbouring_evidences(mechanism);
    for (const EvidencePair& pair : pairs) {
        const Rational epsilon =
            epsilon_of_laws(mechanism.exact_law(pair.before), mechanism.exact_law(pair.after), claim.delta);
        if (epsilon > exact.bound) {
            exact.bound = epsilon;
            worst = pair;
        }
    }
    ensure(exact.bound > 0, "some neighbours differ in their laws");
    exact.evidence = "exact laws of " + std::to_string(pairs.size()) + " pairs";
    exact.seconds = watch.lap();
    Finding drawn{subject_of(mechanism), claim, epsilon_of_draws(mechanism, worst, draws, error, bits),
                  std::to_string(draws) + " draws", 0};
    drawn.seconds = watch.lap();
    return {exact, drawn};
}

std::vector<Finding> audit_mechanisms(std::int64_t draws, const Rational& error, RandomBits& bits) {
    std::vector<Finding> findings;
    for (const MechanismInfo& info : mechanism_table()) {
        if (!info.releasable() || info.gap != nullptr) continue;  // what is open is not claimed
        for (const double delta : {0.0, 1e-3}) {
            if (delta > 0 ? !info.takes_delta : info.needs_delta) continue;
            const Mechanism mechanism(info.name, {1.0, delta, info.binary_only ? 2 : 3, 3, 5});
            for (Finding& finding : audit_mechanism(mechanism, draws, error, bits))
                findings.push_back(std::move(finding));
        }
    }
    return findings;
}

}  // namespace holdfast
