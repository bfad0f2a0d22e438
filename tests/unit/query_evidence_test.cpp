// What evaluate promises and what release draws from is one and the same evidence.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/program/queries.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "tests/support/run_job.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

/// Three classes in a plane, the second half queries.
std::string three_classes() {
    std::ostringstream text;
    text << "id,a,b,y\n";
    for (int i = 0; i < 600; ++i) {
        const int label = i % 3;
        const double angle = 2.1 * label + 0.9 * std::sin(i * 1.7),
                     radius = 0.15 + 0.3 * std::abs(std::cos(i * 0.9));
        text << i << ',' << 0.5 + radius * std::cos(angle) << ',' << 0.5 + radius * std::sin(angle) << ','
             << label << '\n';
    }
    return text.str();
}

struct QueryEvidence : testing::Test {
    TemporaryFolder folder;
    std::string data = folder.file("data.h5"), path = folder.file("run");
    std::unique_ptr<Communicator> world = make_serial_communicator();
    Context context{*world, nullptr};

    FinishedRun train(int members) {
        run_job(declare_import, {folder.write("data.csv", three_classes()), "--label", "y", "--classes", "3",
                                 "--id", "id", "--scale", "*=0:1", "--test-fraction", "0.4", "--out", data});
        run_job(declare_train, {"--data", data,
                                "--out",  path,
                                "--set",  "network.classes=3",
                                "--set",  "network.hidden=[8]",
                                "--set",  "training.expected_records=400",
                                "--set",  "certificate.levels=12",
                                "--set",  "clip.gamma=0.01",
                                "--set",  "training.batches=2",
                                "--set",  "training.learning_rate=4",
                                "--set",  "training.epochs=3",
                                "--set",  "ensemble.members=" + std::to_string(members)});
        return FinishedRun::open(path);
    }
};

void expect_same(const Evidence& a, const Evidence& b) {
    EXPECT_EQ(a.label, b.label);
    EXPECT_EQ(a.distance, b.distance);
    EXPECT_EQ(a.class_distances, b.class_distances);
    EXPECT_EQ(a.votes, b.votes);
}

TEST_F(QueryEvidence, IsTheSameForEvaluateAndForReleaseAndTheBetterOfTwo) {
    const FinishedRun run = train(5);
    const Records queries = read_queries(context, run.form(), data);
    const auto evaluated = certify_members(context, run, queries, Asker::owner),
               released = certify_members(context, run, queries, Asker::release);
    const std::vector<Evidence> all = ensemble_evidence(run, released);
    ASSERT_EQ(all.size(), queries.size());
    ASSERT_NE(all.size() % 16, 0U) << "the last queries are fewer than are gone through together";
    int better = 0;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const Evidence ensemble = evidence_of(run, released, q);
        expect_same(evidence_of(run, evaluated, q), ensemble);
        expect_same(all[q], ensemble);
        for (std::size_t m = 0; m < released.size(); ++m)
            expect_same(evidence_of(run, evaluated[m], q), evidence_of(run, released[m], q));
        // Without the distances of single classes, as release once had it.
        std::vector<MemberAnswer> answers;
        for (const Certificates& member : released)
            answers.push_back({member.labels[q], member.distances[q], {}});
        const Evidence weaker = aggregate(answers, 3, run.cap());
        EXPECT_EQ(weaker.label, ensemble.label);
        EXPECT_LE(weaker.distance, ensemble.distance);
        better += weaker.distance < ensemble.distance;
        // Nothing that a mechanism looks at may fail after its charge.
        EXPECT_EQ(ensemble.class_distances[static_cast<std::size_t>(ensemble.label)], 0);
    }
    EXPECT_GT(better, 10) << "the cases must differ";
}

}  // namespace
}  // namespace holdfast
