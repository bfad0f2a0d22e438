// holdfast influence: for the owner, exactly what every record changed: each prediction of the network of all
// records beside that of every network without one of them. No estimate: the networks were trained.
//   holdfast fleet --config jobs/configs/idp_crypto.toml --data crypto.h5 --out fleet
//   holdfast influence --run fleet --queries crypto.h5:test --data crypto.h5
//   holdfast influence --run fleet --queries new.h5 --alpha 0.05 --top 10

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/study/influence/newton.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/fleet/influence.hpp"

namespace holdfast {
namespace {

struct InfluenceRequest {
    std::string run, queries, data;
    std::uint64_t first = 0, top = 5;
    double alpha = 0.1;
};

/// A query as the fleet answers it, and the records that changed it most, by their place in the fleet.
struct QueryInfluence {
    std::int32_t label = 0;
    double prediction = 0;  // N's lead, or its number
    std::int64_t against = 0;
    std::vector<std::pair<std::size_t, double>> top;  // record, change
    PredictionInterval interval{};                    // of a regression, with --data
    std::vector<std::int32_t> set;                    // of classes, with --data
    std::vector<double> newton;                       // of a convex model, the estimates of `top`
};

/// A record, over all queries; own: its lead or residual with and without it, with --data.
struct RecordInfluence {
    std::int64_t labels_changed = 0;
    double largest = 0, sum = 0, with = 0, without = 0;
    double newton = 0;  // what one step estimates for `largest`
    bool right_with = false, right_without = false;
};

/// Everything asked for, on rank 0 and all others.
struct Found {
    std::vector<QueryInfluence> queries;
    std::vector<RecordInfluence> records;
};

/// The records that the fleet was trained on, in the order in which it left them out.
struct OwnRecords {
    Records records;  // mapped
    std::vector<double>
        residuals;  // of a regression |y - N_-i(x)|, of classes the lead of y: without its own
};

Records trained_on(const FinishedFleet& fleet, const std::string& name) {
    const DatasetReader reader(name);
    AllRecords all = read_all_records(reader, fleet.networks.settings());
    require_trained_on(fleet.manifest.dataset, all.digest, reader.info());
    if (!fleet.networks.network().is_regression()) return std::move(all.records);
    return with_targets(std::move(all.records), fleet.manifest.dataset.target_range);
}

/// As many as the fleet left out, in its order.
Records in_order(const FinishedFleet& fleet, const Records& records) {
    std::unordered_map<std::uint64_t, std::size_t> places;
    for (std::size_t i = 0; i < records.size(); ++i) places.emplace(records.ids[i], i);
    std::vector<std::size_t> order;
    for (const std::uint64_t id : fleet.networks.left_out()) order.push_back(places.at(id));
    Records ordered = chosen_records(records, order);
    for (const std::size_t i : order) {
        if (!records.labels.empty()) ordered.labels.push_back(records.labels[i]);
        if (!records.targets.empty()) ordered.targets.push_back(records.targets[i]);
    }
    return ordered;
}

/// What each record's own prediction is with and without it.
OwnRecords remember(const Context& context, const FinishedFleet& fleet, const FleetOutputs& outputs,
                    const Records& all, std::vector<RecordInfluence>& found) {
    const Decision& decision = outputs.decision();
    OwnRecords own{outputs.mapped(in_order(fleet, all)), {}};
    const std::size_t rows = decision.rows(), first = static_cast<std::size_t>(outputs.first());
    Records mine = part_of(own.records, first, first + static_cast<std::size_t>(outputs.count()));
    const std::vector<double> with = outputs.nominal(own.records),
                              without =
                                  gathered(context.world, own_values(fleet.networks, outputs.first(), mine));
    const bool numbers = fleet.networks.network().is_regression();
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto in = [&](const std::vector<double>& values) {
            return [&values, i, rows](std::size_t o) { return values[i * rows + o]; };
        };
        RecordInfluence& record = found[i];
        if (numbers) {
            record.with = std::abs(own.records.targets[i] - with[i]);
            record.without = std::abs(own.records.targets[i] - without[i]);
        } else {
            const std::int32_t label = own.records.labels[i];
            record.with = decision.lead(static_cast<std::size_t>(label), in(with));
            record.without = decision.lead(static_cast<std::size_t>(label), in(without));
            record.right_with = decision.label(in(with)) == label;
            record.right_without = decision.label(in(without)) == label;
        }
        own.residuals.push_back(record.without);
    }
    return own;
}

/// One query: what every N_-i changes.
QueryInfluence look_at(const Decision& decision, const LeftOutValues& left_out, std::size_t query,
                       std::span<const double> nominal, std::size_t top,
                       std::vector<RecordInfluence>& records) {
    QueryInfluence found;
    const auto row = [&](std::size_t o) { return nominal[o]; };
    found.label = decision.label(row);
    const auto label = static_cast<std::size_t>(found.label);
    found.prediction = decision.lead(label, row);
    std::vector<double> changes = left_out.leads(decision, query, label);
    for (std::size_t i = 0; i < changes.size(); ++i) {
        changes[i] -= found.prediction;
        const bool changed =
            decision.label([&](std::size_t o) { return left_out.at(query, o, i); }) != found.label;
        found.against += changed ? 1 : 0;
        records[i].labels_changed += changed ? 1 : 0;
        records[i].largest = std::max(records[i].largest, std::abs(changes[i]));
        records[i].sum += std::abs(changes[i]);
    }
    std::vector<std::size_t> order(changes.size());
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(top, order.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](std::size_t a, std::size_t b) {
        const double one = std::abs(changes[a]), other = std::abs(changes[b]);
        return one != other ? one > other : a < b;
    });
    for (auto i = order.begin(); i != end; ++i) found.top.emplace_back(*i, changes[*i]);
    return found;
}

