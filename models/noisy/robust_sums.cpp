#include "models/noisy/robust_sums.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"
#include "kernels/ops/norm_rule.hpp"
#include "models/noisy/noise_copies.hpp"
#include "models/noisy/record_vector.hpp"
#include "models/robust/scattering_gradient.hpp"
#include "models/training/wide_sums.hpp"

namespace holdfast {
namespace {

/// Of what an attack may do in a step: the whole radius after the first steps, along a line to there.
double radius_at(const Settings& settings, std::int64_t step) {
    const RobustSettings& robust = settings.robust;
    const double steps = robust.warmup * static_cast<double>(settings.training.steps());
    return robust.input_radius * (steps > 0 ? std::min(1.0, static_cast<double>(step + 1) / steps) : 1.0);
}

std::uint64_t word_of(SecretStream& stream) {
    std::uint64_t word = 0;
    stream.fill(std::as_writable_bytes(std::span(&word, 1)));
    return word;
}

/// What the ball adds to the features for class j before class y, a unit of its radius, behind a scattering:
/// how the bound of the slope grows with each entry of w_j - w_y.
std::vector<double> scattered_directions(const Scattering& map, std::size_t classes,
                                         const std::vector<std::int64_t>& units) {
    const std::size_t columns = map.outputs();
    std::vector<double> directions(classes * classes * columns), w(columns);
    const double range = map.range().high - map.range().low;
    for (std::size_t y = 0; y < classes; ++y) {
        for (std::size_t j = 0; j < y; ++j) {
            for (std::size_t i = 0; i < columns; ++i)
                w[i] = parameter_value(units[j * (columns + 1) + i] - units[y * (columns + 1) + i]);
            const std::vector<double> gradient = slope_gradient(map, w);
            for (std::size_t i = 0; i < columns; ++i) {
                directions[(y * classes + j) * columns + i] = gradient[i] / range;
                directions[(j * classes + y) * columns + i] = -gradient[i] / range;
            }
        }
    }
    return directions;
}

/// Which way features go to bring class j before class y, of a linear network: for every y and j, [features].
std::vector<double> directions_of(const TrainingPlan& plan, const std::vector<std::int64_t>& units) {
    const Network& network = plan.network;
    const Norm norm = norm_named(plan.settings.robust.norm);
    const std::size_t classes = network.classes(), columns = network.inputs();
    if (const auto* map = std::get_if<Scattering>(&plan.features.derived()))
        return scattered_directions(*map, classes, units);
    std::vector<double> directions(classes * classes * columns);
    const double up = network.transform().scale > 0 ? 1 : -1;
    for (std::size_t pair = 0; pair < classes * classes; ++pair) {
        double* const direction = &directions[pair * columns];
        const std::int64_t *from = &units[pair / classes * (columns + 1)],
                           *to = &units[pair % classes * (columns + 1)];
        double squares = 0;
        for (std::size_t i = 0; i < columns; ++i) {
            const double difference = up * parameter_value(to[i] - from[i]);
            direction[i] = norm == Norm::l2 ? difference : difference > 0 ? 1 : difference < 0 ? -1 : 0;
            squares += difference * difference;
        }
        for (std::size_t i = 0; norm == Norm::l2 && squares > 0 && i < columns; ++i)
            direction[i] /= std::sqrt(squares);
    }
    return directions;
}

}  // namespace

/// What every thread looks at in a step.
struct RobustSums::Point {
    Point(const TrainingPlan& plan, const Start& start)
        : surrogate(plan.network, Precision::double_precision, start.parameters),
          centre(start.centre),
          measures(plan.settings.noise.centre > 0 && centre.empty()),
          step(start.step) {
        if (plan.settings.robust.attack != "worst_case" || measures) return;
        moves = directions_of(plan, start.parameters);
        const double radius = radius_at(plan.settings, step) * plan.network.transform().scale;
        for (double& entry : moves) entry *= radius;
        const std::size_t classes = plan.network.classes(), columns = plan.network.inputs();
        for (std::size_t pair = 0; pair < classes * classes; ++pair)
            gains.push_back(
                surrogate.rise(pair % classes, pair / classes, {&moves[pair * columns], columns}));
    }
    Surrogate surrogate;
    const std::vector<double>& centre;
    bool measures;
    std::int64_t step;
    /// Of the worst case, for every label y and class j: what the ball adds to the values that the network
    /// reads to bring j before y, [columns], and to the lead of j.
    std::vector<double> moves, gains;
};

/// One thread's vectors, at the parameters of a step.
class RobustSums::Worker {
  public:
    Worker(const RobustSums& of, const Point& point)
        : of_(of),
          settings_(of.plan_.settings),
          point_(point),
          surrogate_(point.surrogate),
          attack_{settings_.robust.attack, static_cast<std::size_t>(settings_.robust.steps), 1},
          climb_(surrogate_, attack_, norm_named(settings_.robust.norm), radius_at(settings_, point.step)),
          rule_inside_(NormRule<double>::inside(settings_.clip, of.plan_.network.parameters())),
          unit_(settings_.clip.grid<double>().unit()),
          limit_(settings_.clip.weight_units<double>()),
          vector_(of.plan_.network),
          x_(surrogate_.features()),
          moved_(x_.size()) {}

