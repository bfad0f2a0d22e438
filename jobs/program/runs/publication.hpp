#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobs/program/context.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/noise/output_noise.hpp"

namespace holdfast {

/// What a publication may cost.
struct PublicationTerms {
    Rational epsilon, delta;
};

/// Parameters that may leave the house, and what the ledger was charged for them.
struct PaidParameters {
    std::vector<std::int64_t> parameters;  ///< parameter units
    LedgerPayment payment;
};

/// The point that each member came to, in parameter units. Error (input): it is not what the manifest names.
std::vector<std::vector<std::int64_t>> members_of(const FinishedRun& run);
/// The one point that the run came to: of several members their average, each entry rounded down. Errors: as
/// members_of.
std::vector<std::int64_t> parameters_of(const FinishedRun& run);
/// For the owner: what these parameters, of a run of one member, give for queries, [queries, outputs]; empty:
/// of several members, whose votes have no logits. Errors: as parameters_of.
std::vector<double> nominal_logits(const FinishedRun& run, const Records& queries);

/// The noise that its parameters get for these terms. Error (usage): none serves.
OutputNoise publication_noise(const FinishedRun& run, const Rational& sensitivity,
                              const PublicationTerms& terms);

/// For the owner: what parameters that `holdfast publish` gives noise for these terms would get right of
/// labelled queries, the mean over `noises_tried` noises of keys that everybody knows, so that it is the same
/// every time; nothing, where no noise serves. `sensitivity`: as of noisy_parameters. Errors: as
/// parameters_of.
std::optional<double> published_accuracy(const FinishedRun& run, const Rational& sensitivity,
                                         const PublicationTerms& terms, const Records& queries);

inline constexpr int noises_tried = 20;

/// The parameters of a run, that one record moves by at most `sensitivity` (of a member, in the 2-norm and in
/// parameter units), with the noise that these terms ask for: charged once before it is drawn from a key
/// of its own, noted in the ledger, kept in the run folder; then the key is destroyed. After a crash the same
/// call goes on to the same bytes for nothing more; once they are kept it gives them again. Other terms are
/// another publication, with a key and a charge of its own. `out` is where they are to go: something else
/// there is an Error (output) before anything is charged. Errors (usage): no release may rest on the run, no
/// noise serves; as check_payer; (budget) the charge does not fit, or the ledger was not charged for what is
/// kept. On rank 0.
///   publication-0123456789abcdef.key   while it is drawn: named by the terms and the run
///   publication-0123456789abcdef.h5    a model file
PaidParameters noisy_parameters(const Context& context, const FinishedRun& run, const Rational& sensitivity,
                                const PublicationTerms& terms, const std::string& ledger,
                                const std::string& out);

}  // namespace holdfast
