// holdfast bench step: one certified training step beside its plain counterpart and the machine's own rate,
// in one run; holdfast bench noisy: one noisy step beside it; holdfast bench linear: the sums of a plain step
// of a linear network beside the two gemv that the same step takes of plain arithmetic; holdfast bench vote:
// what all networks of a leave-one-out fleet answer; holdfast bench idp: bench_idp.cpp.
//   holdfast bench step --workload imdb --relation add_remove --clip elementwise --levels 20 --json
//   mpirun -n 2 holdfast bench step --workload amex_full --clip factored --levels 0..50 --backend cuda
//   holdfast bench noisy --workload imdb
//   holdfast bench linear --records 100000 --features 188 --precision single
//   holdfast bench vote --networks 32562 --inputs 14 --precision single

#include <cblas.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/layout/assignment.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/runs/run_settings.hpp"
#include "jobs/program/transport.hpp"
#include "jobs/study/bench/idp.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/loaded_library.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/text.hpp"
#include "kernels/cuda/dgemm_rate.hpp"
#include "kernels/ops/models_outputs.hpp"
#include "models/boxes/trainer.hpp"
#include "models/noisy/noisy_trainer.hpp"

namespace holdfast {
namespace {

struct BenchRequest {
    std::string workload = "blobs", relation = "add_remove", clip = "elementwise", levels = "20",
                backend = "auto", transport = "auto", precision = "double", loss = "binary_cross_entropy",
                clip_rows = "before";
    int repeats = 3, threads = 0, activation_bits = 16;
    std::uint64_t rows = 1;  ///< of a person
    std::size_t records = 100000, features = 188;
    std::size_t networks = 2801, inputs = 7, width = 50, queries = 256;  // of a vote
};

/// Sizes of the published experiments; the records are random, in [0, 1] but for blobs.
struct Workload {
    std::size_t records, features;
    std::vector<std::int64_t> hidden;
    std::int64_t steps;
    double gamma;
    std::int64_t batches = 1;
    std::string loss = "cross_entropy";

