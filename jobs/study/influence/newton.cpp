#include "jobs/study/influence/newton.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

/// By how many records the sums of gradients of a pass are divided.
double records_of_a_pass(const FinishedFleet& fleet, std::size_t found) {
    const TrainingSettings& training = fleet.networks.settings().training;
    if (training.normalise == Normalise::actual) return static_cast<double>(found);
    return fleet.manifest.normaliser * static_cast<double>(training.batches);
}

}  // namespace

NewtonComparison::NewtonComparison(const FinishedFleet& fleet, const Records& all) {
    if (const auto why = NewtonEstimate::missing(fleet.networks.settings(), fleet.networks.network())) {
        missing_ = *why;
    } else {
        estimate_.emplace(fleet.networks, all, records_of_a_pass(fleet, all.size()));
    }
}

std::vector<double> NewtonComparison::beside(const Records& queries, std::size_t query, std::size_t c,
                                             std::span<const double> exact) {
    std::vector<double> estimates = estimate_->changes(queries, query, c);
    for (std::size_t i = 0; i < estimates.size(); ++i) {
        pairs_ += 1;
        exact_ += exact[i];
        estimated_ += estimates[i];
        exact_squares_ += exact[i] * exact[i];
        estimated_squares_ += estimates[i] * estimates[i];
        products_ += exact[i] * estimates[i];
        largest_error_ = std::max(largest_error_, std::abs(estimates[i] - exact[i]));
        largest_change_ = std::max(largest_change_, std::abs(exact[i]));
    }
    return estimates;
}

nlohmann::json NewtonComparison::summary() const {
    if (!missing_.empty()) return {{"missing", missing_}};
    if (!made()) return nullptr;
    const double exact = pairs_ * exact_squares_ - exact_ * exact_,
                 estimated = pairs_ * estimated_squares_ - estimated_ * estimated_,
                 both = pairs_ * products_ - exact_ * estimated_;
    nlohmann::json found = {{"largest_error", largest_error_},
                            {"largest_change", largest_change_},
                            {"gradient", estimate_->gradient()},
                            {"correlation", nullptr}};
    if (exact > 0 && estimated > 0) found["correlation"] = both / std::sqrt(exact * estimated);
    return found;
}

std::string NewtonComparison::text_of(const nlohmann::json& summary) {
    if (summary.is_null()) return "";
    if (summary.contains("missing"))
        return "no one-step (Newton) estimate: " + summary["missing"].get<std::string>() + "\n";
    const nlohmann::json& told = summary["correlation"];
    const std::string correlation = told.is_null() ? "none" : printed("%.4f", told.get<double>());
    return printed(
        "one-step (Newton) estimate of the changes, which proves nothing: correlation %s with the exact "
        "ones, off by %.4g at most, where they reach %.4g\n",
        correlation.c_str(), summary["largest_error"].get<double>(), summary["largest_change"].get<double>());
}

}  // namespace holdfast
