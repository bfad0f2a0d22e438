#pragma once

#include <string>

#include "jobs/report_run.hpp"

namespace holdfast {

/// The status alone, coloured; without the gap, which the guarantee section tells.
std::string badge(const GuaranteeText& guarantee);
/// Status, statement, relation, conditions and gap; `title` may be empty.
std::string guarantee_card(const std::string& title, const GuaranteeText& guarantee);

}  // namespace holdfast
