#include "jobs/answers/statement/sections.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int largest_epsilon_of_a_ratio = 100;

/// e^epsilon to a thousandth, from above.
double ratio_of(const Rational& epsilon) {
    return shown(Rational(ceil(Rational(exp_upper(epsilon) * 1000))) / 1000);
}

Json amount(const Rational& epsilon, const Rational& delta) {
    Json object = {{"epsilon", shown(epsilon)}, {"delta", shown(delta)}};
    if (epsilon <= largest_epsilon_of_a_ratio) object["probability_ratio"] = ratio_of(epsilon);
    return object;
}

}  // namespace

Json privacy_loss_of(const Spending& spent, const std::string& relation) {
    const bool labels = relation == label_relation;
    return {
        {"definition", spent.budget.delta == 0 ? "pure differential privacy (epsilon)"
                                               : "approximate differential privacy (epsilon, delta)"},
        {"budget", amount(spent.budget.epsilon, spent.budget.delta)},
        {"spent", amount(spent.epsilon, spent.delta)},
        {"meaning",
         std::string("Whatever anyone sees of all the releases together: no event is more probable ") +
             (labels ? "with a record's label than e^epsilon (the probability ratio) times what it is with "
                       "another, plus delta (see neighbours)."
                     : "with a record than e^epsilon (the probability ratio) times what it is without it, "
                       "plus delta, nor the other way round (see neighbours).")},
        {"budget_or_spent",
         "The budget bounds all that was and will ever be released. What is spent bounds what was released "
         "so far where the amounts were not chosen by looking at earlier answers."},
        {"rounding", "upward throughout, in exact arithmetic"}};
}

Json unit_of(const std::vector<DatasetVersion>& versions) {
    Json unit = {
        {"unit",
         "one record: the conditions of each release say whether that is a person with all rows, or one row"},
        {"known_as", "user-level where a record is a person, event-level where it is one row"},
        {"person",
         "An id names one person. Versions, copies and rescalings of the "
         "population's "
         "data draw on this one account, and an id known from another population is refused. Copies under "
         "new ids are noticed where their "
         "features are equal to the last bit, and not otherwise."},
        {"group",
         "Who has k records, under k ids, is covered as a group: with k times epsilon, and delta times "
         "(e^(k epsilon) - 1)/(e^epsilon - 1)."}};
    const bool nameless = std::any_of(versions.begin(), versions.end(),
                                      [](const DatasetVersion& version) { return version.ids == 0; });
    if (nameless)
        unit["without_ids"] =
            "Some versions of the data have no ids that name people. They are known by the name of the "
            "population "
            "alone: that the same people are in no other population rests on the owner's word.";
    return unit;
}

Json neighbours_of(const std::string& relation) {
    if (relation == "substitute")
        return {{"relation", relation},
                {"known_as", "bounded differential privacy"},
                {"meaning",
                 "Two datasets are neighbours where one record has another content in one than in the other, "
                 "under the "
                 "same id. What a person's record says is protected; that the person has one is not, and the "
                 "number "
                 "of records counts as known."}};
    if (relation == label_relation)
        return {{"relation", relation},
                {"known_as", "label differential privacy"},
                {"meaning",
                 "Two datasets are neighbours where one record has another label in one than in the other. "
                 "Labels alone are private; features are taken to be public, and so are ids, the number of "
                 "records and who has one."}};
    ensure(relation == "add_remove", "accounts count add_remove, substitute or label neighbours");
    return {{"relation", relation},
            {"known_as", "unbounded differential privacy"},
            {"meaning",
             "Two datasets are neighbours where one has one record more than the other. What a person's "
             "record says "
             "is protected, and whether the person has one."}};
}

