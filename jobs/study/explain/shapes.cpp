#include "jobs/study/explain/shapes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/answers.hpp"

namespace holdfast {
namespace {

/// The model that leaves rows as long as they are, which is the sum of what its columns say.
struct Sum {
    FeatureMap map;
    Network network;
    bool limited;  ///< the model itself scales rows
};

Sum sum_of(const Model& model) {
    const FeatureMap map = model.feature_map();
    const auto* bins = std::get_if<FeatureBins>(&map.derived());
    const bool adds =
        (bins != nullptr && bins->pairs.empty()) || std::holds_alternative<std::monostate>(map.derived());
    if (model.network.layers().size() != 1 || !adds)
        throw Error(ExitCode::usage, "what one column says depends on the others in this model",
                    "explain one without hidden layers, of features as they are or in bins without pairs: "
                    "network.hidden = [], features.map = \"none\" or \"bins\"",
                    "--model");
    // Rows of bins alone are all of one length, so that a limit of it scales all alike.
    if (map.norm_limit() == 0 || (bins != nullptr && !map.keep() && bins->trends() == 0))
        return {map, model.network, false};
    FeatureMap free(map.columns(), map.input(), map.derived(), map.keep());
    Network network(model.network.layers(), model.network.classes(), model.network.loss(),
                    free.network_input());
    return {std::move(free), std::move(network), true};
}

std::string name_of_class(const std::optional<Schema>& schema, std::size_t c) {
    return schema && c < schema->classes.size() ? schema->classes[c] : "class " + std::to_string(c);
}

/// What the table is asked about: of each column its features, and where they are put.
class Table {
  public:
    Table(const FeatureMap& map, const std::optional<Schema>& schema) : map_(map) {
        if (schema && schema->record_features() == map.columns() && schema->features() == map.columns()) {
            for (const Column& column : schema->columns) add(column);
        } else {
            for (std::size_t j = 0; j < map.columns(); ++j) add("column " + std::to_string(j), unknown_range);
        }
    }

    const std::vector<Shape>& columns() const { return columns_; }
    /// One row a place of a column, the others in the middle.
    Records rows() const {
        Records rows{FeatureMatrix(map_.columns(), true), {}, {}, {}};
        std::vector<double> row = middle_;
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            const std::size_t first = firsts_[i];
            for (std::size_t place = 0; place < columns_[i].places(); ++place) {
                if (features_[i].empty())
                    row[first + place] = 1;
                else
                    row[first] = features_[i][place];
                rows.features.append(row.data());
                rows.ids.push_back(rows.size());
                rows.rows.push_back(rows.rows.size());
                std::copy(middle_.begin(), middle_.end(), row.begin());
            }
        }
        return rows;
    }

  private:
    void add(const Column& column) {
        const bool places = column.kind == Column::Kind::category;
        if (column.kind == Column::Kind::date && is_known(column.range))
            return add(column.name, years(column.range), "year");
        if (!places) return add(column.name, column.range, column.unit);
        Shape shape{.name = column.name, .values = column.values};
        std::vector<double> features;  // of one feature its place, of one each a one where it is
        if (column.integer) {
            const std::size_t last = column.values.size() - 1;
            for (std::size_t place = 0; place <= last; ++place)
                features.push_back(last == 0 ? 0 : static_cast<double>(place) / static_cast<double>(last));
        }
        add(std::move(shape), std::move(features), column.features());
    }
    /// Days since 1970-01-01 as years.
    static Range years(Range days) {
        constexpr double year = 365.2425;
        return {1970 + days.lowest / year, 1970 + days.highest / year};
    }
    void add(const std::string& name, Range range, const std::string& unit = "") {
        const std::size_t feature = middle_.size();
        std::vector<double> places;
        const std::vector<double> ends = stretches(feature);
        for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
            places.push_back(ends[i]);
            places.push_back(i + 2 < ends.size() ? std::nextafter(ends[i + 1], ends[i]) : ends[i + 1]);
        }
        Shape shape{.name = name, .unit = unit};
        for (const double place : places)
            shape.at.push_back(is_known(range) ? range.lowest + place * (range.highest - range.lowest)
                                               : place);
        add(std::move(shape), std::move(places), 1);
    }
    void add(Shape shape, std::vector<double> features, std::size_t width) {
        firsts_.push_back(middle_.size());
        middle_.resize(middle_.size() + width, features.empty() ? 0 : features[features.size() / 2]);
        columns_.push_back(std::move(shape));
        features_.push_back(std::move(features));
    }
    /// The ends of the public range, and between them the edges of the bins. Where nobody has stated a range:
    /// a tenth beyond the edges, or a feature from 0 to 1.
    std::vector<double> stretches(std::size_t feature) const {
        const auto* bins = std::get_if<FeatureBins>(&map_.derived());
        std::vector<double> inner = bins == nullptr ? std::vector<double>() : bins->edges[feature];
        auto [low, high] = map_.range();
        if (map_.range() == default_feature_range) {
            const double beyond = inner.empty() ? 0 : (inner.back() - inner.front()) / 10;
            low = inner.empty() ? 0 : inner.front() - std::max(beyond, 1e-3);
            high = inner.empty() ? 1 : inner.back() + std::max(beyond, 1e-3);
        }
        std::vector<double> ends{low};
        for (const double edge : inner) {
            if (edge > ends.back() && edge < high) ends.push_back(edge);
        }
        ends.push_back(high);
        return ends;
    }

