#include "models/noisy/robust_sums.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

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

/// One thread's vectors, at the parameters of a step: of several persons at once, each as if it were alone.
class RobustSums::Worker {
  public:
    static constexpr std::size_t most_persons = Surrogate::together;

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
          vectors_(most_persons, RecordVector(of.plan_.network)) {}

    /// What the persons add whose rows begin at `starts`, the last behind them, added to sums [parameters].
    /// Returns of how many the parameters give most rows their label.
    std::size_t take(std::span<const std::uint32_t> indices, std::span<const std::size_t> starts,
                     std::int64_t* sums) {
        const std::size_t persons = starts.size() - 1;
        Bits bits;
        std::array<std::size_t, most_persons> right{};
        for (std::size_t i = 0; i < persons; ++i) {
            vectors_[i].clear();
            bits[i].emplace(of_.key_, of_.records_.ids[indices[starts[i]]],
                            static_cast<std::uint32_t>(point_.step));
        }
        const std::size_t together = rows_together();
        for (std::size_t first = starts[0], person = 0; first < starts[persons]; first += rows_.size()) {
            rows_.resize(std::min(together, starts[persons] - first));
            for (std::size_t r = 0; r < rows_.size(); ++r) {
                while (first + r >= starts[person + 1]) ++person;
                set_row(rows_[r], indices[first + r], person);
            }
            add_rows(bits, right);
        }
        std::size_t answered = 0;
        for (std::size_t i = 0; i < persons; ++i) {
            add_clipped(vectors_[i], sums);
            answered += 2 * right[i] > starts[i + 1] - starts[i] ? 1 : 0;
        }
        return answered;
    }

  private:
    using Bits = std::array<std::optional<SecretStream>, most_persons>;  ///< of each person
    struct Row {
        std::size_t person;
        std::uint64_t id;
        std::size_t truth;
        double weight;
        std::span<const std::uint8_t> evidence;  ///< of its label, where that is corrected
        std::vector<double> x;
    };
    struct Opened {
        std::size_t row;
        double weight;
    };
    /// One of a row: under noise, and where an attack ended that began by the word.
    struct Copy {
        std::size_t row;
        std::vector<double> noisy, attacked;
        std::uint64_t word = 0;
    };

