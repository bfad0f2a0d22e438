#pragma once

#include "jobs/program/job.hpp"

namespace holdfast {

/// holdfast bench idp: what each part of the search behind holdfast idp is worth. Declares its options on the
/// subcommand; nothing is written.
Run declare_bench_idp(const Command& command);

}  // namespace holdfast
