#pragma once

#include <string>
#include <vector>

#include "jobs/program/runs/finished_run.hpp"

namespace holdfast {

/// For every level k of a run with boxes the loss of the worst, the nominal and the best training within k
/// changed records, as the mean over the queries; of classifiers the accuracy too; of several members the
/// mean over them. No loss falls from a level to the next. targets: [queries], labels as numbers or what a
/// regression is to predict. Collective: the queries are shared out. Error (usage): the run has no boxes.
nlohmann::json certified_losses(const Context& context, const FinishedRun& run, const Records& queries,
                                const std::vector<double>& targets);

/// The same as a table of some ten levels.
std::string loss_table(const nlohmann::json& losses);

}  // namespace holdfast