    /// What the person of these rows adds, added to sums [parameters]. Are most rows' labels those of the
    /// parameters?
    bool take(std::span<const std::uint32_t> rows, std::int64_t* sums) {
        vector_.clear();
        std::size_t right = 0;
        SecretStream bits(of_.key_, of_.records_.ids[rows.front()], static_cast<std::uint32_t>(point_.step));
        for (const std::uint32_t row : rows) right += add_row(row, bits) ? 1 : 0;
        add_clipped(sums);
        return 2 * right > rows.size();
    }

  private:
    bool add_row(std::uint32_t row, SecretStream& bits) {
        for (std::size_t j = 0; j < x_.size(); ++j)
            x_[j] = surrogate_.transform().inside(of_.records_.features.at(row, j));
        weight_ = of_.records_.weights.empty() ? 1 : of_.records_.weights[row];
        const auto truth = static_cast<std::size_t>(of_.records_.labels[row]);
        if (settings_.training.corrects_labels()) {
            const std::size_t classes = of_.records_.evidence_classes();
            evidence_ = std::span(of_.records_.evidence).subspan(row * classes, classes);
        }
        forward(x_);
        const auto greatest = std::max_element(pass_.logits.begin(), pass_.logits.end());
        const bool right = greatest == pass_.logits.begin() + static_cast<std::ptrdiff_t>(truth);
        if (point_.measures) {
            add_inputs();
        } else if (attack_.name == "worst_case") {
            add_worst_case(truth);
        } else {
            add_copies(truth, of_.records_.ids[row], bits);
        }
        return right;
    }
    /// Of the clip's length where they are noise.centre long; of a person, the mean of the rows.
    void add_inputs() {
        const double part = of_.records_.rows_of_persons ? weight_ : 1;
        for (double& value : x_) value = surrogate_.transform().apply<double>(value);
        vector_.add_entries(x_, part * settings_.clip.norm_limit / settings_.noise.centre);
    }
    /// The first layer's weights are learnt of what it reads, less the centre.
    void forward(const std::vector<double>& x) {
        surrogate_.forward(x, pass_);
        const std::vector<double>& centre = point_.centre;
        for (std::size_t i = 0; i < centre.size(); ++i) pass_.values[0][i] -= centre[i];
    }
    void add_copies(std::size_t truth, std::uint64_t id, SecretStream& bits) {
        const RobustSettings& robust = settings_.robust;
        const bool attacked = attack_.name != "none";
        if (robust.copies == 1 && robust.noise == 0 && !attacked) return add_pass(truth, 1);
        const auto copies = static_cast<double>(robust.copies);
        const double adversarial = attacked ? robust.weight / (1 + robust.weight) : 0;
        for (std::int64_t copy = 0; copy < robust.copies; ++copy) {
            if (adversarial < 1) {
                moved_ = x_;
                if (robust.noise > 0) add_normal(bits, robust.noise, moved_);
                add(moved_, truth, (1 - adversarial) / copies);
            }
            if (attacked) add(climb_.from(x_, truth, 0, word_of(bits), id), truth, adversarial / copies);
        }
    }
    void add(const std::vector<double>& x, std::size_t truth, double weight) {
        forward(x);
        add_pass(truth, weight);
    }
    /// Of what was last brought forward.
    void add_pass(std::size_t truth, double weight) {
        if (evidence_.empty()) {
            cross_entropy_by_logits(pass_.logits, truth, by_logits_);
        } else {
            drawn_label_by_logits(pass_.logits, evidence_, settings_.training.label_unit, by_logits_);
        }
        surrogate_.backward(by_logits_, pass_);
        vector_.add(pass_.values, pass_.deltas, weight * weight_);
    }
    /// The cross-entropy of the leads that other classes have where the ball gives them most, of a linear
    /// network whose forward pass is done: its gradient.
    void add_worst_case(std::size_t truth) {
        const std::size_t classes = pass_.logits.size(), columns = pass_.values[0].size();
        leads_.assign(classes, 0);
        for (std::size_t c = 0; c < classes; ++c)
            if (c != truth)
                leads_[c] = pass_.logits[c] - pass_.logits[truth] + point_.gains[truth * classes + c];
        cross_entropy_by_logits(leads_, truth, by_logits_);
        deltas_.assign(classes, 0);
        for (std::size_t c = 0; c < classes; ++c) {
            if (c == truth) continue;
            const double* const move = &point_.moves[(truth * classes + c) * columns];
            moved_.resize(columns);
            for (std::size_t i = 0; i < columns; ++i) moved_[i] = pass_.values[0][i] + move[i];
            deltas_[c] = weight_ * by_logits_[c];
            deltas_[truth] = -deltas_[c];
            vector_.add_first(moved_, deltas_);
            deltas_[c] = 0;
        }
    }
    /// Into the ball of norm_limit, on the grid; what rounding could bring out of it adds nothing.
    void add_clipped(std::int64_t* sums) {
        const double norm = vector_.norm(), scale = (norm > rule_inside_ ? rule_inside_ / norm : 1) / unit_,
                     limit = static_cast<double>(limit_);
        if (!std::isfinite(norm)) return;
        if (vector_.add_units(scale, 1, sums) > limit * limit) vector_.add_units(scale, -1, sums);
    }

