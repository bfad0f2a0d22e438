#include "models/convex/removals.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "kernels/ops/loss_rule.hpp"
#include "models/convex/convex_reach.hpp"
#include "models/convex/mapped_length.hpp"

namespace holdfast {
namespace {

/// The largest of all ranks' values, at most so many, descending.
std::vector<double> largest(std::vector<double> values, std::size_t most, const Communicator& ranks) {
    const auto cut = [most](std::vector<double>& list) {
        std::sort(list.begin(), list.end(), std::greater<>());
        list.resize(std::min(list.size(), most));
    };
    cut(values);
    const auto parts = ranks.all_gather(std::as_bytes(std::span<const double>(values)));
    std::vector<double> all;
    for (const std::vector<std::byte>& part : parts) {
        std::vector<double> list(part.size() / sizeof(double));
        std::memcpy(list.data(), part.data(), part.size());
        all.insert(all.end(), list.begin(), list.end());
    }
    cut(all);
    return all;
}

Upper over_groups(const ConvexBounds& bounds, Upper of_one) {
    return bounds.groups() == 1 ? of_one : sqrt(Upper::of_count(bounds.groups())) * of_one;
}

}  // namespace

Removals::Removals(const TrainingPlan& plan, const Records& records)
    : plan_(plan),
      records_(records),
      bounds_(plan.settings, plan.features),
      size_(bounds_.size()),
      shares_(static_cast<std::size_t>(bounds_.steps())),
      engine_(plan.backend->engine(plan.network.shape(), {})),
      influences_(records.size()) {
    engine_->set_records(std::vector{records.view()});
    for (std::size_t record = 0; record < records.size(); ++record)
        lengths_.push_back(mapped_length(plan.network, records.features, record).value());
    ConvexReach reach(bounds_, plan.settings);
    for (std::int64_t step = bounds_.steps() - 1; step >= 0; --step) {
        shares_[static_cast<std::size_t>(step)] = (bounds_.share(step) * reach.before(step)).value();
        rounding_ = rounding_ + bounds_.rounding(step, size_) * reach.factor();
    }
    rounding_ = Upper(2) * rounding_ + reach.average_rounding();
}

/// |psi'(theta phi) phi|_2 of the exact gradient.
Upper Removals::gradient_of(std::uint32_t record, std::span<const double> logits, Upper rounding) const {
    const Network& network = plan_.network;
    const double limit = plan_.settings.clip.delta_limit;
    Upper derivatives;
    for (std::size_t c = 0; c < logits.size(); ++c) {
        const double derivative = loss_derivative(network.loss(), logits.size(), c, records_.labels[record],
                                                  logits.data(), logits.data(), 1);
        const Upper clamped(std::min(std::abs(derivative), limit));
        derivatives = derivatives + clamped * clamped;
    }
    return (sqrt(derivatives) + rounding) * Upper(lengths_[record]);
}

void Removals::add(std::int64_t step, std::span<const std::int64_t> parameters,
                   std::span<const std::uint32_t> batch, const StepSums& sums) {
    const Upper share(shares_[static_cast<std::size_t>(step)]);
    const std::int64_t most = bounds_.most_records();
    if (sums.records > most) {  // what is taken away may bring the batch back
        for (const std::uint32_t record : batch) {
            if (!is_first_of_person(record)) continue;
            influences_[record] =
                (Upper(influences_[record]) + share * over_groups(bounds_, bounds_.gradient())).value();
        }
        return;
    }
    Upper squares;
    for (const std::int64_t entry : sums.levels.front().lower) {
        const Upper value = Upper(std::abs(static_cast<double>(entry))) * Upper(bounds_.unit());
        squares = squares + value * value;
    }
    const Upper records(static_cast<double>(sums.records));
    const Upper others = (sqrt(squares) + records * over_groups(bounds_, bounds_.record_rounding(size_))) /
                         static_cast<double>(most);
    const std::size_t outputs = plan_.network.outputs();
    const Upper rounding = bounds_.derivative_rounding(outputs, over_groups(bounds_, size_));
    engine_->outputs({parameters.data(), parameters.data()}, {outputs, parameters.data(), parameters.data()},
                     batch, [&](const OutputBlock& block) {
                         std::vector<double> logits(outputs);
                         for (std::size_t r = 0; r < block.count; ++r) {
                             for (std::size_t c = 0; c < outputs; ++c)
                                 logits[c] = block.lower[c * block.stride + r];
                             const std::uint32_t record = batch[block.first + r];
                             Upper moved = weight_of(record) * gradient_of(record, logits, rounding);
                             if (is_first_of_person(record)) moved = moved + others;
                             influences_[record] = (Upper(influences_[record]) + share * moved).value();
                         }
                     });
}

bool Removals::is_first_of_person(std::size_t record) const {
    return records_.weights.empty() || record == 0 || records_.ids[record] != records_.ids[record - 1];
}
Upper Removals::weight_of(std::size_t record) const {
    return Upper(records_.weights.empty() ? 1 : records_.weights[record]);
}

/// A person's gradient is no longer than those of the rows, by their weights, together.
std::vector<double> Removals::of_persons() const {
    std::vector<double> all;
    for (std::size_t record = 0; record < influences_.size(); ++record) {
        if (is_first_of_person(record))
            all.push_back(influences_[record]);
        else
            all.back() = (Upper(all.back()) + Upper(influences_[record])).value();
    }
    return all;
}

std::vector<std::int64_t> Removals::radii(std::size_t most, const Communicator& ranks) const {
    const std::vector<double> removed = largest(of_persons(), most, ranks);
    std::vector<std::int64_t> result{0};
    Upper sum = over_groups(bounds_, rounding_);
    for (std::size_t k = 1; k <= most; ++k) {
        if (k <= removed.size()) sum = sum + Upper(removed[k - 1]);
        const double units = std::min(std::ceil(std::ldexp(sum.value(), 50)), 0x1p61);
        result.push_back(static_cast<std::int64_t>(units));
    }
    return result;
}

}  // namespace holdfast
