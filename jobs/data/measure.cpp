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
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/import_hdf5.hpp"
#include "dist/data/import_records.hpp"
#include "dist/data/schema.hpp"
#include "dist/data/statistics.hpp"
#include "dist/files/hdf5.hpp"
#include "jobs/data/measure/chosen_columns.hpp"
#include "jobs/data/measure/private_labels.hpp"
#include "jobs/data/measure/stable_columns.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/measure/constants.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string data, ledger, out, labels, support;
    bool count = false, ranges = false, categories = false;
    std::int64_t bins = 0;
    std::optional<std::uint64_t> features, classes;  ///< columns to choose, and of how many labels
    std::optional<double> share, epsilon, delta, names_delta;
};

// Of the total's mu^2 (models/privacy/mathematics.md, measured constants): what each takes unless --share
// says.
constexpr double count_share = 0.01, ranges_share = 0.04, ranges_share_of_little = 0.15;
constexpr double little_epsilon = 0.3;
constexpr double hidden_deviations = 8, told_apart_deviations = 32;  // persons that noise hides, and leaves
// Fewer have ranges alone, by noise on one level, of which they are so many, for as much as this.
constexpr double few_deviations = 16, few_hidden_deviations = 5, few_told_apart_deviations = 12;
constexpr double most_share_of_few = 0.3;
constexpr double names_share_of_delta = 0.1;
constexpr std::size_t block_rows = 512;  // of which all columns lie in a cache

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

/// [features], by the schema of the table; unknown: nobody has stated one.
std::vector<Range> stated_ranges(const DatasetInfo& info) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    return schema ? schema->record_ranges() : std::vector<Range>(info.features, unknown_range);
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

// What it costs --------------------------------------------------------------------------------------------

/// What measuring and training may cost together.
struct Total {
    Rational epsilon, delta;
    Rational mu_squared;
};

Total total_of(const Request& request, const Budget& budget, const std::string& ledger) {
    Total total{budget.epsilon, budget.gaussian ? Rational(budget.delta - budget.delta_apart) : budget.delta,
                0};
    if (request.epsilon) total.epsilon = decimal_value(*request.epsilon, "--epsilon");
    if (request.delta) total.delta = decimal_value(*request.delta, "--delta");
    if (budget.delta == 0)
        throw Error(ExitCode::budget,
                    "this account has no delta, and what is measured gets normal noise: nothing was charged",
                    "state public ranges and a public count, or open accounts with --budget-delta and "
                    "--composition gdp",
                    ledger);
    if (budget.renyi_order) {
        const Rational rho =
            renyi_budget(*budget.renyi_order, total.epsilon, total.delta - budget.delta_apart);
        total.mu_squared = std::max(Rational(0), Rational(2 * rho / as_rational(*budget.renyi_order)));
    } else {
        const Rational mu = gaussian_mu(total.epsilon, total.delta);
        total.mu_squared = mu * mu;
    }
    return total;
}

/// `wanted` with what each part may cost.
MeasureRequest priced(MeasureRequest wanted, const Request& request, const Total& total) {
    const double of_count = wanted.count ? count_share : 0;
    double of_ranges = 0;
    if (wanted.names > 0)
        wanted.names_delta = request.names_delta
                                 ? decimal_value(*request.names_delta, "--names-delta")
                                 : Rational(decimal_value(names_share_of_delta, "") * total.delta);
    if (wanted.columns + wanted.categories + wanted.names > 0)
        of_ranges = total.epsilon < decimal_value(little_epsilon, "") ? ranges_share_of_little : ranges_share;
    const Rational all = decimal_value(of_count, "") + decimal_value(of_ranges, "");
    const Rational times =
        request.share && all > 0 ? Rational(decimal_value(*request.share, "--share") / all) : 1;
    wanted.count_mu_squared = decimal_value(of_count, "") * times * total.mu_squared;
    wanted.columns_mu_squared = decimal_value(of_ranges, "") * times * total.mu_squared;
    return wanted;
}

