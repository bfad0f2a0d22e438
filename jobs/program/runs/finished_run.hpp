#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dist/layout/distribute.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/program/context.hpp"
#include "jobs/program/queries.hpp"
#include "jobs/program/runs/run_settings.hpp"
#include "models/kinds/certificate.hpp"
#include "models/privacy/aggregate.hpp"
#include "models/privacy/evidence_table.hpp"
#include "models/training/settings.hpp"

namespace holdfast {

/// A run that training finished, as certify, evaluate and release need it.
struct FinishedRun {
    RunFolder folder;
    RunManifest manifest;
    Settings settings;
    RunSettings how;      ///< as it was trained
    FeatureMap features;  ///< before the network
    Network network;
    std::unique_ptr<Certificate> certificate;  ///< of the manifest's kind

    /// Errors (input): no finished run; a manifest that is damaged or of a newer format; what its kind needs
    /// is not there.
    static FinishedRun open(const std::string& path);
    std::optional<Schema> schema() const;  ///< of the tables it answers about
    QueryForm form() const { return {features, schema()}; }
    std::size_t members() const { return static_cast<std::size_t>(settings.ensemble.members); }
    std::size_t classes() const { return network.classes(); }
    Aggregation aggregation() const { return aggregation_from_name(settings.ensemble.aggregate); }
    const std::vector<std::int64_t>& levels() const { return certificate->levels(); }
    std::int64_t cap() const { return certificate->cap(); }  ///< of one member
    /// What it was trained by, as a digest: public, and the same whatever the private records were. The
    /// manifest's digest is that of the result: whether two runs came to the same tells of the records.
    std::string public_name() const;
};

/// The records of every member as its training saw them. Every rank reads for itself. Error (usage): other
/// records, or read otherwise.
std::vector<MemberRecords> records_as_trained(const FinishedRun& run, const DatasetReader& reader);

/// Lets the distances rest on the records that the run was trained on, where that proves more, for their
/// owner, of up to so many changes: of how many, of the member it says most of. Errors: as
/// records_as_trained().
std::size_t learn_from_records(const FinishedRun& run, const DatasetReader& reader, std::size_t most);

/// Certificates of every member for all queries, on every rank. Collective: members and queries are shared
/// out.
std::vector<Certificates> certify_members(const Context& context, const FinishedRun& run,
                                          const Records& queries, Asker asker);

/// The same with one answer a question. Error (usage): means of a kind of training without boxes.
std::vector<Certificates> certify_members(const Context& context, const FinishedRun& run,
                                          const Questions& questions, Asker asker);

/// What a mechanism can be fed with, from single models or the ensemble. Public.
AvailableEvidence available_evidence(const FinishedRun& run, bool ensemble);

/// What a mechanism may look at, for one query: of a single member, whose certificates know how many classes
/// there are, and of the ensemble.
Evidence evidence_of(const FinishedRun& run, const Certificates& member, std::size_t query);
Evidence evidence_of(const FinishedRun& run, const std::vector<Certificates>& members, std::size_t query);

/// The ensemble's evidence of every query.
std::vector<Evidence> ensemble_evidence(const FinishedRun& run, const std::vector<Certificates>& members);
/// Every member's, one after another; truth: [queries], must outlive it.
EvidenceTable single_evidence(const FinishedRun& run, const std::vector<Certificates>& members,
                              const std::vector<std::int32_t>& truth);

/// The largest distance the ensemble (or the single model) can have: public.
std::int64_t distance_cap(const FinishedRun& run, bool ensemble);

/// The levels that tables of the members' distances show: those asked for in the configuration, and as many
/// more as the farthest distance needs, where there are more.
std::vector<std::int64_t> shown_levels(const FinishedRun& run, const std::vector<Certificates>& members);

/// How many distances are 0, 1, …, most; larger ones count as `most`. [most + 1]
std::vector<std::int64_t> distance_counts(const std::vector<std::int64_t>& distances, std::int64_t most);
std::vector<std::int64_t> distance_counts(const std::vector<Certificates>& members, std::int64_t most);

/// Of counts, the fractions with distance >= k, for every k of them.
std::vector<double> certified_fractions(const std::vector<std::int64_t>& counts);

/// Called with the level and the lower ends of each box of a run, member by member.
using SeenBox = std::function<void(std::size_t level, const std::vector<std::int64_t>& lower)>;
/// The digest of all parameters and boxes of a run, as its training made it.
std::string digest_of_boxes(const RunFolder& run, const SeenBox& see = {});
/// Error (input): the boxes are not those that manifest.json names.
void require_boxes(const FinishedRun& run, const SeenBox& see = {});

/// May results be stored in the folder? Where it is read-only the log says so, and they are only printed.
bool stores_results(const Context& context, const RunFolder& run);

}  // namespace holdfast