void add_prediction(const FinishedFleet& fleet, const Decision& decision, const LeftOutValues& left_out,
                    std::size_t query, const OwnRecords& own, double alpha, QueryInfluence& found) {
    if (fleet.networks.network().is_regression()) {
        found.interval = jackknife_interval(left_out.leads(decision, query, 0), own.residuals, alpha);
        return;
    }
    for (std::size_t c = 0; c < fleet.networks.network().classes(); ++c) {
        if (jackknife_keeps(left_out.leads(decision, query, c), own.residuals, alpha))
            found.set.push_back(static_cast<std::int32_t>(c));
    }
}

/// What one step estimates of the same changes, kept with the query and with its records.
std::vector<double> estimate(NewtonComparison& newton, const Records& queries, std::size_t q,
                             const std::vector<double>& changes, QueryInfluence& query, Found& found) {
    std::vector<double> estimates = newton.beside(queries, q, static_cast<std::size_t>(query.label), changes);
    for (std::size_t i = 0; i < estimates.size(); ++i)
        found.records[i].newton = std::max(found.records[i].newton, std::abs(estimates[i]));
    for (const auto& [record, change] : query.top) query.newton.push_back(estimates[record]);
    return estimates;
}

std::string number(double value) {
    return printed("%.9g", value);
}

/// A line each: what is asked, what N says, how many networks say another, interval or set, the top records.
std::string queries_csv(const FinishedFleet& fleet, const Records& queries, const Found& found, bool own,
                        bool newton) {
    const bool numbers = fleet.networks.network().is_regression();
    std::string text = numbers ? "query,prediction" : "query,label,lead,networks_against";
    if (own) text += numbers ? ",low,high" : ",set";
    text += newton ? ",records_and_changes,newton\n" : ",records_and_changes\n";
    for (std::size_t q = 0; q < found.queries.size(); ++q) {
        const QueryInfluence& query = found.queries[q];
        text += std::to_string(queries.ids[q]) + ",";
        if (!numbers) text += std::to_string(query.label) + ",";
        text += number(query.prediction);
        if (!numbers) text += "," + std::to_string(query.against);
        if (own && numbers) text += "," + number(query.interval.low) + "," + number(query.interval.high);
        if (own && !numbers) {
            text += ",";
            for (std::size_t c = 0; c < query.set.size(); ++c)
                text += (c == 0 ? "" : " ") + std::to_string(query.set[c]);
        }
        text += ",";
        for (std::size_t i = 0; i < query.top.size(); ++i)
            text += (i == 0 ? "" : " ") +
                    std::to_string(fleet.networks.left_out(static_cast<std::int64_t>(query.top[i].first))) +
                    ":" + number(query.top[i].second);
        if (newton) text += ",";
        for (std::size_t i = 0; i < query.newton.size(); ++i)
            text += (i == 0 ? "" : " ") + number(query.newton[i]);
        text += "\n";
    }
    return text;
}

/// The places of the records, those that matter most first: by labels changed, then by the largest change.
std::vector<std::size_t> by_influence(const std::vector<RecordInfluence>& records) {
    std::vector<std::size_t> order(records.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        if (records[a].labels_changed != records[b].labels_changed)
            return records[a].labels_changed > records[b].labels_changed;
        return records[a].largest > records[b].largest;
    });
    return order;
}

