#pragma once

#include <string>

#include "jobs/study/report/read_run.hpp"

namespace holdfast {

/// One self-contained HTML page about a run: no script, font, image or style from elsewhere; light and dark.
/// Shows what depends on the private records without protection: for their owner only
/// (models/privacy/mathematics.md, what may leave).
std::string render_report(const RunFiles& run);
/// The words of the command that the page says comes next.
std::vector<std::string> report_next(const RunFiles& run);

}  // namespace holdfast
