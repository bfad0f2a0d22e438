#include "jobs/program/runs/finished_run.hpp"

#include <omp.h>
#include <spdlog/logger.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "dist/files/digest.hpp"
#include "dist/layout/distribute.hpp"
#include "dist/layout/process_grid.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "jobs/program/transport.hpp"
#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "models/nets/public_model.hpp"

namespace holdfast {
namespace {

// A message of certificates: [member, first query, labels, distances, class distances], all int64.
std::vector<std::int64_t> packed(std::size_t member, std::size_t first, const Certificates& part) {
    std::vector<std::int64_t> words{static_cast<std::int64_t>(member), static_cast<std::int64_t>(first),
                                    static_cast<std::int64_t>(part.labels.size()),
                                    static_cast<std::int64_t>(part.class_distances.size())};
    words.insert(words.end(), part.labels.begin(), part.labels.end());
    words.insert(words.end(), part.distances.begin(), part.distances.end());
    words.insert(words.end(), part.class_distances.begin(), part.class_distances.end());
    return words;
}

void unpack(std::span<const std::int64_t> words, std::size_t classes, std::vector<Certificates>& members) {
    std::size_t at = 0;
    while (at < words.size()) {
        Certificates& member = members[static_cast<std::size_t>(words[at])];
        const auto first = static_cast<std::size_t>(words[at + 1]),
                   queries = static_cast<std::size_t>(words[at + 2]),
                   class_values = static_cast<std::size_t>(words[at + 3]);
        at += 4;
        for (std::size_t q = 0; q < queries; ++q) {
            member.labels[first + q] = static_cast<std::int32_t>(words[at + q]);
            member.distances[first + q] = words[at + queries + q];
        }
        at += 2 * queries;
        for (std::size_t i = 0; i < class_values; ++i)
            member.class_distances[first * classes + i] = words[at + i];
        at += class_values;
    }
}

std::span<const std::int64_t> class_distances_of(const Certificates& member, std::size_t classes,
                                                 std::size_t query) {
    return std::span(member.class_distances).subspan(query * classes, classes);
}

/// What the ensemble is told; of two classes, the class distances say nothing new, but where queries move: a
/// member may then turn for nothing.
MemberAnswer answer_of(const FinishedRun& run, const Certificates& member, std::size_t query) {
    MemberAnswer answer{member.labels[query], member.distances[query], {}};
    if (run.classes() == 2 && !run.certificate->moves_queries()) return answer;
    const std::span<const std::int64_t> costs = class_distances_of(member, run.classes(), query);
    answer.class_distances.assign(costs.begin(), costs.end());
    return answer;
}

}  // namespace

FinishedRun FinishedRun::open(const std::string& path) {
    const RunFolder folder = RunFolder::open(path);
    const RunManifest manifest = RunManifest::read(folder);
    if (manifest.kind == "fleet")
        throw Error(ExitCode::input, "a leave-one-out fleet, which certifies nothing by itself",
                    "name a run of holdfast train", folder.file("manifest.json"));
    try {
        const Kind& kind = kind_named(manifest.kind);
        auto [settings, how] = configuration_from_json(manifest.configuration);
        settings.features = settings.features.kept_in(folder.path());
        settings.network = settings.network.kept_in(folder.path());
        FeatureMap features = settings.feature_map(manifest.dataset.features, manifest.dataset.range);
        Network network = settings.network.make(features);
        return {folder,
                manifest,
                settings,
                how,
                std::move(features),
                std::move(network),
                kind.certificate(folder, manifest, settings, how.backend)};
    } catch (const Error& error) {
        if (error.code() == ExitCode::input && !error.where().empty()) throw;
        // Of settings that this program does not know or would refuse, and of other kinds.
        const bool settings = error.code() == ExitCode::usage;
        throw Error(
            ExitCode::input, (settings ? "not a configuration of this program: " : "") + error.message(),
            settings ? "the file was changed, or a newer program wrote it: train again" : error.hint(),
            folder.file("manifest.json"));
    }
}

AvailableEvidence available_evidence(const FinishedRun& run, bool ensemble) {
    return {.classes = static_cast<int>(run.classes()),
            .votes = ensemble,
            .class_distances = !ensemble || run.aggregation() != Aggregation::paper,
            .sparse_levels = !run.settings.certificate.contiguous_levels()};
}

std::optional<Schema> FinishedRun::schema() const {
    return kept_schema(manifest.dataset.schema, folder.file("manifest.json"));
}

std::string FinishedRun::public_name() const {
    Settings named = settings;
    named.features.prefix.clear();  // a model is named by its digest, wherever the file lies
    if (names_model(named.network.initial)) named.network.initial.clear();
    nlohmann::json rest = {manifest.public_records.digest, manifest.dataset.range.low,
                           manifest.dataset.range.high, manifest.program, manifest.version};
    if (const std::string& order = manifest.public_records.order; !order.empty()) rest.push_back(order);
    return StreamDigest::of(deciding_settings(named) + rest.dump());
}

std::vector<MemberRecords> records_as_trained(const FinishedRun& run, const DatasetReader& reader) {
    const auto alone = make_serial_communicator();
    std::vector<std::size_t> members(run.members());
    std::iota(members.begin(), members.end(), 0);
    Distributed all = distribute(
        reader, ProcessGrid(*alone, "auto", members.size(), 1), *alone,
        {members.size(), members, run.classes(), static_cast<std::uint64_t>(run.settings.training.seed)});
    require_trained_on(run.manifest.dataset, all.all.hex(*alone), reader.info());
    for (MemberRecords& member : all.held)
        member.records = as_trained(std::move(member.records), run.settings, run.features,
                                    run.manifest.dataset.target_range);
    return std::move(all.held);
}

std::size_t learn_from_records(const FinishedRun& run, const DatasetReader& reader, std::size_t most) {
    if (!run.certificate->learns_from_records()) return 0;
    std::size_t known = 0;
    for (const MemberRecords& member : records_as_trained(run, reader))
        known = std::max(known, run.certificate->set_records(member.member, member.records, most));
    return known;
}

std::vector<Certificates> certify_members(const Context& context, const FinishedRun& run,
                                          const Records& queries, Asker asker) {
    if (run.network.is_regression())
        throw Error(ExitCode::usage, "the run is a regression: it has no labels, and no distances of them",
                    "holdfast certify gives the intervals of its predictions, evaluate its certified loss",
                    run.folder.path());
    if (run.how.threads > 0) omp_set_num_threads(static_cast<int>(run.how.threads));
    const ProcessGrid grid(context.world, "auto", run.members(), 1);
    const auto [first_member, last_member] = grid.members();
    const std::size_t first = queries.size() * grid.block() / grid.blocks(),
                      last = queries.size() * (grid.block() + 1) / grid.blocks();
    const Records mine = run.features(part_of(queries, first, last));
    std::vector<Certificates> parts = run.certificate->distances_of(
        first_member, last_member, mine, asker, choose_device(run.how.backend, context.world));
    if (context.world.size() == 1) return parts;

    std::vector<std::int64_t> message;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::vector<std::int64_t> words = packed(first_member + i, first, parts[i]);
        message.insert(message.end(), words.begin(), words.end());
    }
    std::vector<Certificates> members(
        run.members(),
        Certificates{std::vector<std::int32_t>(queries.size()), std::vector<std::int64_t>(queries.size()),
                     std::vector<std::int64_t>(queries.size() * run.classes())});
    unpack(gathered(context.world, message), run.classes(), members);
    return members;
}

