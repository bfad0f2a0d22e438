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

constexpr std::size_t most_starts = 1 << 20;  ///< of an attack: what square draws is beyond them

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
    if (attack_.name == "square") return search({seed}, start, id);
    if (attack_.name == "pgd" || attack_.name == "apgd") jump({seed}, start, id);
    if (attack_.name == "apgd") return adapt();
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
    next_ = truth_ == 0 ? 1 : 0;
    for (std::size_t c = 0; c < pass_.logits.size(); ++c)
        if (c != truth_ && pass_.logits[c] > pass_.logits[next_]) next_ = c;
    lead_ = pass_.logits[truth_] - pass_.logits[next_];
    if (!(lead_ < least_lead_)) return;
    least_lead_ = lead_;
    best_ = x_;
}

/// Croce and Hein 2020: a quarter of the last move goes on; where a stretch of steps brings little, the rest
/// are half as long, from the best input so far.
const std::vector<double>& Climb::adapt() {
    const auto steps = static_cast<double>(attack_.steps);
    double length = 2 * radius_, stretch = 0.22 * steps, least_before = least_lead_;
    std::size_t taken = 0, better = 0;
    bool halved = false;
    std::vector<double> before = x_, at;
    look();
    for (std::size_t step = 0; step < attack_.steps; ++step) {
        const double lead_before = lead_;
        aim();
        at = x_;
        move(length);
        for (std::size_t i = 0; i < x_.size(); ++i)
            x_[i] = at[i] + 0.75 * (x_[i] - at[i]) + 0.25 * (at[i] - before[i]);
        project();
        before = at;
        look();
        better += lead_ < lead_before ? 1 : 0;
        if (static_cast<double>(++taken) < stretch) continue;
        halved = 4 * better < 3 * taken || (!halved && least_lead_ == least_before);
        if (halved) {
            length /= 2;
            x_ = before = best_;
            look();
        }
        least_before = least_lead_;
        stretch = std::max(stretch - 0.03 * steps, 0.06 * steps);
        taken = better = 0;
    }
    return best_;
}

/// Andriushchenko et al. 2020, of logits alone: windows of the image, smaller and smaller, are moved as far
/// as they may be, each channel by a sign of its own; what brings the lead down stays.
const std::vector<double>& Climb::search(const KeyedHash& hash, std::size_t start, std::uint64_t id) {
    const Image image = surrogate_.image();
    const std::uint64_t stream = streams::attack_starts(most_starts + start);
    std::uint64_t draw = id << 32;
    const auto below = [&](std::size_t count) {
        return static_cast<std::size_t>(hash.uniform(stream, draw++) * static_cast<double>(count));
    };
    const auto patch_of = [&](double share) {
        const double part = image.height == 1 ? share : std::sqrt(share);
        const auto side_of = [&](std::size_t whole) {
            return std::max<std::size_t>(1, static_cast<std::size_t>(part * static_cast<double>(whole)));
        };
        const std::size_t height = side_of(image.height), width = side_of(image.width);
        return Patch{below(image.height - height + 1), below(image.width - width + 1), height, width};
    };
    const auto push = [&](const Patch& patch) {
        const double length = norm_ == Norm::l2 ? length_left(patch) : radius_;
        for (std::size_t c = 0; c < image.channels; ++c) set(patch, c, below(2) == 0 ? length : -length);
    };
    look();
    if (norm_ == Norm::linf)
        for (std::size_t x = 0; x < image.width; ++x) push({0, x, image.height, 1});
    const std::size_t questions = Attack::questions_a_step * attack_.steps;
    for (std::size_t asked = 0; asked < questions; ++asked) {
        project();
        look();
        x_ = best_;
        const double share =
            0.8 * std::exp2(-8 * static_cast<double>(asked) / static_cast<double>(questions));
        if (norm_ == Norm::l2) {
            const Patch left = patch_of(share);
            for (std::size_t c = 0; c < image.channels; ++c) set(left, c, 0);
        }
        push(patch_of(share));
    }
    return best_;
}

