#include "jobs/plan/memory.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

/// Of this process, in bytes, without what it has used and keeps to use again.
double resident() {
    malloc_trim(0);
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024;
    return 0;
}

}  // namespace

double memory_of_rank(const TrainingPlan& plan, double records, std::size_t levels, bool wide) {
    const auto parameters = static_cast<double>(plan.network.parameters());
    const auto slots =
        static_cast<double>(make_optimiser(plan.settings.training, plan.gradient_scale().exponent)
                                ->initial_slots(plan.initial_parameters(0))
                                .size());
    const double boxes = plan.settings.certificate.charge_rule == ChargeRule::both ? 2 : 1;
    // Lower and upper, in units: of the state, of the boxes a step passes, of its sums and what it received,
    // of a checkpoint and the member's part of the result.
    const double state = 16 * boxes * (parameters + slots), passed = 16 * parameters, sums = 32 * parameters;
    const auto count = static_cast<double>(levels);
    // While its list grows a record's columns are there up to three times; then as mapped, if they are.
    const double value = wide ? 8 : 4;
    const auto columns = static_cast<double>(plan.features.columns()),
               mapped = static_cast<double>(plan.features.is_identity() ? 0 : plan.features.outputs());
    const double ids_rows_labels = 32;
    const double record = value * (3 * columns + mapped) + ids_rows_labels;
    return resident() + records * record + count * (2 * state + passed + sums);
}

}  // namespace holdfast
