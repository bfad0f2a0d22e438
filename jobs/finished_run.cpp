#include "jobs/finished_run.hpp"

#include <omp.h>

#include <algorithm>

#include "dist/layout/process_grid.hpp"
#include "jobs/configuration.hpp"
#include "jobs/queries.hpp"
#include "jobs/transport.hpp"
#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"

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

}  // namespace

FinishedRun FinishedRun::open(const std::string& path) {
    const RunFolder folder = RunFolder::open(path);
    const RunManifest manifest = RunManifest::read(folder);
    try {
        const Kind& kind = kind_named(manifest.kind);
        auto [settings, how] = configuration_from_json(manifest.configuration);
        settings.features = settings.features.kept_in(folder.path());
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

std::vector<Certificates> certify_members(const Context& context, const FinishedRun& run,
                                          const Records& queries, Asker asker) {
    if (run.how.threads > 0) omp_set_num_threads(static_cast<int>(run.how.threads));
    const ProcessGrid grid(context.world, "auto", run.members(), 1);
    const std::size_t first = queries.size() * grid.block() / grid.blocks(),
                      last = queries.size() * (grid.block() + 1) / grid.blocks();
    const Records mine = run.features(part_of(queries, first, last));
    const int device = choose_device(run.how.backend, context.world);
    std::vector<std::int64_t> message;
    for (std::size_t member = grid.members().first; member < grid.members().last; ++member) {
        const Certificates part = run.certificate->distances(member, mine, asker, device);
        const std::vector<std::int64_t> words = packed(member, first, part);
        message.insert(message.end(), words.begin(), words.end());
    }
    std::vector<Certificates> members(
        run.members(),
        Certificates{std::vector<std::int32_t>(queries.size()), std::vector<std::int64_t>(queries.size()),
                     std::vector<std::int64_t>(queries.size() * run.classes())});
    unpack(gathered(context.world, message), run.classes(), members);
    return members;
}

Evidence evidence_of(const FinishedRun& run, const Certificates& member, std::size_t query) {
    Evidence evidence;
    evidence.classes = static_cast<int>(run.classes());
    evidence.label = member.labels[query];
    evidence.distance = member.distances[query];
    evidence.cap = run.cap();
    evidence.sparse_distance = run.levels()[static_cast<std::size_t>(member.distances[query])];
    const auto first = member.class_distances.begin() + static_cast<std::ptrdiff_t>(query * run.classes());
    evidence.class_distances.assign(first, first + static_cast<std::ptrdiff_t>(run.classes()));
    return evidence;
}

Evidence evidence_of(const FinishedRun& run, const std::vector<Certificates>& members, std::size_t query) {
    std::vector<MemberAnswer> answers;
    for (const Certificates& member : members) {
        const Evidence single = evidence_of(run, member, query);
        answers.push_back({single.label, single.distance,
                           run.classes() > 2 ? single.class_distances : std::vector<std::int64_t>()});
    }
    return aggregate(answers, static_cast<int>(run.classes()), run.cap(), run.aggregation());
}

std::int64_t distance_cap(const FinishedRun& run, bool ensemble) {
    return ensemble ? ensemble_cap(run.settings.ensemble.members, run.cap()) : run.cap();
}

std::vector<double> certified_fractions(const std::vector<std::int64_t>& distances, std::int64_t most) {
    std::vector<double> fractions(static_cast<std::size_t>(most) + 1, 0.0);
    for (const std::int64_t distance : distances)
        fractions[static_cast<std::size_t>(std::min(distance, most))] += 1;
    for (std::size_t k = fractions.size() - 1; k-- > 0;) fractions[k] += fractions[k + 1];
    for (double& fraction : fractions)
        fraction /= std::max<double>(1.0, static_cast<double>(distances.size()));
    return fractions;
}

}  // namespace holdfast