/// What is drawn and paid for one after the other: where costs add by mu^2, the count before all else, since
/// it says how columns are best measured.
std::vector<MeasureRequest> parts_of(const MeasureRequest& wanted, const Budget& budget) {
    if (!wanted.count || wanted.columns == 0 || !(budget.gaussian || budget.renyi_order)) return {wanted};
    MeasureRequest count = wanted, columns = wanted;
    count.columns = count.categories = count.names = 0;
    columns.count = false;
    return {count, columns};
}

/// Of few persons, a public number, ranges alone, for as much as shows them; 0: nobody knows how many.
MeasureRequest fitted_to(double persons, MeasureRequest wanted, const Request& request, const Total& total) {
    if (persons == 0 || wanted.count || wanted.columns == 0 || wanted.bins > 0 ||
        persons >= few_deviations * MeasureLaw::of(wanted).sigma)
        return wanted;
    wanted.levels = 1;
    if (request.share) return wanted;
    const double levels = static_cast<double>(wanted.columns + wanted.categories + wanted.names),
                 sigma = persons / few_told_apart_deviations,
                 reach = wanted.relation == name_of(Relation::substitute) ? 2 : 1;
    const double share =
        std::min(levels * reach / (sigma * sigma * total.mu_squared.get_d()), most_share_of_few);
    wanted.columns_mu_squared =
        std::max(wanted.columns_mu_squared, Rational(decimal_value(share, "") * total.mu_squared));
    return wanted;
}

/// A filter of sums charges epsilon and delta: of the delta a tenth.
Rational stated_delta(const Budget& budget, const Total& total) {
    return budget.gaussian || budget.renyi_order ? total.delta : Rational(total.delta / 10);
}

/// What the total leaves for a training, rounded down to six digits.
struct Left {
    double epsilon = 0, delta = 0;
};

double rounded_down(const Rational& value) {
    if (value <= 0) return 0;
    const double rounded = std::strtod(printed("%.5e", value.get_d()).c_str(), nullptr);
    return decimal_value(rounded, "") > value
               ? std::strtod(printed("%.5e", value.get_d() * (1 - 1e-5)).c_str(), nullptr)
               : rounded;
}

/// What all of it costs together.
struct Cost {
    Rational epsilon = 0, delta = 0, mu_squared = 0;
};

/// By sums of the parts, or where costs add by mu^2 of the whole.
Cost cost_of(const std::vector<Payment>& payments, const Rational& names_delta, const Total& total,
             const Budget& budget) {
    Cost cost;
    for (const Payment& payment : payments) {
        cost.epsilon += payment.epsilon;
        cost.delta += payment.delta;
        cost.mu_squared += *payment.mu_squared;
    }
    if (payments.size() > 1) {
        cost.delta = stated_delta(budget, total);
        cost.epsilon = gaussian_epsilon(sqrt_upper(cost.mu_squared), cost.delta);
    }
    cost.delta += names_delta;
    return cost;
}

Left left_of(const Total& total, const Budget& budget, const Cost& cost) {
    if (!budget.gaussian && !budget.renyi_order)
        return {rounded_down(total.epsilon - cost.epsilon), rounded_down(total.delta - cost.delta)};
    const Rational rest = total.mu_squared - cost.mu_squared;
    // Of the greatest mu whose square is within the rest; to six digits the rounding of the root is nothing.
    return {rounded_down(gaussian_epsilon(Rational(std::sqrt(rest.get_d())), total.delta) *
                         (1 - Rational(1, 1000000))),
            shown(total.delta)};
}

bool ranges_alone(const MeasureRequest& request) {
    return request.levels < TreeLaw::levels;
}

/// How many deviations of a cell the persons must be to have ranges, and edges where they are drawn.
double deviations_wanted(const MeasureRequest& request) {
    return ranges_alone(request) ? few_told_apart_deviations : told_apart_deviations;
}

/// The share of the total at which a column of so many persons would show, with four bins if it is to have
/// any.
std::string share_that_would_do(const MeasureRequest& request, const MeasureLaw& law, const Total& total,
                                double persons) {
    const double times = std::pow(deviations_wanted(request) * law.sigma / persons, 2);
    const double share = Rational(request.columns_mu_squared / total.mu_squared).get_d() * times;
    if (share < 1) return printed("--share %.2g would do, or state public ranges (import --scale)", share);
    return "no share of this total would do: state public ranges (import --scale)";
}