    const FeatureMap& map_;
    std::vector<Shape> columns_;
    std::vector<std::vector<double>> features_;  ///< [columns, places]; none: a one in its place
    std::vector<std::size_t> firsts_;            ///< [columns] features
    std::vector<double> middle_;                 ///< [features]
};

/// [outputs] of a row's logits.
std::vector<double> outputs_of(const Network& network, const double* logits,
                               const std::optional<Schema>& schema) {
    if (network.is_regression()) {
        const bool known = schema && is_known(schema->target_range);
        return {logits[0] * (known ? schema->target_range.highest - schema->target_range.lowest : 1)};
    }
    if (network.outputs() == 1) return {logits[0]};
    if (network.outputs() == 2) return {logits[1] - logits[0]};
    std::vector<double> outputs(logits, logits + network.outputs());
    const double mean =
        std::accumulate(outputs.begin(), outputs.end(), 0.0) / static_cast<double>(outputs.size());
    for (double& output : outputs) output -= mean;
    return outputs;
}

std::vector<std::string> names_of(const Network& network, const std::optional<Schema>& schema) {
    if (network.is_regression()) return {schema && !schema->label.empty() ? schema->label : "the target"};
    const std::string scale = network.loss() == Loss::hinge ? "score of " : "log-odds of ";
    if (network.classes() == 2) return {scale + name_of_class(schema, 1)};
    std::vector<std::string> names;
    for (std::size_t c = 0; c < network.classes(); ++c)
        names.push_back("score of " + name_of_class(schema, c));
    return names;
}

}  // namespace

double Shape::span() const {
    double most = 0;
    for (const std::vector<double>& of_output : adds) {
        const auto [least, greatest] = std::minmax_element(of_output.begin(), of_output.end());
        if (least != of_output.end()) most = std::max(most, *greatest - *least);
    }
    return most;
}

Shapes shapes_of(const Model& model, const std::optional<Schema>& schema) {
    // 1. Every place of every column, the others in the middle.
    const auto [map, network, limited] = sum_of(model);
    const Table table(map, schema);
    const auto backend = make_backend("cpu", model.precision);
    const std::vector<double> logits =
        answers_of(network, *backend, model.parameters, map(table.rows())).logits;

    // 2. What each adds beside the mean of its column.
    Shapes shapes{names_of(network, schema), table.columns(), limited, map.range() == default_feature_range};
    const double* row = logits.data();
    for (Shape& shape : shapes.columns) {
        shape.adds.assign(shapes.outputs.size(), std::vector<double>(shape.places()));
        for (std::size_t place = 0; place < shape.places(); ++place, row += network.outputs()) {
            const std::vector<double> outputs = outputs_of(network, row, schema);
            for (std::size_t o = 0; o < outputs.size(); ++o) shape.adds[o][place] = outputs[o];
        }
        for (std::vector<double>& of_output : shape.adds) {
            const double mean = std::accumulate(of_output.begin(), of_output.end(), 0.0) /
                                static_cast<double>(std::max<std::size_t>(of_output.size(), 1));
            for (double& value : of_output) value -= mean;
        }
    }
    std::stable_sort(shapes.columns.begin(), shapes.columns.end(),
                     [](const Shape& one, const Shape& other) { return one.span() > other.span(); });
    return shapes;
}

}  // namespace holdfast
