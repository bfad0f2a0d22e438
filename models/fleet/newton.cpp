#include "models/fleet/newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// H = L L^T, [size, size]: L in the lower half. False: not positive definite, to rounding.
bool factorise(std::vector<double>& h, std::size_t size) {
    for (std::size_t j = 0; j < size; ++j) {
        for (std::size_t i = j; i < size; ++i) {
            double sum = h[i * size + j];
            for (std::size_t k = 0; k < j; ++k) sum -= h[i * size + k] * h[j * size + k];
            if (i == j) {
                if (!(sum > 0)) return false;
                h[j * size + j] = std::sqrt(sum);
            } else {
                h[i * size + j] = sum / h[j * size + j];
            }
        }
    }
    return true;
}

/// x <- H^-1 x.
void solve(const std::vector<double>& factor, std::size_t size, double* x) {
    for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t k = 0; k < i; ++k) x[i] -= factor[i * size + k] * x[k];
        x[i] /= factor[i * size + i];
    }
    for (std::size_t i = size; i-- > 0;) {
        for (std::size_t k = i + 1; k < size; ++k) x[i] -= factor[k * size + i] * x[k];
        x[i] /= factor[i * size + i];
    }
}

double sigmoid(double z) {
    return 1 / (1 + std::exp(-z));
}

double lead(const std::vector<double>& logits, std::size_t classes, std::size_t c) {
    if (classes == 1) return logits[0];
    if (logits.size() == 1) return c == 1 ? logits[0] : -logits[0];
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t other = 0; other < logits.size(); ++other)
        if (other != c) best = std::max(best, logits[other]);
    return logits[c] - best;
}

double target_of(const Records& records, std::size_t i) {
    return records.targets.empty() ? static_cast<double>(records.labels[i]) : records.targets[i];
}

/// Those of which derivatives() knows the second one.
bool is_smooth(Loss loss) {
    return loss == Loss::squared_error || loss == Loss::binary_cross_entropy || loss == Loss::cross_entropy ||
           loss == Loss::one_vs_rest;
}

}  // namespace

std::optional<std::string> NewtonEstimate::missing(const Settings& settings, const Network& network) {
    if (network.layers().size() != 1 || !network.shape().is_dense())
        return "the network has hidden layers, so its loss is not convex";
    if (!is_smooth(network.loss()))
        return std::string("loss ") + info_of(network.loss()).name + " has no second derivative everywhere";
    if (!(settings.training.l2 > 0)) return "training.l2 = 0, so the loss need not have one least point";
    if (settings.training.l1 > 0) return "the penalty training.l1 is not smooth";
    if (settings.clip.kind != Clip::Kind::none)
        return "gradients are clipped, so the training does not go to the loss's least point: clip.kind = "
               "\"none\"";
    if (network.parameters() > most_parameters)
        return std::to_string(network.parameters()) + " parameters, of which " +
               std::to_string(most_parameters) + " are solved for";
    return std::nullopt;
}

