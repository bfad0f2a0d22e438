#include "models/privacy/measure/constants.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

constexpr double persons_of_a_bin = 8;        // in deviations
constexpr std::size_t columns_at_once = 256;  // a MiB each

/// How far a neighbour moves one level of one column, squared: by a person's whole share, or two of them.
int reach_squared(const std::string& relation) {
    return relation == "substitute" ? 2 : 1;
}
/// And the number of persons, which a replaced one does not move.
int count_reach_squared(const std::string& relation) {
    return relation == "substitute" ? 0 : 1;
}

/// Rounded up, so that what is drawn is never too little.
double sigma_for(const Rational& reach_squared, const Rational& mu_squared) {
    ensure(mu_squared > 0, "noise is paid for");
    const double sigma = round_up(sqrt_upper(reach_squared / mu_squared));
    constexpr double greatest = GaussianNoise::greatest_sigma / static_cast<double>(whole_person);
    if (sigma <= greatest) return std::max(sigma, GaussianNoise::least_sigma);
    throw Error(ExitCode::usage, "at this cost the noise is beyond all counts", "allow a larger --share",
                "--share");
}

Rational squared(double sigma) {
    return Rational(sigma) * Rational(sigma);
}

json json_of(const std::optional<MeasuredColumn>& column) {
    if (!column) return nullptr;
    if (column->dropped) return {{"dropped", true}};
    if (column->buckets) return {{"buckets", *column->buckets}};
    if (column->names) return {{"names", *column->names}};
    json object = {{"range", {column->lowest, column->highest}}, {"edges", column->edges}};
    if (!column->seen) object["seen"] = false;
    return object;
}

std::optional<MeasuredColumn> column_of(const json& object) {
    if (object.is_null()) return std::nullopt;
    if (object.contains("dropped")) return MeasuredColumn{.dropped = true};
    if (object.contains("buckets")) return MeasuredColumn{.buckets = object["buckets"]};
    if (object.contains("names")) return MeasuredColumn{.names = object["names"]};
    MeasuredColumn column{object.at("range").at(0), object.at("range").at(1), object.at("edges"),
                          object.value("seen", true)};
    if (!(column.lowest < column.highest)) throw std::range_error("range");
    return column;
}

/// Of what was drawn alone: the text part goes where no bucket but that of numbers is frequent, else the
/// number part where that bucket is not.
void drop_empty_parts(MeasuredConstants& drawn, const std::vector<UndeclaredColumn>& undeclared) {
    for (const UndeclaredColumn& column : undeclared) {
        const std::optional<MeasuredColumn>& text = drawn.columns[column.text];
        if (!text || !text->buckets || !drawn.columns[column.number]) continue;
        const std::vector<std::size_t>& frequent = *text->buckets;
        const bool numbers = std::binary_search(frequent.begin(), frequent.end(), column.bucket_of_numbers);
        const bool texts = frequent.size() > (numbers ? 1u : 0u);
        if (!texts) drawn.columns[column.text] = MeasuredColumn{.dropped = true};
        if (texts && !numbers) drawn.columns[column.number] = MeasuredColumn{.dropped = true};
    }
}

json parameters_of_names(const MeasureRequest& request, const MeasureLaw& law) {
    return {{"names", request.names},
            {"names_delta", shown(request.names_delta)},
            {"names_threshold", law.names.persons()}};
}

}  // namespace

const char* const measured_mechanism = "measured_constants";
const char* const named_mechanism = "measured_names";
const char* const tested_mechanism = "tested_columns";

MeasureLaw MeasureLaw::of(const MeasureRequest& request) {
    MeasureLaw law;
    const std::size_t levels = request.columns * request.levels + request.categories + request.names;
    if (!request.count && levels == 0)
        throw Error(ExitCode::usage, "nothing is left to be measured", "leave the command out", "--count");
    if (request.count) {
        law.count_sigma = sigma_for(1, request.count_mu_squared);
        law.mu_squared += count_reach_squared(request.relation) / squared(law.count_sigma);
    }
    if (levels > 0) {
        const Rational reach =
            as_rational(static_cast<std::int64_t>(levels)) * reach_squared(request.relation);
        law.sigma = sigma_for(reach, request.columns_mu_squared);
        law.mu_squared += reach / squared(law.sigma);
    }
    if (request.names > 0)
        law.names = NameLaw::of(law.sigma,
                                request.names_delta / as_rational(static_cast<std::int64_t>(request.names)));
    return law;
}