/// Where the number of persons is public and the noise would hide all of them, no column is charged.
void refuse_hidden(const MeasureRequest& request, const MeasureLaw& law, const Total& total, double persons,
                   const char* charged) {
    const double enough = ranges_alone(request) ? few_hidden_deviations : hidden_deviations;
    if (request.count || request.columns + request.categories + request.names == 0 || persons == 0 ||
        persons >= enough * law.sigma)
        return;
    throw Error(ExitCode::budget,
                "the noise of " + std::to_string(std::lround(law.sigma)) + " persons a cell would hide all " +
                    std::to_string(std::lround(persons)) + ": " + charged + " was charged",
                share_that_would_do(request, law, total, persons), "--share");
}

/// Where the account cannot pay for the training that the rest of the total is for, nothing is begun.
/// `before`: mu^2 of what was paid of it.
void refuse_beside(const Ledger& ledger, const std::string& population, const Budget& budget,
                   const Total& total, const Rational& before, const std::string& path) {
    const Spending spent = *ledger.spending(population);
    if (!budget.gaussian || spent.epsilon == 0) return;
    const Rational delta = budget.delta - budget.delta_apart;
    const Rational all = gaussian_mu(budget.epsilon, delta), gone = gaussian_mu(spent.epsilon, delta);
    const Rational left = all * all - gone * gone, rounding = total.mu_squared / 1000000;
    if (total.mu_squared - before <= left + (before > 0 ? rounding : Rational(0))) return;
    const double fits =
        left > 0 ? rounded_down(gaussian_epsilon(Rational(std::sqrt(left.get_d())), total.delta)) : 0;
    throw Error(
        ExitCode::budget,
        "epsilon " + decimal_text(total.epsilon) + " for measuring and training does not fit beside the " +
            decimal_text(spent.epsilon) + " that is spent: nothing was charged",
        fits > 0 ? printed("--epsilon %g for both would fit", fits) : "nothing is left of this account",
        path);
}

// The draw -------------------------------------------------------------------------------------------------

/// One pass over the records for columns [first, last) of those that are asked for.
std::vector<ColumnCounts> counted(const DatasetReader& reader, const Persons& persons,
                                  const std::vector<std::size_t>& features, std::size_t first,
                                  std::size_t last) {
    std::vector<ColumnCounts> counts(last - first);
    std::vector<std::int64_t> shares;
    reader.visit([&](const Records& slab) {
        shares.resize(slab.size());
        for (std::size_t row = 0; row < slab.size(); ++row) shares[row] = persons.share(slab.rows[row]);
            // Each thread has columns of its own, and sums of whole numbers: in no order.
#pragma omp parallel if (slab.size() >= block_rows)
        for (std::size_t block = 0; block < slab.size(); block += block_rows) {
            const std::size_t end = std::min(block + block_rows, slab.size());
#pragma omp for schedule(static) nowait
            for (std::size_t i = first; i < last; ++i)
                for (std::size_t row = block; row < end; ++row)
                    counts[i - first].add(slab.features.at(row, features[i]), shares[row]);
        }
    });
    return counts;
}

/// One pass over the records for a feature of text: a person has one.
NameCounts counted_names(const DatasetReader& reader, const std::vector<std::string>& names,
                         std::size_t feature) {
    const DatasetInfo& info = reader.info();
    NameCounts counts(names);
    reader.visit([&](const Records& slab) {
        for (std::size_t row = 0; row < slab.size(); ++row) {
            const double place = slab.features.at(row, feature);
            if (!(place >= 0 && place < static_cast<double>(names.size()) && place == std::floor(place)))
                throw Error(ExitCode::input, "has categories that its list of names does not have",
                            "import the table again", info.path);
            counts.add_person(static_cast<std::size_t>(place));
        }
    });
    return counts;
}

/// What was drawn, part by part; the last has all of it.
struct Measured {
    MeasuredConstants constants;
    std::string text = "";  ///< as the ledger keeps it
    bool charged = false;
    MeasureRequest columns;  ///< as they were asked for in the end
    MeasureLaw law;          ///< of all parts
    Rational names_delta = 0;
    std::vector<Payment> payments;
};

