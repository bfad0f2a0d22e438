#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"

namespace holdfast {

/// A finished classifier as an attacker has it who knows every parameter, by its members; of a fleet the
/// network of all records is the one.
struct AttackedRun {
    RunFolder folder;
    RunManifest manifest;
    Settings settings;
    FeatureMap features;
    Network network;
    std::vector<std::vector<std::int64_t>> members;  ///< parameters of each
    std::optional<FinishedRun> run;                  ///< one of the two
    std::optional<FinishedFleet> fleet;

    /// Errors (input): as FinishedRun::open, a published model; (usage): a regression.
    static AttackedRun open(const std::string& path);
};

/// Everybody of whom it is guessed whether a network knew them: those trained on first, then those held out.
/// Rows are as in their files, a person's side by side.
struct AskedPersons {
    Records rows = {};
    std::vector<std::size_t> starts = {0};  ///< [persons + 1]: the first row of each
    std::vector<std::size_t> own =
        {};  ///< [persons], the member that had the person, or that is asked instead
    std::vector<std::size_t> other = {};  ///< [persons], another one, where there are several
    std::size_t trained = 0;

    std::size_t size() const { return own.size(); }
    std::size_t held_out() const { return size() - trained; }
    std::uint64_t id(std::size_t person) const { return rows.ids[starts[person]]; }
    std::int32_t label(std::size_t person) const { return rows.labels[starts[person]]; }
    /// The rows of some of them, one person after the other.
    Records rows_of(const std::vector<std::size_t>& persons) const;
    /// Only the first row of each.
    Records first_rows_of(const std::vector<std::size_t>& persons) const;
};

/// held_out: FILE[:SPLIT]; empty: none. Errors (input): other records than those trained on, other columns,
/// no labels, a person on both sides, too few of either.
AskedPersons read_persons(const AttackedRun& attacked, const DatasetReader& reader,
                          const std::string& held_out);

/// What one network says of persons: means over the rows of each.
struct Said {
    std::vector<double> confidence;  ///< logit_of_confidence of the label
    std::vector<double> right;       ///< the part of the rows whose answer is the label
};
/// mapped: the persons' rows, through the run's feature map; starts: of each its first row, and the end.
Said said_of(const AttackedRun& attacked, const std::vector<std::int64_t>& parameters, const Records& mapped,
             const std::vector<std::size_t>& starts);

/// A network that the run's training makes of some of the persons.
struct Shadow {
    std::vector<char> had;  ///< [persons]
    std::vector<std::int64_t> parameters;
};
/// Number `number` of the shadows: persons are dealt anew for each round of parts() of them, one part a
/// shadow. Trained as a member was, by the same start, batches and noise beside the mean over fewer records;
/// folder: of its own, empty.
Shadow train_shadow(const AttackedRun& attacked, const AskedPersons& persons, const Records& public_records,
                    std::size_t number, const std::string& folder);
/// Two halves, or of an ensemble so many that each is about as large as a member's.
std::size_t shadow_parts(const AttackedRun& attacked, const AskedPersons& persons);

}  // namespace holdfast
