// holdfast tune: the best of a secret number of trainings with noise, each of a setting drawn from a short
// public list, judged by persons who were held out. Paid for once, before the first: more than one training
// costs, less than all of them. How many there are is drawn, and nobody is told: neither files nor words of
// what leaves say it. The time does, to whoever watches the machine.
//   holdfast tune --config a.toml --config b.toml --data patients.h5 --ledger ward.db --epsilon 1 --out run

#include <spdlog/logger.h>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "dist/files/digest.hpp"
#include "dist/runs/lease.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/ranks.hpp"
#include "jobs/program/rounded.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "jobs/program/runs/held_persons.hpp"
#include "jobs/program/runs/payer.hpp"
#include "jobs/program/runs/publication.hpp"
#include "jobs/program/runs/run_key.hpp"
#include "jobs/program/training/carry_out.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/row_weight.hpp"
#include "models/certify/answers.hpp"
#include "models/noisy/noisy_claim.hpp"
#include "models/noisy/noisy_training.hpp"
#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/noise/secret_stream.hpp"
#include "models/privacy/selection/runs_law.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_settings = 12, few_settings = 3;  // of few, all are published better

struct TuneRequest {
    std::vector<std::string> configs, overrides;
    std::string data, ledger, out, law = "poisson";
    double epsilon = 0, delta = 1e-5;
    std::int64_t runs = 0;
};

/// What is public of a selection, and decides it.
struct Selection {
    RunsLaw law;
    Rational epsilon, delta, mu_squared;  ///< in all; of one training, and of one score
    std::vector<Configuration> settings = {};
    std::string relation = "";

    /// On the count of those who are answered rightly, in shares of a person.
    GaussianNoise score_noise() const {
        const Rational person = as_rational(whole_person);
        return GaussianNoise(round_up(sqrt_upper(Rational(person * person / mu_squared))));
    }
    /// But for the token.
    Payment payment(const char* mechanism, const Guarantee& claim) const {
        const nlohmann::json parameters = {{"number_of_runs", law.name()},
                                           {"mean_runs", law.mean()},
                                           {"settings", settings.size()},
                                           {"mu_of_a_run", round_up(sqrt_upper(mu_squared))},
                                           {"relation", relation}};
        return {
            "", epsilon, delta, law.curve(mu_squared), mechanism, parameters.dump(), claim.to_json().dump()};
    }
};

Settings settled(const Configuration& configuration, const DatasetInfo& info) {
    return settled_for_noise(settle_facts(configuration.settings, info));
}

/// Could these be trained? What cannot costs nothing. Collective. Errors (usage).
void require_trainable(const Context& context, const Configuration& configuration, const DatasetInfo& info) {
    const Settings settings = settled(configuration, info);
    const auto backend = make_backend("cpu", settings.training.arithmetic(), settings.certificate.product, 0);
    const TrainingPlan plan = make_plan(settings, {info.features, info.range, info.rows, 0}, backend);
    const ProcessGrid grid(context.world, configuration.run.grid, 1, 1);
    train_noisy(plan, read_public("", info, settings), grid, nullptr);
}

/// With the noise that leaves a training its mu^2. Errors (usage).
Configuration with_noise(Configuration configuration, const DatasetInfo& info, const Selection& selection,
                         const std::string& path) {
    Settings& settings = configuration.settings;
    settings.features = settings.features.pinned();  // what decides is what their files hold now
    settings.network = settings.network.pinned();
    const auto refuse = [&](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::usage, message, hint, path);
    };
    if (settings.training.kind != "noisy" || settings.noise.law != NoiseSettings::Law::gaussian)
        refuse("only trainings with noise are chosen among", "set training.kind = \"noisy\"");
    if (settings.network.classes == 1)
        refuse("a regression has no classes to be right about", "choose among classifiers");
    if (settings.step_share() != 1)
        refuse("a step takes a part of the records: its cost has no mu",
               "set training.batches = 1, and noise.sampling_rate = 0");
    GaussianSteps steps = gaussian_steps(settle_facts(settings, info));
    const Rational reach(reach_of(steps.relation));
    steps.noise_multiplier =
        round_up(sqrt_upper(Rational(as_rational(steps.steps) * reach * reach / selection.mu_squared)));
    settings.noise.multiplier = steps.noise_multiplier;
    settings.noise.delta = shown(selection.delta);
    settings.noise.epsilon = 1.001 * cost_of(steps, selection.delta).epsilon.get_d();  // of it alone
    return configuration;
}