std::string records_csv(const FinishedFleet& fleet, const Found& found, bool own, bool newton) {
    const bool numbers = fleet.networks.network().is_regression();
    std::string text = "record,labels_changed,largest_change,mean_change";
    if (own)
        text += numbers ? ",own_error_with,own_error_without" : ",own_lead_with,own_lead_without,memorised";
    text += newton ? ",newton\n" : "\n";
    for (const std::size_t i : by_influence(found.records)) {
        const RecordInfluence& record = found.records[i];
        text += std::to_string(fleet.networks.left_out(static_cast<std::int64_t>(i))) + "," +
                std::to_string(record.labels_changed) + "," + number(record.largest) + "," +
                number(record.sum / std::max<double>(1, static_cast<double>(found.queries.size())));
        if (own) text += "," + number(record.with) + "," + number(record.without);
        if (own && !numbers)
            text += "," + std::to_string(static_cast<int>(record.right_with) -
                                         static_cast<int>(record.right_without));
        if (newton) text += "," + number(record.newton);
        text += "\n";
    }
    return text;
}

/// influence.h5: change [queries, records] of N's lead or number, as the file is written query by query, and
/// newton, its estimates of them, where there are any; query, record: ids.
class ChangesFile {
  public:
    ChangesFile(const FinishedFleet& fleet, const Records& queries, bool newton)
        : path_(fleet.folder.file("influence.h5"), private_mode),
          file_(hdf5::File::create(path_.temporary(), path_.path())),
          changes_(file_.create_dataset("change", hdf5::Type::float64,
                                        {queries.size(), fleet.networks.left_out().size()})) {
        const std::vector<std::uint64_t>& records = fleet.networks.left_out();
        file_.create_dataset("query", hdf5::Type::uint64, {queries.size()})
            .write({0}, {queries.size()}, queries.ids.data());
        file_.create_dataset("record", hdf5::Type::uint64, {records.size()})
            .write({0}, {records.size()}, records.data());
        if (newton)
            newton_ = file_.create_dataset("newton", hdf5::Type::float64, {queries.size(), records.size()});
    }
    void write(std::size_t query, const std::vector<double>& changes) {
        if (!changes.empty()) changes_.write({query, 0}, {1, changes.size()}, changes.data());
    }
    void write_newton(std::size_t query, const std::vector<double>& estimates) {
        if (!estimates.empty()) newton_->write({query, 0}, {1, estimates.size()}, estimates.data());
    }
    void commit() {
        changes_.close();
        if (newton_) newton_->close();
        file_.close();
        add_seal(path_.temporary(), path_.path());
        path_.commit();
    }

  private:
    AtomicPath path_;
    hdf5::File file_;
    hdf5::Dataset changes_;
    std::optional<hdf5::Dataset> newton_;
};

nlohmann::json summary_of(const FinishedFleet& fleet, const Found& found, const InfluenceRequest& request) {
    std::int64_t any = 0, contested = 0, memorised = 0;
    for (const RecordInfluence& record : found.records) {
        any += record.labels_changed > 0 ? 1 : 0;
        memorised += record.right_with && !record.right_without ? 1 : 0;
    }
    for (const QueryInfluence& query : found.queries) contested += query.against > 0 ? 1 : 0;
    nlohmann::json top = nlohmann::json::array();
    const std::vector<std::size_t> order = by_influence(found.records);
    for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), 10); ++i) {
        const RecordInfluence& record = found.records[order[i]];
        top.push_back({{"record", fleet.networks.left_out(static_cast<std::int64_t>(order[i]))},
                       {"labels_changed", record.labels_changed},
                       {"largest_change", record.largest}});
    }
    nlohmann::json summary = {{"queries", found.queries.size()},
                              {"records", found.records.size()},
                              {"records_that_change_an_answer", any},
                              {"queries_that_a_record_changes", contested},
                              {"top", top}};
    if (!request.data.empty()) {
        summary["alpha"] = request.alpha;
        if (!fleet.networks.network().is_regression()) summary["memorised"] = memorised;
    }
    return summary;
}

std::string text_of(const nlohmann::json& summary) {
    std::string text = std::to_string(summary["records_that_change_an_answer"].get<std::int64_t>()) + " of " +
                       std::to_string(summary["records"].get<std::int64_t>()) +
                       " records change an answer if they are left out; " +
                       std::to_string(summary["queries_that_a_record_changes"].get<std::int64_t>()) + " of " +
                       std::to_string(summary["queries"].get<std::int64_t>()) +
                       " queries are answered otherwise without some record\n";
    if (summary.contains("memorised"))
        text += std::to_string(summary["memorised"].get<std::int64_t>()) +
                " records are memorised: the network knows their label, and without them it does not\n";
    text += NewtonComparison::text_of(summary.value("newton", nlohmann::json()));
    text += "record                answers  largest change\n";
    for (const nlohmann::json& record : summary["top"]) {
        text += printed("%-20llu  %7lld  %14.6g\n",
                        static_cast<unsigned long long>(record["record"].get<std::uint64_t>()),
                        static_cast<long long>(record["labels_changed"].get<std::int64_t>()),
                        record["largest_change"].get<double>());
    }
    return text;
}

