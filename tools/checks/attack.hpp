#pragma once

#include <map>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "models/boxes/state.hpp"
#include "models/nets/network.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Tries to break the guarantee: trains on D with all levels, retrains on neighbours D' made to hurt, and
/// looks for one parameter outside its box, one certified label that changed, one box of D' that does not
/// nest, one distance that jumped. Everything is a function of the seed.
struct AttackReport {
    std::int64_t attacks = 0;
    std::int64_t clipped_after = 0;       ///< of those, on persons whose rows are clipped together
    std::vector<std::string> violations;  ///< each with its seed and what was outside
    /// "relation charge-rule layers" -> largest displacement reached / room the box leaves that way, at that
    /// distance.
    std::map<std::string, double> tightness;

    void add(const AttackReport& other);
};

/// A small training problem drawn from a seed: every relation, charge rule, clip and loss, 0 to 3 hidden
/// layers, with and without decay, several batches and epochs, ensembles, public records beside.
struct AttackProblem {
    Settings settings;
    Network network;
    Records records, queries, public_records;
    double input_radius = 0;  ///< by which the queries may move, too
};
AttackProblem draw_problem(std::uint64_t seed, Arithmetic arithmetic = Precision::double_precision);

/// Trains a regression on neighbours at distance k: no parameter leaves its box, no prediction its interval.
AttackReport attack_regression(std::uint64_t seed, Arithmetic arithmetic = Precision::double_precision);

/// Enclosure, in double with interval products of every kind: neighbours at every distance 1..K, random and
/// adversarial. `records_too_few` holds them against the box of a smaller distance instead, which must break:
/// it shows what the attacks can find.
AttackReport attack_enclosure(std::uint64_t seed, std::int64_t records_too_few = 0,
                              Arithmetic arithmetic = Precision::double_precision);
/// Enclosure of a problem whose neighbours are poisoned records: features anywhere within a radius, labels as
/// the poison allows, or those of both that move a chosen parameter most.
AttackReport attack_poison(std::uint64_t seed, std::int64_t records_too_few = 0,
                           Arithmetic arithmetic = Precision::double_precision);
/// Enclosure and smoothness of a problem whose neighbours differ in persons of several rows.
AttackReport attack_persons(std::uint64_t seed, std::int64_t persons_too_few = 0,
                            Arithmetic arithmetic = Precision::double_precision);
/// Enclosure, near and far beyond the levels that are trained, and smoothness of a problem of one step, whose
/// levels are all made of two: each of those trained must be the same bit by bit.
AttackReport attack_one_step(std::uint64_t seed, std::int64_t records_too_few = 0,
                             Arithmetic arithmetic = Precision::double_precision);
/// Smoothness: a neighbour at distance 1 trained with all levels.
AttackReport attack_smoothness(std::uint64_t seed, Arithmetic arithmetic = Precision::double_precision);
/// The same where the queries move, too, as far as the distances allow for, or so many times as far, which
/// must break: neighbours are trained, and asked at corners and elsewhere in the ball around each query.
AttackReport attack_moved_queries(std::uint64_t seed, double times_as_far = 1,
                                  Arithmetic arithmetic = Precision::double_precision);

/// T^k of every level of a member, trained on its share of the records alone.
std::vector<LevelState> train_boxes(const AttackProblem& problem, const Records& records,
                                    std::uint64_t member, std::int64_t levels);

}  // namespace holdfast
