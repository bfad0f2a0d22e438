#include "jobs/study/risk/attacked.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <unordered_set>

#include "dist/layout/distribute.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/runs/publication.hpp"
#include "jobs/program/training/train_alone.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"
#include "models/certify/answers.hpp"
#include "models/convex/convex_bounds.hpp"
#include "models/dpal/dpal_training.hpp"
#include "models/fleet/fleet_trainer.hpp"
#include "models/privacy/membership.hpp"

namespace holdfast {
namespace {

constexpr std::size_t fewest = 20;  // persons of either side

/// Every person of these records joins, asked of this member.
void add_persons(const Records& records, std::size_t member, std::size_t members, AskedPersons& all) {
    for (std::size_t first = 0; first < records.size();) {
        std::size_t last = first + 1;
        while (records.rows_of_persons && last < records.size() && records.ids[last] == records.ids[first])
            ++last;
        for (std::size_t row = first; row < last; ++row) all.rows.append_row_of(records, row);
        const std::size_t place = all.size();
        all.starts.push_back(all.rows.size());
        all.own.push_back(members == 1 ? 0 : (member == members ? place % members : member));
        all.other.push_back((all.own.back() + 1 + (members > 1 ? place % (members - 1) : 0)) % members);
        first = last;
    }
}

void require_enough(std::size_t persons, const std::string& which, const std::string& path) {
    if (persons >= fewest) return;
    throw Error(ExitCode::input,
                std::to_string(persons) + " persons " + which + ": of fewer than " + std::to_string(fewest) +
                    " no rate says anything",
                "name more of them", path);
}

/// Whoever is named in both was not held out. Places name nobody: a row number becomes one that no other has.
Records read_held_out(const AttackedRun& attacked, const AskedPersons& trained, const std::string& name) {
    const DatasetReader reader(name, "test");
    const DatasetInfo& info = reader.info();
    if (info.features != attacked.manifest.dataset.features)
        throw Error(ExitCode::input,
                    std::to_string(info.features) + " features, but the run was trained on " +
                        std::to_string(attacked.manifest.dataset.features),
                    "name records of the same table that were not trained on", info.path);
    Records records = reader.read_all();
    require_labels(records, attacked.network.classes(), name);
    if (attacked.settings.training.rows_of_persons())
        weigh_persons(records, static_cast<std::uint64_t>(attacked.settings.training.rows_at_most),
                      info.path);
    if (info.ids == IdKind::row_number) {
        for (std::uint64_t& id : records.ids) id ^= std::uint64_t{1} << 63;
        return records;
    }
    const std::unordered_set<std::uint64_t> known(trained.rows.ids.begin(), trained.rows.ids.end());
    for (const std::uint64_t id : records.ids) {
        if (known.contains(id))
            throw Error(ExitCode::input, "somebody who was trained on is among those held out",
                        "name records that the training did not see", name);
    }
    return records;
}

/// Of a member's, how large the share of a shadow's is.
double share_of_shadow(const AttackedRun& attacked, const AskedPersons& persons, std::size_t shadow) {
    return static_cast<double>(shadow * attacked.members.size()) / static_cast<double>(persons.trained);
}

/// One member at a point, of fewer records: what a step divides by, the most of them that it takes and the
/// noise in the same proportion; its rate as far as that allows.
Settings settings_of_shadow(const AttackedRun& attacked, double share) {
    Settings settings = attacked.settings;
    std::int64_t& expected = settings.training.expected_records;
    if (expected > 0)
        expected = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(expected) /
                                                          static_cast<double>(attacked.members.size())));
    settings.ensemble.members = 1;
    settings.certificate.levels = 0;
    settings.certificate.level_list.clear();
    settings.noise.multiplier *= share;
    if (settings.training.kind == "convex") {
        std::int64_t& most = settings.convex.most_records;
        most = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(most)));
        double& rate = settings.training.learning_rate;
        rate = std::min(rate, ConvexBounds(settings, attacked.features).largest_learning_rate());
    }
    return settings;
}

/// What boxes cannot train, side by side with nobody.
std::vector<std::int64_t> trained_without_clip(const TrainingPlan& plan, const Records& records) {
    const FleetTrainer trainer(plan, records, {nothing_left_out});
    const auto pass =
        make_models_pass("cpu", plan.settings.training.precision, plan.network.shape(), plan.settings.clip);
    return *trainer.train(0, 1, *pass, nullptr);
}

}  // namespace

AttackedRun AttackedRun::open(const std::string& path) {
    if (std::filesystem::is_regular_file(path))
        throw Error(ExitCode::input, "a file, not a run: a model alone does not say whom it was trained on",
                    "name the run that it was published of, and its data", path);
    const auto refuse_numbers = [&](const Network& network) {
        if (network.is_regression())
            throw Error(ExitCode::usage, "a regression has no class whose confidence is attacked",
                        "holdfast evaluate compares its errors; attacks are on classifiers", path);
    };
    if (is_fleet(path)) {
        FinishedFleet fleet = FinishedFleet::open(path);
        refuse_numbers(fleet.networks.network());
        return {fleet.folder,
                fleet.manifest,
                fleet.networks.settings(),
                fleet.networks.features(),
                fleet.networks.network(),
                {fleet.networks.nominal()},
                std::nullopt,
                std::move(fleet)};
    }
    FinishedRun run = FinishedRun::open(path);
    if (run.settings.is_dpal()) refuse_dpal();
    refuse_numbers(run.network);
    return {run.folder,  run.manifest,    run.settings,   run.features,
            run.network, members_of(run), std::move(run), std::nullopt};
}

