#pragma once

#include <vector>

#include "dist/runs/member_store.hpp"
#include "jobs/program/runs/finished_run.hpp"

namespace holdfast {

/// metrics.jsonl of a finished run, the lines of each member: [members]. Error (input): they are not
/// `steps` lines of every member, in order.
std::vector<std::string> metrics_of_members(const RunFolder& run, const RunManifest& manifest);

/// Writes the files of these members of a finished run into the store of another, where their training
/// would come to the same, looking at no records held out; those that are there stay. Errors: (input) the
/// boxes are not those that manifest.json names; (output).
void keep_members(const FinishedRun& run, const std::vector<std::size_t>& members, const RunFolder& to,
                  const MemberStore& store);

}  // namespace holdfast
