// audit [--confidence C] [--draws N] [--runs-part P] [--canaries M]: the epsilon that telling neighbours
// apart proves, beside the claimed one; exit 0 only if no claim is refuted, and all claims of trainings with
// a fault are.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/checks/audit_noisy.hpp"
#include "tools/checks/audit_published.hpp"

namespace holdfast {
namespace {

struct Request {
    double confidence = 0.99, runs_part = 1;
    std::int64_t draws = 300000, canaries = 5000;
};

const std::vector<Rational> deltas{Rational(1, 100000), Rational(1, 100), Rational(1, 10)};

void print(const Finding& finding) {
    const double claimed = finding.claim.epsilon.get_d(), bound = finding.bound.get_d();
    char part[16] = "-";
    if (claimed > 0) std::snprintf(part, sizeof part, "%.2f", bound / claimed);
    std::printf("%-34s %9.4f %7g %9.4f %6s %8.1f  %s%s\n", finding.subject.c_str(), claimed,
                finding.claim.delta.get_d(), bound, part, finding.seconds, finding.evidence.c_str(),
                finding.refuted() ? "  REFUTED" : "");
    std::fflush(stdout);
}

/// How many of them are refuted.
std::size_t print_all(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) print(finding);
    return static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(),
                                                  [](const Finding& finding) { return finding.refuted(); }));
}

void print_head(const char* title) {
    std::printf("\n%s\n%-34s %9s %7s %9s %6s %8s  %s\n", title, "subject", "claimed", "delta", "at least",
                "part", "seconds", "by");
}

int audit(const Request& request) {
    const Rational error = decimal_value(1 - request.confidence, "confidence");
    const SecretKey key = SecretKey::fresh();
    SystemRandomBits bits;
    std::size_t refuted = 0, missed = 0;
    const std::vector<NoisyAudit> audits = noisy_audits();
    const auto runs_of = [&](std::int64_t runs) {
        return std::max<std::int64_t>(2, std::llround(static_cast<double>(runs) * request.runs_part));
    };
    const auto findings = [&](const std::string& subject, const NoisyAudit& audit, const Play& play) {
        return audit_worlds(subject, audit.claimed, play, runs_of(audit.runs), deltas, error,
                            key.derived("world", subject));
    };

    print_head("Answers: epsilon of the worst neighbours");
    refuted += print_all(audit_mechanisms(request.draws, error, bits));
    print_head("Noisy training and publishing: with and without a canary");
    for (const NoisyAudit& audit : audits) refuted += print_all(findings(audit.subject, audit, audit.honest));
    print_head("Noisy training: one run with many canaries");
    refuted +=
        print_all({audit_one_run({request.canaries, 2}, deltas.front(), error, key.derived("one run", ""))});

    const std::vector<PublishedAudit> published = published_audits();
    const auto finding = [&](const PublishedAudit& audit, bool honest) {
        return audit_published(audit, honest, runs_of(audit.runs), error,
                               key.derived("published", honest ? audit.subject : audit.fault));
    };
    print_head("Published convex parameters: with and without a record");
    for (const PublishedAudit& audit : published) refuted += print_all({finding(audit, true)});

    print_head("The same, of trainings and publications with a fault: each must be refuted");
    for (const PublishedAudit& audit : published) missed += print_all({finding(audit, false)}) == 0;
    for (const NoisyAudit& audit : audits) {
        if (!audit.fault.empty() && print_all(findings(audit.fault, audit, audit.broken)) == 0) ++missed;
    }
    if (print_all({audit_one_run({request.canaries, 8, 0.1}, deltas.front(), error,
                                 key.derived("one run", "a tenth"))}) == 0)
        ++missed;
    std::printf("\n%zu claims refuted, %zu faults missed\n", refuted, missed);
    return refuted == 0 && missed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    holdfast::Request request;
    CLI::App app{
        "Tells neighbouring datasets apart by what is released: a lower bound of epsilon beside the claimed "
        "one.",
        "audit"};
    app.add_option("--confidence", request.confidence,
                   "Of each bound; of many rows one may be refuted by chance: look again at a higher one")
        ->capture_default_str()
        ->check(CLI::Range(0.5, 1 - 1e-12));
    app.add_option("--draws", request.draws, "Of each mechanism in each world")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{100}, std::int64_t{100000000}));
    app.add_option("--runs-part", request.runs_part, "Of the noisy runs that each audit is sized for")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 1000.0));
    app.add_option("--canaries", request.canaries, "In the one run")
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{100}, std::int64_t{1000000}));
    CLI11_PARSE(app, argc, argv);
    return holdfast::audit(request);
}
