#pragma once

#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/runs/manifest.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// The settings with what the dataset states, unless they state it themselves: the public number of records,
/// how many rows a person has, and for bins the edges that holdfast measure drew. Errors (usage): settings
/// that do not go with that.
Settings settle_facts(Settings settings, const DatasetInfo& info);

/// Between the bins of every feature, as the records have them, where `measure` drew some; empty: it did not.
std::vector<std::vector<double>> measured_edges(const DatasetInfo& info);

/// Every public record, on every rank: they are few beside the private ones, and every member trains on all
/// of them. None where no file is named. Error (input): other columns, or a label that is no class.
Records read_public(const std::string& name, const DatasetInfo& private_data, const Settings& settings);
/// What names them, as read_public() gives them: their order too, where steps depend on it.
PublicRecords identify_public(const Records& records, const TrainingSettings& training);

/// Every record of a dataset on this rank, labels checked and in the order that training gives them, and the
/// digest of their set, as a run's manifest has it.
struct AllRecords {
    Records records;
    std::string digest;
};

/// Not collective: every rank reads for itself. Errors (ExitCode::input): what a training finds.
AllRecords read_all_records(const DatasetReader& reader, const Settings& settings);

/// Records as a training sees them: of a regression the targets in their public range, features mapped, and
/// records weighed by class.
Records as_trained(Records records, const Settings& settings, const FeatureMap& features,
                   FeatureRange targets);

}  // namespace holdfast
