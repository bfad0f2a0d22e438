// holdfast risk: for the owner, what a trained classifier tells of those it was trained on: attacks on it,
// beside what is proved. Nothing of it leaves, and no ledger is charged.
//   holdfast risk --run run --data patients.h5 --held-out patients.h5:test
//   holdfast risk --run votes --shadows 0

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "dist/files/atomic_file.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/progress.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/program/transport.hpp"
#include "jobs/study/risk/attacked.hpp"
#include "jobs/study/risk/attributes.hpp"
#include "jobs/study/risk/report.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/fleet/influence.hpp"
#include "models/noisy/noisy_claim.hpp"

namespace holdfast {
namespace {

constexpr std::array rates{0.001, 0.01, 0.1};
constexpr std::size_t fewest_members = 4, fewest_of_a_part = 20;

struct RiskRequest {
    std::string run, data, held_out, public_data;
    std::optional<std::int64_t> shadows;
    std::int64_t attributes = 20;
    double confidence = 0.95;
};

/// Networks and persons: what each says, and of whom it knew. Members first, then shadows.
struct Networks {
    std::size_t members = 0;
    std::vector<Said> said = {};
    std::vector<std::vector<char>> had = {};  ///< of shadows
};

/// One guess: was the person trained on?
struct Guess {
    std::size_t person, network;
    bool member;
};

std::vector<Guess> guesses_of(const AskedPersons& persons) {
    std::vector<Guess> guesses;
    for (std::size_t person = 0; person < persons.size(); ++person)
        guesses.push_back({person, persons.own[person], person < persons.trained});
    if (persons.held_out() > 0) return guesses;
    for (std::size_t person = 0; person < persons.size(); ++person)
        guesses.push_back({person, persons.other[person], false});
    return guesses;
}

/// Without shadows, members that are not asked about the person and did not have it: as many for either side.
Observed observed(const Networks& networks, const AskedPersons& persons, const Guess& guess,
                  std::vector<double> Said::*what) {
    const auto value = [&](std::size_t network) { return (networks.said[network].*what)[guess.person]; };
    Observed one{value(guess.network)};
    for (std::size_t shadow = 0; shadow < networks.had.size(); ++shadow)
        (networks.had[shadow][guess.person] != 0 ? one.in : one.out)
            .push_back(value(networks.members + shadow));
    if (!networks.had.empty()) return one;
    for (std::size_t member = 0; member < networks.members; ++member)
        if (member != persons.own[guess.person] && member != persons.other[guess.person])
            one.out.push_back(value(member));
    return one;
}

struct Scored {
    std::string scores, observes;
    std::vector<double> values;  ///< [guesses]
};

std::vector<Scored> scored(const Networks& networks, const AskedPersons& persons,
                           const std::vector<Guess>& guesses) {
    std::vector<Scored> all;
    for (const bool label : {false, true}) {
        std::vector<Observed> seen;
        for (const Guess& guess : guesses)
            seen.push_back(observed(networks, persons, guess, label ? &Said::right : &Said::confidence));
        const std::string observes = label ? "label" : "confidence";
        std::vector<double> plain;
        for (const Observed& one : seen) plain.push_back(one.target);
        all.push_back({"threshold", observes, std::move(plain)});
        const auto have = [&](std::vector<double> Observed::*which) {
            return std::all_of(seen.begin(), seen.end(),
                               [&](const Observed& one) { return !(one.*which).empty(); });
        };
        if (have(&Observed::out)) all.push_back({"offline", observes, offline_scores(seen)});
        if (have(&Observed::out) && have(&Observed::in))
            all.push_back({"online", observes, online_scores(seen)});
    }
    return all;
}

/// Of every guess, whether all answers that the network gives the person stay as they are without any one
/// record; empty: this run certifies no answers.
std::vector<char> certified(const AttackedRun& attacked, const AskedPersons& persons,
                            const std::vector<Guess>& guesses, const Records& mapped) {
    if (!attacked.run || attacked.manifest.kind != "boxes" || attacked.run->cap() == 0 ||
        attacked.settings.poisoned())
        return {};
    const int device = choose_device(attacked.run->how.backend, *make_serial_communicator());
    std::vector<char> found(guesses.size(), 1);
    for (std::size_t member = 0; member < attacked.members.size(); ++member) {
        std::vector<std::size_t> rows, whose;
        for (std::size_t i = 0; i < guesses.size(); ++i) {
            if (guesses[i].network != member) continue;
            for (std::size_t row = persons.starts[guesses[i].person];
                 row < persons.starts[guesses[i].person + 1]; ++row) {
                rows.push_back(row);
                whose.push_back(i);
            }
        }
        const Certificates each =
            attacked.run->certificate->distances(member, chosen_records(mapped, rows), Asker::owner, device);
        for (std::size_t i = 0; i < whose.size(); ++i)
            if (each.distances[i] < 1) found[whose[i]] = 0;
    }
    return found;
}

std::vector<MembershipAttack> attacks_of(const std::vector<Scored>& scores, const std::vector<Guess>& guesses,
                                         const std::vector<char>& certified, const Rational& error) {
    std::vector<MembershipAttack> attacks;
    for (const char* whose : {"all", "certified", "uncertified"}) {
        const std::string name = whose;
        if (name != "all" && certified.empty()) continue;
        for (const Scored& scored : scores) {
            std::vector<double> members, others;
            for (std::size_t i = 0; i < guesses.size(); ++i)
                if (name == "all" || (certified[i] != 0) == (name == "certified"))
                    (guesses[i].member ? members : others).push_back(scored.values[i]);
            if (std::min(members.size(), others.size()) < fewest_of_a_part) continue;
            attacks.push_back({scored.scores, scored.observes, name,
                               judged_attack(std::move(members), std::move(others), rates, error)});
        }
    }
    return attacks;
}

ProvedBound bound_of(const AttackedRun& attacked) {
    const nlohmann::json& paid = attacked.manifest.payment;
    const std::string status = attacked.manifest.guarantee.at("status");
    if (paid.is_null() || status.starts_with("not ")) {
        const std::string& kind = attacked.manifest.kind;
        std::string words = "nothing is proved of the parameters, which are for their owner";
        if (kind == "convex")
            words = "nothing is proved of these parameters: holdfast publish adds noise before they leave";
        if (kind == "noisy") words = "nothing is proved: the run is not private, and is for its owner";
        if (kind == "boxes")
            words +=
                ". A certified answer is the same with any one record and without it, so its label gains no "
                "attacker anything; which answers are certified depends on the records, and is not to be "
                "shown";
        return {std::nullopt, {}, words, status == "proved" || kind != "boxes"};
    }
    const Rational epsilon = decimal_value(paid.at("epsilon").get<double>(), "epsilon"),
                   delta = decimal_value(paid.at("delta").get<double>(), "delta");
    ProvedBound bound{std::nullopt,
                      {{epsilon, delta}},
                      "(" + decimal_text(epsilon) + ", " + decimal_text(delta) + ")",
                      status == "proved"};
    if (paid.at("mechanism") != "noisy_training") return bound;
    const GaussianSteps steps = gaussian_steps(attacked.settings);
    if (steps.sampling_rate == 1) {
        const Rational reach(reach_of(steps.relation)), sigma(steps.noise_multiplier);
        bound.mu = sqrt_upper(Rational(as_rational(steps.steps) * reach * reach / (sigma * sigma)));
        bound.words +=
            printed(", and Gaussian privacy of mu = %.3f", std::ceil(1000 * round_up(*bound.mu)) / 1000);
        return bound;
    }
    for (const Rational& greater : {Rational(1, 1000), Rational(1, 100)})
        if (greater > delta) bound.epsilons.emplace_back(cost_of(steps, greater).epsilon, greater);
    return bound;
}

/// Of fleets exactly, by the networks that did without each; else those whom all shadows that had them know
/// and no other.
void add_memorised(const AttackedRun& attacked, const AskedPersons& persons, const Networks& networks,
                   const Records& mapped, const Rational& error, RiskReport& report) {
    std::uint64_t memorised = 0, all = 0;
    if (attacked.fleet && !attacked.settings.training.rows_of_persons()) {
        const FleetReader& fleet = attacked.fleet->networks;
        std::unordered_map<std::uint64_t, std::size_t> places;
        for (std::size_t person = 0; person < persons.trained; ++person)
            places.emplace(persons.id(person), person);
        std::vector<std::size_t> left_out;
        for (const std::uint64_t id : fleet.left_out()) left_out.push_back(places.at(id));
        const Decision decision(attacked.network);
        const std::vector<double> without = own_values(fleet, 0, chosen_records(mapped, left_out));
        for (std::size_t i = 0; i < left_out.size(); ++i) {
            const std::int32_t answer =
                decision.label([&](std::size_t o) { return without[i * decision.rows() + o]; });
            const bool knows = networks.said[0].right[left_out[i]] == 1;
            memorised += knows && answer != persons.label(left_out[i]) ? 1 : 0;
        }
        all = left_out.size();
        report.memorised_exactly = true;
    } else if (!networks.had.empty()) {
        for (std::size_t person = 0; person < persons.trained; ++person) {
            const Observed seen =
                observed(networks, persons, {person, persons.own[person], true}, &Said::right);
            if (seen.in.size() < 2 || seen.out.size() < 2) continue;
            ++all;
            const auto none = [](double right) { return right == 0; };
            memorised += std::all_of(seen.out.begin(), seen.out.end(), none) &&
                                 std::none_of(seen.in.begin(), seen.in.end(), none)
                             ? 1
                             : 0;
        }
    }
    if (all > 0) report.memorised = estimated_rate(memorised, all, error);
}

void add_overfitting(const AskedPersons& persons, const Networks& networks, const Rational& error,
                     RiskReport& report) {
    std::array<std::uint64_t, 2> right{}, all{};
    std::array<double, 2> loss{};
    for (std::size_t person = 0; person < persons.size(); ++person) {
        const std::size_t side = person < persons.trained ? 0 : 1;
        const Said& said = networks.said[persons.own[person]];
        right[side] += said.right[person] > 0.5 ? 1 : 0;
        loss[side] -= log_probability(said.confidence[person]);
        ++all[side];
    }
    report.right_trained = estimated_rate(right[0], all[0], error);
    report.right_held_out = estimated_rate(right[1], all[1], error);
    report.loss_trained = loss[0] / static_cast<double>(all[0]);
    if (all[1] > 0) report.loss_held_out = loss[1] / static_cast<double>(all[1]);
}

void add_structure(const AttackedRun& attacked, const AskedPersons& persons, const Networks& networks,
                   RiskReport& report) {
    report.parameters = attacked.network.parameters();
    report.degrees = static_cast<std::int64_t>(persons.trained / attacked.members.size()) -
                     static_cast<std::int64_t>(report.parameters);
    std::vector<std::size_t> classes(attacked.network.classes());
    std::map<std::tuple<std::size_t, std::int32_t, long>, std::size_t>
        groups;  // member, label, its probability in hundredths
    for (std::size_t person = 0; person < persons.trained; ++person) {
        const double logit = networks.said[persons.own[person]].confidence[person];
        ++classes[static_cast<std::size_t>(persons.label(person))];
        ++groups[{persons.own[person], persons.label(person), std::lround(100 / (1 + std::exp(-logit)))}];
    }
    report.least_class = *std::min_element(classes.begin(), classes.end());
    report.least_group = persons.trained;
    for (const auto& [answer, count] : groups) {
        report.least_group = std::min(report.least_group, count);
        report.alone += count == 1 ? 1 : 0;
    }
    for (const char* name : {"fleet.h5", "idp.json", "influence.h5", "influence_records.csv",
                             "influence_queries.csv", "unchanged.csv"})
        if (attacked.folder.has(name)) report.naming.emplace_back(name);
    report.naming.emplace_back("risk_persons.csv");
}

/// What each guess rests on, a line each: the ids are of persons.
std::string persons_csv(const AskedPersons& persons, const std::vector<Guess>& guesses,
                        const std::vector<Scored>& scores, const std::vector<char>& certified) {
    std::string text = "person,network,member" + std::string(certified.empty() ? "" : ",certified");
    for (const Scored& scored : scores) text += "," + scored.observes + "_" + scored.scores;
    text += "\n";
    for (std::size_t i = 0; i < guesses.size(); ++i) {
        const Guess& guess = guesses[i];
        text += std::to_string(persons.id(guess.person)) + "," + std::to_string(guess.network) + "," +
                std::to_string(static_cast<int>(guess.member));
        if (!certified.empty()) text += "," + std::to_string(static_cast<int>(certified[i]));
        for (const Scored& scored : scores) text += printed(",%.9g", scored.values[i]);
        text += "\n";
    }
    return text;
}

/// How many shadows are trained. Error (usage): too few, or no members in their place.
std::size_t shadows_of(const RiskRequest& request, const AttackedRun& attacked, const AskedPersons& persons) {
    const std::size_t members = attacked.members.size(), parts = shadow_parts(attacked, persons);
    const auto asked =
        static_cast<std::size_t>(request.shadows.value_or(members < 2 * fewest_members ? 16 : 0));
    if (asked == 0 && members >= fewest_members) return 0;
    if (asked < 2 * parts)
        throw Error(ExitCode::usage,
                    std::to_string(asked) + " shadow networks: of each " + std::to_string(parts) +
                        " one has a person, and two that have it are the least",
                    "give " + std::to_string(2 * parts) + " or more" +
                        (members >= fewest_members ? ", or 0: the members serve" : ""),
                    "--shadows");
    return (asked + parts - 1) / parts * parts;
}

/// All that was trained on beside the private records. Error (usage): it is not named, or other records are.
Records public_records_of(const RiskRequest& request, const AttackedRun& attacked, const DatasetInfo& info) {
    const Records records = read_public(request.public_data, info, attacked.settings);
    const PublicRecords& beside = attacked.manifest.public_records;
    const bool none = records.size() == 0 && beside.records == 0;
    if (!none && !(identify_public(records, attacked.settings.training) == beside))
        throw Error(ExitCode::usage, "the run was trained beside other public records",
                    "name those that holdfast train was given as --public", "--public");
    return as_trained(records, attacked.settings, attacked.features, info.target_range);
}

/// A folder for shadows within the run's own, which nobody else may enter; gone at the end, and before.
class ShadowFolder {
  public:
    explicit ShadowFolder(const RunFolder& run) : path_(run.file("shadows")) {
        std::filesystem::remove_all(path_);
    }
    ~ShadowFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ShadowFolder(const ShadowFolder&) = delete;
    ShadowFolder& operator=(const ShadowFolder&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

/// What all networks say of all persons. mapped: their rows.
Networks ask(const Context& context, const AttackedRun& attacked, const AskedPersons& persons,
             const Records& mapped, const Records& public_records, std::size_t shadows) {
    Networks networks{attacked.members.size()};
    for (const std::vector<std::int64_t>& member : attacked.members)
        networks.said.push_back(said_of(attacked, member, mapped, persons.starts));
    const ShadowFolder folder(attacked.folder);
    Progress progress(context, "shadow networks", static_cast<std::int64_t>(shadows));
    for (std::size_t number = 0; number < shadows; ++number) {
        Shadow shadow = train_shadow(attacked, persons, public_records, number, folder.path());
        networks.said.push_back(said_of(attacked, shadow.parameters, mapped, persons.starts));
        networks.had.push_back(std::move(shadow.had));
        progress.advance_to(static_cast<std::int64_t>(number) + 1);
    }
    return networks;
}

void risk(const Context& context, RiskRequest request) {
    if (!context.world.is_root()) return;
    const std::clock_t began = std::clock();
    // 1. The run, those it was trained on, and others.
    const AttackedRun attacked = AttackedRun::open(request.run);
    const RunSettings& how = attacked.run ? attacked.run->how : attacked.fleet->how;
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));
    if (request.data.empty()) request.data = attacked.manifest.dataset.path;
    if (request.held_out.empty()) request.held_out = test_split(request.data);
    if (request.held_out.empty() && attacked.members.size() < fewest_members)
        throw Error(ExitCode::usage,
                    "nobody was held out, and the run has no members that did without a person",
                    "name records of the same kind that were not trained on", "--held-out");
    const DatasetReader reader(request.data);
    const AskedPersons persons = read_persons(attacked, reader, request.held_out);
    const Records public_records = public_records_of(request, attacked, reader.info());
    const std::size_t shadows = shadows_of(request, attacked, persons);
    const Rational error = decimal_value(1 - request.confidence, "--confidence");

