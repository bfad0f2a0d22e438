// Labels drawn once a record: the exact laws on every pair of labels, what is drawn against them, and what a
// unit of evidence says (models/privacy/mathematics.md, drawn labels).

#include "models/privacy/measure/drawn_labels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/robust/surrogate.hpp"
#include "tests/support/error_of.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/seeded_bits.hpp"

namespace holdfast::drawn_labels_test {
namespace {

const double log_level = std::log(1e-12);
constexpr std::int64_t whole = LabelLaw::whole;

/// Of "response", by its definition: [outcomes], rounded as it is drawn.
std::vector<Rational> response_law(const LabelLaw& law, int label) {
    const int classes = static_cast<int>(law.classes);
    MechanismParameters parameters;
    parameters.epsilon = shown(law.epsilon);
    parameters.classes = classes;
    Evidence evidence;
    evidence.classes = classes;
    evidence.label = label;
    return Mechanism("stable_rr", parameters).exact_law(evidence);
}

/// Of "laplace", of one class, by the discrete Laplace law cut at both ends. [evidence]
std::vector<double> laplace_law(const LabelLaw& law, bool own) {
    const double q = std::exp(-1 / static_cast<double>(law.scale()));
    const auto beyond = [&](std::int64_t k) {  // P(noise >= k)
        return k >= 1 ? std::pow(q, k) / (1 + q) : 1 - std::pow(q, 1 - k) / (1 + q);
    };
    std::vector<double> result;
    for (std::int64_t s = 0; s <= whole; ++s) {
        const std::int64_t noise = s - (own ? whole : 0);
        result.push_back(s == 0       ? beyond(-noise)
                         : s == whole ? beyond(noise)
                                      : (1 - q) / (1 + q) * std::pow(q, std::abs(noise)));
    }
    return result;
}

std::vector<LabelLaw> laws() {
    std::vector<LabelLaw> all;
    for (const char* form : {"response", "laplace"})
        for (const std::size_t classes : {2, 3, 10, 256})
            for (const double epsilon : {0.001, 0.1, 1.0, 2.0, 3.7, 64.0})
                all.push_back(LabelLaw::of(form, classes, epsilon));
    return all;
}

TEST(DrawnLabels, AreAsPrivateAsTheyCostOfEveryPairOfLabels) {
    for (const LabelLaw& law : laws()) {
        if (law.form == "response") {
            const std::vector<Rational> one = response_law(law, 0), other = response_law(law, 1);
            EXPECT_TRUE(test::is_private(one, other, law.epsilon, 0)) << law.to_text();
            EXPECT_FALSE(test::is_private(one, other, law.epsilon * Rational(999, 1000), 0)) << law.to_text();
            continue;
        }
        // Two classes change places: the ratio of each is at most e^(64/scale), whatever was drawn.
        EXPECT_LE(Rational(2 * whole, law.scale()), law.epsilon);
        EXPECT_GT(Rational(2 * whole, law.scale() - 1), law.epsilon);
        const std::vector<double> own = laplace_law(law, true), none = laplace_law(law, false);
        EXPECT_NEAR(std::accumulate(own.begin(), own.end(), 0.0), 1, 1e-9);
        double worst = 0;
        for (std::size_t s = 0; s < own.size(); ++s)
            worst = std::max(worst, std::abs(std::log(own[s]) - std::log(none[s])));
        EXPECT_LE(2 * worst, law.epsilon.get_d() * (1 + 1e-6)) << law.to_text();
    }
}

TEST(DrawnLabels, HaveTheLawThatIsStated) {
    constexpr std::size_t draws = 200000, classes = 3;
    test::SeededBits bits(11);
    for (const double epsilon : {0.5, 2.0, 6.0}) {
        const LabelLaw response = LabelLaw::of("response", classes, epsilon),
                       laplace = LabelLaw::of("laplace", classes, epsilon);
        const std::vector<std::int32_t> labels(draws, 1);
        std::vector<double> moved(classes, 0), own(whole + 1, 0), none(whole + 1, 0), both(2, 0);
        const std::vector<std::uint8_t> hard = draw_labels(labels, response, bits),
                                        soft = draw_labels(labels, laplace, bits);
        for (std::size_t i = 0; i < draws; ++i) {
            const auto one = std::span(hard).subspan(i * classes, classes);
            ASSERT_EQ(std::accumulate(one.begin(), one.end(), 0), 1);
            ++moved[static_cast<std::size_t>(likeliest_label(one, i))];
            ++own[soft[i * classes + 1]];
            ++none[soft[i * classes]];
            both[1] += soft[i * classes] == 0 && soft[i * classes + 2] == 0;
        }
        const std::vector<Rational> law = response_law(response, 1);
        for (std::size_t c = 0; c < classes; ++c)
            EXPECT_GT(test::log_false_alarm(moved[c], draws, law[c].get_d()), log_level) << epsilon;
        const std::vector<double> of_own = laplace_law(laplace, true), of_none = laplace_law(laplace, false);
        for (std::size_t s = 0; s < own.size(); ++s) {
            EXPECT_GT(test::log_false_alarm(own[s], draws, of_own[s]), log_level) << epsilon << " " << s;
            EXPECT_GT(test::log_false_alarm(none[s], draws, of_none[s]), log_level) << epsilon << " " << s;
        }
        // Classes are drawn apart.
        EXPECT_GT(test::log_false_alarm(both[1], draws, of_none[0] * of_none[0]), log_level) << epsilon;
    }
}

TEST(DrawnLabels, AUnitOfEvidenceIsTheLogarithmOfALikelihood) {
    for (const LabelLaw& law : laws()) {
        if (law.form == "response") {
            const std::vector<Rational> response = response_law(law, 0);
            EXPECT_NEAR(law.unit(), std::log(Rational(response[0] / response[1]).get_d()), 1e-9);
            continue;
        }
        const std::vector<double> own = laplace_law(law, true), none = laplace_law(law, false);
        for (std::size_t s = 0; s < own.size(); ++s)
            EXPECT_NEAR(std::log(own[s] / none[s]) - std::log(own[0] / none[0]),
                        law.unit() * static_cast<double>(s), 1e-6 * (1 + law.unit() * 64))
                << law.to_text() << s;
    }
}

/// Of all that could be drawn of each label, weighed by how probable the label is: where a model says these
/// very probabilities, the mean derivative of the corrected loss is 0, so no noise moves it from there.
std::vector<double> mean_derivative(const LabelLaw& law, double unit) {
    const std::vector<double> probability{0.7, 0.3};
    std::vector<double> logits, deltas, mean(2, 0);
    for (const double p : probability) logits.push_back(std::log(p));
    const std::size_t most = law.form == "response" ? 1 : whole;
    for (std::size_t label = 0; label < 2; ++label)
        for (std::size_t a = 0; a <= most; ++a)
            for (std::size_t b = 0; b <= most; ++b) {
                double drawn = 0;
                if (law.form == "laplace")
                    drawn = laplace_law(law, label == 0)[a] * laplace_law(law, label == 1)[b];
                else if (a + b == 1)
                    drawn = response_law(law, static_cast<int>(label))[a == 1 ? 0 : 1].get_d();
                const std::vector<std::uint8_t> evidence{static_cast<std::uint8_t>(a),
                                                         static_cast<std::uint8_t>(b)};
                drawn_label_by_logits(logits, evidence, unit, deltas);
                for (std::size_t c = 0; c < 2; ++c) mean[c] += probability[label] * drawn * deltas[c];
            }
    return mean;
}

TEST(DrawnLabels, CorrectedTheyLeaveARightModelWhereItIs) {
    for (const char* form : {"response", "laplace"})
        for (const double epsilon : {0.5, 2.0}) {
            const LabelLaw law = LabelLaw::of(form, 2, epsilon);
            for (const double one : mean_derivative(law, law.unit())) EXPECT_NEAR(one, 0, 1e-9) << form;
            // Taken as drawn (a unit that says all of one label) they pull it towards the middle.
            if (law.form == "response") {
                EXPECT_GT(std::abs(mean_derivative(law, 60)[0]), 0.02);
            }
        }
}

TEST(DrawnLabels, NoClassIsPreferredWhereSeveralAreAsLikely) {
    const std::vector<std::uint8_t> evidence{64, 3, 64, 64};
    for (std::size_t turn = 0; turn < 9; ++turn)
        EXPECT_EQ(likeliest_label(evidence, turn), std::vector<int>({0, 2, 3})[turn % 3]);
    EXPECT_EQ(likeliest_label(std::vector<std::uint8_t>{0, 1}, 7), 1);
    // Who leaves moves nobody else's label.
    const std::vector<std::uint8_t> ties(2 * 6, 1);
    const std::vector<std::uint64_t> ids{4, 7, 9, 10, 12, 15};
    const std::vector<std::int32_t> all = likeliest_labels(ties, ids);
    EXPECT_EQ(likeliest_labels(std::span(ties).subspan(2), std::span(ids).subspan(1)),
              std::vector<std::int32_t>(all.begin() + 1, all.end()));
}

TEST(DrawnLabels, ThePaymentSaysWhatTheyCostByEveryRule) {
    const Payment payment = payment_for(LabelLaw::of("laplace", 10, 0.1));
    EXPECT_EQ(payment.epsilon, Rational(1, 10));
    EXPECT_EQ(payment.delta, 0);
    EXPECT_EQ(payment.mechanism, drawn_labels_mechanism);
    EXPECT_NE(payment.parameters.find(R"("scale":1280)"), std::string::npos) << payment.parameters;
    ASSERT_TRUE(payment.mu_squared);
    EXPECT_NEAR(payment.mu_squared->get_d(), 0.01 * std::acos(-1.0) / 2, 1e-5);  // eps^2 pi/2, of little
    EXPECT_FALSE(payment.curve.empty());
}

TEST(DrawnLabels, TheLedgersTextIsReadAsItWasWritten) {
    const DrawnLabels drawn{"digest", {0, 1, 64, 255, 17}};
    const DrawnLabels read = DrawnLabels::of(drawn.to_text(), "ledger");
    EXPECT_EQ(read.dataset, drawn.dataset);
    EXPECT_EQ(read.evidence, drawn.evidence);
    for (const char* damaged : {"", "[]", R"({"dataset":"d"})", R"({"dataset":"d","evidence":"0"})",
                                R"({"dataset":"d","evidence":"0g"})", R"({"dataset":1,"evidence":""})"})
        EXPECT_EQ(error_of([&] { DrawnLabels::of(damaged, "ledger"); }).code(), ExitCode::input) << damaged;
    EXPECT_EQ(error_of([] { LabelLaw::of("response", 2, 0); }).code(), ExitCode::usage);
    EXPECT_EQ(error_of([] { LabelLaw::of("uniform", 2, 1); }).code(), ExitCode::usage);
    EXPECT_EQ(error_of([] { LabelLaw::unit_of("{}", "file"); }).code(), ExitCode::input);
    EXPECT_EQ(LabelLaw::unit_of(LabelLaw::of("laplace", 2, 1).to_text(), "file"), 2.0 / 128);
}

}  // namespace
}  // namespace holdfast::drawn_labels_test