Payment payment_for(const MeasureRequest& request, const MeasureLaw& law, const Rational& delta) {
    json parameters = {{"relation", request.relation}, {"noise", "gaussian"}};
    if (request.count) parameters["count_sigma"] = law.count_sigma;
    if (request.columns + request.categories + request.names > 0) {
        parameters["columns"] = request.columns;
        parameters["column_sigma"] = law.sigma;
        parameters["bins"] = request.bins;
        if (request.levels < TreeLaw::levels) parameters["levels"] = request.levels;
    }
    if (request.categories > 0) parameters["categories"] = request.categories;
    if (request.names > 0) parameters.update(parameters_of_names(request, law));
    return {"",
            gaussian_epsilon(sqrt_upper(law.mu_squared), delta),
            delta,
            renyi_curve_of_concentrated(law.mu_squared / 2),
            measured_mechanism,
            parameters.dump(),
            "",
            law.mu_squared};
}

Payment payment_for_names(const MeasureRequest& request, const MeasureLaw& law) {
    json parameters = {{"relation", request.relation}};
    parameters.update(parameters_of_names(request, law));
    return {"", 0, request.names_delta, {}, named_mechanism, parameters.dump(), "", std::nullopt};
}

std::size_t MeasuredConstants::features() const {
    std::size_t all = 0;
    for (const std::optional<MeasuredColumn>& column : columns) all += column ? column->features() : 1;
    return all;
}

json MeasuredConstants::to_json() const {
    json object = {{"token", token}, {"bins", bins}, {"columns", json::array()}};
    if (count) object["count"] = *count;
    for (const std::optional<MeasuredColumn>& column : columns) object["columns"].push_back(json_of(column));
    return object;
}

MeasuredConstants MeasuredConstants::from_text(const std::string& text, const std::string& where) {
    try {
        const json object = json::parse(text);
        MeasuredConstants constants{object.at("token"), std::nullopt, {}, object.at("bins")};
        if (object.contains("count")) constants.count = object["count"].get<std::int64_t>();
        for (const json& column : object.at("columns")) constants.columns.push_back(column_of(column));
        return constants;
    } catch (const std::exception&) {
        throw Error(ExitCode::input, "its measured constants are damaged", "measure the table again", where);
    }
}

std::size_t bins_told_apart(double persons, double sigma) {
    std::size_t bins = MeasureRequest::least_bins;
    while (bins < MeasureRequest::most_bins &&
           static_cast<double>(bins) <= persons / (persons_of_a_bin * sigma))
        bins *= 2;
    return bins;
}

MeasuredConstants draw_constants(const MeasureRequest& request, const MeasureLaw& law,
                                 const MeasuredTable& table, const CountColumns& count_columns,
                                 RandomBits& bits, const CountNames& count_names) {
    const std::size_t with_buckets = request.columns + request.categories;
    ensure(table.features.size() == with_buckets + request.names,
           "every column that is asked for has a place");
    MeasuredConstants drawn;
    if (request.count) drawn.count = table.persons + GaussianNoise(law.count_sigma).draw(bits);
    const auto persons = static_cast<double>(request.count ? drawn.records() : table.stated);
    drawn.columns.resize(table.all);
    for (std::size_t i = request.columns; i < with_buckets; ++i)
        drawn.columns[table.features[i]] = MeasuredColumn{
            .buckets = draw_buckets(count_columns(i, i + 1).front(), law.sigma, request.categories, bits)};
    for (std::size_t i = with_buckets; i < table.features.size(); ++i)
        drawn.columns[table.features[i]] =
            MeasuredColumn{.names = draw_names(count_names(table.features[i]), law.names, table.other, bits)};
    if (request.columns == 0) return drawn;
    const bool edges = request.levels == TreeLaw::levels;
    if (edges) drawn.bins = request.bins > 0 ? request.bins : bins_told_apart(persons, law.sigma);
    const TreeLaw tree = TreeLaw::of(law.sigma, request.columns);
    for (std::size_t first = 0; first < request.columns; first += columns_at_once) {
        const std::size_t last = std::min(first + columns_at_once, request.columns);
        const std::vector<ColumnCounts> counts = count_columns(first, last);
        for (std::size_t i = first; i < last; ++i) {
            const DrawnColumn column = edges ? draw_column(counts[i - first], tree, bits)
                                             : draw_range(counts[i - first], law.sigma, bits);
            drawn.columns[table.features[i]] = MeasuredColumn{
                column.lowest, column.highest, edges ? column.edges(drawn.bins) : std::vector<double>(),
                !column.cells.empty()};
        }
    }
    drop_empty_parts(drawn, table.undeclared);
    return drawn;
}

}  // namespace holdfast