    // 2. What the members say of them, and networks of which it is known who was in.
    const Records mapped = attacked.features(persons.rows);
    const Networks networks = ask(context, attacked, persons, mapped, public_records, shadows);

    // 3. Attacks, and what they show.
    const std::vector<Guess> guesses = guesses_of(persons);
    const std::vector<Scored> scores = scored(networks, persons, guesses);
    const std::vector<char> safe = certified(attacked, persons, guesses, mapped);
    RiskReport report{request.run, request.data, request.held_out,
                      Guarantee::text_of(attacked.manifest.guarantee), request.confidence};
    report.trained = persons.trained;
    report.held_out = persons.held_out();
    report.members = attacked.members.size();
    report.shadows = shadows;
    report.of_persons = attacked.manifest.dataset.unit == Unit::person;
    report.attacks = attacks_of(scores, guesses, safe, error);
    report.bound = bound_of(attacked);
    add_overfitting(persons, networks, error, report);
    if (persons.held_out() > 0)
        report.attributes =
            attribute_attacks(attacked, persons, static_cast<std::size_t>(request.attributes), error);
    add_memorised(attacked, persons, networks, mapped, error, report);
    add_structure(attacked, persons, networks, report);
    report.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;

    // 4. For the owner alone.
    const nlohmann::json figures = to_json(report);
    attacked.folder.write_json("risk.json", figures);
    attacked.folder.write_text("risk_persons.csv", persons_csv(persons, guesses, scores, safe));
    write_file_atomically(attacked.folder.file("risk.html"), std::string_view(page_of(report)), private_mode);
    context.print(figures, text_of(report) +
                               "for the owner alone, mode 0600: " + attacked.folder.file("risk.html") +
                               ", risk.json, risk_persons.csv; no ledger was charged\n");
}

}  // namespace

Run declare_risk(const Command& command) {
    auto request = std::make_shared<RiskRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast train, tune or fleet; a classifier")
        .required();
    command.add_option(
        "--data", request->data,
        "The dataset that it was trained on, FILE[:SPLIT]; where it was then, unless it moved");
    command.add_option(
        "--held-out", request->held_out,
        "Records of the same kind, by chance not trained on, FILE[:SPLIT]: split test of --data, if there is "
        "one. An ensemble of 4 members and more does without: its others did not have a person");
    command.add_option("--public", request->public_data,
                       "The public records that it was trained beside, if any");
    command
        .add_option("--shadows", request->shadows,
                    "Networks trained anew on random halves of all, for the likelihood ratios: 16, or none "
                    "where 8 members and more serve. More make the attack sharper")
        .within(std::int64_t{0}, std::int64_t{100000});
    command
        .add_option("--attributes", request->attributes,
                    "So many columns at most are guessed, evenly taken; 0: none")
        .within(std::int64_t{0}, std::int64_t{100000})
        .show_default();
    command.add_option("--confidence", request->confidence, "Of each interval")
        .within(0.5, 0.999999)
        .show_default();
    command.add_footer(
        "What is asked before a model leaves a safe haven. Membership: scores by confidence alone "
        "(threshold), and by likelihood ratios with shadow networks (offline: of those without the person; "
        "online: of those with, too), by confidences and by labels alone; area under the curve, and true "
        "positives at 0.1%, 1% and 10% false ones beside what is proved. Attributes: a column guessed from "
        "the others, the label and the model. Memorised: of a fleet exactly, else by shadows. Overfitting, "
        "and what the model's form tells. Persons count, not rows. Intervals are over persons, for this one "
        "model. It writes risk.html, risk.json and risk_persons.csv into the run folder, for the owner "
        "alone.\n\n");
    return [request](const Context& context) { risk(context, *request); };
}

}  // namespace holdfast