/// Whose account pays, and of which records.
struct Payer {
    Ledger& ledger;
    std::string path, population, digest, data;
    Account account;
    Total total;
    Rational names_delta;  ///< that it will pay in all
};

/// Also by which features they are, and of names by the private list of them, which the digest of the records
/// does not know.
std::string token_for(const Payment& payment, const Payer& payer, const MeasureRequest& part,
                      const std::vector<std::size_t>& features) {
    nlohmann::json request = {payment.mechanism, payer.population, payer.digest, payment.parameters};
    if (part.columns + part.categories + part.names > 0) request.push_back(features);
    if (part.names > 0) request.push_back(read_names(hdf5::File::open_read(payer.data)));
    return payer.ledger.token_of(request.dump());
}

/// Where the account cannot pay the delta of names, beside what its rule takes for the constants, nothing is
/// begun.
void refuse_without_delta(const Payer& payer, const Payment& constants, const std::string& charged) {
    const Budget& budget = payer.account.budget;
    const bool apart = budget.gaussian || budget.renyi_order;
    const Rational &delta = payer.names_delta, left = delta_left(payer.ledger, payer.population) -
                                                      (apart ? Rational(0) : constants.delta);
    if (delta <= left) return;
    throw Error(
        ExitCode::budget,
        "names cost a delta of " + decimal_text(delta) + ", and of what this account " +
            (apart ? "sets apart " : "has beside the constants ") +
            (left > 0 ? decimal_text(left) : "nothing") + " is left: " + charged + " was charged",
        std::string(apart ? "open accounts with --delta-apart, " : "") +
            "ask for less by --names-delta, or take buckets of a hash: import --categories 'COLUMN=#'",
        payer.path);
}

std::optional<Payment> payment_of_names(const MeasureRequest& part, const MeasureLaw& law,
                                        const std::string& guarantee, const Payer& payer,
                                        const std::vector<std::size_t>& features) {
    if (part.names == 0) return std::nullopt;
    Payment payment = payment_for_names(part, law);
    payment.guarantee = guarantee;
    payment.token = token_for(payment, payer, part, features);
    return payment;
}

/// The list of a feature's texts, private.
std::vector<std::string> names_of(const DatasetInfo& info, std::size_t feature) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    std::size_t at = 0;
    for (const Column& column : schema->columns) {
        if (at == feature) return read_names(hdf5::File::open_read(info.path))[column.name];
        at += column.features();
    }
    throw Error(ExitCode::input, "has no column for a feature", "import the table again", info.path);
}

/// One part, charged, then counted and drawn, then kept in the ledger, and shown as it is kept there.
void buy(Measured& measured, const MeasureRequest& part, const Payer& payer, const DatasetReader& reader,
         const Persons& persons, const std::vector<std::size_t>& features, double known) {
    const DatasetInfo& info = reader.info();
    const MeasureLaw law = MeasureLaw::of(part);
    const bool first = measured.payments.empty(),
               of_columns = part.columns + part.categories + part.names > 0;
    const char* charged = first ? "nothing" : "nothing but the count";
    refuse_hidden(part, law, payer.total, known, charged);
    Payment payment = payment_for(part, law, stated_delta(payer.account.budget, payer.total));
    const Rational before = measured.law.mu_squared;
    measured.law.mu_squared += law.mu_squared;
    // Of all constants that the ledger keeps under this payment, those of parts before with them.
    DataFacts facts = facts_of(info, false);
    facts.scaling = info.scaling;  // texts are counted by their names, whatever their places are
    payment.guarantee =
        claim_about_constants(facts, counted_by(payer.account), measured.law.mu_squared, part.names_delta)
            .to_json()
            .dump();
    payment.token = token_for(payment, payer, part, features);
    const std::optional<Payment> of_names = payment_of_names(part, law, payment.guarantee, payer, features);
    if (!payer.ledger.paid(payer.digest, payment.token)) {
        refuse_beside(payer.ledger, payer.population, payer.account.budget, payer.total, before, payer.path);
        if (payer.names_delta > 0) refuse_without_delta(payer, payment, charged);
    }
    const BoughtText bought = payer.ledger.buy(payer.digest, payment, [&] {
        if (of_names) payer.ledger.pay(payer.digest, *of_names);
        SystemRandomBits bits;
        const std::vector<std::size_t> places = of_columns ? features : std::vector<std::size_t>();
        MeasuredConstants drawn = draw_constants(
            part, law,
            {static_cast<std::int64_t>(persons.count()), static_cast<std::uint64_t>(known), places,
             info.features, other_values},
            [&](std::size_t begin, std::size_t end) {
                return counted(reader, persons, features, begin, end);
            },
            bits,
            [&](std::size_t feature) { return counted_names(reader, names_of(info, feature), feature); });
        if (!first) drawn.count = measured.constants.count;
        drawn.token = payment.token;
        return drawn.to_json().dump();
    });
    measured.constants = MeasuredConstants::from_text(bought.text, "ledger");
    measured.text = bought.text;
    measured.charged = measured.charged || bought.charged;
    if (part.count) measured.law.count_sigma = law.count_sigma;
    if (of_columns) {
        measured.law.sigma = law.sigma;
        measured.law.names = law.names;
        measured.names_delta = part.names_delta;
        measured.columns = part;
    }
    measured.payments.push_back(std::move(payment));
}

