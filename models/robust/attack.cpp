#include "models/robust/attack.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"
#include "kernels/base/threads.hpp"
#include "models/certify/answers.hpp"
#include "models/convex/upper.hpp"

namespace holdfast {
namespace {

double length_of(std::span<const double> of) {
    double squares = 0;
    for (const double entry : of) squares += entry * entry;
    return std::sqrt(squares);
}

/// An end of a double interval, as a float within it.
double as_float(double value, double towards) {
    const auto nearest = static_cast<float>(value);
    const bool outside = towards < value ? double{nearest} > value : double{nearest} < value;
    return outside ? std::nextafter(nearest, static_cast<float>(towards)) : nearest;
}

/// x + by, rounded towards x.
double reached(double x, double by) {
    const double sum = x + by, rest = sum - x;
    const double error = (x - (sum - rest)) + (by - rest);  // exact: x + by - sum
    const bool beyond = by > 0 ? error < 0 : error > 0;
    return beyond ? std::nextafter(sum, x) : sum;
}

bool surely_within(const std::vector<double>& x, const std::vector<double>& centre, double radius) {
    Upper squares;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const Upper moved =
            x[i] < centre[i] ? Upper(centre[i]) + Upper(-x[i]) : Upper(x[i]) + Upper(-centre[i]);
        if (x[i] != centre[i]) squares = squares + moved * moved;
    }
    return sqrt(squares).value() <= radius;
}

/// What a dataset can hold of `wanted`, in the ball around x for certain; x if it cannot be brought there.
std::vector<double> settled(const std::vector<double>& wanted, const std::vector<double>& x, Norm norm,
                            double radius, FeatureRange range, bool wide) {
    std::vector<double> found(x.size());
    for (const double shrink : {0.0, 0x1p-50, 0x1p-40, 0x1p-24, 0x1p-16}) {
        for (std::size_t i = 0; i < x.size(); ++i) {
            const double moved = (1 - shrink) * (wanted[i] - x[i]);
            found[i] = within_reach(x[i] + moved, x[i], radius, range, wide);
        }
        if (norm == Norm::linf || surely_within(found, x, radius)) return found;
    }
    return x;
}

}  // namespace

double within_reach(double wanted, double x, double radius, FeatureRange range, bool wide) {
    if (!wide && double{static_cast<float>(x)} != x)
        return x;  // an end of the range; as a float it counts so
    const double low = std::max(reached(x, -radius), range.low),
                 high = std::min(reached(x, radius), range.high);
    const double nearest = std::clamp(wanted, low, high);
    if (wide) return nearest;
    return std::clamp(double{static_cast<float>(nearest)}, as_float(low, x), as_float(high, x));
}

const std::vector<double>& Climb::from(const std::vector<double>& x, std::size_t truth, std::size_t start,
                                       std::uint64_t seed, std::uint64_t id) {
    centre_ = best_ = x_ = x;
    truth_ = truth;
    target_ = start < truth ? start : start + 1;  // of margin
    least_lead_ = std::numeric_limits<double>::infinity();
    velocity_.assign(x.size(), 0);
    gradient_.resize(x.size());
    if (attack_.name == "pgd") jump({seed}, start, id);
    const std::size_t steps = attack_.name == "fgsm" ? 1 : attack_.steps;
    const bool overshoots = attack_.name == "pgd" || attack_.name == "margin";
    const double length = (overshoots ? 2.5 : 1.0) * radius_ / static_cast<double>(steps);
    for (std::size_t step = 0; step < steps; ++step) {
        look();
        aim();
        move(length);
    }
    look();
    return best_;
}

/// Keeps the input if the true class leads by less than before.
void Climb::look() {
    surrogate_.forward(x_, pass_);
    double other = -std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < pass_.logits.size(); ++c)
        if (c != truth_) other = std::max(other, pass_.logits[c]);
    const double lead = pass_.logits[truth_] - other;
    if (!(lead < least_lead_)) return;
    least_lead_ = lead;
    best_ = x_;
}

/// gradient_: where to.
void Climb::aim() {
    if (attack_.name == "margin") {
        by_logits_.assign(pass_.logits.size(), 0);
        by_logits_[target_] = 1;
        by_logits_[truth_] = -1;
    } else {
        cross_entropy_by_logits(pass_.logits, truth_, by_logits_);
    }
    surrogate_.gradient(by_logits_, pass_, gradient_);
    if (attack_.name != "mim") return;
    double size = 0;
    for (const double entry : gradient_) size += std::abs(entry);
    for (std::size_t i = 0; i < gradient_.size(); ++i) velocity_[i] += size > 0 ? gradient_[i] / size : 0;
    gradient_ = velocity_;
}