Selection read_selection(const Context& context, const TuneRequest& request, const DatasetInfo& info) {
    const std::size_t count = request.configs.size();
    if (count < 2 || count > most_settings)
        throw Error(ExitCode::usage, "a choice is among 2 to " + std::to_string(most_settings) + " settings",
                    "give --config FILE for each; a longer list is cut down on public records: holdfast "
                    "advise",
                    "--config");
    if (count <= few_settings)
        context.log->warn(
            "of {} settings better train, publish and validate each: nothing is missed, and no number of "
            "trainings is to be kept secret",
            count);
    const RunsLaw law =
        RunsLaw::of(request.law, request.runs > 0 ? request.runs : static_cast<std::int64_t>(count));
    Selection selection{law, decimal_value(request.epsilon, "--epsilon"),
                        decimal_value(request.delta, "--delta"), 0};
    selection.mu_squared = law.mu_squared_for(selection.epsilon, selection.delta);
    for (const std::string& path : request.configs) {
        selection.settings.push_back(
            with_noise(read_configuration(path, request.overrides), info, selection, path));
        require_trainable(context, selection.settings.back(), info);
        const std::string relation = name_of(selection.settings.back().settings.certificate.relation);
        if (!selection.relation.empty() && selection.relation != relation)
            throw Error(ExitCode::usage, "the settings count different neighbours",
                        "give all of them the same certificate.relation", path);
        selection.relation = relation;
        if (selection.settings.back().settings.network.classes !=
            selection.settings.front().settings.network.classes)
            throw Error(ExitCode::usage, "the settings have different numbers of classes",
                        "give all of them the same network.classes", path);
    }
    return selection;
}

/// Whichever is chosen: under the conditions, and with the gaps, of each.
Guarantee claim_about_all(const Selection& selection, const DatasetInfo& info) {
    const auto claim_about = [&](const Configuration& one) {
        return selection_claim(settled(one, info), facts_of(info, false), selection.epsilon, selection.delta);
    };
    Guarantee claim = claim_about(selection.settings.front());
    for (const Configuration& one : selection.settings) claim.rest_on(claim_about(one));
    return claim;
}

/// Of one training. "Better" is one order of all that may come out, whatever was drawn.
struct Outcome {
    std::int64_t score = 0;  ///< who was answered rightly, in shares of a person, with noise
    std::size_t setting = 0;
    std::string digest;  ///< of the parameters

    friend bool operator<(const Outcome& a, const Outcome& b) {
        return std::tie(a.score, a.setting, a.digest) < std::tie(b.score, b.setting, b.digest);
    }
};

/// The work of a selection, in a folder beside --out that is its owner's alone. All that is drawn comes from
/// its key: whoever goes on after a stop draws what would have been drawn, and pays nothing more.
class Trials {
  public:
    Trials(const Context& context, const TuneRequest& request, const Selection& selection)
        : context_(context),
          silent_{context.world, std::make_shared<spdlog::logger>("trials"), context.json, true},
          request_(request),
          selection_(selection),
          path_(request.out + ".tuning") {}

    /// On rank 0: the key is on the disk, and both accounts are charged, before anything is drawn. Errors:
    /// as check_payer and held_persons; (budget) it does not fit; (output) --out is there.
    void pay(const DatasetReader& trained);
    /// Collective. The best, on rank 0; nothing where none was made.
    std::optional<Outcome> carry_out_all();
    /// On rank 0: the best is the run --out, and the ledger knows it; all else is gone.
    void keep(const std::optional<Outcome>& best);

  private:
    std::string key_file() const { return path_ + "/key"; }
    /// Holds the folder until the process ends. Error (usage): another process holds it.
    void enter();
    /// All of the folder but the files named, as far as it can be removed.
    void remove_all_but(const std::vector<std::string>& names) const;
    std::string run_path(std::size_t run) const { return path_ + "/run-" + std::to_string(run); }
    /// Of one training, or draw, alone: two trainings of one setting have nothing in common.
    SecretKey key(const std::string& purpose, std::size_t run) const;
    std::vector<Outcome> known() const;
    void note(const std::vector<Outcome>& outcomes) const;
    void clear() const;
    void train(std::size_t run, std::size_t setting) const;
    Outcome judged(std::size_t run, std::size_t setting);

    const Context& context_;
    const Context silent_;  ///< the trainings' own words would count them
    const TuneRequest& request_;
    const Selection& selection_;
    std::string path_;
    std::optional<Lease> lease_;
    std::optional<Records> held_;
    std::string token_, dataset_;
    std::size_t best_ = 0;
};