    std::size_t rows_together() const {
        constexpr std::int64_t copies = 8 * Surrogate::together;  // are kept at once, if rows have fewer
        return static_cast<std::size_t>(std::clamp<std::int64_t>(
            copies / settings_.robust.copies, 1, static_cast<std::int64_t>(Surrogate::together)));
    }
    void set_row(Row& to, std::uint32_t row, std::size_t person) const {
        const Records& records = of_.records_;
        to.person = person;
        to.id = records.ids[row];
        to.truth = static_cast<std::size_t>(records.labels[row]);
        to.weight = records.weights.empty() ? 1 : records.weights[row];
        if (settings_.training.corrects_labels()) {
            const std::size_t classes = records.evidence_classes();
            to.evidence = std::span(records.evidence).subspan(row * classes, classes);
        }
        to.x.resize(surrogate_.features());
        for (std::size_t j = 0; j < to.x.size(); ++j)
            to.x[j] = surrogate_.transform().inside(records.features.at(row, j));
    }
    void add_rows(Bits& bits, std::span<std::size_t> right) {
        for (std::size_t r = 0; r < rows_.size(); ++r) open(rows_[r].x, r, 1);
        forward();
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            const std::vector<double>& logits = passes_[r].logits;
            const auto greatest = std::max_element(logits.begin(), logits.end()) - logits.begin();
            right[rows_[r].person] += static_cast<std::size_t>(greatest) == rows_[r].truth ? 1 : 0;
        }
        if (point_.measures) {
            for (const Row& row : rows_) add_inputs(row);
        } else if (attack_.name == "worst_case") {
            for (std::size_t r = 0; r < rows_.size(); ++r) add_worst_case(rows_[r], passes_[r]);
        } else if (settings_.robust.copies == 1 && settings_.robust.noise == 0 && attack_.name == "none") {
            add_gradients();
        } else {
            opened_.clear();
            add_copies(bits);
        }
        opened_.clear();
    }
    /// Of the clip's length where they are noise.centre long; of a person, the mean of the rows.
    void add_inputs(const Row& row) {
        const double part = of_.records_.rows_of_persons ? row.weight : 1;
        std::vector<double> inputs;
        for (const double value : row.x) inputs.push_back(surrogate_.transform().apply<double>(value));
        vectors_[row.person].add_entries(inputs, part * settings_.clip.norm_limit / settings_.noise.centre);
    }

    // Inputs are brought forward together.
    void open(std::span<const double> x, std::size_t row, double weight) {
        opened_.push_back({row, weight});
        passes_.resize(std::max(passes_.size(), opened_.size()));
        surrogate_.read(x, passes_[opened_.size() - 1]);
    }
    std::span<Surrogate::Pass> passes() { return std::span(passes_).first(opened_.size()); }
    /// The first layer's weights are learnt of what it reads, less the centre.
    void forward() {
        surrogate_.forward(passes());
        for (Surrogate::Pass& pass : passes())
            for (std::size_t j = 0; j < point_.centre.size(); ++j) pass.values[0][j] -= point_.centre[j];
    }
    /// Of what was opened and brought forward.
    void add_gradients() {
        for (std::size_t i = 0; i < opened_.size(); ++i) {
            const Row& row = rows_[opened_[i].row];
            Surrogate::Pass& pass = passes_[i];
            if (row.evidence.empty()) {
                cross_entropy_by_logits(pass.logits, row.truth, pass.by_logits);
            } else {
                drawn_label_by_logits(pass.logits, row.evidence, settings_.training.label_unit,
                                      pass.by_logits);
            }
        }
        surrogate_.backward(passes());
        for (std::size_t i = 0; i < opened_.size(); ++i) {
            const Row& row = rows_[opened_[i].row];
            vectors_[row.person].add(passes_[i].values, passes_[i].deltas, opened_[i].weight * row.weight);
        }
        opened_.clear();
    }
    void add(std::span<const double> x, std::size_t row, double weight) {
        open(x, row, weight);
        if (opened_.size() < Surrogate::together) return;
        forward();
        add_gradients();
    }

    /// A person's bits are drawn, and gradients added, row after row and copy after copy, whoever else is
    /// here.
    void add_copies(Bits& bits) {
        const RobustSettings& robust = settings_.robust;
        const bool attacked = attack_.name != "none";
        const auto copies = static_cast<std::size_t>(robust.copies);
        const double adversarial = attacked ? robust.weight / (1 + robust.weight) : 0,
                     each = static_cast<double>(robust.copies);
        copies_.resize(rows_.size() * copies);
        for (std::size_t c = 0; c < copies_.size(); ++c) {
            Copy& copy = copies_[c];
            copy.row = c / copies;
            SecretStream& stream = *bits[rows_[copy.row].person];
            if (adversarial < 1) {
                copy.noisy = rows_[copy.row].x;
                if (robust.noise > 0) add_normal(stream, robust.noise, copy.noisy);
            }
            if (attacked) copy.word = word_of(stream);
        }
        if (attacked) attack_copies();
        for (const Copy& copy : copies_) {
            if (adversarial < 1) add(copy.noisy, copy.row, (1 - adversarial) / each);
            if (attacked) add(copy.attacked, copy.row, adversarial / each);
        }
        forward();
        add_gradients();
    }
    void attack_copies() {
        for (std::size_t first = 0; first < copies_.size(); first += Surrogate::together) {
            const std::size_t last = std::min(first + Surrogate::together, copies_.size());
            std::vector<Climb::Start> starts;
            for (std::size_t c = first; c < last; ++c) {
                const Row& row = rows_[copies_[c].row];
                starts.push_back({row.x, row.truth, 0, copies_[c].word, row.id});
            }
            climb_.from(starts);
            for (std::size_t c = first; c < last; ++c) copies_[c].attacked = climb_.found(c - first);
        }
    }
    /// The cross-entropy of the leads that other classes have where the ball gives them most, of a linear
    /// network whose forward pass is done: its gradient.
    void add_worst_case(const Row& row, const Surrogate::Pass& pass) {
        const std::size_t classes = pass.logits.size(), columns = pass.values[0].size(), truth = row.truth;
        std::vector<double> leads(classes), by_leads, deltas(classes), moved(columns);
        for (std::size_t c = 0; c < classes; ++c)
            if (c != truth)
                leads[c] = pass.logits[c] - pass.logits[truth] + point_.gains[truth * classes + c];
        cross_entropy_by_logits(leads, truth, by_leads);
        for (std::size_t c = 0; c < classes; ++c) {
            if (c == truth) continue;
            const double* const move = &point_.moves[(truth * classes + c) * columns];
            for (std::size_t i = 0; i < columns; ++i) moved[i] = pass.values[0][i] + move[i];
            deltas[c] = row.weight * by_leads[c];
            deltas[truth] = -deltas[c];
            vectors_[row.person].add_first(moved, deltas);
            deltas[c] = 0;
        }
    }
    /// Into the ball of norm_limit, on the grid; what rounding could bring out of it adds nothing.
    void add_clipped(const RecordVector& vector, std::int64_t* sums) const {
        const double norm = vector.norm(), scale = (norm > rule_inside_ ? rule_inside_ / norm : 1) / unit_,
                     limit = static_cast<double>(limit_);
        if (!std::isfinite(norm)) return;
        if (vector.add_units(scale, 1, sums) > limit * limit) vector.add_units(scale, -1, sums);
    }

    const RobustSums& of_;
    const Settings& settings_;
    const Point& point_;
    const Surrogate& surrogate_;
    Attack attack_;
    Climb climb_;
    double rule_inside_, unit_;
    std::int64_t limit_;
    std::vector<RecordVector> vectors_;  ///< of each person
    std::vector<Row> rows_;
    std::vector<Copy> copies_;
    std::vector<Surrogate::Pass> passes_;
    std::vector<Opened> opened_;  ///< of what the first passes are
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
    const auto passes =
        static_cast<double>(plan_.settings.robust.copies *
                            (plan_.settings.robust.attack == "none" ? 1 : plan_.settings.robust.steps));
    const int threads = threads_for(4.0 * passes * static_cast<double>(indices.size() * parameters));
#pragma omp parallel num_threads(threads)
    {
        std::optional<Worker> worker;
        std::vector<std::int64_t> sums;  // a batch has below 2^32 records of units below 2^25
        failure.guard([&] {
            sums.resize(entries);
            worker.emplace(*this, point);
        });
#pragma omp for schedule(dynamic)
        for (std::size_t first = 0; first < persons; first += Worker::most_persons) {
            failure.guard([&] {
                if (!worker) return;
                const std::size_t count = std::min(Worker::most_persons, persons - first);
                sums[parameters + 1] += static_cast<std::int64_t>(
                    worker->take(indices, std::span(starts).subspan(first, count + 1), sums.data()));
            });
        }
#pragma omp critical
        for (std::size_t p = 0; p < sums.size(); ++p) total[p] += sums[p];
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
    worker.take(rows, std::array<std::size_t, 2>{0, rows.size()}, units.data());
    return units;
}

}  // namespace holdfast