    const RobustSums& of_;
    const Settings& settings_;
    const Point& point_;
    const Surrogate& surrogate_;
    double weight_ = 1;                            ///< of the row that is added
    std::span<const std::uint8_t> evidence_ = {};  ///< of its label, where that is corrected
    Attack attack_;
    Climb climb_;
    double rule_inside_, unit_;
    std::int64_t limit_;
    Surrogate::Pass pass_;
    RecordVector vector_;
    std::vector<double> x_, moved_, by_logits_, leads_, deltas_;
};

RobustSums::RobustSums(const TrainingPlan& plan, const Records& records, const SecretKey& key)
    : plan_(plan), records_(records), key_(key) {
    ensure(plan.gradient_scale().weight_units < std::int64_t{1} << 26,
           "a clip has so few units that squares of vectors are exact in double");
}

namespace {

/// The exact sums over the ranks, clamped to +-2^62 as WideSums are: a record's part in any number of others.
std::vector<std::int64_t> summed(const std::vector<__int128>& mine, const Communicator& ranks) {
    std::vector<std::int64_t> halves;  // of each number the upper part, then the lower 32 bits
    for (const __int128 sum : mine) {
        halves.push_back(static_cast<std::int64_t>(sum >> 32));
        halves.push_back(static_cast<std::int64_t>(sum & 0xffffffff));
    }
    ranks.sum(halves);
    std::vector<std::int64_t> result;
    for (std::size_t i = 0; i < halves.size(); i += 2)
        result.push_back(clamped_sum((static_cast<__int128>(halves[i]) << 32) + halves[i + 1]));
    return result;
}

/// Where each person's rows begin among `indices`, and their number behind the last.
std::vector<std::size_t> starts_of(std::span<const std::uint32_t> indices, const Records& records) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const bool same =
            i > 0 && records.rows_of_persons && records.ids[indices[i]] == records.ids[indices[i - 1]];
        if (!same) starts.push_back(i);
    }
    starts.push_back(indices.size());
    return starts;
}

}  // namespace

NoisyStepSums RobustSums::of(const Start& start, std::span<const std::uint32_t> indices,
                             const Communicator& ranks) const {
    const Point point(plan_, start);
    const std::size_t parameters = start.parameters.size();
    const std::vector<std::size_t> starts = starts_of(indices, records_);
    const std::size_t persons = starts.size() - 1;
    const std::size_t entries = parameters + 2;  // then how many records, and how many are right
    std::vector<__int128> total(entries);
    ThreadFailure failure;
    const int threads = threads_for(4.0 * static_cast<double>(indices.size() * parameters));
#pragma omp parallel num_threads(threads)
    {
        std::optional<Worker> worker;
        std::vector<std::int64_t> sums(entries);  // a batch has below 2^32 records of units below 2^25
        failure.guard([&] { worker.emplace(*this, point); });
#pragma omp for schedule(dynamic, 16)
        for (std::size_t i = 0; i < persons; ++i) {
            failure.guard([&] {
                if (!worker) return;
                const auto rows = indices.subspan(starts[i], starts[i + 1] - starts[i]);
                sums[parameters + 1] += worker->take(rows, sums.data()) ? 1 : 0;
            });
        }
#pragma omp critical
        for (std::size_t p = 0; p < entries; ++p) total[p] += sums[p];
    }
    failure.rethrow();
    total[parameters] = static_cast<std::int64_t>(persons);
    std::vector<std::int64_t> sums = summed(total, ranks);
    const std::int64_t right = sums.back(), taken = sums[parameters];
    sums.resize(parameters);
    return {std::move(sums), taken, right};
}

std::vector<std::int64_t> RobustSums::vector_of(const Start& start,
                                                std::span<const std::uint32_t> rows) const {
    const Point point(plan_, start);
    Worker worker(*this, point);
    std::vector<std::int64_t> units(start.parameters.size());
    worker.take(rows, units.data());
    return units;
}

}  // namespace holdfast