void Trials::enter() {
    constexpr int most_attempts = 10;
    for (int attempt = 1; !lease_; ++attempt) {
        try {
            lease_ = Lease::take(RunFolder::create(path_, true), 0, 1, host_name());
        } catch (const Error&) {  // the process that held the folder may have removed it meanwhile
            if (attempt == most_attempts || fs::exists(path_)) throw;
        }
    }
}

void Trials::remove_all_but(const std::vector<std::string>& names) const {
    std::error_code ignored;
    std::vector<fs::path> files;
    for (fs::directory_iterator entry(path_, ignored), end; !ignored && entry != end;
         entry.increment(ignored))
        files.push_back(entry->path());
    for (const fs::path& file : files) {
        if (std::find(names.begin(), names.end(), file.filename().string()) == names.end())
            fs::remove_all(file, ignored);
    }
}

SecretKey Trials::key(const std::string& purpose, std::size_t run) const {
    const std::string whose = RunFolder::create(path_, true).read_text("fingerprint", "");
    return SecretKey::read(key_file()).derived("selection", whose).derived(purpose, std::to_string(run));
}

/// Whether a label is none would else show once all is paid for, and by a chance of the private number.
void require_labels_of(const DatasetReader& reader, std::size_t classes) {
    reader.visit([&](const Records& slab) { require_labels(slab, classes, reader.info().path); });
}

void Trials::pay(const DatasetReader& trained) {
    // 1. Who pays, and what for: all of it public.
    const DatasetReader reader(request_.data, "test");
    Ledger ledger(request_.ledger);
    const HeldPersons held = held_persons(reader, ledger, request_.ledger);
    const DatasetIdentity own = identify_of_population(trained);
    const DatasetInfo& info = trained.info();
    Payee payee{own.digest, info.path, {}, selection_.relation, request_.ledger, info.measured};
    for (const Configuration& each : selection_.settings)
        for (std::string& records : pretraining_records(each.settings))
            payee.pretrained.push_back(std::move(records));
    check_payer(ledger, payee);
    for (const std::string& population : {own.population, held.population}) {
        if (!ledger.account(population)->budget.gaussian) continue;
        throw Error(ExitCode::budget,
                    "the best of a secret number of trainings has no mu, and the budget of '" + population +
                        "' is of Gaussian privacy: nothing was charged",
                    "train, publish and validate each of the settings, which have; or open an account with "
                    "--composition renyi",
                    request_.ledger);
    }
    held_ = reader.read_all();
    if (reader.info().rows_at_most > 1) weigh_persons(*held_, reader.info().rows_at_most, reader.info().path);
    const auto classes = static_cast<std::size_t>(selection_.settings.front().settings.network.classes);
    require_labels(*held_, classes, request_.data);
    require_labels_of(trained, classes);

    // 2. Whose folder it is; its key.
    nlohmann::json all = {own.digest,
                          deciding_facts(info),
                          held.identity.digest,
                          deciding_facts(reader.info()),
                          selection_.law.name(),
                          selection_.law.mean(),
                          selection_.epsilon.get_str(),
                          selection_.delta.get_str(),
                          program_identity()};
    for (const Configuration& each : selection_.settings) all.push_back(deciding_settings(each.settings));
    const std::string whose = StreamDigest::of(all.dump());
    enter();
    const bool fresh = !fs::exists(key_file());
    if (fresh) remove_all_but({Lease::file_name});  // what a killed process has left, which paid for nothing
    if (fresh && fs::exists(request_.out)) {
        clear();
        throw Error(ExitCode::output, "a folder is there, and is kept: nothing was charged",
                    "name one that is not there", request_.out);
    }
    RunFolder::create(path_, true).claim(whose);
    if (fresh) SecretKey::fresh().write_new(key_file());
    const SecretKey key = SecretKey::read(key_file());

    // 3. The scores, and the models. Each payment is charged once for the key.
    const Guarantee all_claims = claim_about_all(selection_, info);
    Guarantee of_held = claim_about_scores(
        facts_of(reader.info(), false), counted_by(held.account), selection_.epsilon, selection_.delta,
        "what is published of the best of a secret number of trainings, its parameters, setting and score "
        "together, by the answers");
    of_held.rest_on(all_claims);
    Payment scores = selection_.payment(selection_score_mechanism, of_held);
    scores.token = key.token("held " + whose);
    Payment models = selection_.payment(selection_mechanism, all_claims);
    models.token = token_ = key.token(whose);
    dataset_ = own.digest;
    const auto forget = [&] {
        if (fresh) clear();
    };
    charge(context_, models, payee, "the trainings, whatever their number", forget);
    try {
        ledger.pay(held.identity.digest, scores);
    } catch (const Error& error) {
        throw Error(
            error.code(),
            error.message() + " to the account of those held out; that of those trained on was charged",
            "once theirs can pay, the same command goes on for nothing more: " + error.hint(), error.where());
    }
}

