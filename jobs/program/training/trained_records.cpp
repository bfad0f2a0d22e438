#include "jobs/program/training/trained_records.hpp"

#include <utility>

#include "dist/comm/communicator.hpp"
#include "dist/layout/distribute.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

Settings settle_count(Settings settings, const DatasetInfo& info) {
    if (settings.training.expected_records == 0)
        settings.training.expected_records = static_cast<std::int64_t>(info.expected_records);
    const auto rows = static_cast<std::int64_t>(info.rows_at_most);
    if (settings.training.rows_at_most != 0 && settings.training.rows_at_most != rows)
        throw Error(ExitCode::usage,
                    std::to_string(settings.training.rows_at_most) + " rows of a person, and the dataset has " +
                        std::to_string(rows) + " at most",
                    "leave it out, or import the table again with another --rows-at-most",
                    "training.rows_at_most");
    settings.training.rows_at_most = rows;
    if (rows > 1 && settings.training.expected_records == 0)
        throw Error(ExitCode::usage, "the step would divide by the number of rows, which one person changes by many",
                    "state how many persons there are: import --expected-records, or training.expected_records",
                    "training.expected_records");
    check(settings);
    return settings;
}

Records read_public(const std::string& name, const DatasetInfo& private_data, const Settings& settings) {
    Records records{FeatureMatrix(private_data.features, false), {}, {}, {}};
    if (name.empty()) return records;
    const DatasetReader reader(name);
    if (reader.info().features != private_data.features) {
        throw Error(ExitCode::input,
                    std::to_string(reader.info().features) + " features, but " + private_data.path + " has " +
                        std::to_string(private_data.features),
                    "give both the same columns", reader.info().path);
    }
    records = reader.read_all();
    if (settings.network.classes == 1) {
        if (records.targets.empty() && records.labels.empty())
            throw Error(ExitCode::input, "no targets", "import the public records with --regression",
                        reader.info().path);
        return records;
    }
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (records.labels.empty() || records.labels[i] >= settings.network.classes) {
            throw Error(ExitCode::input,
                        "row " + std::to_string(i) + " has no label below network.classes = " +
                            std::to_string(settings.network.classes),
                        "label the public records as the private ones", reader.info().path);
        }
    }
    return records;
}

PublicRecords identify_public(const Records& records, const TrainingSettings& training) {
    const auto digest_of = [&](RecordDigest digest) {
        digest.add(records);
        return digest.hex(*make_serial_communicator());
    };
    return {records.size(), digest_of(RecordDigest()),
            training.public_batch_size > 0 ? digest_of(RecordDigest(true)) : ""};
}

Records as_trained(Records records, const Settings& settings, const FeatureMap& features,
                   FeatureRange targets) {
    if (settings.network.classes == 1) records = with_targets(std::move(records), targets);
    return features(std::move(records));
}

}  // namespace holdfast
