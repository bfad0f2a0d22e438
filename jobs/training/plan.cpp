// holdfast plan: what a training takes on so many ranks, before it is started: layout, memory, time.
//   holdfast plan --config jobs/configs/quickstart.toml --data blobs.h5 --ranks 1,2,4,64
//   mpirun -n 2 holdfast plan --config big.toml --data big.h5 --ranks 64,512,4096

#include <omp.h>

#include <spdlog/logger.h>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

#include "jobs/program/configuration.hpp"
#include "jobs/program/host_memory.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/training/plan/calibration.hpp"
#include "jobs/training/plan/scaling.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/step_message.hpp"
#include "models/boxes/charges.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/training/memory.hpp"
#include "models/training/optimiser.hpp"

namespace holdfast {
namespace {

struct PlanRequest {
    std::string config, data;
    std::vector<std::string> overrides;
    std::vector<std::size_t> ranks{1, 2, 4, 64, 512, 4096};
    std::vector<double> cost;    ///< of another machine, as StepCost has it; empty: measured here
    std::uint64_t features = 0;  ///< in place of data
    bool leave_one_out = false;
    std::size_t cores = 0;
    double latency = 2e-6, bandwidth = 1e10;
};

/// Least values that a step keeps of every entry, of all levels: none but of boxes.
double selected_values(const TrainingPlan& plan) {
    if (plan.settings.training.kind != "boxes") return 0;
    const auto optimiser = make_optimiser(plan.settings.training, plan.gradient_scale().exponent);
    const auto charges = make_charges(plan, *optimiser);
    double values = 0;
    for (const std::int64_t k : plan.levels) values += static_cast<double>(charges->selected(k));
    return values;
}

Demand demand_of(const TrainingPlan& plan, std::uint64_t rows, const PlanRequest& request) {
    const Settings& settings = plan.settings;
    const auto parameters = static_cast<double>(plan.network.parameters());
    Demand demand;
    demand.members = static_cast<std::size_t>(settings.ensemble.members);
    demand.levels = plan.levels.size();
    demand.steps = settings.training.steps();
    demand.records = static_cast<double>(rows) / static_cast<double>(demand.members) * settings.step_share();
    demand.words_of_level = static_cast<double>(StepMessage::of(1, plan.network.shape()).stride());
    demand.selected_bytes = 8 * parameters * selected_values(plan);
    demand.first_is_point = demand.selected_bytes <= 0 && settings.training.public_steps == 0;
    demand.part_capacity = static_cast<double>(plan.gradient_scale().record_limit) / 2;
    demand.cores = request.cores;
    demand.threads = static_cast<std::size_t>(omp_get_max_threads());
    return demand;
}

std::string seconds_text(double seconds) {
    if (seconds >= 7200) return printed("%.1f h", seconds / 3600);
    if (seconds >= 120) return printed("%.1f min", seconds / 60);
    if (seconds >= 0.1 || seconds <= 0) return printed("%.2f s", seconds);
    if (seconds >= 1e-4) return printed("%.2f ms", seconds * 1e3);
    return printed("%.2f us", seconds * 1e6);
}

std::string bytes_text(double bytes) {
    return bytes >= 1e9 ? printed("%.2f GB", bytes / 1e9) : printed("%.0f MB", bytes / 1e6);
}

/// A prediction and the memory that goes with it.
struct Row {
    std::size_t ranks;
    Prediction said;
    double memory;
};

std::string row_text(const Row& row) {
    const Prediction& said = row.said;
    return printed("%6zu  %-9s %-13s %7zu %7zu %12.0f  %-9s %-10s %-10s %s%s\n", row.ranks,
                   said.layout.c_str(), said.grid.text().c_str(), said.members, said.levels, said.records,
                   bytes_text(row.memory).c_str(), seconds_text(said.computing).c_str(),
                   seconds_text(said.communication).c_str(), seconds_text(said.seconds).c_str(),
                   said.taken_by_auto ? "  auto" : "");
}

nlohmann::json row_json(const Row& row) {
    const Prediction& said = row.said;
    return {{"ranks", row.ranks},
            {"layout", said.layout},
            {"grid", said.grid.text()},
            {"auto", said.taken_by_auto},
            {"members", said.members},
            {"levels", said.levels},
            {"records_of_step", said.records},
            {"memory", row.memory},
            {"computing", said.computing},
            {"communication", said.communication},
            {"seconds", said.seconds}};
}

std::string link_text(const Link& link) {
    return seconds_text(link.latency) + " a message and " + bytes_text(link.bandwidth) + "/s" +
           (link.measured ? " (measured among the ranks of this command)"
                          : " (assumed: --latency, --bandwidth; measured where mpirun starts several ranks)");
}

std::string cost_text(const PlanRequest& request, const StepCost& cost, const Demand& demand) {
    const double levels = request.leave_one_out ? 0 : static_cast<double>(demand.levels);
    return std::string(request.cost.empty() ? "measured here" : "as given") + ": a step of " +
           printed("%.0f", demand.records) + " records takes " +
           seconds_text(cost.seconds(demand.records, levels));
}

/// Of a rank with the most changed records among its levels, in bytes, beside what the program itself takes.
/// held: records, of all its members.
double memory_of_rank(TrainingPlan plan, const Prediction& said, double held, bool wide, int threads) {
    const std::vector<std::int64_t> levels = plan.settings.kept_levels();
    plan.levels = {levels.end() - static_cast<std::ptrdiff_t>(said.levels), levels.end()};
    return memory_of(plan, {held, held / static_cast<double>(said.members), wide}, threads).total();
}

/// The head of the dataset, or what is public of one that is not here.
DatasetInfo planned_data(const PlanRequest& request, const Settings& settings) {
    if (!request.data.empty()) return DatasetReader(request.data).info();
    if (request.features == 0)
        throw Error(ExitCode::usage, "no data to plan for", "name a dataset, or give --features", "--data");
    if (settings.training.expected_records == 0)
        throw Error(ExitCode::usage, "--features has no count of records beside it",
                    "set training.expected_records", "training.expected_records");
    DatasetInfo info;
    info.path = std::to_string(request.features) + " features";
    info.features = request.features;
    info.expected_records = info.rows = static_cast<std::uint64_t>(settings.training.expected_records);
    info.rows_at_most = static_cast<std::uint64_t>(std::max<std::int64_t>(1, settings.training.rows_at_most));
    if (info.rows_at_most > 1) info.unit = Unit::person;
    return info;
}

/// The public count of records where there is one: a plan is for data that may not be here yet.
std::uint64_t planned_rows(const Settings& settings, const DatasetInfo& info) {
    const auto stated = static_cast<std::uint64_t>(settings.training.expected_records);
    return stated > 0 ? stated * info.rows_at_most : info.rows;
}

StepCost given_cost(const std::vector<double>& values) {
    const bool sound = values.size() == 4 && std::all_of(values.begin(), values.end(), [](double value) {
                           return value >= 0 && std::isfinite(value);
                       });
    if (!sound)
        throw Error(ExitCode::usage, "not four numbers of seconds, none below 0",
                    "give fixed,level,record,record_level as plan --json prints them in \"cost\"", "--cost");
    return {values[0], values[1], values[2], values[3]};
}

/// A given cost needs no device: any backend knows the layout.
std::shared_ptr<const Backend> planning_backend(const Context& context, const Settings& settings,
                                                const std::string& asked, const PlanRequest& request) {
    const std::string name = request.cost.empty() ? backend_for(settings, asked) : "reference";
    try {
        return make_backend(name, settings.training.arithmetic(), settings.certificate.product,
                            context.world.local_rank());
    } catch (const Error& error) {
        if (name != "cuda") throw;
        throw Error(error.code(), error.message(),
                    "run plan --json on a machine that has the device, and give its \"cost\" here by --cost",
                    error.where());
    }
}

/// The networks of a leave-one-out ensemble train side by side, a thread's apart from all others.
Prediction side_by_side(const Demand& demand, const StepCost& cost, double networks, std::size_t ranks) {
    const double threads =
        demand.cores == 0 ? static_cast<double>(demand.threads)
                          : std::max(1.0, static_cast<double>(demand.cores) / static_cast<double>(ranks));
    const double of_rank = std::ceil(networks / static_cast<double>(ranks));
    Prediction said;
    said.layout = "networks";
    said.taken_by_auto = true;
    said.grid.members = ranks;
    said.members = static_cast<std::size_t>(of_rank);
    said.levels = 1;
    said.records = demand.records;
    said.computing = cost.seconds(demand.records, 0) * of_rank / std::min(threads, of_rank);
    said.seconds = said.computing * static_cast<double>(demand.steps);
    return said;
}

void plan(const Context& context, const PlanRequest& request) {
    const double program = resident_memory();  // before a step is tried

    // 1. What is to be trained, on which shape of data; of the file only its head is read.
    Configuration asked = read_configuration(request.config, request.overrides);
    const DatasetInfo info = planned_data(request, asked.settings);
    const Kind& kind = kind_named(asked.settings.training.kind);
    if (request.leave_one_out) check_fleet(asked.settings);
    const Settings stated = settle_facts(asked.settings, info);
    const Settings settings = request.leave_one_out ? stated : kind.settled(stated);
    const std::uint64_t records = planned_rows(settings, info);
    if (asked.run.threads > 0) omp_set_num_threads(static_cast<int>(asked.run.threads));
    const std::shared_ptr<const Backend> backend =
        planning_backend(context, settings, asked.run.backend, request);
    const TrainingPlan whole = make_plan(settings, {info.features, info.range, records, 0}, backend);
    const Demand demand = demand_of(whole, records, request);

    // 2. What a step and a message cost here.
    const Calibration calibration(context, kind, settings, info, backend);
    StepCost cost;
    if (request.cost.empty()) {
        context.log->info("calibrating on {} rank(s) of {} thread(s), backend {}", context.world.size(),
                          demand.threads, backend->name());
        cost = request.leave_one_out ? calibration.steps_side_by_side(demand.records, asked.run.backend)
                                     : calibration.steps(demand.records);
    } else {
        cost = given_cost(request.cost);
    }
    const double message = 8 * demand.words_of_level * static_cast<double>(demand.levels);
    const Link link = calibration.link(message, {request.latency, request.bandwidth});
    if (!context.world.is_root()) return;

    // 3. What follows for every number of ranks.
    std::vector<Row> rows;
    const double networks = static_cast<double>(records / info.rows_at_most) + 1;
    for (const std::size_t ranks : request.ranks) {
        if (request.leave_one_out) {
            const double values = static_cast<double>(records) * static_cast<double>(info.features);
            rows.push_back({ranks, side_by_side(demand, cost, networks, ranks),
                            std::max(program, resident_memory()) + values * (info.wide ? 8 : 4)});
            continue;
        }
        for (const Prediction& said : predictions(demand, cost, link, ranks)) {
            const double held = static_cast<double>(records) / static_cast<double>(demand.members) *
                                static_cast<double>(said.members) / static_cast<double>(said.grid.blocks);
            rows.push_back(
                {ranks, said,
                 program + memory_of_rank(whole, said, held, info.wide, static_cast<int>(demand.threads))});
        }
    }
    nlohmann::json list = nlohmann::json::array();
    const std::string counted = request.leave_one_out ? printed("%.0f networks, ", networks)
                                                      : std::to_string(demand.members) + " members, ";
    std::string text = info.path + ": " + counted + std::to_string(demand.steps) + " steps each, " +
                       std::to_string(demand.levels) + " levels, " +
                       std::to_string(whole.network.parameters()) + " parameters\n" +
                       cost_text(request, cost, demand) + ", on " + std::to_string(demand.threads) +
                       " threads a rank; ranks add " + bytes_text(message) + " a step at " + link_text(link) +
                       "\n\n ranks  layout    grid          members  levels      records  memory    "
                       "computing  sums       all steps\n";
    for (const Row& row : rows) {
        text += row_text(row);
        list.push_back(row_json(row));
    }
    text +=
        "members, levels and records of a rank's step; seconds of one step; time of the steps alone, without "
        "reading, "
        "validation, public steps and writing\n";
    context.print(
        {{"records", records},
         {"step_records", demand.records},
         {"steps", demand.steps},
         {"parameters", whole.network.parameters()},
         {"threads", demand.threads},
         {"cost",
          {{"fixed", cost.fixed},
           {"level", cost.level},
           {"record", cost.record},
           {"record_level", cost.record_level},
           {"records_measured", calibration.records_measured()}}},
         {"link", {{"latency", link.latency}, {"bandwidth", link.bandwidth}, {"measured", link.measured}}},
         {"message_bytes", message},
         {"layouts", list}},
        text);
}

}  // namespace

Run declare_plan(const Command& command) {
    auto request = std::make_shared<PlanRequest>();
    command.add_option("--config", request->config, "TOML file, as train takes it");
    const Argument data = command.add_option(
        "--data", request->data, "Dataset FILE[:SPLIT], split train by default: only its head is read");
    command
        .add_option("--features", request->features,
                    "Number of features, in place of --data; with training.expected_records")
        .within(std::uint64_t{1}, std::uint64_t{1} << 24)
        .excludes(data);
    command.add_flag("--leave-one-out", request->leave_one_out,
                     "Plan a leave-one-out ensemble: one network of all records, and one without each");
    command
        .add_option(
            "--cost", request->cost,
            "Seconds fixed,level,record,record_level of a step, as plan --json prints them in \"cost\" "
            "on another machine; then nothing is measured here")
        .separated_by(',');
    command.add_option("--set", request->overrides, "section.key=value, over the file; repeatable")
        .one_at_a_time();
    command.add_option("--ranks", request->ranks, "Numbers of ranks, as 1,64,512")
        .separated_by(',')
        .within(std::size_t{1}, std::size_t{1} << 20)
        .show_default();
    command
        .add_option("--cores", request->cores,
                    "Cores that all ranks share; 0: every rank has as many as it has threads")
        .show_default();
    command.add_option("--latency", request->latency, "Seconds that a message between ranks takes")
        .within(1e-9, 1.0)
        .show_default();
    command.add_option("--bandwidth", request->bandwidth, "Bytes a second between ranks")
        .within(1e3, 1e15)
        .show_default();
    command.add_footer(
        "Layouts: data (a member's records shared out over all ranks), ensemble (members first, then "
        "records: what run.grid = "
        "\"auto\" takes), levels (levels first, then records). It trains for some seconds on made-up records "
        "of the "
        "data's columns, and measures the sums where mpirun starts it on several ranks, as many to a host as "
        "the job will "
        "have. A prediction for more hosts than were measured is only as good as --latency and "
        "--bandwidth.\n");
    return [request](const Context& context) { plan(context, *request); };
}

}  // namespace holdfast