std::vector<Outcome> Trials::known() const {
    std::vector<Outcome> outcomes;
    if (!fs::exists(path_ + "/outcomes.json")) return outcomes;
    const nlohmann::json kept = RunFolder::create(path_, true).read_json("outcomes.json");
    for (const nlohmann::json& one : kept.at("outcomes"))
        outcomes.push_back({one.at("score"), one.at("setting"), one.at("digest")});
    return outcomes;
}

void Trials::note(const std::vector<Outcome>& outcomes) const {
    nlohmann::json all = nlohmann::json::array();
    for (const Outcome& one : outcomes)
        all.push_back({{"score", one.score}, {"setting", one.setting}, {"digest", one.digest}});
    RunFolder::create(path_, true).write_json("outcomes.json", {{"outcomes", all}});
}

void Trials::train(std::size_t run, std::size_t setting) const {
    TrainingRequest training;
    training.configuration = selection_.settings[setting];
    training.data = request_.data;
    training.out = run_path(run);
    training.resume = fs::exists(training.out);
    training.go_on = "go on with the same command";
    const nlohmann::json payment = {{"token", token_},
                                    {"epsilon", shown(selection_.epsilon)},
                                    {"delta", shown(selection_.delta)},
                                    {"mechanism", selection_mechanism},
                                    {"parameters", {{"setting", setting}}}};
    const Selection& selection = selection_;
    training.paid = std::make_shared<const PaidTraining>(PaidTraining{
        key("training", run), payment, [&selection](const Settings& settings, const DataFacts& facts) {
            return selection_claim(settings, facts, selection.epsilon, selection.delta);
        }});
    context_.world.barrier();  // all have looked whether it is there
    carry_out(silent_, training);
}

Outcome Trials::judged(std::size_t run, std::size_t setting) {
    const FinishedRun trained = FinishedRun::open(run_path(run));
    const auto backend = make_backend("cpu", trained.settings.training.arithmetic(), Product::exact, 0);
    const Answers answers =
        answers_of(trained.network, *backend, parameters_of(trained), trained.features(*held_));
    const RecordSet rows = held_->view();
    std::int64_t right = 0;
    for (std::size_t q = 0; q < rows.count; ++q)
        if (answers.labels[q] == rows.labels[q]) right += part_of(whole_person, rows.weight(q));
    const SecretKey own = key("score", run);
    SecretStream bits(own, 0, 0);
    constexpr std::int64_t most = std::int64_t{1} << 61;
    const std::int64_t score = std::clamp(right + selection_.score_noise().draw(bits), -most, most);
    return {score, setting, trained.manifest.digest};
}

std::optional<Outcome> Trials::carry_out_all() {
    const SecretKey own = key("number", 0);
    SecretStream bits(own, 0, 0);
    const std::int64_t runs = selection_.law.draw(bits);
    const Integer settings(static_cast<unsigned long>(selection_.settings.size()));
    std::vector<Outcome> outcomes;
    if (context_.world.is_root()) outcomes = known();
    const std::size_t done = agreed(context_.world, std::vector<std::size_t>{outcomes.size()}).front();
    std::optional<Outcome> best;
    for (std::size_t run = 0; run < static_cast<std::size_t>(runs); ++run) {
        const std::size_t setting = uniform_below(settings, bits).get_ui();
        if (run >= done) train(run, setting);
        if (!context_.world.is_root()) continue;
        if (run >= done) {
            outcomes.push_back(judged(run, setting));
            note(outcomes);
        }
        const std::size_t last = best_;
        if (!best || *best < outcomes[run]) {
            best = outcomes[run];
            best_ = run;
        }
        if (run > 0) fs::remove_all(run_path(best_ == run ? last : run));
    }
    return best;
}

void Trials::keep(const std::optional<Outcome>& best) {
    if (best) {
        Ledger(request_.ledger).record_result(dataset_, token_, best->digest);
        if (!fs::exists(request_.out)) fs::rename(run_path(best_), request_.out);
    }
    clear();
}

