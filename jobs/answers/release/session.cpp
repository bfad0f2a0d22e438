#include <nlohmann/json.hpp>
#include "jobs/answers/release/release.hpp"
#include "jobs/program/build_info.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

SessionTerms asked_terms(const ReleaseRequest& request) {
    return session_terms(decimal_value(request.epsilon, "--epsilon"), decimal_value(request.delta, "--delta"),
                         request.refusals, request.answers);
}

/// One that is open keeps its terms: what is given beside its name must be they.
void require_same(const ReleaseRequest& request, const SessionTerms& terms) {
    if (request.epsilon == 0) return;
    const SessionTerms asked = asked_terms(request);
    if (asked.epsilon() == terms.epsilon() && asked.delta == terms.delta && asked.refusals == terms.refusals)
        return;
    throw Error(
        ExitCode::usage,
        "the session '" + request.session + "' is open at epsilon " + decimal_text(terms.epsilon()) +
            ", delta " + decimal_text(terms.delta) + ", " + std::to_string(terms.refusals) + " refusals",
        "leave --epsilon, --delta and --refusals out, or open another under a name of its own", "--session");
}

/// What was said of the queries at opening is in the claim that was paid for.
void require_same_saying(const ReleaseRequest& request, const SessionState& state) {
    const bool said = nlohmann::json::parse(state.parameters).value("queries_are_public", false);
    if (said == request.public_queries) return;
    throw Error(ExitCode::usage,
                "the session '" + request.session + "' was opened " + (said ? "with" : "without") +
                    " --queries-are-public, and all its claims rest on that: nothing was charged",
                std::string(said ? "give it again" : "leave it out") +
                    ", or open another session under a name of its own",
                "--queries-are-public");
}

Guarantee session_guarantee(const SessionTerms& terms, const std::string& relation) {
    Guarantee claim = Guarantee::proved(
        "all answers and refusals of a session, however many, are together (" +
            decimal_text(terms.epsilon()) + ", " + decimal_text(terms.delta) +
            ")-differentially private; it ends at the refusal number " + std::to_string(terms.refusals),
        relation);
    claim.require(nested_distances);
    claim.require(unseen_threshold);
    return claim;
}

SessionOpening opening_of(const Release& release, const SessionTerms& terms) {
    const Guarantee claim =
        claim_of(release, session_guarantee(terms, name_of(release.run.settings.certificate.relation)));
    const nlohmann::json parameters = {{"kind", "session"},
                                       {"name", release.request.session},
                                       {"epsilon_of_threshold", shown(terms.epsilon_one)},
                                       {"epsilon_of_refusals", shown(terms.epsilon_two)},
                                       {"width", terms.width},
                                       {"refusals", terms.refusals},
                                       {"queries_are_public", release.request.public_queries}};
    return {release.request.session,
            release.run.public_name(),
            "holdfast " + program_identity(),
            {"", terms.epsilon(), terms.delta, {}, "session", parameters.dump(), claim.to_json().dump()}};
}

/// The terms of the session that is there, or that are asked for. Error (usage): neither.
SessionTerms terms_of(const Release& release, const Ledger& ledger) {
    const ReleaseRequest& request = release.request;
    if (const auto state = ledger.session(release.dataset(), request.session)) {
        require_same(request, state->terms);
        require_same_saying(request, *state);
        return state->terms;
    }
    if (request.epsilon == 0)
        throw Error(ExitCode::usage, "no session '" + request.session + "' is open",
                    "open it: give --epsilon and --delta once", "--session");
    return asked_terms(request);
}

nlohmann::json as_json(const std::string& name, const SessionState& state, std::int64_t unanswered) {
    return {{"name", name},
            {"epsilon", shown(state.terms.epsilon())},
            {"delta", shown(state.terms.delta)},
            {"refused", state.refused},
            {"refusals", state.terms.refusals},
            {"ended", state.ended()},
            {"unanswered", unanswered}};
}

}  // namespace

Answered answer_in_session(const Release& release, Ledger& ledger, RandomBits& bits) {
    const std::string& name = release.request.session;
    const SessionTerms terms = terms_of(release, ledger);
    mechanism_for(release, "ptr", 1, 0.5);  // fed from the same distance: what cannot answer says so here
    const SessionLaw law(terms);
    const SessionOpening opening = opening_of(release, terms);
    const bool charged = ledger.open_session(release.dataset(), opening, law, bits).charged;
    Answered answered;
    answered.answers = ledger.answer_in_session(
        release.dataset(), opening, release.digests, law,
        [&](std::span<const std::size_t> paid) { return release.evidence.of(paid); }, bits);
    std::int64_t fresh = 0, unanswered = 0;
    for (const std::optional<LedgerAnswer>& answer : answered.answers) {
        unanswered += answer ? 0 : 1;
        fresh += answer && !answer->remembered ? 1 : 0;
    }
    const SessionState state = ledger.session(release.dataset(), name).value();
    const std::int64_t remembered = static_cast<std::int64_t>(answered.answers.size()) - fresh - unanswered;
    answered.session = as_json(name, state, unanswered);
    answered.cost = {{"route", "session"},
                     {"epsilon_together", shown(terms.epsilon())},
                     {"delta_together", shown(terms.delta)},
                     {"charged", charged},
                     {"new_answers", fresh},
                     {"remembered_answers", remembered}};
    answered.said =
        std::to_string(fresh) + " new answers in session '" + name + "', " +
        (charged ? "charged at opening: epsilon " + decimal_text(terms.epsilon()) + ", delta " +
                       decimal_text(terms.delta)
                 : "nothing charged") +
        ", " + std::to_string(remembered) + " remembered; " + std::to_string(state.refused) + " of " +
        std::to_string(terms.refusals) + " refusals" +
        (state.ended() ? ": it has ended, " + std::to_string(unanswered) + " queries without answer" : "");
    return answered;
}

}  // namespace holdfast
