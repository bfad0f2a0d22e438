// A bounded run of the audit of published convex parameters: no claim is refuted, every planted fault is
// found. Keys are fixed; over their choice each bound is wrong with probability 1e-9 at most, and a fault is
// missed with less than 1e-6.

#include <gtest/gtest.h>

#include "tests/support/secret_keys.hpp"
#include "tools/checks/audit_published.hpp"

namespace holdfast {
namespace {

const Rational error(1, 1000000000);

TEST(AuditPublished, RefutesNoClaimAndComesNearIt) {
    for (const PublishedAudit& audit : published_audits()) {
        const Finding finding = audit_published(audit, true, audit.runs, error, test::known_key(1));
        EXPECT_FALSE(finding.refuted()) << finding.subject << ": " << finding.bound.get_d();
    }
    for (const std::size_t i : {0, 1}) {  // no straw men
        const PublishedAudit audit = published_audits()[i];
        const Finding finding = audit_published(audit, true, audit.runs, Rational(1, 20), test::known_key(3));
        EXPECT_GT(finding.bound, audit.claim.epsilon * Rational(8, 10)) << audit.subject;
    }
}

TEST(AuditPublished, FindsEveryFault) {
    for (const PublishedAudit& audit : published_audits()) {
        const Finding finding = audit_published(audit, false, audit.runs, error, test::known_key(2));
        EXPECT_TRUE(finding.refuted()) << finding.subject << ": " << finding.bound.get_d();
    }
}

}  // namespace
}  // namespace holdfast