Json composition_section(const Budget& budget) {
    const std::string rule = composition_of(budget);
    if (rule == "fixed")
        return {
            {"rule", rule},
            {"epsilon_an_answer", shown(*budget.fixed_epsilon)},
            {"meaning",
             "Every answer is pure and costs this epsilon; the total is the least of basic, advanced and "
             "optimal "
             "composition at the budget's delta. Questions may be chosen as answers come."},
            {"theorem", "Dwork, Rothblum, Vadhan 2010; Kairouz, Oh, Viswanath 2015, theorems 3.3 and 3.4"}};
    if (rule == "renyi")
        return {{"rule", rule},
                {"renyi_order", *budget.renyi_order},
                {"delta_of_curves", shown(budget.delta - budget.delta_apart)},
                {"delta_set_apart", shown(budget.delta_apart)},
                {"meaning",
                 "Each release adds its Renyi divergence at one order, fixed by the budget; the sum is read "
                 "as an "
                 "epsilon at the delta of curves. A release without a curve adds its epsilon to that, and "
                 "takes its "
                 "delta from what was set apart. Questions, mechanisms and amounts may be chosen as answers "
                 "come."},
                {"theorem",
                 "Feldman, Zrnic 2021 (Renyi filter); Canonne, Kamath, Steinke 2020 (conversion); Holdfast's "
                 "mathematics, renyi filter (releases without a curve)"}};
    if (rule == "gdp")
        return {{"rule", rule},
                {"delta_set_apart", shown(budget.delta_apart)},
                {"meaning",
                 "Each release is told apart no better than two normal laws mu apart; the sum of all mu^2 "
                 "stays below that of the budget at its delta less what is set apart, from which a release "
                 "takes a delta that it has besides. A pure answer counts as randomised response does. "
                 "Questions, mechanisms and amounts may be chosen as answers come."},
                {"theorem",
                 "Dong, Roth, Su 2022 (Gaussian differential privacy); Smith, Thakurta 2022 (adaptive "
                 "amounts); Holdfast's mathematics, gaussian filter"}};
    return {{"rule", rule},
            {"meaning",
             "The sum of all epsilons and the sum of all deltas. Questions, mechanisms and amounts may be "
             "chosen as "
             "answers come."},
            {"theorem", "Rogers, Roth, Ullman, Vadhan 2016: the basic sum is a filter"}};
}

Json threat_model() {
    return Json::array(
        {{{"who", "the public"},
          {"sees", "published models, published answers, this statement, the program and all its settings"},
          {"held_against",
           "any computing after the fact, any knowledge from elsewhere, and all of them together; noise that "
           "is "
           "drawn from a keyed stream holds against whoever cannot break its cipher"}},
         {{"who", "those who ask"},
          {"sees", "labels, what they cost, refusals and exit codes"},
          {"held_against", "questions chosen as answers come, by many who share what they learn"}},
         {{"who", "the owner of the data"},
          {"sees", "everything: records, run folders, ledger, unprotected figures on accuracy"},
          {"held_against", "nothing: the owner is trusted"}}});
}

Json trust_model() {
    return {{"model", "central"},
            {"trusted",
             Json::array({"the owner, who holds the records in the clear and runs the program as it is",
                          "the machine: processor, operating system, compiler, MPI, SQLite and libsodium"})}};
}

Json data_handling() {
    return {{"records",
             "They stay in the owner's files; run folders and the ledger are readable by their owner alone."},
            {"people",
             "The ledger holds no record: people are known in it by hashes of their ids under a secret key "
             "of its own."},
            {"order",
             "A release is charged before anything about it is computed from the records; a crash leaves it "
             "charged."},
            {"memory",
             "A remembered answer is given again as it was drawn. A refusal for want of budget depends on "
             "what was charged alone; one by a session, a batch or a mechanism is drawn, and paid for."},
            {"keys",
             "The key that noise is drawn from is made for one training or publication, and then destroyed."},
            {"randomness",
             "Random bits come from libsodium and the operating system; what is drawn from them follows "
             "exact laws."}};
}

Json assumptions(const std::vector<std::string>& gaps) {
    std::string settings =
        "No setting, seed, range of a feature or number of records was chosen by looking at the private "
        "records, but for constants that were measured and paid for; all of them are public.";
    if (!gaps.empty()) settings += " Not so, as far as these gaps say it: ";
    for (const std::string& gap : gaps) settings += (&gap == &gaps.front() ? "" : "; ") + gap;
    return {
        {"settings", settings + (gaps.empty() ? "" : ".")},
        {"ids", "An id names one person, whatever other records there are."},
        {"table",
         "Neighbours are tables as they were imported: which of their records are trained on was settled for "
         "each without regard to the others."},
        {"queries", "They concern nobody whose records are private: such people are in no account."},
        {"number_of_records",
         "Where a fleet answers under add_remove, nobody times the answers: their time grows with the number "
         "of records, and from whoever learns that number only what a record says is kept."},
        {"ledger",
         "There is one: a ledger that was copied, restored from a backup or kept twice counts twice."},
        {"elsewhere", "Nothing about these people left the house past this ledger."},
        {"releases", "The conditions that the guarantee of each release names."}};
}

Json not_covered() {
    return {
        {"side_channels",
         "Who can watch the machine (time, memory, caches, power, traffic) is outside the guarantee, above "
         "all "
         "while it trains."},
        {"groups", "The records of one person under several ids, but as a group (see unit of privacy)."},
        {"population",
         "Facts about everybody: what is learnt about the population would be learnt without any one "
         "record."},
        {"public_facts",
         "Settings, dates of releases, how many questions were asked, that the data had a new version."},
        {"owner_s_figures",
         "What the owner shows of run folders, evaluations and reports: they depend on the records without "
         "protection."},
        {"records", "Their theft or misuse, and how they were collected."}};
}

}  // namespace holdfast
