// holdfast measure: what surrounds a model and nobody has stated, drawn from the records under noise and paid
// for once: how many there are, the ranges of their columns, edges between bins. The same again gives the
// same constants and costs nothing.
//   holdfast import patients.csv --label ill --person number --population ward-7 --out raw.h5
//   holdfast account --ledger ward.db --data raw.h5 --budget 1 --budget-delta 1e-5 --composition gdp
//   holdfast measure --data raw.h5 --ledger ward.db --out patients.h5
//   holdfast measure --data raw.h5 --ledger ward.db --ranges --bins 16 --share 0.1 --out patients.h5
//   holdfast measure --data patients.h5 --ledger ward.db --features 10 --out ten.h5
//   holdfast measure --data wide.h5 --ledger w.db --support lasso --epsilon 1 --delta 1e-6 --out few.h5
//   holdfast measure --data ill.h5 --ledger l.db --labels response --epsilon 1 --out drawn.h5

#include <spdlog/logger.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/schema.hpp"
#include "dist/data/statistics.hpp"
#include "jobs/data/measure/chosen_columns.hpp"
#include "jobs/data/measure/cost.hpp"
#include "jobs/data/measure/measured_table.hpp"
#include "jobs/data/measure/private_labels.hpp"
#include "jobs/data/measure/purchase.hpp"
#include "jobs/data/measure/stable_columns.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"