/// The key last: a process that finds it goes on with its draws, and no other key meets what was drawn. The
/// folder then loses its name before its files go, so that no process takes the lease of a folder half gone.
void Trials::clear() const {
    remove_all_but({"key", "fingerprint", Lease::file_name});
    destroy_key_file(key_file());
    const std::string removed = path_ + ".removed";
    std::error_code status;
    fs::remove_all(removed, status);  // a killed process may have left it
    fs::rename(path_, removed, status);
    fs::remove_all(status ? path_ : removed, status);
}

/// claim: of whichever was to be chosen, also of what was not.
void print(const Context& context, const TuneRequest& request, const Selection& selection,
           const Guarantee& claim, const std::optional<Outcome>& best) {
    const auto shares = static_cast<double>(whole_person);
    nlohmann::json object = {
        {"chosen", nullptr},
        {"cost", {{"epsilon", shown(selection.epsilon)}, {"delta", shown(selection.delta)}}},
        {"law", selection.law.name()},
        {"mean_runs", selection.law.mean()}};
    const std::string cost = "cost epsilon " + round_up_text(shown(selection.epsilon)) + ", delta " +
                             round_up_text(shown(selection.delta)) +
                             printed(", of those trained on and of those held out (%s law, mean %lld)\n",
                                     selection.law.name(), static_cast<long long>(selection.law.mean()));
    if (!best)
        return context.print(object, std::string("no training was drawn, which a Poisson law does now and "
                                                 "then: nothing is chosen, and all is paid for\n") +
                                         cost);
    const double right = static_cast<double>(best->score) / shares,
                 error = selection.score_noise().sigma() / shares;
    object.update({{"chosen", request.configs[best->setting]},
                   {"setting", best->setting},
                   {"score", {{"right", right}, {"error", error}}},
                   {"run", request.out},
                   {"guarantee", claim.to_json()}});
    const std::string score = printed(
        ": about %.0f +- %.0f persons held out answered rightly; the best of several, so rather too "
        "many (holdfast validate tells)\n",
        right, error);
    context.print(object, "chosen: " + request.configs[best->setting] + score + cost + claim.lines() + "\n" +
                              next_command({"publish", "--run", request.out, "--ledger", request.ledger,
                                            "--out", request.out + "-model.h5"}));
}

void tune(const Context& context, TuneRequest request) {
    while (request.out.size() > 1 && request.out.back() == '/') request.out.pop_back();
    require_ledger(request.ledger);
    const DatasetReader trained(request.data, "train");
    const Selection selection = read_selection(context, request, trained.info());
    Trials trials(context, request, selection);
    if (context.world.is_root()) trials.pay(trained);
    context.world.barrier();
    const std::optional<Outcome> best = trials.carry_out_all();
    if (context.world.is_root()) {
        trials.keep(best);
        print(context, request, selection, claim_about_all(selection, trained.info()), best);
    }
    context.world.barrier();
}

}  // namespace

Run declare_tune(const Command& command) {
    auto request = std::make_shared<TuneRequest>();
    command
        .add_option(
            "--config", request->configs,
            "TOML file of training.kind = \"noisy\", in which every step takes all records; repeated, "
            "2 to 12 times. What it says of noise is replaced by what the total leaves")
        .required()
        .one_at_a_time();
    command
        .add_option(
            "--data", request->data,
            "Dataset FILE: trained on its split train, judged by its split test, both with an account "
            "(holdfast account, and --held)")
        .required();
    command.add_option("--ledger", request->ledger, "The file that pays for all of it before it begins")
        .required();
    command
        .add_option("--out", request->out, "New run folder (0700) of the best, which holdfast publish takes")
        .required();
    command
        .add_option(
            "--epsilon", request->epsilon,
            "What the model, its setting and its score cost together, whatever the number of trainings")
        .required();
    command.add_option("--delta", request->delta, "Beside it").show_default();
    command.add_option("--runs", request->runs, "Trainings on average; 0: as many as settings")
        .show_default();
    command
        .add_option("--law", request->law,
                    "Of their number: poisson (now and then none), logarithmic or geometric (always one or "
                    "more; the best setting is missed more often)")
        .one_of({"poisson", "logarithmic", "geometric"})
        .show_default();
    command.add_option("--set", request->overrides, "section.key=value, over every file; repeatable")
        .one_at_a_time();
    command.add_footer(
        "Each training is of a setting drawn at random. How many there are stays secret, or the cost would "
        "be "
        "higher: it is in no word and no file that leaves, but in the time that passes. So keep to yourself "
        "when it began and ended, let it go on to its end, and publish on a day set beforehand. The same "
        "command goes on after a stop, for nothing more.\n");
    return [request](const Context& context) { tune(context, *request); };
}

}  // namespace holdfast