    double records_of_a_step() const { return static_cast<double>(records) / static_cast<double>(batches); }
};

Workload workload_of(const std::string& name) {
    const std::map<std::string, Workload> known = {
        {"blobs", {3000, 6, {128}, 4, 0.06}},
        {"imdb", {40000, 768, {100}, 1, 0.04}},
        {"amex", {100000, 188, {128, 128}, 1, 0.05}},
        {"amex_full", {5500000, 188, {128, 128, 128}, 5, 0.05, 5, "binary_cross_entropy"}}};
    const auto found = known.find(name);
    if (found == known.end())
        throw Error(ExitCode::usage, "no workload \"" + name + "\"", "use blobs, imdb, amex or amex_full",
                    "--workload");
    return found->second;
}

/// "20": the nominal run and that level; "0..20": all of them.
std::vector<std::int64_t> levels_of(const std::string& text) {
    const std::size_t dots = text.find("..");
    const bool all = dots != std::string::npos;
    const auto last = number_of<std::int64_t>(all ? text.substr(dots + 2) : text);
    if (!last || *last < 1 || (all && text.substr(0, dots) != "0"))
        throw Error(ExitCode::usage, "\"" + text + "\" is not a level or 0..K",
                    "as --levels 20 or --levels 0..20", "--levels");
    std::vector<std::int64_t> levels(all ? static_cast<std::size_t>(*last) : 1);
    std::iota(levels.begin(), levels.end(), all ? 1 : *last);
    return levels;
}

/// This rank's share, by the hash that a training shares its records out by; the same records on any ranks,
/// or the same rows, so many of one person.
Records random_records(const Workload& workload, const Communicator& world,
                       std::uint64_t rows_of_person = 1) {
    Records records{FeatureMatrix(workload.features, false), {}, {}, {}};
    const KeyedHash hash{7};
    const Assignment assignment(7);
    const auto ranks = static_cast<std::uint64_t>(world.size()),
               rank = static_cast<std::uint64_t>(world.rank());
    for (std::uint64_t row = 0; row < workload.records; ++row) {
        if (assignment.block(row / rows_of_person, ranks) != rank) continue;
        records.rows.push_back(row);
        records.ids.push_back(row / rows_of_person);
    }
    if (rows_of_person > 1) weigh_persons(records, rows_of_person, "bench");
    records.labels.resize(records.size());
    std::vector<float>& values = records.features.values();
    values.resize(records.size() * workload.features);
#pragma omp parallel for
    for (std::size_t i = 0; i < records.size(); ++i) {
        float* row = values.data() + i * workload.features;
        for (std::size_t j = 0; j < workload.features; ++j)
            row[j] = static_cast<float>(hash.uniform(0, records.rows[i] * workload.features + j) -
                                        (workload.features == 6 ? 0.5 : 0.0));
        records.labels[i] = row[0] + row[1] > (workload.features == 6 ? 0.0F : 1.0F) ? 1 : 0;
    }
    return records;
}

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of `steps` steps of all ranks, none the last of a training. They start where a first step has
/// opened the boxes and brought the records to a device, and there a second has found memory for open boxes;
/// on the CPU, of several small steps the first counts too.
template <typename Step>
double seconds_of_steps(const TrainingPlan& plan, std::int64_t steps, const Communicator& block_group,
                        const Step& step) {
    const bool on_device = plan.backend->name() == "cuda";
    if (steps == 1 || plan.settings.training.batches > 1 || on_device) step();
    if (on_device) step();
    block_group.barrier();
    const double start = now();
    for (std::int64_t done = 0; done < steps; ++done) step();
    block_group.barrier();
    return now() - start;
}

double seconds_of(const TrainingPlan& plan, const Records& records, std::int64_t steps,
                  const Communicator& block_group) {
    const Records none{FeatureMatrix(plan.network.inputs(), false), {}, {}, {}};
    MemberTrainer trainer(plan, records, none, MemberTrainer::fresh_state(plan, 0));
    return seconds_of_steps(plan, steps, block_group, [&] { trainer.step(block_group); });
}

double noisy_seconds_of(const TrainingPlan& plan, const Records& records, std::int64_t steps,
                        const Communicator& block_group) {
    const Records none{FeatureMatrix(plan.network.inputs(), false), {}, {}, {}};
    const NoisySecrets secrets(SecretKey::fresh());
    NoisyTrainer trainer(plan, records, none, secrets, NoisyTrainer::fresh_state(plan));
    PhaseTimes unasked;
    return seconds_of_steps(plan, steps, block_group, [&] { trainer.step(block_group, unasked); });
}

/// A function of OpenBLAS, which is loaded when a measurement asks for it: no other command waits for it.
template <typename Function>
Function* blas(const char* name) {
    static const LoadedLibrary library("libopenblas.so.0");
    Function* const found = library.function<Function>(name);
    if (found == nullptr) {
        throw Error(ExitCode::usage, "no OpenBLAS here to measure beside",
                    "apt-get install libopenblas0-serial", "libopenblas.so.0");
    }
    return found;
}
std::string blas_core() {
    return blas<decltype(openblas_get_corename)>("openblas_get_corename")();
}

/// Multiply-adds a second of OpenBLAS dgemm on all threads, each its own product.
double dgemm_rate(int threads) {
    constexpr int n = 768;
    auto* const dgemm = blas<decltype(cblas_dgemm)>("cblas_dgemm");
    double best = 0;
    for (int repeat = 0; repeat < 3; ++repeat) {
        const double start = now();
#pragma omp parallel num_threads(threads)
        {
            const std::vector<double> a(n * n, 1.5), b(n * n, 0.5);
            std::vector<double> c(n * n);
            dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1.0, a.data(), n, b.data(), n, 0.0,
                  c.data(), n);
        }
        best = std::max(best, static_cast<double>(threads) * n * n * n / (now() - start));
    }
    return best;
}

/// Multiply-adds of a plain step per record: forward, backward, outer products.
double plain_work(const Network& network) {
    double work = 0;
    for (std::size_t l = 0; l < network.layers().size(); ++l) {
        const double products =
            static_cast<double>(network.layers()[l].in) * static_cast<double>(network.layers()[l].out);
        work += products * (l == 0 ? 2 : 3);
    }
    return work;
}

/// Of all ranks together, each on its threads or its GPU.
double dgemm_rate_of_all(const Communicator& world, const std::string& backend, int threads) {
    world.barrier();
    const double mine = backend == "cuda" ? device_dgemm_rate() : dgemm_rate(threads);
    std::int64_t sum[] = {std::llround(mine)};
    world.sum(sum);
    return static_cast<double>(sum[0]);
}

Settings plain_settings_of(const Workload& workload, const BenchRequest& request) {
    Settings settings;
    settings.network.hidden = workload.hidden;
    settings.network.loss = workload.loss;
    settings.certificate.levels = 0;
    settings.training.batches = workload.batches;
    settings.training.expected_records = std::llround(workload.records_of_a_step()) * workload.batches;
    settings.training.epochs = workload.steps + 3;
    settings.training.precision = request.precision == "single"   ? Precision::single_precision
                                  : request.precision == "double" ? Precision::double_precision
                                                                  : Precision::fixed;
    settings.training.activation_bits = request.activation_bits;
    settings.clip.gamma = workload.gamma;
    return settings;
}

Settings settings_of(const Workload& workload, const BenchRequest& request) {
    Settings settings = plain_settings_of(workload, request);
    settings.certificate.level_list = levels_of(request.levels);
    settings.certificate.relation = request.relation == "substitute" ? Relation::substitute
                                    : request.relation == "remove"   ? Relation::remove
                                                                     : Relation::add_remove;
    settings.certificate.charge_rule =
        settings.certificate.relation == Relation::add_remove ? ChargeRule::per_epoch : ChargeRule::per_batch;
    settings.clip.kind = request.clip == "factored" ? Clip::Kind::factored : Clip::Kind::elementwise;
    return settings;
}

/// Of the same rows, so many of a person.
Settings of_persons(Settings settings, const BenchRequest& request) {
    settings.training.rows_at_most = static_cast<std::int64_t>(request.rows);
    settings.training.clip_rows = request.clip_rows;
    check(settings);
    settings.training.expected_records /= settings.training.rows_at_most;
    return settings;
}

/// The same rows as persons of so many each, where that is asked for: they take as much memory again.
struct BesideRows {
    TrainingPlan plan;
    Records records;
    double seconds = 1e300;  ///< of the fastest so far

