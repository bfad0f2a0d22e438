#include "jobs/data/measure/chosen_columns.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/data/schema.hpp"
#include "dist/data/statistics.hpp"
#include "jobs/data/measure/cost.hpp"
#include "jobs/data/measure/table_columns.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/certify/claims.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/feature_selection.hpp"

namespace holdfast {
namespace {

constexpr double share_of_choice = 0.1;  // of the total, unless --share says
constexpr std::size_t equal_bins = 16;   // of a column without measured edges
// Gaps between scores that a draw overlooks are ln(columns)/rate persons: so many of them are too few.
constexpr double hopeless_gaps = 2, doubtful_gaps = 20;

// Scores ---------------------------------------------------------------------------------------------------

/// How features become bins, and rows shares of their persons.
class Scores {
  public:
    Scores(const DatasetReader& reader, const std::vector<ColumnGroup>& groups, std::size_t classes)
        : reader_(reader),
          persons_(reader),
          groups_(groups),
          classes_(classes),
          edges_(measured_edges(reader.info())) {
        const DatasetInfo& info = reader.info();
        if (!edges_.empty()) return;
        std::vector<double> equal;
        for (std::size_t i = 1; i < equal_bins; ++i)
            equal.push_back(info.range.low + (info.range.high - info.range.low) * static_cast<double>(i) /
                                                 static_cast<double>(equal_bins));
        edges_.assign(info.features, equal);
    }

    /// Persons by label, in shares. [classes] Error (input): a label that is none of them, as of a training.
    std::vector<std::int64_t> labels() const {
        std::vector<std::int64_t> counts(classes_);
        for_each_row([&](const Records& slab, std::size_t row, std::int64_t share) {
            if (slab.labels[row] < 0 || label_of(slab, row) >= classes_)
                throw Error(ExitCode::input,
                            "row " + std::to_string(slab.rows[row]) + " has no label of " +
                                std::to_string(classes_) + " classes",
                            "state how many there are: --classes", reader_.info().path);
            counts[label_of(slab, row)] += share;
        });
        return counts;
    }
    /// Of every candidate, rows counting by their labels too. [candidates]
    std::vector<std::int64_t> of(const std::vector<std::int64_t>& label_weights) const {
        std::vector<std::vector<LabelCounts>> counts;
        for (const ColumnGroup& group : groups_) {
            counts.emplace_back();
            if (!group.candidate) continue;
            if (group.one_hot) counts.back().emplace_back(group.features.size(), classes_);
            for (const std::size_t f : group.features)
                if (!group.one_hot) counts.back().emplace_back(edges_[f].size() + 1, classes_);
        }
        for_each_row([&](const Records& slab, std::size_t row, std::int64_t share) {
            const std::size_t label = label_of(slab, row);
            const std::int64_t part = share * label_weights[label] / whole_person;
            for (std::size_t g = 0; g < groups_.size(); ++g)
                add(counts[g], groups_[g], slab, row, label, part);
        });
        std::vector<std::int64_t> scores;
        for (const std::vector<LabelCounts>& group : counts) {
            if (group.empty()) continue;
            std::int64_t greatest = 0;
            for (const LabelCounts& feature : group) greatest = std::max(greatest, feature.score());
            scores.push_back(greatest);
        }
        return scores;
    }

  private:
    std::size_t label_of(const Records& slab, std::size_t row) const {
        return static_cast<std::size_t>(slab.labels[row]);
    }
    void add(std::vector<LabelCounts>& counts, const ColumnGroup& group, const Records& slab, std::size_t row,
             std::size_t label, std::int64_t part) const {
        const auto value = [&](std::size_t f) { return slab.features.at(row, f); };
        if (counts.empty()) return;
        if (group.one_hot) {
            const auto greatest = std::max_element(
                group.features.begin(), group.features.end(),
                [&](std::size_t one, std::size_t other) { return value(one) < value(other); });
            counts.front().add(static_cast<std::size_t>(greatest - group.features.begin()), label, part);
            return;
        }
        for (std::size_t i = 0; i < group.features.size(); ++i) {
            const std::vector<double>& edges = edges_[group.features[i]];
            const auto bin = std::upper_bound(edges.begin(), edges.end(), value(group.features[i]));
            counts[i].add(static_cast<std::size_t>(bin - edges.begin()), label, part);
        }
    }
    template <typename Visit>
    void for_each_row(Visit visit) const {
        reader_.visit([&](const Records& slab) {
            for (std::size_t row = 0; row < slab.size(); ++row)
                visit(slab, row, persons_.share(slab.rows[row]));
        });
    }

