#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobs/program/context.hpp"

namespace holdfast {

/// Labels to be drawn under privacy, once, for an account of labels.
struct LabelChoice {
    std::string data, ledger, out;
    std::string form;  ///< as LabelLaw has it
    std::optional<std::uint64_t> classes;
    std::optional<double> epsilon;
};

/// Charges for the labels of the split, draws them and writes the split with them, and with the evidence that
/// was drawn. Errors: as holdfast measure; (usage) an epsilon that is not stated; (input) ids, splits or
/// columns that say something of labels, labels that are drawn already.
void draw_private_labels(const Context& context, const LabelChoice& choice);

}  // namespace holdfast