void influence(const Context& context, const InfluenceRequest& request) {
    // 1. The fleet, and what it is asked.
    const FinishedFleet fleet = FinishedFleet::open(request.run);
    const Records queries = read_queries(context, fleet.form(), request.queries, request.first);
    const FleetOutputs outputs(fleet.networks, context.world);
    const Decision& decision = outputs.decision();
    Found found{{}, std::vector<RecordInfluence>(fleet.networks.left_out().size())};

    // 2. Every record's own prediction, with and without it.
    OwnRecords own;
    NewtonComparison newton;
    if (!request.data.empty()) {
        if (fleet.networks.settings().training.rows_of_persons())
            throw Error(ExitCode::usage, "a person of several rows has no one answer of its own to compare",
                        "leave --data out", "--data");
        Records all = trained_on(fleet, request.data);
        own = remember(context, fleet, outputs, all, found.records);
        newton = {fleet, outputs.mapped(std::move(all))};
    }

    // 3. Some queries after others: every network on them, and what one step makes of them.
    std::optional<ChangesFile> file;
    if (context.world.is_root()) file.emplace(fleet, queries, newton.made());
    constexpr std::size_t values = std::size_t{1} << 24;
    const std::size_t each = std::max<std::size_t>(1, decision.rows() * found.records.size()),
                      some = std::max<std::size_t>(1, values / each);
    for (std::size_t first = 0; first < queries.size(); first += some) {
        const Records part = outputs.mapped(part_of(queries, first, std::min(queries.size(), first + some)));
        const std::vector<double> nominal = outputs.nominal(part);
        const LeftOutValues left_out = left_out_values(outputs, context.world, part);
        for (std::size_t q = 0; q < part.size(); ++q) {
            const auto rows = std::span(nominal).subspan(q * decision.rows(), decision.rows());
            QueryInfluence query = look_at(decision, left_out, q, rows, request.top, found.records);
            if (!request.data.empty())
                add_prediction(fleet, decision, left_out, q, own, request.alpha, query);
            if (file) {
                std::vector<double> changes =
                    left_out.leads(decision, q, static_cast<std::size_t>(query.label));
                for (double& change : changes) change -= query.prediction;
                file->write(first + q, changes);
                if (newton.made())
                    file->write_newton(first + q, estimate(newton, part, q, changes, query, found));
            }
            found.queries.push_back(std::move(query));
        }
    }

    // 4. For the owner: all of it in the run folder, what matters on the screen.
    if (!context.world.is_root()) return;
    file->commit();
    const bool with_own = !request.data.empty();
    fleet.folder.write_text("influence_queries.csv",
                            queries_csv(fleet, queries, found, with_own, newton.made()));
    const std::string records = records_csv(fleet, found, with_own, newton.made());
    fleet.folder.write_text("influence_records.csv", records);
    nlohmann::json summary = summary_of(fleet, found, request);
    if (with_own) summary["newton"] = newton.summary();
    nlohmann::json kept = summary;
    kept["records_digest"] = StreamDigest::of(records);
    fleet.folder.write_json("influence.json", kept);
    context.print(summary, text_of(summary) + next_command({"report", fleet.folder.path()}));
}

}  // namespace

Run declare_influence(const Command& command) {
    auto request = std::make_shared<InfluenceRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast fleet").required();
    command.add_option("--queries", request->queries, queries_help).required();
    command.add_option(
        "--data", request->data,
        "The dataset that the fleet was trained on, FILE[:SPLIT], split train by default: each "
        "record's own prediction with and without it, and from those intervals or sets of classes");
    command
        .add_option("--alpha", request->alpha,
                    "Of intervals and sets (jackknife+): they hold the truth with probability 1 - 2 alpha at "
                    "least, for records that could as well have come in any other order")
        .within(1e-6, 0.5)
        .show_default();
    command.add_option("--top", request->top, "So many records a query are named").show_default();
    command.add_option("--first", request->first, "Only the first so many queries; 0: all");
    command.add_footer(
        "Exact, as far as the fleet goes: a change is that of the answer if the training is done without the "
        "record. Of classes it is the change of the lead, in logits, of the label that the network of all "
        "records gives; of a regression of its number. Written into the run folder, for the owner alone: "
        "influence.h5 (change [queries, records]), influence_queries.csv, influence_records.csv, "
        "influence.json. Of a model without hidden layers, trained with training.l2 and clip.kind = "
        "\"none\", "
        "--data adds what one Newton step would have estimated, and how far off that is.\n\n");
    return [request](const Context& context) { influence(context, *request); };
}

}  // namespace holdfast