    const DatasetReader& reader_;
    Persons persons_;
    const std::vector<ColumnGroup>& groups_;
    std::size_t classes_;
    std::vector<std::vector<double>> edges_;  ///< [features]
};

// What it costs --------------------------------------------------------------------------------------------

void check_choice(const ColumnChoice& choice) {
    const auto refuse = [](const char* message, const char* hint, const char* where) {
        throw Error(ExitCode::usage, message, hint, where);
    };
    if (choice.share && !(*choice.share > 0 && *choice.share < 1))
        refuse("not in (0, 1)", "give the part of the total that it may cost, such as 0.1", "--share");
    if (choice.epsilon && !(*choice.epsilon > 0 && std::isfinite(*choice.epsilon)))
        refuse("not a positive number", "give what choosing and training may cost in all", "--epsilon");
    if (choice.delta && !(*choice.delta >= 0 && *choice.delta < 1))
        refuse("not in [0, 1)", "give a value such as 1e-5", "--delta");
}

std::size_t classes_of(const ColumnChoice& choice, const DatasetInfo& info) {
    const std::size_t classes = choice.classes ? *choice.classes : stated_classes(info);
    if (classes < 2 || classes > 100)
        throw Error(ExitCode::usage, "not from 2 to 100", "give the public number of classes", "--classes");
    return classes;
}

/// Sums of epsilon pay by epsilon, all others by mu^2.
FeatureLaw law_for(const ColumnChoice& choice, const FeatureRequest& request, const Budget& budget) {
    const Rational share = decimal_value(choice.share.value_or(share_of_choice), "--share"),
                   epsilon = choice.epsilon ? decimal_value(*choice.epsilon, "--epsilon") : budget.epsilon,
                   delta = choice.delta ? decimal_value(*choice.delta, "--delta")
                                        : Rational(budget.delta - budget.delta_apart);
    if (!budget.gaussian && !budget.renyi_order) return FeatureLaw::within_epsilon(request, share * epsilon);
    return FeatureLaw::within_mu_squared(request, share * mu_squared_of(budget, epsilon, delta));
}

double gap_of(const FeatureRequest& request, const FeatureLaw& law) {
    return std::log(static_cast<double>(request.columns)) / law.rate;
}

void refuse_noise(const FeatureRequest& request, const FeatureLaw& law, std::uint64_t persons) {
    if (persons == 0 || static_cast<double>(persons) >= hopeless_gaps * gap_of(request, law)) return;
    throw Error(ExitCode::budget,
                "scores " + std::to_string(std::lround(gap_of(request, law))) +
                    " persons apart would be told apart no more, of " + std::to_string(persons) +
                    ": nothing was charged",
                "allow a larger --share, choose fewer --features, or state public ones (import --drop)",
                "--features");
}

// What is said ---------------------------------------------------------------------------------------------

std::string text_of(const ColumnChoice& choice, const std::vector<ColumnGroup>& groups,
                    const std::vector<bool>& kept, const FeatureRequest& request, const FeatureLaw& law,
                    bool charged, const std::string& guarantee) {
    std::string text = choice.out + ": " + std::to_string(request.chosen) + " of " +
                       std::to_string(request.columns) + " columns chosen\n";
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (kept[g]) text += "    " + groups[g].name + (groups[g].candidate ? "\n" : ", kept in any case\n");
    text += printed("  scores a few times %.3g persons apart are told apart\n", gap_of(request, law));
    text += "cost epsilon " + round_up_text(shown(law.epsilon), 4) + " (mu " +
            round_up_text(round_up(sqrt_upper(law.mu_squared)), 4) + "), " +
            (charged ? "charged" : "charged before: nothing now") + "\n";
    return text + Guarantee::lines_of(nlohmann::json::parse(guarantee)) + "\n";
}

std::string next_of(const ColumnChoice& choice, const FeatureRequest& request, std::size_t features,
                    std::uint64_t persons, double epsilon, const Budget& budget) {
    if (persons == 0 || epsilon == 0) return "";
    return next_advice({persons, features, request.classes, epsilon, shown(budget.delta - budget.delta_apart),
                        choice.out, choice.ledger});
}

}  // namespace

void choose_columns(const Context& context, const ColumnChoice& choice) {
    // 1. What there is to choose from, and who can pay.
    check_choice(choice);
    if (!context.world.is_root()) return context.world.barrier();
    require_ledger(choice.ledger);
    const DatasetReader reader(choice.data);
    const DatasetInfo& info = reader.info();
    check_scaled(info);
    require_unique_ids(reader);
    const std::string digest = digest_of_records(reader);
    Ledger ledger(choice.ledger);
    const std::string population = ledger.population_of(digest).value_or("");
    const std::optional<Account> account = ledger.account(population);
    check_payer(ledger,
                {digest, info.path, {}, account ? account->relation : "", choice.ledger, info.measured});

    // 2. The law of the draws: a charge that follows from public numbers.
    const std::vector<ColumnGroup> groups = column_groups(info);
    FeatureRequest request{account->relation, 0, choice.features, classes_of(choice, info)};
    for (const ColumnGroup& group : groups) request.columns += group.candidate ? 1 : 0;
    if (request.chosen == 0 || request.chosen >= request.columns)
        throw Error(ExitCode::usage, "it has " + std::to_string(request.columns) + " columns to choose from",
                    "give a number from 1 to one less", "--features");
    const FeatureLaw law = law_for(choice, request, account->budget);
    const std::uint64_t persons = stated_count(info);
    refuse_noise(request, law, persons);

    const Scores scores(reader, groups, request.classes);
    const std::vector<std::int64_t> labels = scores.labels();

    // 3. Charged, then drawn, then kept.
    const std::string before =
        info.measured.empty() ? "" : MeasuredConstants::from_text(info.measured, info.path).token;
    Payment payment = payment_for(request, law, before);
    payment.guarantee =
        claim_about_columns(facts_of(info, false), counted_by(*account), law.epsilon).to_json().dump();
    payment.token = ledger.token_of(
        nlohmann::json{measured_mechanism, population, digest, payment.parameters, digest_of(groups)}.dump());
    const BoughtText bought = ledger.buy(digest, payment, [&] {
        SystemRandomBits bits;
        const std::vector<std::int64_t> weights = draw_label_weights(labels, law, bits);
        return constants_text(info, payment.token, groups,
                              draw_features(scores.of(weights), request.chosen, law, bits));
    });

    // 4. The dataset of these columns, another version of its population's data.
    const std::vector<std::size_t> chosen = nlohmann::json::parse(bought.text).at("chosen");
    const std::vector<bool> kept = kept_groups(groups, chosen);
    const std::size_t features =
        write_chosen(ledger, population, choice.out, info, bought.text, groups, kept);

    // 5. What was chosen, what it cost, and what is left.
    if (persons > 0 && static_cast<double>(persons) < doubtful_gaps * gap_of(request, law))
        context.log->warn("{} persons are few beside this noise: some columns may be chosen by chance",
                          persons);
    nlohmann::json object = {
        {"path", choice.out},
        {"charged", bought.charged},
        {"columns", nlohmann::json::array()},
        {"of", request.columns},
        {"rate", law.rate},
        {"cost", {{"epsilon", shown(law.epsilon)}, {"delta", 0}, {"mu_squared", shown(law.mu_squared)}}}};
    for (std::size_t g = 0; g < groups.size(); ++g)
        if (kept[g] && groups[g].candidate) object["columns"].push_back(groups[g].name);
    const std::optional<double> left = left_of_account(account->budget, *ledger.spending(population));
    if (left) object["left_for_training"] = *left;
    context.print(object, text_of(choice, groups, kept, request, law, bought.charged, payment.guarantee) +
                              next_of(choice, request, features, persons, left.value_or(0), account->budget));
    context.world.barrier();
}

}  // namespace holdfast
