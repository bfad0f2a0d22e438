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

void Climb::from(std::span<const Start> starts) {
    const std::size_t count = starts.size();
    ways_.resize(count);
    passes_.resize(std::max(passes_.size(), count));
    for (std::size_t i = 0; i < count; ++i) {
        const Start& start = starts[i];
        Way& way = ways_[i];
        way.x.assign(start.x.begin(), start.x.end());
        way.centre = way.best = way.x;
        way.truth = start.truth;
        way.target = start.start < start.truth ? start.start : start.start + 1;
        way.least_lead = std::numeric_limits<double>::infinity();
        way.velocity.assign(way.x.size(), 0);
        if (attack_.name == "square") search(i, {start.seed}, start.start, start.id);
        if (attack_.name == "pgd" || attack_.name == "apgd") jump(way, {start.seed}, start.start, start.id);
        if (attack_.name == "apgd") adapt(i);
    }
    if (attack_.name == "square" || attack_.name == "apgd") return;
    const std::size_t steps = attack_.name == "fgsm" ? 1 : attack_.steps;
    const bool overshoots = attack_.name == "pgd" || attack_.name == "margin";
    const double length = (overshoots ? 2.5 : 1.0) * radius_ / static_cast<double>(steps);
    for (std::size_t step = 0; step < steps; ++step) {
        look(0, count);
        aim(0, count);
        for (std::size_t i = 0; i < count; ++i) move(i, length);
    }
    look(0, count);
}

/// Keeps the inputs at which the true class leads by less than before.
void Climb::look(std::size_t first, std::size_t last) {
    const std::span passes = std::span(passes_).subspan(first, last - first);
    for (std::size_t i = first; i < last; ++i) surrogate_.read(ways_[i].x, passes_[i]);
    surrogate_.forward(passes);
    for (std::size_t i = first; i < last; ++i) {
        Way& way = ways_[i];
        const std::vector<double>& logits = passes_[i].logits;
        way.next = way.truth == 0 ? 1 : 0;
        for (std::size_t c = 0; c < logits.size(); ++c)
            if (c != way.truth && logits[c] > logits[way.next]) way.next = c;
        way.lead = logits[way.truth] - logits[way.next];
        if (!(way.lead < way.least_lead)) continue;
        way.least_lead = way.lead;
        way.best = way.x;
    }
}

/// Croce and Hein 2020: a quarter of the last move goes on; where a stretch of steps brings little, the rest
/// are half as long, from the best input so far.
void Climb::adapt(std::size_t i) {
    Way& way = ways_[i];
    const auto steps = static_cast<double>(attack_.steps);
    double length = 2 * radius_, stretch = 0.22 * steps, least_before = way.least_lead;
    std::size_t taken = 0, better = 0;
    bool halved = false;
    std::vector<double> before = way.x, at;
    look(i, i + 1);
    for (std::size_t step = 0; step < attack_.steps; ++step) {
        const double lead_before = way.lead;
        aim(i, i + 1);
        at = way.x;
        move(i, length);
        for (std::size_t j = 0; j < at.size(); ++j)
            way.x[j] = at[j] + 0.75 * (way.x[j] - at[j]) + 0.25 * (at[j] - before[j]);
        project(way);
        before = at;
        look(i, i + 1);
        better += way.lead < lead_before ? 1 : 0;
        if (static_cast<double>(++taken) < stretch) continue;
        halved = 4 * better < 3 * taken || (!halved && way.least_lead == least_before);
        if (halved) {
            length /= 2;
            way.x = before = way.best;
            look(i, i + 1);
        }
        least_before = way.least_lead;
        stretch = std::max(stretch - 0.03 * steps, 0.06 * steps);
        taken = better = 0;
    }
}

/// Andriushchenko et al. 2020, of logits alone: windows of the image, smaller and smaller, are moved as far
/// as they may be, each channel by a sign of its own; what brings the lead down stays.
void Climb::search(std::size_t i, const KeyedHash& hash, std::size_t start, std::uint64_t id) {
    Way& way = ways_[i];
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
        const double length = norm_ == Norm::l2 ? length_left(way, patch) : radius_;
        for (std::size_t c = 0; c < image.channels; ++c) set(way, patch, c, below(2) == 0 ? length : -length);
    };
    look(i, i + 1);
    if (norm_ == Norm::linf)
        for (std::size_t x = 0; x < image.width; ++x) push({0, x, image.height, 1});
    const std::size_t questions = Attack::questions_a_step * attack_.steps;
    for (std::size_t asked = 0; asked < questions; ++asked) {
        project(way);
        look(i, i + 1);
        way.x = way.best;
        const double share =
            0.8 * std::exp2(-8 * static_cast<double>(asked) / static_cast<double>(questions));
        if (norm_ == Norm::l2) {
            const Patch left = patch_of(share);
            for (std::size_t c = 0; c < image.channels; ++c) set(way, left, c, 0);
        }
        push(patch_of(share));
    }
}