NewtonEstimate::NewtonEstimate(const FleetReader& fleet, const Records& all, double a_pass)
    : network_(fleet.network()),
      classes_(network_.classes()),
      outputs_(network_.outputs()),
      width_(network_.inputs() + 1),
      left_out_(fleet.left_out().size()) {
    ensure(!missing(fleet.settings(), network_), "a convex model");
    const std::size_t size = network_.parameters();
    for (const std::int64_t units : fleet.nominal()) parameters_.push_back(parameter_value(units));

    // 1. H and the gradient, both of sums over all records.
    const bool actual = fleet.settings().training.normalise == Normalise::actual;
    const double l2 = fleet.settings().training.l2, penalty = a_pass * l2;
    std::vector<double> hessian(size * size, 0.0), gradient(size), first, second;
    for (std::size_t p = 0; p < size; ++p) {
        hessian[p * size + p] = penalty;
        gradient[p] = penalty * parameters_[p];
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Place at = place(all, i);
        derivatives(at, target_of(all, i), first, second);
        for (std::size_t a = 0; a < outputs_; ++a) {
            for (std::size_t j = 0; j < width_; ++j) gradient[a * width_ + j] += first[a] * at.inputs[j];
            for (std::size_t b = 0; b <= a; ++b) {
                const double curvature = second[a * outputs_ + b];
                if (curvature == 0) continue;
                for (std::size_t j = 0; j < width_; ++j)
                    for (std::size_t k = 0; k < width_; ++k)
                        hessian[(a * width_ + j) * size + b * width_ + k] +=
                            curvature * at.inputs[j] * at.inputs[k];
            }
        }
    }
    double squares = 0;
    for (const double value : gradient) squares += value * value;
    gradient_ = std::sqrt(squares) / a_pass;
    if (!factorise(hessian, size))
        throw Error(ExitCode::input, "the Hessian of the loss is singular, to rounding",
                    "train with a greater training.l2", "training.l2");

    // 2. A step for every record that the fleet did without. Where the mean is over those that remain, the
    // penalty keeps its weight and falls with them.
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = 0; i < all.size(); ++i) places.emplace(all.ids[i], i);
    steps_.resize(left_out_ * size);
    for (std::size_t n = 0; n < left_out_; ++n) {
        const auto found = places.find(fleet.left_out(static_cast<std::int64_t>(n)));
        if (found == places.end())
            throw Error(ExitCode::input, "a record that the fleet did without is not in the data",
                        "give the records that the fleet was trained on");
        const Place at = place(all, found->second);
        derivatives(at, target_of(all, found->second), first, second);
        double* step = steps_.data() + n * size;
        for (std::size_t a = 0; a < outputs_; ++a)
            for (std::size_t j = 0; j < width_; ++j) {
                const std::size_t p = a * width_ + j;
                step[p] = first[a] * at.inputs[j] + (actual ? l2 * parameters_[p] : 0);
            }
        solve(hessian, size, step);
    }
}

std::vector<double> NewtonEstimate::changes(const Records& queries, std::size_t query, std::size_t c) const {
    const Place at = place(queries, query);
    const double nominal = lead(at.logits, classes_, c);
    std::vector<double> found(left_out_);
#pragma omp parallel for schedule(static)
    for (std::size_t n = 0; n < left_out_; ++n) {
        std::vector<double> logits = at.logits;
        const double* step = steps_.data() + n * parameters_.size();
        for (std::size_t a = 0; a < outputs_; ++a)
            for (std::size_t j = 0; j < width_; ++j) logits[a] += step[a * width_ + j] * at.inputs[j];
        found[n] = lead(logits, classes_, c) - nominal;
    }
    return found;
}

NewtonEstimate::Place NewtonEstimate::place(const Records& records, std::size_t i) const {
    Place at{std::vector<double>(width_, 1.0), std::vector<double>(outputs_, 0.0)};
    const InputTransform transform = network_.transform();
    for (std::size_t j = 0; j + 1 < width_; ++j)
        at.inputs[j] = transform.apply<double>(records.features.at(i, j));
    for (std::size_t a = 0; a < outputs_; ++a)
        for (std::size_t j = 0; j < width_; ++j) at.logits[a] += parameters_[a * width_ + j] * at.inputs[j];
    return at;
}

void NewtonEstimate::derivatives(const Place& at, double target, std::vector<double>& first,
                                 std::vector<double>& second) const {
    first.assign(outputs_, 0.0);
    second.assign(outputs_ * outputs_, 0.0);
    const Loss loss = network_.loss();
    if (loss == Loss::squared_error) {
        first[0] = 2 * (at.logits[0] - target);
        second[0] = 2;
        return;
    }
    std::vector<double> probabilities(outputs_);
    const double most = *std::max_element(at.logits.begin(), at.logits.end());
    double sum = 0;
    for (const double z : at.logits) sum += std::exp(z - most);
    for (std::size_t a = 0; a < outputs_; ++a)
        probabilities[a] =
            loss == Loss::cross_entropy ? std::exp(at.logits[a] - most) / sum : sigmoid(at.logits[a]);
    for (std::size_t a = 0; a < outputs_; ++a) {
        const double own = loss == Loss::binary_cross_entropy ? 1.0 : static_cast<double>(a);
        first[a] = probabilities[a] - (target == own ? 1.0 : 0.0);
        for (std::size_t b = 0; b < outputs_; ++b) {
            const double product = loss == Loss::cross_entropy ? probabilities[a] * probabilities[b] : 0;
            second[a * outputs_ + b] =
                a != b ? -product
                       : (loss == Loss::cross_entropy ? probabilities[a] - product
                                                      : probabilities[a] * (1 - probabilities[a]));
        }
    }
}

}  // namespace holdfast