std::vector<Certificates> certify_members(const Context& context, const FinishedRun& run,
                                          const Questions& questions, Asker asker) {
    if (questions.unit != AnswerUnit::mean) {
        std::vector<Certificates> members = certify_members(context, run, questions.rows, asker);
        if (questions.unit == AnswerUnit::row) return members;
        for (Certificates& member : members)
            member = votes_of_persons(member, questions.starts, run.classes(), run.levels().size());
        return members;
    }
    const auto [first, last] = share_of(context.world, questions.rows.size());
    const Records mine = run.features(part_of(questions.rows, first, last));
    std::optional<Records> all;
    const int device = choose_device(run.how.backend, context.world);
    std::vector<Certificates> members;
    for (std::size_t member = 0; member < run.members(); ++member) {
        MeansOfPersons boxes(run.network, questions.starts);
        const bool has_boxes = run.certificate->output_bounds(
            member, mine, device, [&](std::size_t, const OutputBounds& bounds) {
                boxes.add_level(
                    {gathered(context.world, bounds.lower), gathered(context.world, bounds.upper)});
            });
        if (has_boxes) {
            members.push_back(boxes.certificates());
            continue;
        }
        // Of all rows on every rank: it is little.
        if (!all) all = run.features(part_of(questions.rows, 0, questions.rows.size()));
        std::optional<Certificates> means = run.certificate->means(member, *all, questions.starts, device);
        if (!means)
            throw Error(
                ExitCode::usage, "no boxes bound the mean of a person's rows in this kind of training",
                "give --answer vote, or one row a person: holdfast import --aggregate mean", "--answer");
        members.push_back(std::move(*means));
    }
    return members;
}

Evidence evidence_of(const FinishedRun& run, const Certificates& member, std::size_t query) {
    const std::size_t classes = member.class_distances.size() / member.labels.size();
    Evidence evidence;
    evidence.classes = static_cast<int>(classes);
    evidence.label = member.labels[query];
    evidence.distance = member.distances[query];
    evidence.cap = run.cap();
    evidence.sparse_distance = run.levels()[static_cast<std::size_t>(member.distances[query])];
    const std::span<const std::int64_t> costs = class_distances_of(member, classes, query);
    evidence.class_distances.assign(costs.begin(), costs.end());
    return evidence;
}