Records AskedPersons::rows_of(const std::vector<std::size_t>& persons) const {
    Records chosen = rows.none();
    for (const std::size_t person : persons)
        for (std::size_t row = starts[person]; row < starts[person + 1]; ++row)
            chosen.append_row_of(rows, row);
    return chosen;
}

Records AskedPersons::first_rows_of(const std::vector<std::size_t>& persons) const {
    Records chosen = rows.none();
    for (const std::size_t person : persons) chosen.append_row_of(rows, starts[person]);
    return chosen;
}

AskedPersons read_persons(const AttackedRun& attacked, const DatasetReader& reader,
                          const std::string& held_out) {
    const auto alone = make_serial_communicator();
    const std::size_t members = attacked.members.size();
    std::vector<std::size_t> each(members);
    std::iota(each.begin(), each.end(), 0);
    Distributed dealt = distribute(reader, ProcessGrid(*alone, "auto", members, 1), *alone,
                                   {members, each, attacked.network.classes(),
                                    static_cast<std::uint64_t>(attacked.settings.training.seed)});
    require_trained_on(attacked.manifest.dataset, dealt.all.hex(*alone), reader.info());
    AskedPersons persons;
    persons.rows = dealt.held.front().records.none();
    for (const MemberRecords& held : dealt.held) add_persons(held.records, held.member, members, persons);
    persons.trained = persons.size();
    require_enough(persons.trained, "trained on", reader.info().path);
    if (held_out.empty()) return persons;
    const Records others = read_held_out(attacked, persons, held_out);
    if (others.features.wide() != persons.rows.features.wide())
        throw Error(ExitCode::input, "features of another precision than those trained on",
                    "import both tables alike", held_out);
    add_persons(others, members, members, persons);
    require_enough(persons.held_out(), "held out", held_out);
    return persons;
}

Said said_of(const AttackedRun& attacked, const std::vector<std::int64_t>& parameters, const Records& mapped,
             const std::vector<std::size_t>& starts) {
    constexpr std::size_t panel = 4096;
    const auto backend = make_backend("cpu", attacked.settings.training.arithmetic(), Product::exact, 0);
    std::vector<double> confidence, right;  // of rows
    for (std::size_t first = 0; first < mapped.size(); first += panel) {
        const std::size_t last = std::min(first + panel, mapped.size());
        const Answers answers =
            answers_of(attacked.network, *backend, parameters, part_of(mapped, first, last));
        const std::size_t outputs = attacked.network.outputs();
        for (std::size_t row = first; row < last; ++row) {
            const std::int32_t label = mapped.labels[row];
            confidence.push_back(
                logit_of_confidence(std::span(answers.logits).subspan((row - first) * outputs, outputs),
                                    static_cast<std::size_t>(label)));
            right.push_back(answers.labels[row - first] == label ? 1 : 0);
        }
    }
    const auto means = [&](const std::vector<double>& of_rows) {
        std::vector<double> found;
        for (std::size_t person = 0; person + 1 < starts.size(); ++person) {
            const auto begin = of_rows.begin() + static_cast<std::ptrdiff_t>(starts[person]),
                       end = of_rows.begin() + static_cast<std::ptrdiff_t>(starts[person + 1]);
            found.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
        }
        return found;
    };
    return {means(confidence), means(right)};
}

std::size_t shadow_parts(const AttackedRun& attacked, const AskedPersons& persons) {
    const double share = static_cast<double>(persons.size()) / static_cast<double>(persons.trained);
    return std::max<std::size_t>(
        2, static_cast<std::size_t>(std::llround(share * static_cast<double>(attacked.members.size()))));
}

Shadow train_shadow(const AttackedRun& attacked, const AskedPersons& persons, const Records& public_records,
                    std::size_t number, const std::string& folder) {
    // 1. Whom it gets: a part of all, in an order that is another in every round.
    const std::size_t parts = shadow_parts(attacked, persons);
    const KeyedHash hash{static_cast<std::uint64_t>(attacked.settings.training.seed)};
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t person = 0; person < persons.size(); ++person)
        order.emplace_back(hash(streams::shadow_parts(number / parts), person), person);
    std::sort(order.begin(), order.end());
    Shadow shadow{std::vector<char>(persons.size(), 0), {}};
    for (std::size_t place = number % parts; place < order.size(); place += parts)
        shadow.had[order[place].second] = 1;
    std::vector<std::size_t> chosen;
    for (std::size_t person = 0; person < persons.size(); ++person)
        if (shadow.had[person] != 0) chosen.push_back(person);

    // 2. The same training of them.
    const Settings settings = settings_of_shadow(attacked, share_of_shadow(attacked, persons, chosen.size()));
    const DatasetFacts& facts = attacked.manifest.dataset;
    const TrainingPlan plan =
        make_plan(settings, {facts.features, facts.range, chosen.size(), public_records.size()},
                  make_backend("cpu", settings.training.arithmetic(), settings.certificate.product, 0));
    Records records = as_trained(persons.rows_of(chosen), settings, attacked.features, facts.target_range);
    if (settings.clip.kind == Clip::Kind::none) {
        shadow.parameters = trained_without_clip(plan, records);
        return shadow;
    }
    const RunFolder run = RunFolder::create(folder, false);
    std::vector<MemberRecords> members;
    members.push_back({0, std::move(records)});
    train_alone(plan, std::move(members), public_records, SecretKey::known_to_all(number), run);
    std::vector<std::int64_t> upper;
    BoxesReader(run).read(0, 0, shadow.parameters, upper);
    std::filesystem::remove_all(folder);
    return shadow;
}

}  // namespace holdfast
