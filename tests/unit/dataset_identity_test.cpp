#include "jobs/program/runs/dataset_identity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dist/data/generate.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;

struct DatasetIdentityTest : ::testing::Test {
    /// A dataset of `population`; nothing is said of whose it is where that is empty.
    DatasetIdentity of(const Records& records, const std::string& population) {
        const std::string path = folder.file("data.h5");
        DatasetWriter writer(path);
        writer.begin_split("train", records.features.columns(), records.features.wide());
        writer.append(records);
        if (!population.empty()) writer.set_attribute("population", population);
        writer.commit();
        return identify_of_population(DatasetReader(path));
    }

    TemporaryFolder folder;
    Records records = generate(*make_blobs({}), 0, 40000);  // more than two slabs
};

TEST_F(DatasetIdentityTest, IsTheDigestOfTrainingWhateverTheSlabs) {
    RecordDigest whole;
    whole.add(records);
    const DatasetIdentity identity = of(records, "ward");
    EXPECT_EQ(identity.digest, whole.hex(*make_serial_communicator()));
    EXPECT_EQ(identity.ids, records.ids);
    EXPECT_EQ(identity.population, "ward");
}

TEST_F(DatasetIdentityTest, AFileThatNamesNoPopulationIsRefused) {
    try {
        of(records, "");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::input);
        EXPECT_THAT(error.hint(), HasSubstr("--population NAME"));
        EXPECT_EQ(error.where(), folder.file("data.h5"));
    }
}

TEST_F(DatasetIdentityTest, RowNumbersNameNobody) {
    const std::string path = folder.file("raw.h5");
    {
        hdf5::File file = hdf5::File::create(path);
        const std::vector<float> features{1, 2, 3, 4};
        file.create_dataset("x_train", hdf5::Type::float32, {2, 2}).write({0, 0}, {2, 2}, features.data());
        file.write_attribute("population", "ward");
        file.close();
    }
    EXPECT_TRUE(identify(DatasetReader(path)).ids.empty());
}

TEST_F(DatasetIdentityTest, ACopyAnotherScaleAndOneRecordMoreDrawOnOneBudget) {
    Ledger ledger(folder.file("ledger.db"));
    const DatasetIdentity original = of(records, "ward");
    ledger.add_version("ward", original.digest, original.ids, Account{{1, 0, std::nullopt}, "add_remove"});
    Records rescaled = records;
    for (double& value : rescaled.features.wide_values()) value /= 10;
    Records narrow = records;
    narrow.features = FeatureMatrix(records.features.columns(), false);
    narrow.features.values().assign(records.features.wide_values().begin(),
                                    records.features.wide_values().end());
    for (const Records& version : {rescaled, narrow, generate(*make_blobs({}), 0, 40001)}) {
        const DatasetIdentity other = of(version, "ward");
        EXPECT_NE(other.digest, original.digest);
        EXPECT_EQ(ledger.population_of(other.digest), std::nullopt);
        ledger.add_version(other.population, other.digest, other.ids);
        EXPECT_EQ(ledger.population_of(other.digest), "ward");
        const DatasetIdentity renamed = of(version, "another-ward");
        EXPECT_THROW(ledger.add_version(renamed.population, renamed.digest, renamed.ids,
                                        Account{{1, 0, std::nullopt}, "add_remove"}),
                     Error);
        EXPECT_FALSE(ledger.account("another-ward").has_value());
    }
    EXPECT_EQ(ledger.versions("ward").size(), 4U);
}

}  // namespace
}  // namespace holdfast