// The dataset ----------------------------------------------------------------------------------------------

/// How many features something was measured of.
std::size_t law_of_columns(const MeasuredConstants& constants) {
    return static_cast<std::size_t>(std::count_if(constants.columns.begin(), constants.columns.end(),
                                                  [](const auto& column) { return column.has_value(); }));
}

/// A split in which each feature of text becomes one for each bucket or name that came out, and one for all
/// others.
class SplitOfCategories final : public RecordSource {
  public:
    SplitOfCategories(std::unique_ptr<RecordSource> source, const MeasuredConstants& constants)
        : source_(std::move(source)), constants_(constants), info_(source_->info()) {
        std::vector<Range> known;
        std::optional<Schema> schema = kept_schema(info_.schema, info_.path);
        ensure(schema.has_value(), "text is known by its schema");
        name_values(*schema);
        info_.schema = to_json(*schema).dump();
        info_.feature_names = schema->feature_names();
        for (std::size_t i = 0; i < constants.columns.size(); ++i) {
            const Range own = info_.known_ranges.empty() ? unknown_range : info_.known_ranges[i];
            known.insert(known.end(), is_text(i) ? constants_.columns[i]->features() : 1,
                         is_text(i) ? Range{0, 1} : own);
        }
        info_.known_ranges = known;
    }
    const SourceInfo& info() const override { return info_; }
    void rewind() override { source_->rewind(); }
    bool next(RawRecord& record) override {
        const bool more = source_->next(record);
        std::vector<double> features;
        for (std::size_t i = 0; more && i < record.features.size(); ++i) {
            if (!is_text(i)) {
                features.push_back(record.features[i]);
                continue;
            }
            const std::vector<std::size_t>& values = values_[i];
            const auto found =
                std::find(values.begin(), values.end(), static_cast<std::size_t>(record.features[i]));
            for (std::size_t b = 0; b <= values.size(); ++b)
                features.push_back(static_cast<std::size_t>(found - values.begin()) == b ? 1 : 0);
        }
        record.features = std::move(features);
        problems = source_->problems;
        return more;
    }

  private:
    bool is_text(std::size_t i) const { return constants_.columns[i] && constants_.columns[i]->is_text(); }
    /// The columns' values, and what a raw feature says of each; the private list goes.
    void name_values(Schema& schema) {
        values_.resize(constants_.columns.size());
        std::size_t at = 0;
        for (Column& column : schema.columns) {
            const std::size_t features = column.features();
            if (is_text(at)) {
                const MeasuredColumn& measured = *constants_.columns[at];
                column.values.clear();
                if (measured.buckets) {
                    values_[at] = *measured.buckets;
                    for (const std::size_t bucket : *measured.buckets)
                        column.values.push_back(bucket_name(bucket));
                } else {
                    column.values = *measured.names;
                    const std::vector<std::string>& names = info_.names[column.name];
                    for (const std::string& name : column.values)
                        values_[at].push_back(static_cast<std::size_t>(
                            std::find(names.begin(), names.end(), name) - names.begin()));
                }
                column.values.emplace_back(other_values);
                column.integer = false;
            }
            at += features;
        }
        info_.names.clear();
    }