    static std::optional<BesideRows> of(const BenchRequest& request, const Workload& workload,
                                        const Communicator& world, const Settings& settings,
                                        std::shared_ptr<const Backend> backend) {
        if (request.rows <= 1) return std::nullopt;
        return BesideRows{
            make_plan(of_persons(settings, request), {.features = workload.features}, std::move(backend)),
            random_records(workload, world, request.rows)};
    }
    /// Beside the seconds of as many single rows.
    void show(std::uint64_t rows, double singles, nlohmann::json& result, std::string& words) const {
        result["persons"] = {{"rows", rows},
                             {"clip_rows", plan.settings.training.clip_rows},
                             {"seconds", seconds},
                             {"seconds_of_single_rows", singles},
                             {"ratio", seconds / singles}};
        words += printed("persons of %llu rows %8.4f s, %5.3f times as many single rows\n",
                         static_cast<unsigned long long>(rows), seconds, seconds / singles);
    }
};

Settings noisy_settings_of(const Settings& plain, NoiseSettings::Law law) {
    Settings settings = plain;
    settings.training.kind = "noisy";
    settings.clip.kind = Clip::Kind::norm;
    settings.noise.law = law;
    settings.noise.multiplier = 1;
    return settings;
}

void bench_step(const Context& context, const BenchRequest& request) {
    // 1. The workload and its settings.
    const Workload workload = workload_of(request.workload);
    if (request.threads > 0) omp_set_num_threads(request.threads);
    const int threads = omp_get_max_threads();
    const Settings settings = settings_of(workload, request);
    const int device = choose_device(request.backend, context.world);
    TrainingPlan plan = make_plan(
        settings, {.features = workload.features},
        make_backend(request.backend, settings.training.arithmetic(), settings.certificate.product, device));
    TrainingPlan plain = plan;
    plain.levels = {0};
    const BlockCommunicator sums(context.world, context.world, {request.transport, plan.backend->name()});
    const Records records = random_records(workload, context.world);
    std::optional<BesideRows> persons =
        BesideRows::of(request, workload, context.world, settings, plan.backend);

    // 2. Plain and certified steps in turn, the fastest of each.
    double plain_seconds = 1e300, certified_seconds = 1e300;
    for (int repeat = 0; repeat < request.repeats; ++repeat) {
        plain_seconds = std::min(plain_seconds, seconds_of(plain, records, workload.steps, sums.group()));
        certified_seconds =
            std::min(certified_seconds, seconds_of(plan, records, workload.steps, sums.group()));
        if (persons)
            persons->seconds = std::min(
                persons->seconds, seconds_of(persons->plan, persons->records, workload.steps, sums.group()));
    }

    // 3. Beside what the machine can do. A level's two bounds take at least a multiply-add each where the
    // plain step has one.
    const double rate = dgemm_rate_of_all(context.world, plan.backend->name(), threads);
    const double levels = static_cast<double>(settings.certificate.level_list.size());
    const double plain_adds =
        plain_work(plan.network) * workload.records_of_a_step() * static_cast<double>(workload.steps);
    const double plain_fraction = plain_adds / plain_seconds / rate;
    const double certified_fraction = plain_adds * (1 + 2 * levels) / certified_seconds / rate;
    const double ratio = (certified_seconds - plain_seconds) / plain_seconds / levels;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::int64_t peak[] = {std::int64_t{usage.ru_maxrss} * 1024};
    context.world.max(peak);
    nlohmann::json result = {{"workload", request.workload},
                             {"relation", request.relation},
                             {"clip", request.clip},
                             {"levels", request.levels},
                             {"precision", request.precision},
                             {"activation_bits", request.activation_bits},
                             {"backend", plan.backend->name()},
                             {"ranks", context.world.size()},
                             {"transport", sums.group().transport()},
                             {"threads", threads},
                             {"steps", workload.steps},
                             {"certified_seconds", certified_seconds},
                             {"plain_seconds", plain_seconds},
                             {"ratio", ratio},
                             {"peak_bytes", peak[0]},
                             {"data_bytes", workload.records * workload.features * sizeof(float)},
                             {"blas_core", blas_core()},
                             {"dgemm_gflops", 2e-9 * rate},
                             {"plain_fraction_of_dgemm", plain_fraction},
                             {"certified_fraction_of_dgemm", certified_fraction}};
    std::string words = printed(
        "%-6s %-10s %-11s levels %-6s certified %8.4f s  plain %8.4f s  a level costs %5.2f plain "
        "steps  plain at %4.1f%%, certified at %4.1f%% of dgemm (%s)  peak %lld MB\n",
        request.workload.c_str(), request.relation.c_str(), request.clip.c_str(), request.levels.c_str(),
        certified_seconds, plain_seconds, ratio, 100 * plain_fraction, 100 * certified_fraction,
        plan.backend->name() == "cuda" ? "the GPU's" : blas_core().c_str(),
        static_cast<long long>(peak[0] / (1024 * 1024)));
    if (persons) persons->show(request.rows, certified_seconds, result, words);
    context.print(result, words);
}

void bench_noisy(const Context& context, const BenchRequest& request) {
    // 1. The workload; the same network and records for the plain step, the noisy one and the noisy one
    // without its draws.
    const Workload workload = workload_of(request.workload);
    if (request.threads > 0) omp_set_num_threads(request.threads);
    const Settings plain_settings = plain_settings_of(workload, request);
    const std::shared_ptr<const Backend> backend =
        make_backend(request.backend, plain_settings.training.arithmetic(),
                     plain_settings.certificate.product, choose_device(request.backend, context.world));
    const auto plan_of = [&](const Settings& settings) {
        return make_plan(settings, {.features = workload.features}, backend);
    };
    const TrainingPlan plain = plan_of(plain_settings),
                       drawless = plan_of(noisy_settings_of(plain_settings, NoiseSettings::Law::none)),
                       noisy = plan_of(noisy_settings_of(plain_settings, NoiseSettings::Law::gaussian));
    const BlockCommunicator sums(context.world, context.world, {request.transport, backend->name()});
    const Records records = random_records(workload, context.world);
    std::optional<BesideRows> persons =
        BesideRows::of(request, workload, context.world,
                       noisy_settings_of(plain_settings, NoiseSettings::Law::none), backend);

    // 2. In turn, the fastest of each.
    double plain_seconds = 1e300, drawless_seconds = 1e300, noisy_seconds = 1e300;
    for (int repeat = 0; repeat < request.repeats; ++repeat) {
        const auto keep_least = [](double& least, double seconds) { least = std::min(least, seconds); };
        keep_least(plain_seconds, seconds_of(plain, records, workload.steps, sums.group()));
        keep_least(drawless_seconds, noisy_seconds_of(drawless, records, workload.steps, sums.group()));
        keep_least(noisy_seconds, noisy_seconds_of(noisy, records, workload.steps, sums.group()));
        if (persons)
            keep_least(persons->seconds,
                       noisy_seconds_of(persons->plan, persons->records, workload.steps, sums.group()));
    }

    // 3. In plain steps.
    const double ratio = drawless_seconds / plain_seconds, ratio_with_draws = noisy_seconds / plain_seconds;
    nlohmann::json result = {{"workload", request.workload},
                             {"precision", request.precision},
                             {"backend", backend->name()},
                             {"ranks", context.world.size()},
                             {"threads", omp_get_max_threads()},
                             {"steps", workload.steps},
                             {"parameters", plain.network.parameters()},
                             {"plain_seconds", plain_seconds},
                             {"noisy_seconds_without_draws", drawless_seconds},
                             {"noisy_seconds", noisy_seconds},
                             {"ratio_without_draws", ratio},
                             {"ratio", ratio_with_draws}};
    std::string words = printed(
        "%-9s noisy %8.4f s, without its draws %8.4f s  plain %8.4f s  so %5.2f plain steps, without "
        "draws %5.2f\n",
        request.workload.c_str(), noisy_seconds, drawless_seconds, plain_seconds, ratio_with_draws, ratio);
    if (persons) persons->show(request.rows, drawless_seconds, result, words);
    context.print(result, words);
}

decltype(cblas_sgemv)* gemv_of(float) {
    return blas<decltype(cblas_sgemv)>("cblas_sgemv");
}
decltype(cblas_dgemv)* gemv_of(double) {
    return blas<decltype(cblas_dgemv)>("cblas_dgemv");
}

/// Seconds of X theta and then X^T d by OpenBLAS, each thread on its share of the rows.
template <typename Real>
double gemv_seconds(const Real* features, std::size_t records, std::size_t columns, int threads) {
    std::vector<Real> theta(columns, Real{0.5}), margins(records, Real{1});
    auto* const gemv = gemv_of(Real{});
    const double start = now();
#pragma omp parallel num_threads(threads)
    {
        const auto thread = static_cast<std::size_t>(omp_get_thread_num());
        const auto all = static_cast<std::size_t>(omp_get_num_threads());
        const std::size_t first = records * thread / all, last = records * (thread + 1) / all;
        const auto rows = static_cast<int>(last - first), width = static_cast<int>(columns);
        std::vector<Real> sums(columns);
        const Real* const mine = features + first * columns;
        gemv(CblasRowMajor, CblasNoTrans, rows, width, 1, mine, width, theta.data(), 1, 0,
             margins.data() + first, 1);
        gemv(CblasRowMajor, CblasTrans, rows, width, 1, mine, width, margins.data() + first, 1, 0,
             sums.data(), 1);
    }
    return now() - start;
}

void bench_linear(const Context& context, const BenchRequest& request) {
    // 1. Random records and the parameters of a fresh member, a point.
    if (request.threads > 0) omp_set_num_threads(request.threads);
    const int threads = omp_get_max_threads();
    const Workload workload{request.records, request.features, {}, 1, 0.05, 1, request.loss};
    Settings settings = plain_settings_of(workload, request);
    if (request.clip == "norm") settings = noisy_settings_of(settings, NoiseSettings::Law::none);
    if (request.clip == "factored") settings.clip.kind = Clip::Kind::factored;
    const TrainingPlan plan = make_plan(
        settings, {.features = workload.features},
        make_backend(request.backend, settings.training.arithmetic(), settings.certificate.product));
    const Records records = random_records(workload, context.world);
    const std::vector<std::int64_t> theta = plan.network.initial_parameters(1, 0);
    std::vector<std::uint32_t> all(records.size());
    std::iota(all.begin(), all.end(), 0);
    const std::unique_ptr<Engine> engine = plan.backend->engine(plan.network.shape(), plan.clip());
    engine->set_records(std::vector{records.view(true)});

    // 2. The step's sums and the two products in turn, the fastest of each.
    const float* features = records.features.values().data();
    const bool single = request.precision == "single";
    const std::vector<double> wide(features, features + (single ? 0 : records.features.values().size()));
    double step_seconds = 1e300, blas_seconds = 1e300;
    for (int repeat = 0; repeat < request.repeats; ++repeat) {
        const double start = now();
        engine->run(std::vector<Variant>{{theta.data(), theta.data()}},
                    std::vector<std::span<const std::uint32_t>>{all});
        engine->finish();
        step_seconds = std::min(step_seconds, now() - start);
        const double products = single
                                    ? gemv_seconds(features, records.size(), workload.features, threads)
                                    : gemv_seconds(wide.data(), records.size(), workload.features, threads);
        blas_seconds = std::min(blas_seconds, products);
    }

    // 3. Features are read once, as floats; by gemv twice, in its own type.
    const double entries = static_cast<double>(records.size()) * static_cast<double>(workload.features);
    const double rate = 4e-9 * entries / step_seconds,
                 blas_rate = (single ? 8e-9 : 16e-9) * entries / blas_seconds;
    const nlohmann::json result = {{"records", records.size()},
                                   {"features", workload.features},
                                   {"loss", request.loss},
                                   {"clip", request.clip},
                                   {"precision", request.precision},
                                   {"backend", plan.backend->name()},
                                   {"threads", threads},
                                   {"step_seconds", step_seconds},
                                   {"gemv_seconds", blas_seconds},
                                   {"ratio", step_seconds / blas_seconds},
                                   {"step_gigabytes_per_second", rate},
                                   {"gemv_gigabytes_per_second", blas_rate},
                                   {"blas_core", blas_core()}};
    context.print(
        result,
        printed("%7zu x %-4zu %-6s %-11s %d threads  step %9.3f ms  gemv twice %9.3f ms  ratio %5.2f  "
                "features at %5.1f GB/s, gemv's at %5.1f\n",
                records.size(), workload.features, request.precision.c_str(), request.clip.c_str(), threads,
                1e3 * step_seconds, 1e3 * blas_seconds, step_seconds / blas_seconds, rate, blas_rate));
}

/// A fleet's vote on one query at a time and on many: networks near one another, of random parameters.
void bench_vote(const Context& context, const BenchRequest& request) {
    // 1. The networks, packed; queries in [0, 1].
    const int threads = request.threads > 0 ? request.threads : omp_get_max_threads();
    omp_set_num_threads(threads);
    const bool single = request.precision == "single";
    const Network network(request.inputs, {request.width, request.width}, 2, Loss::cross_entropy);
    NetworkShape shape = network.shape();
    shape.layers.back().out = 1;  // two classes are decided by one margin
    const auto fleet =
        make_models_outputs(single ? Precision::single_precision : Precision::double_precision, shape);
    fleet->reserve(request.networks);
    const std::vector<std::int64_t> initial = network.initial_parameters(1, 0);
    for (std::size_t i = 0; i < request.networks; ++i)
        fleet->add(std::span(initial).first(shape.parameters()));
    const KeyedHash hash{1};
    std::vector<double> features(request.queries * request.inputs);
    for (std::size_t i = 0; i < features.size(); ++i) features[i] = hash.uniform(0, i);

    // 2. The fastest of the repeats, of one query and of all.
    const auto seconds = [&](std::size_t queries) {
        double best = std::numeric_limits<double>::infinity();
        for (int repeat = 0; repeat < request.repeats; ++repeat) {
            std::atomic<std::int64_t> positive = 0;
            const double start = now();
            fleet->outputs({.wide_features = features.data(), .count = queries},
                           [&](const ModelsBlock& block) {
                               std::int64_t here = 0;
                               for (std::size_t r = 0; r < block.records; ++r)
                                   for (std::size_t i = 0; i < block.count; ++i)
                                       here += block.at(r, 0, i) > 0 ? 1 : 0;
                               positive += here;
                           });
            best = std::min(best, now() - start);
        }
        return best;
    };
    const double one = seconds(1), each = seconds(request.queries) / static_cast<double>(request.queries);

    // 3. Of one query the parameters are read once.
    const double bytes =
        static_cast<double>(request.networks) * static_cast<double>(shape.parameters()) * (single ? 4 : 8);
    const nlohmann::json result = {{"networks", request.networks},
                                   {"inputs", request.inputs},
                                   {"width", request.width},
                                   {"precision", request.precision},
                                   {"threads", threads},
                                   {"bytes", bytes},
                                   {"one_query_seconds", one},
                                   {"queries", request.queries},
                                   {"seconds_a_query_of_a_batch", each},
                                   {"gigabytes_per_second", 1e-9 * bytes / one}};
    context.print(
        result,
        printed("%6zu networks %zu-%zu-%zu-2 %-6s %7.1f MB  %d threads  one query %8.3f ms (%.1f GB/s)  "
                "of %zu %8.3f ms each\n",
                request.networks, request.inputs, request.width, request.width, request.precision.c_str(),
                1e-6 * bytes, threads, 1e3 * one, 1e-9 * bytes / one, request.queries, 1e3 * each));
}

/// A kind of step, with the options that all kinds have.
Command add_kind(const Command& command, const std::string& name, const std::string& words,
                 BenchRequest& request, const std::vector<std::string>& precisions = {"double", "single"}) {
    const Command kind = command.add_command(name, words);
    kind.add_option("--precision", request.precision, "Type the step is computed in (dgemm is double)")
        .one_of(precisions)
        .show_default();
    kind.add_option("--backend", request.backend, "As run.backend of train: auto, cpu, cuda or reference")
        .show_default();
    kind.add_option("--repeats", request.repeats, "Runs of which the fastest counts").show_default();
    kind.add_option("--threads", request.threads, "Of a rank; 0: all cores").show_default();
    kind.inherit_options();
    return kind;
}

/// Of the kinds that take whole steps.
void add_workload(const Command& kind, BenchRequest& request) {
    kind.add_option("--workload", request.workload, "blobs, imdb, amex or amex_full (5.5 million records)")
        .show_default();
    kind.add_option("--rows", request.rows, "Beside them, the same rows as persons of so many each")
        .positive()
        .show_default();
    kind.add_option("--clip-rows", request.clip_rows, "Of those, as training.clip_rows of train")
        .one_of({"before", "after"})
        .show_default();
    kind.add_option("--transport", request.transport, "As run.transport of train")
        .one_of({"auto", "mpi", "nccl"})
        .show_default();
}

}  // namespace