namespace holdfast {
namespace {

struct Request : MeasureBudget {
    std::string data, ledger, out, labels, support;
    bool count = false, ranges = false, categories = false;
    std::int64_t bins = 0;
    std::optional<std::uint64_t> features, classes;  ///< columns to choose, and of how many labels
};

// What is asked for ----------------------------------------------------------------------------------------

[[noreturn]] void refuse_usage(const std::string& message, const std::string& hint,
                               const std::string& where) {
    throw Error(ExitCode::usage, message, hint, where);
}

void check_request(const Request& request) {
    if (request.bins != 0 && request.bins != 8 && request.bins != 16)
        refuse_usage("8 or 16 bins are measured", "give one of them, or leave it out", "--bins");
    if (request.classes)
        refuse_usage("only --features and --labels ask for it", "leave it out, or give one of them",
                     "--classes");
    if (request.share && !(*request.share > 0 && *request.share < 1))
        refuse_usage("not in (0, 1)", "give the part of the total that it may cost, such as 0.05", "--share");
    if (request.epsilon && !(*request.epsilon > 0 && std::isfinite(*request.epsilon)))
        refuse_usage("not a positive number", "give what measuring and training may cost in all",
                     "--epsilon");
    if (request.names_delta && !(*request.names_delta > 0 && *request.names_delta < 1))
        refuse_usage("not in (0, 1)", "give a value such as 1e-6", "--names-delta");
    if (request.delta && !(*request.delta > 0 && *request.delta < 1))
        refuse_usage("not in (0, 1)", "give a value such as 1e-5", "--delta");
}

/// Records that can be measured: whose they are is known, and who is among them follows from ids.
void check_table(const DatasetInfo& info) {
    require_persons(info);
    if (!info.measured.empty())
        throw Error(ExitCode::input, "its constants were measured already",
                    "train on it, or measure the table that it was made of", info.path);
    if (info.scaling == Scaling::private_data)
        throw Error(ExitCode::input, "its features were scaled by the private records themselves",
                    "import the table without --scale-from-data: values are then kept as they are",
                    info.path);
}

/// The features of such columns, by their places; none of a record that several rows made.
std::vector<std::size_t> features_of(const DatasetInfo& info,
                                     const std::function<bool(const Column&)>& is_one) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    std::vector<std::size_t> features;
    if (!schema || (schema->persons && schema->persons->summarises())) return features;
    std::size_t at = 0;
    for (const Column& column : schema->columns) {
        if (is_one(column)) features.push_back(at);
        at += column.features();
    }
    return features;
}

/// Those of which nothing is known: of text, buckets of a hash and places in a list that is private, and
/// numbers whose range nobody has stated.
struct OpenFeatures {
    std::vector<std::size_t> numbers, hashed, unnamed;
};

OpenFeatures open_features(const DatasetInfo& info) {
    OpenFeatures open;
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    if (schema && schema->has_unnamed() && schema->persons && schema->persons->takes_several())
        throw Error(ExitCode::input, "has categories that nobody has named, of several rows a person",
                    "import the CSV again", info.path);
    open.hashed = features_of(
        info, [](const Column& column) { return column.buckets == counted_buckets && column.integer; });
    open.unnamed = features_of(info, [](const Column& column) { return column.is_unnamed(); });
    const std::vector<Range> ranges = stated_ranges(info);
    for (std::size_t i = 0; i < ranges.size(); ++i)
        if (!is_known(ranges[i]) && !std::binary_search(open.unnamed.begin(), open.unnamed.end(), i))
            open.numbers.push_back(i);
    return open;
}

/// What of the table is to be measured, without its cost: what is asked for, or all that is not public.
MeasureRequest wanted_of(const Request& request, const DatasetInfo& info, const OpenFeatures& open) {
    const bool stated = info.expected_records > 0 && !info.count_found,
               scaled = info.scaling != Scaling::none;
    const bool any = request.count || request.ranges || request.categories || request.bins > 0;
    const bool ranges =
        request.ranges || request.bins > 0 || (!any && info.scaling != Scaling::public_constants);
    MeasureRequest wanted;
    wanted.count = any ? request.count : !stated;
    wanted.bins = static_cast<std::size_t>(request.bins);
    if (wanted.count && stated)
        refuse_usage("the number of records is public already: " + std::to_string(info.expected_records),
                     "leave it out", "--count");
    if (ranges && scaled)
        refuse_usage(info.scaling == Scaling::unknown ? "the file does not say how its features were scaled"
                                                      : "its ranges are public already",
                     info.scaling == Scaling::unknown
                         ? "import it with --source-scaling none, if they are as they were recorded"
                         : "leave --ranges and --bins out",
                     info.path);
    wanted.columns = ranges ? open.numbers.size() : 0;
    const bool text = !open.hashed.empty() || !open.unnamed.empty();
    if (request.categories && !text)
        refuse_usage("no column is of text whose values nobody has stated",
                     "import it so: --categories 'COLUMN=#' takes buckets of a hash, 'COLUMN=?' names",
                     "--categories");
    const bool categories = request.categories || (!any && text);
    if (categories && scaled)
        refuse_usage("its categories are scaled already", "import the table without --scale", info.path);
    if (!categories && !open.unnamed.empty())
        refuse_usage("it has categories that nobody has named, and what is scaled is not measured again",
                     "measure all of it together: --categories, and --ranges and --count with it",
                     "--categories");
    wanted.categories = categories ? open.hashed.size() : 0;
    wanted.names = categories ? open.unnamed.size() : 0;
    return wanted;
}

// What is said ---------------------------------------------------------------------------------------------

/// Columns that noise has hidden, and bins that it would blur.
void warn_of_noise(const Context& context, const Total& total, const Measured& measured, double persons) {
    const MeasureRequest& request = measured.columns;
    if (request.columns + request.categories + request.names == 0) return;
    const auto hidden =
        std::count_if(measured.constants.columns.begin(), measured.constants.columns.end(),
                      [](const std::optional<MeasuredColumn>& column) { return column && !column->seen; });
    if (hidden > 0)
        context.log->warn("noise hides {} columns wholly: they count as if they lay in [0, 1]", hidden);
    if (hidden > 0 || persons < (1 - 1e-3) * deviations_wanted(request) * measured.law.sigma)
        context.log->warn("about {:.0f} persons are few beside noise of {:.0f} a cell: {}", persons,
                          measured.law.sigma, share_that_would_do(request, measured.law, total, persons));
}

nlohmann::json as_json(const Request& request, const Measured& measured, const Cost& cost, const Left& left) {
    nlohmann::json object = measured.constants.to_json();
    object["path"] = request.out;
    object["charged"] = measured.charged;
    object["cost"] = {{"epsilon", shown(cost.epsilon)},
                      {"delta", shown(cost.delta)},
                      {"mu_squared", shown(cost.mu_squared)}};
    if (measured.constants.count) {
        object["count_sigma"] = measured.law.count_sigma;
        object["expected_records"] = measured.constants.records();
    }
    if (measured.law.sigma > 0) object["column_sigma"] = measured.law.sigma;
    if (measured.names_delta > 0) {
        object["names_delta"] = shown(measured.names_delta);
        object["names_threshold"] = measured.law.names.persons();
    }
    object["features"] = measured.constants.features();
    object["left_for_training"] = {{"epsilon", left.epsilon}, {"delta", left.delta}};
    return object;
}

std::string shown_name(const std::string& name) {
    return name.empty() ? "(missing)" : name;
}

std::string as_text(const Request& request, const DatasetInfo& info, const Measured& measured,
                    const Cost& cost, const Total& total, const Left& left) {
    const MeasuredConstants& constants = measured.constants;
    const MeasureLaw& law = measured.law;
    std::string text = request.out + ": scaled by constants that were measured, token " +
                       constants.token.substr(0, 16) + "\n";
    if (constants.count) {
        text += printed("  records    %lld, noise %.4g\n", static_cast<long long>(*constants.count),
                        law.count_sigma);
    }
    if (measured.columns.columns > 0) {
        const std::string what = constants.bins > 0 ? "ranges and " + std::to_string(constants.bins) + " bins"
                                                    : "ranges alone, of so few persons";
        text += printed("  columns    %s, noise %.4g persons a cell\n", what.c_str(), law.sigma);
    }
    for (std::size_t i = 0; i < constants.columns.size(); ++i) {
        if (!constants.columns[i]) continue;
        const std::string name =
            i < info.feature_names.size() ? info.feature_names[i] : "f" + std::to_string(i);
        if (constants.columns[i]->dropped) {
            text += "    " + name + ": nothing that is frequent, left out\n";
            continue;
        }
        if (const auto& buckets = constants.columns[i]->buckets) {
            text +=
                "    " + name + ": " + std::to_string(buckets->size()) + " frequent buckets of hashed text\n";
            continue;
        }
        if (const auto& names = constants.columns[i]->names) {
            text += "    " + name + ": " + std::to_string(names->size()) + " names, by a noisy count of " +
                    std::to_string(std::lround(law.names.persons())) + " persons and more" +
                    (names->empty() ? "" : ": " + joined(*names, ", ", shown_name)) + "\n";
            continue;
        }
        text += "    " + name +
                printed(": %.6g to %.6g%s\n", constants.columns[i]->lowest, constants.columns[i]->highest,
                        constants.columns[i]->seen ? "" : ", hidden by noise");
    }
    text += "cost epsilon " + round_up_text(shown(cost.epsilon), 4) + ", delta " +
            round_up_text(shown(cost.delta), 4) + " on its own (mu " +
            round_up_text(round_up(sqrt_upper(cost.mu_squared)), 4) + "), " +
            (measured.charged ? "charged" : "charged before: nothing now") + "\n";
    text += "of epsilon " + decimal_text(total.epsilon) + ", delta " + decimal_text(total.delta) +
            " in all a training may cost epsilon " + round_down_text(left.epsilon) + ", delta " +
            round_down_text(left.delta, 4) + "\n";
    const std::string& guarantee = measured.payments.back().guarantee;
    return text + Guarantee::lines_of(nlohmann::json::parse(guarantee)) + "\n";
}

std::string next_of(const Request& request, const DatasetInfo& info, const Measured& drawn, double persons,
                    const Left& left) {
    return next_advice({static_cast<std::uint64_t>(persons), drawn.constants.features(), stated_classes(info),
                        left.epsilon, left.delta, request.out, request.ledger, drawn.constants.bins > 0});
}

void measure(const Context& context, const Request& request) {
    if (!request.labels.empty())
        return draw_private_labels(context, {request.data, request.ledger, request.out, request.labels,
                                             request.classes, request.epsilon});
    if (!request.support.empty())
        return choose_stable_columns(context, {request.data, request.ledger, request.out, request.support,
                                               request.epsilon, request.delta});
    if (request.features)
        return choose_columns(context, {request.data, request.ledger, request.out, *request.features,
                                        request.classes, request.share, request.epsilon, request.delta});
    // 1. What is asked for, of whom, and whether there is an account that can pay.
    check_request(request);
    if (!context.world.is_root()) return context.world.barrier();
    require_ledger(request.ledger);
    const DatasetReader reader(request.data);
    const DatasetInfo& info = reader.info();
    check_table(info);
    require_unique_ids(reader);
    const OpenFeatures open = open_features(info);
    MeasureRequest wanted = wanted_of(request, info, open);
    std::vector<std::size_t> features;
    if (wanted.columns > 0) features = open.numbers;
    if (wanted.categories > 0) features.insert(features.end(), open.hashed.begin(), open.hashed.end());
    if (wanted.names > 0) features.insert(features.end(), open.unnamed.begin(), open.unnamed.end());
    const std::string digest = digest_of_records(reader);
    Ledger ledger(request.ledger);
    const std::optional<std::string> population = ledger.population_of(digest);
    if (!population)
        refuse_usage("this ledger knows no population of the data",
                     "its owner adds them: holdfast account --ledger " + request.ledger + " --data " +
                         request.data + " --budget EPSILON --budget-delta DELTA --composition gdp",
                     request.ledger);
    const Account account = *ledger.account(*population);

    // 2. How much noise the share pays for; each part charged, drawn and kept before the next.
    wanted.relation = account.relation;
    const Total total = total_of(request, account.budget, request.ledger);
    const MeasureRequest all = priced(wanted, request, total);
    const Payer payer{ledger,    request.ledger, *population, digest,
                      info.path, account,        total,       all.names_delta};
    const Persons whose(reader);
    Measured drawn;
    auto persons = static_cast<double>(stated_count(info));
    for (const MeasureRequest& part : parts_of(all, account.budget)) {
        buy(drawn, fitted_to(persons, part, request, total), payer, reader, whose, features, persons);
        if (drawn.constants.count) persons = static_cast<double>(drawn.constants.records());
    }

    // 3. The dataset at these constants, another version of its population's data.
    const DatasetIdentity scaled = write_scaled(request.out, info, drawn);
    ledger.add_version(*population, scaled.digest, scaled.ids, std::nullopt,
                       {scaled.id_kind, scaled.contents, true});

    // 4. What was measured, what it cost, and what is left.
    const Cost cost = cost_of(drawn.payments, drawn.names_delta, total, account.budget);
    const Left left = left_of(total, account.budget, cost);
    warn_of_noise(context, total, drawn, persons);
    context.print(as_json(request, drawn, cost, left), as_text(request, info, drawn, cost, total, left) +
                                                           next_of(request, info, drawn, persons, left));
    context.world.barrier();
}

}  // namespace

