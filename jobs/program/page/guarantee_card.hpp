#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// What a number claims, in the words of the job that computed it.
struct GuaranteeText {
    std::string
        status;  ///< "proved", "as published (gap: …)" or "not differentially private"; empty: none stated
    std::string statement, relation, gap;
    std::vector<std::string> conditions;

    bool proved() const { return status == "proved"; }
    bool stated() const { return !status.empty(); }
    bool operator==(const GuaranteeText&) const = default;
};

/// The status alone, coloured; without the gap, which the guarantee section tells.
std::string badge(const GuaranteeText& guarantee);
/// Status, statement, relation, conditions and gap; `title` may be empty.
std::string guarantee_card(const std::string& title, const GuaranteeText& guarantee);

}  // namespace holdfast
