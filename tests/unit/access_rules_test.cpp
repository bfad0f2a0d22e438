// The rules that ask the bound answer by one function of the training: where two neighbours' distances are 1,
// the label is that of all networks in double precision, in which the bound was found, whatever they were
// trained in.

#include "jobs/answers/access/rules.hpp"

#include <gtest/gtest.h>

#include "models/idp/idp_bounds.hpp"
#include "models/idp/program_answer.hpp"
#include "models/idp/verified_fleet.hpp"
#include "tests/support/fleets.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

constexpr FeatureRange range{0, 1};

/// A network and those without a record, of one feature and no hidden layer, trained in single precision.
class RulesOfABound : public testing::TestWithParam<double> {
  protected:
    TemporaryFolder folder_;
    std::optional<FinishedFleet> fleet_;
    double upper_ = 0, end_ = 0;  // of class 0; the query where its confidence is that

    void SetUp() override {
        Settings settings;
        settings.network.hidden = {};
        settings.network.classes = 2;
        settings.network.loss = "cross_entropy";
        settings.training.precision = Precision::single_precision;
        const auto units = [](double weight, double bias) {
            return std::vector<std::int64_t>{parameter_units(weight), parameter_units(bias), 0, 0};
        };
        std::vector<std::vector<std::int64_t>> networks{units(1, -0.25)};
        for (int i = 0; i < 3; ++i) networks.push_back(units(0.99F + 1e-3F * i, GetParam()));
        test::write_fleet(folder_.file("run"), settings, 1, range, networks, test::some_ids(3));
        fleet_ = FinishedFleet::open(folder_.file("run"));

        const VerifiedFleet verified = verified_fleet(fleet_->networks, range);
        IdpBounds bounds{fleet_->manifest.digest, range, 1e-9, {}};
        bounds.classes.resize(2);
        const ClassBound found = bound_class(verified, 0, {.gap = 1e-9});
        ASSERT_TRUE(found.complete && found.network);
        bounds.classes[0] = IdpClass{found.lower, found.upper, 0, found.input, 0, true};
        bounds.write(fleet_->folder, idp_claim(range, 3, 3), 0);
        upper_ = found.upper;
        end_ = found.input[0];
    }
    /// Nearer than single precision tells apart, on either side of where a label ceases to withstand.
    Records queries() const {
        Records records{FeatureMatrix(1, true), {}, {}, {}};
        for (int k = -50; k <= 50; ++k) {
            const double x = end_ + 1e-9 * k;
            records.features.append(&x);
            records.ids.push_back(static_cast<std::uint64_t>(k + 50));
            records.rows.push_back(static_cast<std::uint64_t>(k + 50));
        }
        return records;
    }
    std::size_t label_of(const std::vector<std::int64_t>& units, double x) const {
        const Network& network = fleet_->networks.network();
        const PlainNetwork plain = plain_network(network, Precision::double_precision, units);
        return program_answer(plain, 2, Precision::double_precision,
                              std::vector<double>{network.transform().apply<double>(x)})
            .label;
    }
    void expect_one_function(const AccessRule& rule) const {
        const Records asked = queries();
        const std::vector<Evidence> all = rule.evidence(asked);
        ASSERT_EQ(all.size(), asked.size());
        std::size_t withstand = 0;
        for (std::size_t q = 0; q < all.size(); ++q) {
            const double x = asked.features.at(q, 0);
            EXPECT_EQ(static_cast<std::size_t>(all[q].label), label_of(fleet_->networks.nominal(), x));
            if (all[q].distance == 0) continue;
            ++withstand;
            for (std::int64_t i = 0; i < fleet_->networks.count(); ++i) {
                std::vector<std::int64_t> units(fleet_->networks.network().parameters());
                fleet_->networks.read(i, 1, units);
                EXPECT_EQ(label_of(units, x), static_cast<std::size_t>(all[q].label)) << q;
            }
        }
        EXPECT_GT(withstand, 40U);
        EXPECT_LT(withstand, 60U);
    }
};

TEST_P(RulesOfABound, TheBoundAlone) {
    expect_one_function(*bound_rule(*fleet_, RecordClaim::not_private("a label", "nothing is proved here")));
}

TEST_P(RulesOfABound, TheVoteBelowIt) {
    const QuietCommunicator alone;
    const Context context{alone, nullptr};
    expect_one_function(
        *hybrid_rule(context, *fleet_, RecordClaim::not_private("a label", "nothing is proved here"), 5));
}

INSTANTIATE_TEST_SUITE_P(Biases, RulesOfABound, testing::Values(-0.3, -0.31, -0.33, -0.37, -0.41, -0.45));

}  // namespace
}  // namespace holdfast
