#include "jobs/training/plan/calibration.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <numeric>

#include "dist/layout/assignment.hpp"
#include "jobs/program/training/fleet_passes.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/base/random.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/fleet/fleet_trainer.hpp"
#include "models/training/phase_times.hpp"
#include "models/training/plan.hpp"

namespace holdfast {
namespace {

constexpr int timed_steps = 5;
constexpr double long_enough = 0.25;                   // seconds of a step, for its clock to say something
constexpr double most_made_values = 64.0 * (1 << 20);  // of made-up records, so that they fit anywhere

/// Other processes only add to a time.
double shortest(const std::vector<double>& values) {
    return *std::min_element(values.begin(), values.end());
}

/// On the host the processor time of this thread, which waits for the others asleep: on a busy machine the
/// wall time is that of other processes too. On a device the wall time.
class StepClock {
  public:
    explicit StepClock(const Backend& backend) : of_thread_(backend.name() != "cuda"), since_(now()) {}
    double seconds() const { return now() - since_; }

  private:
    double now() const {
        timespec time{};
        clock_gettime(of_thread_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    bool of_thread_;
    double since_;
};

/// Spread over the public range; labels are noise, so that no record is soon learnt.
Records made_up(const DatasetInfo& data, std::size_t count, std::int64_t classes) {
    const FeatureRange range = data.range == default_feature_range ? FeatureRange{0, 1} : data.range;
    Records records{FeatureMatrix(data.features, data.wide), {}, {}, {}};
    const KeyedHash hash{11};
    std::vector<double> row(data.features);
    for (std::uint64_t id = 0; id < count; ++id) {
        for (std::size_t column = 0; column < row.size(); ++column) {
            const double unit = static_cast<double>(hash(id, column) >> 11) * 0x1p-53;
            row[column] = range.low + unit * (range.high - range.low);
        }
        records.features.append(row.data());
        records.ids.push_back(id);
        records.labels.push_back(static_cast<std::int32_t>(
            hash(id, row.size()) % static_cast<std::uint64_t>(std::max<std::int64_t>(2, classes))));
    }
    records.rows = records.ids;
    return records;
}

/// The longest of all ranks, so that they agree on what to do next. Collective.
double slowest(const Communicator& world, double seconds) {
    std::array nanoseconds{static_cast<std::int64_t>(seconds * 1e9)};
    world.max(nanoseconds);
    return static_cast<double>(nanoseconds[0]) * 1e-9;
}

}  // namespace

Calibration::Calibration(const Context& context, const Kind& kind, Settings settings, const DatasetInfo& data,
                         std::shared_ptr<const Backend> backend)
    : context_(context),
      kind_(kind),
      settings_(std::move(settings)),
      data_(data),
      backend_(std::move(backend)) {}

/// One member, whose every step takes all of so many records, without what a run does besides.
Settings Calibration::settings_for(std::size_t records) const {
    Settings settings = settings_;
    settings.ensemble.members = 1;
    settings.training.batches = 1;
    settings.training.epochs = timed_steps + 1;
    settings.training.expected_records = static_cast<std::int64_t>(records);
    settings.training.public_steps = settings.training.public_batch_size = 0;
    settings.noise.sampling_rate = 0;
    if (settings.training.batching == Batching::sequential)
        settings.training.batch_size = static_cast<std::int64_t>(records);
    return settings;
}

double Calibration::seconds_of_step(std::size_t records, const std::vector<std::int64_t>& levels) const {
    const Settings settings = settings_for(records);
    TrainingPlan plan = make_plan(settings, {data_.features, data_.range, records, 0}, backend_);
    plan.levels = levels;
    const auto alone = make_serial_communicator();
    const ProcessGrid grid(*alone, "auto", 1, levels.size());
    const FeatureMap features = settings.feature_map(data_.features, data_.range);
    const auto trained = [&](Records held) {
        return as_trained(std::move(held), settings, features, data_.target_range);
    };
    const Records none = trained(made_up(data_, 0, settings.network.classes));
    const SecretKey key = SecretKey::known_to_all(1);
    const auto training = kind_.training(plan, none, grid, kind_.secret ? &key : nullptr);
    const auto trainer = training->start(0, trained(made_up(data_, records, settings.network.classes)), {});
    PhaseTimes times;
    trainer->step(grid.block_group(), times);  // from a point, and the first to touch its memory
    std::vector<double> seconds;
    for (int step = 0; step < timed_steps; ++step) {
        context_.world.barrier();
        const StepClock clock(*backend_);
        trainer->step(grid.block_group(), times);
        seconds.push_back(slowest(context_.world, clock.seconds()));
    }
    return shortest(seconds);
}

StepCost Calibration::steps_side_by_side(double most_records, const std::string& backend) const {
    many_ = static_cast<std::size_t>(
        std::max(2.0, std::min(most_records, most_made_values / static_cast<double>(data_.features))));
    const Settings settings = settings_for(many_);
    const FleetPasses passes(backend, settings, context_.world);
    const TrainingPlan plan = make_plan(settings, {data_.features, data_.range, many_, 0}, passes.backend());
    check_fleet(plan, many_);
    passes.check(plan.network.shape(), plan.clip());
    const FeatureMap features = settings.feature_map(data_.features, data_.range);
    const Records records =
        as_trained(made_up(data_, many_, settings.network.classes), settings, features, data_.target_range);
    const auto pass = passes.make(plan.network.shape(), plan.clip(), many_);
    const std::size_t count = std::min(pass->models(), many_);
    std::vector<std::size_t> left_out(count);
    std::iota(left_out.begin(), left_out.end(), 0);
    const FleetTrainer trainer(plan, records, left_out);
    std::vector<double> seconds;
    for (int turn = 0; turn < 3; ++turn) {
        const StepClock clock(*passes.backend());
        trainer.train(0, count, *pass, [] { return false; });
        seconds.push_back(slowest(context_.world, clock.seconds()));
    }
    const double steps = static_cast<double>(count) * static_cast<double>(settings.training.steps());
    return {.record = shortest(seconds) / steps / static_cast<double>(many_)};
}

StepCost Calibration::steps(double most_records) const {
    const std::vector<std::int64_t> all = settings_.kept_levels(), last{all.back()};
    const auto largest = static_cast<std::size_t>(all.back());  // of which none may leave a batch empty
    const std::size_t few = std::max<std::size_t>(64, 4 * largest);
    const auto most = static_cast<std::size_t>(
        std::min(most_records, most_made_values / static_cast<double>(data_.features)));
    many_ = 4 * few;
    double many_many = seconds_of_step(many_, all);
    while (many_many < long_enough && many_ < most) {
        many_ = std::min(4 * many_, most);
        many_many = seconds_of_step(many_, all);
    }
    const auto measured = [&](std::size_t records, const std::vector<std::int64_t>& levels) {
        return StepCost::Measured{static_cast<double>(records), static_cast<double>(levels.size()),
                                  seconds_of_step(records, levels)};
    };
    return StepCost::through(measured(few, last), measured(many_, last), measured(few, all),
                             {static_cast<double>(many_), static_cast<double>(all.size()), many_many});
}

Link Calibration::link(double bytes, const Link& otherwise) const {
    const Communicator& world = context_.world;
    if (world.size() < 2) return otherwise;
    const auto seconds_of = [&](std::size_t words) {
        std::vector<std::int64_t> message(words);
        std::vector<double> seconds;
        for (int turn = 0; turn < 20; ++turn) {
            world.barrier();
            Stopwatch watch;
            world.sum(message);
            seconds.push_back(slowest(world, watch.lap()));
        }
        return shortest(seconds);
    };
    const auto words = static_cast<std::size_t>(std::clamp(bytes / 8, 1024.0, 64.0 * (1 << 20)));
    const double one = seconds_of(1), many = seconds_of(words);
    const Link unit{1, 1, true};  // of whose terms it is so and so many
    const double passes = unit.all_reduce(1e-9, static_cast<std::size_t>(world.size()));
    const double per_byte = Link{0, 1, true}.all_reduce(1, static_cast<std::size_t>(world.size()));
    Link found{one / passes, otherwise.bandwidth, true};
    if (many > one) found.bandwidth = static_cast<double>(8 * words) * per_byte / (many - one);
    return found;
}

}  // namespace holdfast