/// Of a channel's pixels in it: the centre, and so much beside it.
void Climb::set(const Patch& patch, std::size_t channel, double beside) {
    const Image image = surrogate_.image();
    for (std::size_t y = patch.y; y < patch.y + patch.height; ++y)
        for (std::size_t x = patch.x; x < patch.x + patch.width; ++x) {
            const std::size_t pixel = (channel * image.height + y) * image.width + x;
            x_[pixel] = centre_[pixel] + beside;
        }
}

/// How far each of its pixels may move in l2 if the others stay where they are.
double Climb::length_left(const Patch& patch) {
    const Image image = surrogate_.image();
    for (std::size_t c = 0; c < image.channels; ++c) set(patch, c, 0);
    double squares = radius_ * radius_;
    for (std::size_t i = 0; i < x_.size(); ++i) squares -= (x_[i] - centre_[i]) * (x_[i] - centre_[i]);
    return std::sqrt(std::max(squares, 0.0) /
                     static_cast<double>(image.channels * patch.height * patch.width));
}

/// gradient_: where to.
void Climb::aim() {
    if (attack_.name == "margin" || attack_.name == "apgd") {
        by_logits_.assign(pass_.logits.size(), 0);
        by_logits_[attack_.name == "margin" ? target_ : next_] = 1;
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
    const FeatureRange range = surrogate_.range();
    for (std::size_t i = 0; i < x_.size(); ++i) {
        const double moved = norm_ == Norm::l2 ? factor * (x_[i] - centre_[i])
                                               : std::clamp(x_[i] - centre_[i], -radius_, radius_);
        x_[i] = std::clamp(centre_[i] + moved, range.low, range.high);
    }
}

const std::vector<std::string>& Attack::names() {
    static const std::vector<std::string> all{"fgsm", "ifgsm", "mim", "pgd", "apgd", "margin", "square"};
    return all;
}

Attacker::Attacker(const Model& model, const Backend& backend, const Records& queries)
    : model_(model),
      backend_(backend),
      queries_(queries),
      map_(model.feature_map()),
      surrogate_(model.network, model.precision, model.parameters, std::get_if<Scattering>(&map_.derived())) {
    const bool scattered = std::holds_alternative<Scattering>(map_.derived()) && map_.norm_limit() == 0;
    if (!map_.is_identity() && !scattered)
        throw Error(ExitCode::usage,
                    "attacks follow the gradient through no map of features but a scattering without a limit "
                    "of the norm",
                    "leave --attack out, or train with features.map = \"none\" or \"scattering\" and "
                    "features.norm_limit = 0",
                    "--attack");
}

std::vector<char> Attacker::succeed(const Attack& attack, Norm norm, double radius,
                                    const std::vector<std::int32_t>& truth,
                                    const std::vector<char>& wanted) const {
    const FeatureRange range = surrogate_.range();
    const bool restarts = attack.name == "pgd" || attack.name == "apgd" || attack.name == "square";
    const std::size_t columns = queries_.features.columns(), starts = restarts ? attack.restarts
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
        const double work =
            2.0 * static_cast<double>(model_.network.parameters()) + (map_.is_identity() ? 0.0 : 3e6);
        const int threads = threads_for(static_cast<double>(open.size() * attack.steps) * work);
#pragma omp parallel num_threads(threads)
        {
            Climb climb(surrogate_, attack, norm, radius);
#pragma omp for schedule(dynamic)
            for (std::size_t i = 0; i < open.size(); ++i) {
                failure.guard([&] {
                    std::vector<double> x(columns);
                    for (std::size_t j = 0; j < columns; ++j)
                        x[j] = map_.input().inside(queries_.features.at(open[i], j));
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
        const Answers answers =
            answers_of(model_.network, backend_, model_.parameters, map_(std::move(moved)));
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