Run declare_bench(const Command& command) {
    auto request = std::make_shared<BenchRequest>();
    const Command step =
        add_kind(command, "step", "One certified training step of a published experiment's size", *request,
                 {"double", "single", "fixed"});
    step.add_option("--activation-bits", request->activation_bits, "As training.activation_bits of train")
        .one_of({"16", "8"})
        .show_default();
    step.add_option("--relation", request->relation, "Neighbours")
        .one_of({"add_remove", "substitute", "remove"})
        .show_default();
    step.add_option("--clip", request->clip, "Clip").one_of({"elementwise", "factored"}).show_default();
    step.add_option("--levels", request->levels, "One level k, or 0..K").show_default();
    const Command noisy = add_kind(command, "noisy", "One noisy training step of that size", *request);
    for (const Command& kind : {step, noisy}) add_workload(kind, *request);
    const Command linear =
        add_kind(command, "linear", "The sums of a step of a linear network, beside gemv", *request);
    linear.add_option("--records", request->records, "Random records").positive().show_default();
    linear.add_option("--features", request->features, "Features of a record").positive().show_default();
    linear.add_option("--loss", request->loss, "Loss of two classes").show_default();
    linear.add_option("--clip", request->clip, "Clip")
        .one_of({"elementwise", "factored", "norm"})
        .show_default();
    const Command vote =
        add_kind(command, "vote", "All networks of a leave-one-out fleet on a query, and on many", *request);
    vote.add_option("--networks", request->networks, "Networks of two hidden layers")
        .positive()
        .show_default();
    vote.add_option("--inputs", request->inputs, "Features of a query").positive().show_default();
    vote.add_option("--width", request->width, "Of the hidden layers").positive().show_default();
    vote.add_option("--queries", request->queries, "Of a batch").positive().show_default();
    const Command idp =
        command.add_command("idp", "The search behind holdfast idp with parts of it left out");
    idp.inherit_options();
    const Run parts = declare_bench_idp(idp);
    command.require_command();
    return [=](const Context& context) {
        if (idp.given()) return parts(context);
        if (vote.given()) return bench_vote(context, *request);
        if (linear.given()) return bench_linear(context, *request);
        (noisy.given() ? bench_noisy : bench_step)(context, *request);
    };
}

}  // namespace holdfast