void Climb::move(double length) {
    const double size = norm_ == Norm::l2 ? length_of(gradient_) : 1;
    for (std::size_t i = 0; i < x_.size() && size > 0; ++i) {
        const double sign = gradient_[i] > 0 ? 1 : gradient_[i] < 0 ? -1 : 0;
        x_[i] += length * (norm_ == Norm::l2 ? gradient_[i] / size : sign);
    }
    project();
}

void Climb::jump(const KeyedHash& hash, std::size_t start, std::uint64_t id) {
    const std::uint64_t stream = streams::attack_starts(start), first = id * x_.size();
    for (std::size_t i = 0; i < x_.size(); ++i)
        gradient_[i] =
            norm_ == Norm::l2 ? hash.normal(stream, first + i) : 2 * hash.uniform(stream, first + i) - 1;
    const double size = norm_ == Norm::l2 ? length_of(gradient_) : 1;
    for (std::size_t i = 0; i < x_.size() && size > 0; ++i) x_[i] += radius_ * gradient_[i] / size;
    project();
}

/// Into the ball, then into the range, in which its centre lies.
void Climb::project() {
    double factor = 1;
    if (norm_ == Norm::l2) {
        double squares = 0;
        for (std::size_t i = 0; i < x_.size(); ++i) squares += (x_[i] - centre_[i]) * (x_[i] - centre_[i]);
        if (squares > radius_ * radius_) factor = radius_ / std::sqrt(squares);
    }
    const FeatureRange range = surrogate_.transform().range;
    for (std::size_t i = 0; i < x_.size(); ++i) {
        const double moved = norm_ == Norm::l2 ? factor * (x_[i] - centre_[i])
                                               : std::clamp(x_[i] - centre_[i], -radius_, radius_);
        x_[i] = std::clamp(centre_[i] + moved, range.low, range.high);
    }
}

const std::vector<std::string>& Attack::names() {
    static const std::vector<std::string> all{"fgsm", "ifgsm", "mim", "pgd", "margin"};
    return all;
}

Attacker::Attacker(const Model& model, const Backend& backend, const Records& queries)
    : model_(model),
      backend_(backend),
      queries_(queries),
      surrogate_(model.network, model.precision, model.parameters) {
    if (!model.feature_map().is_identity())
        throw Error(ExitCode::usage, "attacks follow the gradient through no map of features",
                    "leave --attack out, or train with features.map = \"none\" and features.norm_limit = 0",
                    "--attack");
}

std::vector<char> Attacker::succeed(const Attack& attack, Norm norm, double radius,
                                    const std::vector<std::int32_t>& truth,
                                    const std::vector<char>& wanted) const {
    const FeatureRange range = model_.network.transform().range;
    const std::size_t columns = queries_.features.columns(), starts = attack.name == "pgd" ? attack.restarts
                                                                      : attack.name == "margin"
                                                                          ? surrogate_.classes() - 1
                                                                          : 1;
    const bool wide = queries_.features.wide();
    std::vector<char> succeeded(queries_.size());
    std::vector<std::size_t> open;
    for (std::size_t q = 0; q < queries_.size(); ++q)
        if (wanted[q] != 0) open.push_back(q);
    for (std::size_t start = 0; start < starts && !open.empty(); ++start) {
        // 1. Climb.
        std::vector<std::vector<double>> found(open.size());
        ThreadFailure failure;
        const int threads = threads_for(2.0 * static_cast<double>(open.size() * attack.steps) *
                                        static_cast<double>(model_.network.parameters()));
#pragma omp parallel num_threads(threads)
        {
            Climb climb(surrogate_, attack, norm, radius);
#pragma omp for schedule(dynamic)
            for (std::size_t i = 0; i < open.size(); ++i) {
                failure.guard([&] {
                    std::vector<double> x(columns);
                    for (std::size_t j = 0; j < columns; ++j)
                        x[j] = model_.network.transform().inside(queries_.features.at(open[i], j));
                    found[i] = settled(climb.from(x, static_cast<std::size_t>(truth[open[i]]), start,
                                                  attack.seed, queries_.ids[open[i]]),
                                       x, norm, radius, range, wide);
                });
            }
        }
        failure.rethrow();
        // 2. What the program says of it.
        Records moved{FeatureMatrix(columns, wide), {}, {}, {}};
        for (std::size_t i = 0; i < open.size(); ++i) {
            moved.features.append(found[i].data());
            moved.ids.push_back(i);
            moved.rows.push_back(i);
        }
        const Answers answers = answers_of(model_.network, backend_, model_.parameters, moved);
        std::vector<std::size_t> left;
        for (std::size_t i = 0; i < open.size(); ++i) {
            if (answers.labels[i] != truth[open[i]])
                succeeded[open[i]] = 1;
            else
                left.push_back(open[i]);
        }
        open = std::move(left);
    }
    return succeeded;
}

}  // namespace holdfast