/// Of a channel's pixels in it: the centre, and so much beside it.
void Climb::set(Way& way, const Patch& patch, std::size_t channel, double beside) const {
    const Image image = surrogate_.image();
    for (std::size_t y = patch.y; y < patch.y + patch.height; ++y)
        for (std::size_t x = patch.x; x < patch.x + patch.width; ++x) {
            const std::size_t pixel = (channel * image.height + y) * image.width + x;
            way.x[pixel] = way.centre[pixel] + beside;
        }
}

/// How far each of its pixels may move in l2 if the others stay where they are.
double Climb::length_left(Way& way, const Patch& patch) const {
    const Image image = surrogate_.image();
    for (std::size_t c = 0; c < image.channels; ++c) set(way, patch, c, 0);
    double squares = radius_ * radius_;
    for (std::size_t j = 0; j < way.x.size(); ++j)
        squares -= (way.x[j] - way.centre[j]) * (way.x[j] - way.centre[j]);
    return std::sqrt(std::max(squares, 0.0) /
                     static_cast<double>(image.channels * patch.height * patch.width));
}

/// Gradients of the passes: where to.
void Climb::aim(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        const Way& way = ways_[i];
        Surrogate::Pass& pass = passes_[i];
        if (attack_.name == "margin" || attack_.name == "apgd") {
            pass.by_logits.assign(pass.logits.size(), 0);
            pass.by_logits[attack_.name == "margin" ? way.target : way.next] = 1;
            pass.by_logits[way.truth] = -1;
        } else {
            cross_entropy_by_logits(pass.logits, way.truth, pass.by_logits);
        }
    }
    surrogate_.gradient(std::span(passes_).subspan(first, last - first));
    if (attack_.name != "mim") return;
    for (std::size_t i = first; i < last; ++i) {
        std::vector<double>&gradient = passes_[i].gradient, &velocity = ways_[i].velocity;
        double size = 0;
        for (const double entry : gradient) size += std::abs(entry);
        for (std::size_t j = 0; j < gradient.size(); ++j) velocity[j] += size > 0 ? gradient[j] / size : 0;
        gradient = velocity;
    }
}

void Climb::move(std::size_t i, double length) {
    Way& way = ways_[i];
    const std::vector<double>& gradient = passes_[i].gradient;
    const double size = norm_ == Norm::l2 ? length_of(gradient) : 1;
    for (std::size_t j = 0; j < way.x.size() && size > 0; ++j) {
        const double sign = gradient[j] > 0 ? 1 : gradient[j] < 0 ? -1 : 0;
        way.x[j] += length * (norm_ == Norm::l2 ? gradient[j] / size : sign);
    }
    project(way);
}

void Climb::jump(Way& way, const KeyedHash& hash, std::size_t start, std::uint64_t id) const {
    const std::uint64_t stream = streams::attack_starts(start), first = id * way.x.size();
    std::vector<double> towards(way.x.size());
    for (std::size_t j = 0; j < towards.size(); ++j)
        towards[j] =
            norm_ == Norm::l2 ? hash.normal(stream, first + j) : 2 * hash.uniform(stream, first + j) - 1;
    const double size = norm_ == Norm::l2 ? length_of(towards) : 1;
    for (std::size_t j = 0; j < towards.size() && size > 0; ++j) way.x[j] += radius_ * towards[j] / size;
    project(way);
}

/// Into the ball, then into the range, in which its centre lies.
void Climb::project(Way& way) const {
    double factor = 1;
    if (norm_ == Norm::l2) {
        double squares = 0;
        for (std::size_t j = 0; j < way.x.size(); ++j)
            squares += (way.x[j] - way.centre[j]) * (way.x[j] - way.centre[j]);
        if (squares > radius_ * radius_) factor = radius_ / std::sqrt(squares);
    }
    const FeatureRange range = surrogate_.range();
    for (std::size_t j = 0; j < way.x.size(); ++j) {
        const double moved = norm_ == Norm::l2 ? factor * (way.x[j] - way.centre[j])
                                               : std::clamp(way.x[j] - way.centre[j], -radius_, radius_);
        way.x[j] = std::clamp(way.centre[j] + moved, range.low, range.high);
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
            for (std::size_t first = 0; first < open.size(); first += Surrogate::together) {
                failure.guard([&] {
                    const std::size_t last = std::min(first + Surrogate::together, open.size());
                    std::vector<std::vector<double>> x(last - first, std::vector<double>(columns));
                    std::vector<Climb::Start> from;
                    for (std::size_t i = first; i < last; ++i) {
                        for (std::size_t j = 0; j < columns; ++j)
                            x[i - first][j] = map_.input().inside(queries_.features.at(open[i], j));
                        from.push_back({x[i - first], static_cast<std::size_t>(truth[open[i]]), start,
                                        attack.seed, queries_.ids[open[i]]});
                    }
                    climb.from(from);
                    for (std::size_t i = first; i < last; ++i)
                        found[i] = settled(climb.found(i - first), x[i - first], norm, radius, range, wide);
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
