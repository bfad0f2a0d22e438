#pragma once

#include <string>

#include "dist/data/dataset.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// Every record of a dataset on this rank, labels checked and in the order that training gives them, and the
/// digest of their set, as a run's manifest has it.
struct AllRecords {
    Records records;
    std::string digest;
};

/// Not collective: every rank reads for itself. Errors (ExitCode::input): what a training finds.
AllRecords read_all_records(const DatasetReader& reader, const Settings& settings);

}  // namespace holdfast
