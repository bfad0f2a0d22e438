#include "jobs/training/plan/scaling.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast {
namespace {

std::size_t shared_out(std::size_t all, std::size_t groups) {
    return (all + groups - 1) / groups;
}

/// Of the ranks' divisors the greatest that is no more than `most`.
std::size_t greatest_divisor(std::size_t ranks, std::size_t most) {
    std::size_t greatest = 1;
    for (std::size_t divisor = 1; divisor <= most && divisor <= ranks; ++divisor)
        if (ranks % divisor == 0) greatest = divisor;
    return greatest;
}

/// Batches go by a hash: of so many blocks that expect `records` each, about what the fullest gets.
double fullest(double records, std::size_t blocks) {
    return records + std::sqrt(2 * records * std::log(static_cast<double>(blocks)));
}

Prediction predict(const Demand& demand, const StepCost& cost, const Link& link, const std::string& layout,
                   const GridShape& grid) {
    Prediction said{layout, grid};
    said.members = shared_out(demand.members, grid.members);
    said.levels = shared_out(demand.levels, grid.levels);
    said.records =
        std::min(demand.records, fullest(demand.records / static_cast<double>(grid.blocks), grid.blocks));
    const auto levels = static_cast<double>(said.levels), blocks = static_cast<double>(grid.blocks);
    const std::size_t ranks = grid.members * grid.levels * grid.blocks;
    const double crowded =
        demand.cores == 0
            ? 1
            : std::max(1.0, static_cast<double>(ranks * demand.threads) / static_cast<double>(demand.cores));
    said.computing = crowded * cost.seconds(said.records, levels);
    const double parts = std::max(1.0, std::ceil(said.records * blocks / demand.part_capacity));
    const double share = levels / static_cast<double>(demand.levels);
    const double agreement = link.all_reduce(16, grid.levels * grid.blocks);
    const auto adding = [&](double words, double selected) {
        return parts * link.all_reduce(8 * words, grid.blocks) + link.all_reduce(selected, grid.blocks) +
               agreement;
    };
    said.communication = adding(levels * demand.words_of_level, share * demand.selected_bytes);
    const double step = said.computing + said.communication;
    const double first = demand.first_is_point
                             ? crowded * cost.first(said.records, levels) + adding(demand.words_of_level, 0)
                             : step;
    said.seconds = static_cast<double>(said.members) * (first + static_cast<double>(demand.steps - 1) * step);
    return said;
}

}  // namespace

StepCost StepCost::through(const Measured& few_few, const Measured& many_few, const Measured& few_many,
                           const Measured& many_many) {
    // Of each number of levels the line over the records, then the line over the levels of both its numbers.
    const auto by_record = [](const Measured& few, const Measured& many) {
        return std::max(0.0, (many.seconds - few.seconds) / (many.records - few.records));
    };
    const auto at_none = [&](const Measured& few, const Measured& many) {
        return std::max(0.0, few.seconds - by_record(few, many) * few.records);
    };
    const double slope_few = by_record(few_few, many_few), slope_many = by_record(few_many, many_many);
    const double none_few = at_none(few_few, many_few), none_many = at_none(few_many, many_many);
    const double apart = few_many.levels - few_few.levels;
    StepCost cost;
    if (apart > 0) cost.record_level = std::max(0.0, (slope_many - slope_few) / apart);
    if (apart > 0) cost.level = std::max(0.0, (none_many - none_few) / apart);
    cost.record = std::max(0.0, slope_many - cost.record_level * few_many.levels);
    cost.fixed = std::max(0.0, none_many - cost.level * few_many.levels);
    return cost;
}

double Link::all_reduce(double bytes, std::size_t ranks) const {
    if (ranks < 2 || bytes <= 0) return 0;
    const auto p = static_cast<double>(ranks);
    return 2 * std::ceil(std::log2(p)) * latency + 2 * (p - 1) / p * bytes / bandwidth;
}

std::vector<Prediction> predictions(const Demand& demand, const StepCost& cost, const Link& link,
                                    std::size_t ranks) {
    const GridShape automatic = GridShape::of(ranks, "auto", demand.members, demand.levels);
    const std::size_t level_groups = greatest_divisor(ranks, demand.levels);
    const std::vector<std::pair<std::string, GridShape>> layouts = {
        {"data", {1, 1, ranks}},
        {"ensemble", automatic},
        {"levels", {1, level_groups, ranks / level_groups}}};
    std::vector<Prediction> all;
    for (const auto& [layout, grid] : layouts) {
        const bool known = std::any_of(all.begin(), all.end(), [&, &shape = grid](const Prediction& other) {
            return other.grid.text() == shape.text();
        });
        if (known) continue;
        all.push_back(predict(demand, cost, link, layout, grid));
        all.back().taken_by_auto = grid.text() == automatic.text();
    }
    return all;
}

}  // namespace holdfast
