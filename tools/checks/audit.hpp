#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

// Audits: neighbouring datasets are told apart by what is released, and how well that works bounds epsilon
// from below. A bound above the claim refutes the claim; one below it proves nothing.

struct Claim {
    Rational epsilon, delta;
};

struct Finding {
    std::string subject;
    Claim claim;
    Rational bound;        ///< epsilon is no less, but for the stated error; rounded down
    std::string evidence;  ///< "exact law", "300000 draws", …
    double seconds = 0;

    bool refuted() const { return bound > claim.epsilon; }
};

/// A number made of what was released, in one world and in its neighbour; the same count of each.
struct Scores {
    std::vector<double> before, after;
};

/// A lower bound of the epsilon that goes with delta, wrong with probability `error` at most: the event
/// "score at least t" or "below t" that looks best in the first half of the scores, of which the second half
/// tells the frequencies.
Rational epsilon_of_scores(const Scores& scores, const Rational& delta, const Rational& error);

/// One play: trains, publishes, looks, and says a number; in the world that a record changed or in the other.
/// A function of its arguments alone: plays share threads.
using Play = std::function<double(bool changed, const SecretKey& run)>;

/// Of `runs` plays in each world, each with a key of its own, of `key`.
Scores scores_of(const Play& play, std::int64_t runs, const SecretKey& key);

/// The least epsilon that goes with delta for two laws, both ways, to 320 bits, rounded down.
Rational epsilon_of_laws(const std::vector<Rational>& p, const std::vector<Rational>& q,
                         const Rational& delta);

/// Evidences of neighbouring datasets.
struct EvidencePair {
    Evidence before, after;
};

/// Every pair of neighbours that the parameters of a mechanism allow: a few classes, distances and members.
std::vector<EvidencePair> neighbouring_evidences(const Mechanism& mechanism);

/// What `draws` draws in each world show: events are sets of outcomes.
Rational epsilon_of_draws(const Mechanism& mechanism, const EvidencePair& pair, std::int64_t draws,
                          const Rational& error, RandomBits& bits);
/// Two findings: the worst of all pairs by their exact laws, and that pair by `draws` draws in each world.
std::vector<Finding> audit_mechanism(const Mechanism& mechanism, std::int64_t draws, const Rational& error,
                                     RandomBits& bits);
/// Of every mechanism that a release offers, with and without delta where it has the choice.
std::vector<Finding> audit_mechanisms(std::int64_t draws, const Rational& error, RandomBits& bits);

}  // namespace holdfast
