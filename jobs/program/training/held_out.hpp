#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "dist/data/dataset.hpp"
#include "models/training/plan.hpp"

namespace holdfast {

class Command;

/// What --validation and --validate-every ask for.
struct ValidationRequest {
    std::string records;     ///< FILE[:SPLIT]; empty: none
    std::int64_t every = 0;  ///< steps; 0: those of an epoch
};

void add_validation_options(const Command& command, ValidationRequest& request, const std::string& use);

/// The records, as the network of these settings wants them; null: none were asked for. Errors (input): no
/// records, other columns, labels or targets missing; (usage): a training of another kind than boxes.
std::shared_ptr<const HeldOut> read_held_out(const ValidationRequest& request, const DatasetInfo& trained_on,
                                             const Settings& settings, const FeatureMap& features);

}  // namespace holdfast
