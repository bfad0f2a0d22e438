#include "jobs/program/training/trained_records.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "dist/comm/communicator.hpp"
#include "dist/data/filled_records.hpp"
#include "dist/data/schema.hpp"
#include "dist/layout/distribute.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/measure/constants.hpp"
#include "models/privacy/measure/drawn_labels.hpp"

namespace holdfast {
namespace {

/// Between the values of a category, as its features have them in [0, 1].
std::vector<double> edges_of_values(const Range& range) {
    const double steps = range.highest - range.lowest;
    std::vector<double> edges;
    for (double edge = 0.5; edge < steps; ++edge) edges.push_back(edge / steps);
    return edges;
}

/// As the records have them: scaled like these, and rounded where they are.
std::vector<double> scaled_edges(const MeasuredColumn& column, bool wide) {
    std::vector<double> edges = column.edges;
    for (double& edge : edges) {
        std::vector<double> one{edge};
        scale_features({{column.lowest, column.highest}}, one);
        edge = wide ? one.front() : static_cast<double>(static_cast<float>(one.front()));
    }
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

}  // namespace

std::vector<std::vector<double>> measured_edges(const DatasetInfo& info) {
    if (info.measured.empty()) return {};
    const MeasuredConstants constants = MeasuredConstants::from_text(info.measured, info.path);
    if (constants.bins == 0) return {};
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    const std::vector<Range> ranges =
        schema ? schema->record_ranges() : std::vector<Range>(constants.columns.size(), Range{0, 1});
    std::vector<std::vector<double>> edges;
    for (const std::optional<MeasuredColumn>& column : constants.columns) {
        for (std::size_t i = 0; i < (column ? column->features() : 1); ++i) {
            const std::size_t at = edges.size();
            ensure(at < ranges.size(), "what was measured are the columns of the schema");
            edges.push_back(column && !column->is_text() ? scaled_edges(*column, info.wide)
                                                         : edges_of_values(ranges[at]));
        }
    }
    ensure(edges.size() == ranges.size(), "what was measured are the columns of the schema");
    return edges;
}

namespace {

/// What is corrected must have been drawn, and by its own law.
void settle_labels(Settings& settings, const DatasetInfo& info) {
    TrainingSettings& training = settings.training;
    if (!training.corrects_labels()) return;
    if (info.label_law.empty() || info.evidence_classes != static_cast<std::size_t>(settings.network.classes))
        throw Error(ExitCode::usage,
                    info.path + " has no labels that were drawn under privacy, of " +
                        std::to_string(settings.network.classes) + " classes",
                    "draw them: holdfast measure --labels; or set training.labels = \"drawn\"",
                    "training.labels");
    const double unit = LabelLaw::unit_of(info.label_law, info.path);
    if (training.label_unit != 0 && training.label_unit != unit)
        throw Error(ExitCode::usage, "not what the dataset states, " + decimal_text(Rational(unit)),
                    "leave it out", "training.label_unit");
    training.label_unit = unit;
}

}  // namespace

Settings settle_facts(Settings settings, const DatasetInfo& info) {
    if (settings.training.expected_records == 0)
        settings.training.expected_records = static_cast<std::int64_t>(info.expected_records);
    FeatureSettings& features = settings.features;
    if (features.map == FeatureSettings::Map::bins && features.edges.empty() && features.column_bins.empty())
        features.edges = measured_edges(info);
    const auto rows = static_cast<std::int64_t>(info.rows_at_most);
    if (settings.training.rows_at_most != 0 && settings.training.rows_at_most != rows)
        throw Error(ExitCode::usage,
                    std::to_string(settings.training.rows_at_most) +
                        " rows of a person, and the dataset has " + std::to_string(rows) + " at most",
                    "leave it out, or import the table again with another --rows-at-most",
                    "training.rows_at_most");
    settings.training.rows_at_most = rows;
    if (rows <= 1 && settings.training.clip_rows == "after")
        throw Error(ExitCode::usage,
                    "no person has several rows here that were added before they are clipped",
                    "leave it \"before\", or import several rows of each (import --person --rows-at-most)",
                    "training.clip_rows");
    if (rows > 1 && settings.training.expected_records == 0)
        throw Error(
            ExitCode::usage, "the step would divide by the number of rows, which one person changes by many",
            "state how many persons there are: import --expected-records, or training.expected_records",
            "training.expected_records");
    settle_labels(settings, info);
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

AllRecords read_all_records(const DatasetReader& reader, const Settings& settings) {
    const auto alone = make_serial_communicator();
    const ProcessGrid grid(*alone, "auto", 1, 1);
    Distributed all = distribute(reader, grid, *alone,
                                 {1,
                                  {0},
                                  static_cast<std::size_t>(settings.network.classes),
                                  static_cast<std::uint64_t>(settings.training.seed)});
    return {std::move(all.held.front().records), all.all.hex(*alone)};
}

Records as_trained(Records records, const Settings& settings, const FeatureMap& features,
                   FeatureRange targets) {
    if (settings.network.classes == 1) records = with_targets(std::move(records), targets);
    weigh_by_class(records, settings.training.class_weights);
    return features(std::move(records));
}

}  // namespace holdfast