Run declare_measure(const Command& command) {
    auto request = std::make_shared<Request>();
    command
        .add_option("--data", request->data,
                    "Dataset FILE[:SPLIT] with values as they were recorded (import without --scale), split "
                    "train by default: its records are measured, all splits are scaled")
        .required();
    command.add_option("--ledger", request->ledger, "The file that pays, once").required();
    command
        .add_output("--out", request->out, OutputKind::dataset,
                    "Dataset file to write, scaled to [0, 1] by what was measured")
        .required();
    command.add_flag("--count", request->count, "The number of records (default: what is not public)");
    command.add_flag("--ranges", request->ranges, "Ranges of the columns, and edges between bins (likewise)");
    command.add_flag(
        "--categories", request->categories,
        "Which values of text columns that nobody has stated are frequent: names (import --categories "
        "'COLUMN=?') or buckets of a hash ('COLUMN=#'). Each becomes a feature, and all others one together "
        "(likewise)");
    command.add_option("--names-delta", request->names_delta,
                       "What names cost besides, of accounts by renyi and gdp from what they set apart "
                       "(--delta-apart): whoever is alone with a name shows it with no more probability "
                       "(default: a tenth of the total's delta)");
    command.add_option("--bins", request->bins,
                       "8 or 16 bins a column, which training with features.map = bins then takes (default: "
                       "4 to 16, as the noise leaves them to be told apart)");
    const Argument chosen = command.add_option(
        "--features", request->features,
        "None of these: of a dataset whose ranges are public or measured, choose so many columns that tell "
        "its labels apart, and leave the others out");
    for (const char* other : {"--count", "--ranges", "--categories", "--bins"})
        chosen.excludes(command.option(other));
    const Argument support = command.add_option(
        "--support", request->support,
        "None of these: choose the columns that one more step of a run of training.kind = \"convex\" with "
        "convex.l1 on this dataset uses, for --epsilon and --delta, or be refused, which is all that it then "
        "says");
    const Argument labels = command.add_option(
        "--labels", request->labels,
        "None of these: of an account of labels (account --relation label) draw the label of each record of "
        "the split once, for --epsilon: response, randomised, or laplace, which keeps evidence for every "
        "class and says more of many classes at little epsilon. What any training learns from them may be "
        "published");
    labels.one_of({"response", "laplace"}).excludes(chosen).excludes(support);
    for (const char* other : {"--count", "--ranges", "--categories", "--bins"})
        labels.excludes(command.option(other));
    command.add_option("--classes", request->classes,
                       "Of --features and --labels: of how many classes the labels are (default: those the "
                       "dataset states, else 2)");
    command.add_option("--share", request->share,
                       "Part of the total's mu^2 that it may cost (default: 0.01 for the count, 0.04 for "
                       "ranges and bins, or 0.15 where the total is below epsilon 0.3; 0.1 for --features)");
    command.add_option(
        "--epsilon", request->epsilon,
        "The total that measuring and training may cost (default: the account's budget); of --labels "
        "and --support what these cost");
    command.add_option("--delta", request->delta, "and its delta");
    for (const char* other :
         {"--count", "--ranges", "--categories", "--bins", "--features", "--classes", "--share"})
        support.excludes(command.option(other));
    return [request](const Context& context) { measure(context, *request); };
}

}  // namespace holdfast