Evidence evidence_of(const FinishedRun& run, const std::vector<Certificates>& members, std::size_t query) {
    std::vector<MemberAnswer> answers;
    for (const Certificates& member : members) answers.push_back(answer_of(run, member, query));
    return aggregate(answers, static_cast<int>(run.classes()), run.cap(), run.aggregation());
}

std::vector<Evidence> ensemble_evidence(const FinishedRun& run, const std::vector<Certificates>& members) {
    constexpr std::size_t most = 16;  // queries that are neighbours in memory: members are gone through once
    const std::size_t classes = run.classes(), queries = members.front().labels.size();
    std::vector<std::vector<MemberAnswer>> answers(most, std::vector<MemberAnswer>(members.size()));
    std::vector<Evidence> all;
    all.reserve(queries);
    for (std::size_t first = 0; first < queries; first += most) {
        const std::size_t count = std::min(most, queries - first);
        for (std::size_t m = 0; m < members.size(); ++m) {
            for (std::size_t i = 0; i < count; ++i) answers[i][m] = answer_of(run, members[m], first + i);
        }
        for (std::size_t i = 0; i < count; ++i)
            all.push_back(aggregate(answers[i], static_cast<int>(classes), run.cap(), run.aggregation()));
    }
    return all;
}

EvidenceTable single_evidence(const FinishedRun& run, const std::vector<Certificates>& members,
                              const std::vector<std::int32_t>& truth) {
    const std::size_t classes = run.classes();
    EvidenceTable table(static_cast<int>(classes), truth);
    std::vector<std::int64_t> words(2 + classes);
    for (const Certificates& member : members) {
        const auto key = [&](std::size_t q) {
            words[0] = member.labels[q];
            words[1] = member.distances[q];
            std::ranges::copy(class_distances_of(member, classes, q), words.begin() + 2);
            return std::span<const std::int64_t>(words);
        };
        table.add_model(key, [&](std::size_t q) { return evidence_of(run, member, q); });
    }
    return table;
}

std::int64_t distance_cap(const FinishedRun& run, bool ensemble) {
    return ensemble ? ensemble_cap(run.settings.ensemble.members, run.cap()) : run.cap();
}

std::vector<std::int64_t> shown_levels(const FinishedRun& run, const std::vector<Certificates>& members) {
    std::size_t count = run.settings.certificate.level_values().size();
    for (const Certificates& member : members) {
        for (const std::int64_t distance : member.distances)
            count = std::max(count, static_cast<std::size_t>(distance) + 1);
    }
    return {run.levels().begin(),
            run.levels().begin() + static_cast<std::ptrdiff_t>(std::min(count, run.levels().size()))};
}

std::vector<std::int64_t> distance_counts(const std::vector<std::int64_t>& distances, std::int64_t most) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(most) + 1, 0);
    for (const std::int64_t distance : distances)
        ++counts[static_cast<std::size_t>(std::min(distance, most))];
    return counts;
}

std::vector<std::int64_t> distance_counts(const std::vector<Certificates>& members, std::int64_t most) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(most) + 1, 0);
    for (const Certificates& member : members) {
        const std::vector<std::int64_t> own = distance_counts(member.distances, most);
        for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += own[k];
    }
    return counts;
}

std::vector<double> certified_fractions(const std::vector<std::int64_t>& counts) {
    std::vector<double> fractions(counts.size());
    std::int64_t so_far = 0;
    for (std::size_t k = counts.size(); k-- > 0;) fractions[k] = static_cast<double>(so_far += counts[k]);
    for (double& fraction : fractions) fraction /= std::max<double>(1.0, static_cast<double>(so_far));
    return fractions;
}

std::string digest_of_boxes(const RunFolder& run, const SeenBox& see) {
    const BoxesReader reader(run);
    StreamDigest digest;
    std::vector<std::int64_t> lower, upper;
    for (std::size_t member = 0; member < reader.members(); ++member) {
        for (std::size_t level = 0; level < reader.levels().size(); ++level) {
            reader.read(member, level, lower, upper);
            digest.add_values(std::span<const std::int64_t>(lower));
            digest.add_values(std::span<const std::int64_t>(upper));
            if (see) see(level, lower);
        }
    }
    return digest.hex();
}

void require_boxes(const FinishedRun& run, const SeenBox& see) {
    if (digest_of_boxes(run.folder, see) != run.manifest.digest)
        throw Error(ExitCode::input, "holds other parameters than manifest.json says",
                    "the folder was changed since it was written: train again", run.folder.file("boxes.h5"));
}

bool stores_results(const Context& context, const RunFolder& run) {
    if (::access(run.path().c_str(), W_OK) == 0) return true;
    context.log->warn("{}: {}: the results are printed, and not stored", run.path(), std::strerror(errno));
    return false;
}

}  // namespace holdfast