    std::unique_ptr<RecordSource> source_;
    const MeasuredConstants& constants_;
    SourceInfo info_;
    std::vector<std::vector<std::size_t>> values_;  ///< [features of a raw record], of text
};

/// What the features are scaled by: what was measured, and what the values of a category fix.
std::map<std::string, Range> ranges_by_name(const MeasuredConstants& constants, const DatasetInfo& info,
                                            const std::vector<std::string>& names) {
    std::map<std::string, Range> ranges;
    if (law_of_columns(constants) == 0) return ranges;
    const std::vector<Range> known = stated_ranges(info);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::optional<MeasuredColumn>& column = constants.columns[i];
        if (column && column->is_text()) continue;  // one-hot, scaled as it is
        if (!ranges.emplace(names[i], column ? Range{column->lowest, column->highest} : known[i]).second)
            throw Error(ExitCode::input, "has two columns named '" + names[i] + "'", "rename one of them",
                        info.path);
    }
    return ranges;
}

/// All splits of the raw dataset, scaled by the constants of one, whose records are now these.
DatasetIdentity write_scaled(const Request& request, const DatasetInfo& info, const Measured& measured) {
    std::vector<NamedSource> sources;
    for (const std::string& split : hdf5_splits(info.path))
        sources.push_back({split, open_hdf5_split(info.path, split, {}, info.has_targets)});
    std::stable_partition(sources.begin(), sources.end(),
                          [&](const NamedSource& source) { return source.split == info.split; });
    ImportOptions options;
    options.ranges = ranges_by_name(measured.constants, info, sources.front().source->info().feature_names);
    for (NamedSource& source : sources) {
        if (std::none_of(measured.constants.columns.begin(), measured.constants.columns.end(),
                         [](const auto& column) { return column && column->is_text(); }))
            break;
        source.source = std::make_unique<SplitOfCategories>(std::move(source.source), measured.constants);
        const SourceInfo& split = source.source->info();
        for (std::size_t i = 0; i < split.feature_names.size(); ++i)
            if (is_known(split.known_ranges[i]))
                options.ranges.emplace(split.feature_names[i], split.known_ranges[i]);
    }
    if (info.rows_at_most > 1) options.persons.emplace(PersonRule{.rows_at_most = info.rows_at_most});
    options.measured = measured.text;
    options.deflate = 0;  // what is trained on is read often, and packing takes longer than all else here
    options.count_measured = measured.constants.count.has_value();
    if (options.count_measured) options.expected_records = measured.constants.records();
    return import_identified(sources, std::move(options), request.out, info.split);
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
    text += printed("cost epsilon %.4g, delta %.4g on its own (mu %.4g), %s\n", shown(cost.epsilon),
                    shown(cost.delta), std::sqrt(cost.mu_squared.get_d()),
                    measured.charged ? "charged" : "charged before: nothing now");
    text += printed(
        "of epsilon %.4g, delta %.4g in all a training may cost epsilon %.6g, "
        "delta %.4g\n",
        shown(total.epsilon), shown(total.delta), left.epsilon, left.delta);
    const std::string& guarantee = measured.payments.back().guarantee;
    return text + Guarantee::text_of(nlohmann::json::parse(guarantee)) + "\n";
}

std::string next_of(const Request& request, const DatasetInfo& info, const Measured& drawn, double persons,
                    const Left& left) {
    return next_advice({static_cast<std::uint64_t>(persons), info.features, stated_classes(info),
                        left.epsilon, left.delta, request.out, request.ledger, drawn.constants.bins > 0});
}

void refuse_overwriting(const Request& request) {
    for (const std::string& path : {split_dataset_name(request.data, "").first, request.ledger}) {
        std::error_code missing;
        if (std::filesystem::equivalent(request.out, path, missing))
            refuse_usage("would take the place of " + path, "name another file", "--out");
    }
}

void measure(const Context& context, const Request& request) {
    refuse_overwriting(request);
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
    const DatasetIdentity scaled = write_scaled(request, info, drawn);
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
    command.add_option("--out", request->out, "Dataset file to write, scaled to [0, 1] by what was measured")
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
