#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/program/runs/run_settings.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

struct ImportOptions;
struct NamedSource;

/// What a ledger must know of a dataset: which records it holds, and of whom.
struct DatasetIdentity {
    std::string population;          ///< as the file names it; empty where it names none
    std::string digest;              ///< of the records, as training writes it into a run's manifest
    std::vector<std::uint64_t> ids;  ///< of the records; empty where they are row numbers and name nobody
    std::string id_kind;             ///< as name_of(IdKind) says
    std::vector<std::uint64_t> contents;  ///< a hash of each record's features, in their order
};

/// A hash of the features of each record, in their order.
std::vector<std::uint64_t> hash_contents(const Records& records);

/// What a manifest keeps of the dataset that a run was trained on. digest: of its records, "" unless kept.
DatasetFacts dataset_facts(const DatasetInfo& info, std::int64_t classes, std::string digest);

/// All that a plan and its dataset say: the rest is of the training and its result. `data_digest`: as above.
RunManifest manifest_of(const TrainingPlan& plan, const RunSettings& how, const DatasetInfo& info,
                        const std::string& data_digest);

/// Every public fact that decides a training or a claim, by its name. The records have their digest.
nlohmann::json deciding_facts(const PublicFacts& facts);
/// The first deciding fact that differs: "the scaling was public and is none". Empty: no fact differs.
std::string changed_fact(const PublicFacts& trained, const PublicFacts& now);
/// Error (input): records of another digest than the run was trained on, or another deciding fact.
void require_trained_on(const DatasetFacts& trained, const std::string& digest, const DatasetInfo& now);

/// The digest of the records alone. Not collective. Errors (ExitCode::input): what DatasetReader finds.
std::string digest_of_records(const DatasetReader& reader);

/// One pass over the records, slab by slab. Not collective: for the one rank that keeps the ledger. Errors
/// (ExitCode::input): what DatasetReader finds.
DatasetIdentity identify(const DatasetReader& reader);
/// The same of a split of import_records(), as it is written. Errors: as there.
DatasetIdentity import_identified(const std::vector<NamedSource>& sources, ImportOptions options,
                                  const std::string& path, const std::string& split);
/// The same of records that join an account. Error (ExitCode::input): a file that names no population.
DatasetIdentity identify_of_population(const DatasetReader& reader);

}  // namespace holdfast
