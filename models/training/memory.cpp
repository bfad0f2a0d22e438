#include "models/training/memory.hpp"

#include <algorithm>

#include "kernels/ops/panel_operations.hpp"
#include "kernels/ops/step_message.hpp"
#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

constexpr double word = sizeof(std::int64_t);
constexpr double sums_of_a_thread = double{1 << 28};  // kernels/pass/host_engine.hpp

/// Of the levels of boxes; the other kinds train one point.
std::vector<std::int64_t> levels_of(const TrainingPlan& plan) {
    return plan.settings.training.kind == "boxes" ? plan.levels : std::vector<std::int64_t>{0};
}

double slots_of(const TrainingPlan& plan) {
    const auto optimiser = make_optimiser(plan.settings.training, plan.gradient_scale().exponent);
    return static_cast<double>(optimiser->initial_slots(std::vector<std::int64_t>(1)).size());
}

/// Both ends of a box and their slots; of both budgets, two boxes.
double state_of(const TrainingPlan& plan, const std::vector<std::int64_t>& levels) {
    const double box = 2 * word * (1 + slots_of(plan)) * static_cast<double>(plan.network.parameters());
    double bytes = 0;
    for (const std::int64_t k : levels) {
        const bool twice = k > 0 && plan.settings.certificate.charge_rule == ChargeRule::both;
        bytes += twice ? 2 * box : box;
    }
    return bytes;
}

/// Does a level keep the least values of its entries (Charges::selected)?
bool selects(const TrainingPlan& plan) {
    return plan.settings.training.kind == "boxes" &&
           plan.settings.certificate.charge_rule != ChargeRule::per_epoch &&
           plan.settings.certificate.relation != Relation::add_remove;
}

/// Of every entry at level k: room for 2k values, their number and the threshold, for either end (Selection).
double selections_of(const TrainingPlan& plan, const std::vector<std::int64_t>& levels) {
    if (!selects(plan)) return 0;
    double words = 0;
    for (const std::int64_t k : levels) words += k == 0 ? 0 : 2 * (2 * static_cast<double>(k) + 1.5);
    return word * words * static_cast<double>(plan.network.parameters());
}

/// What a thread passes a panel on in: of every layer its activations, what is made of them and its
/// derivatives, at both ends.
double buffers_of_a_thread(const NetworkShape& network, double real) {
    double rows = 2 * static_cast<double>(network.inputs());
    for (const Layer& layer : network.layers)
        rows += 2 * (2 * static_cast<double>(layer.weighted_rows()) +
                     3 * static_cast<double>(layer.output_rows()));
    return real * rows * static_cast<double>(panel_height);
}

/// Of a convolution, per thread: its gradient in every lane of a vector, at both ends
/// (kernels/cpu/convolution_gradient.cpp).
double totals_of_a_thread(const NetworkShape& network) {
    constexpr double vector_bytes = 64;
    std::size_t most = 0;
    for (const Layer& layer : network.layers)
        if (layer.convolution) most = std::max(most, layer.parameters());
    return 2 * vector_bytes * static_cast<double>(most);
}

/// Of fixed precision, per thread: a panel as integers, two a term, in up to four variants and two digits
/// (kernels/cpu/fixed_kernels.cpp); and as many bytes for each of two of the panels that tiles gather.
double terms_of_a_thread(const NetworkShape& network) {
    const std::size_t widest = std::max(network.inputs(), network.widest());
    return 3 * 24 * static_cast<double>(widest * panel_height);
}

/// Of the panels that a thread gathers to select from, and what they were made of
/// (kernels/cpu/gathered_selections.hpp).
double gathered_by_a_thread(const NetworkShape& network, double real) {
    return std::min(double{1 << 25}, 16 * buffers_of_a_thread(network, real));
}

double step_of(const TrainingPlan& plan, std::size_t variants, bool in_parts, int threads) {
    const NetworkShape& network = plan.network.shape();
    const double real = plan.settings.training.precision == Precision::double_precision ? 8 : 4,
                 parameters = static_cast<double>(network.parameters()),
                 count = static_cast<double>(variants);
    const double message = word * static_cast<double>(StepMessage::of(variants, network).size());
    const double boxes = 2 * word * parameters * count;
    // A group of variants, as many as a thread may hold sums of, and at least one: packed by rows and
    // transposed.
    const double stride = word * static_cast<double>(StepMessage::of(1, network).stride());
    const double group = std::clamp(std::floor(sums_of_a_thread / stride), 1.0, count);
    const bool fixed = plan.settings.training.precision == Precision::fixed;
    const double packed = (fixed ? 24 : 4 * real) * parameters * group;
    const double of_threads =
        threads * (group * stride + buffers_of_a_thread(network, real) + totals_of_a_thread(network) +
                   (fixed ? terms_of_a_thread(network) : 0) +
                   (selects(plan) ? gathered_by_a_thread(network, real) : 0));
    // The engine's message, and its copy, or the whole of a batch's parts in 128 bits.
    return message + boxes + std::max(packed + of_threads, (in_parts ? 4 : 1) * message);
}

double records_of(const TrainingPlan& plan, const HeldRecords& records) {
    const double feature = records.wide ? 8 : 4;
    constexpr double label_id_and_row = 4 + 8 + 8, in_a_batch = 4 + 8;
    const double target = plan.network.is_regression() ? 8 : 0;
    return records.all *
               (feature * static_cast<double>(plan.network.shape().inputs()) + label_id_and_row + target) +
           records.of_a_member * in_a_batch;
}

}  // namespace

MemoryNeed memory_of(const TrainingPlan& plan, const HeldRecords& records, int threads) {
    const std::vector<std::int64_t> levels = levels_of(plan);
    const bool in_parts = 2 * records.of_a_member > static_cast<double>(plan.gradient_scale().record_limit);
    MemoryNeed need;
    need.records = records_of(plan, records);
    need.state = state_of(plan, levels);
    need.checkpoint = 6 * need.state;  // serialised, as text, as bytes, sealed; heaps keep some of a step
    need.step = step_of(plan, levels.size(), in_parts, threads);
    need.selections = (in_parts ? 2 : 1) * selections_of(plan, levels);
    return need;
}

}  // namespace holdfast
