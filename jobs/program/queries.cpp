#include "jobs/program/queries.hpp"

#include <spdlog/logger.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>

#include "dist/data/csv_reader.hpp"
#include "dist/data/read_table.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"

namespace holdfast {

namespace {

/// What is wrong with a table is told with what its tables are: options of an import are none of those who
/// ask.
Table read_as_trained(const std::string& path, const Schema& schema, std::uint64_t first,
                      const std::string& encoding) {
    try {
        return read_table(path, schema, first, encoding);
    } catch (const Error& error) {
        const bool of_import = error.hint().find("--") != std::string::npos &&
                               error.hint().find("--encoding") == std::string::npos;
        if (!of_import || path.ends_with(".parquet")) throw;
        const std::string between =
            schema.delimiter == '\t' ? "tabs" : std::string("'") + schema.delimiter + "'";
        throw Error(error.code(), error.message(),
                    "it is read as the table trained on was: " + between + " between cells, numbers with '" +
                        schema.decimal + "', and no categories, columns or forms of dates but those of then",
                    error.where());
    }
}

/// A table says all that its schema makes of it: nothing is another number silently.
NamedQueries table_queries(const Context& context, const QueryForm& form, const std::string& path,
                           std::uint64_t first) {
    if (!form.schema)
        throw Error(ExitCode::usage,
                    "a table, and what was trained does not know the names of its columns: it was made of a "
                    "file without names",
                    "holdfast import makes a dataset of it, with the training data's columns and ranges",
                    path);
    Table table = read_as_trained(path, *form.schema, first, form.encoding);
    std::replace(table.ignored.begin(), table.ignored.end(), std::string(),
                 std::string("(one without a name)"));
    if (!table.ignored.empty())
        context.log->warn("{}: columns that the model does not know are left out: {}", path,
                          listed(table.ignored));
    if (table.filled > 0)
        context.log->warn("{}: {} missing cells count as the schema says", path, table.filled);
    for (const std::string& outside : table.outside)
        context.log->warn("{}: column {}: these count as its ends", path, outside);
    for (const auto& [column, cells] : table.other_cells)
        context.log->warn(
            "{}: column {}: {} cells are missing, and {} are none of the values that the model "
            "knows",
            path, column, cells.missing, cells.other);
    if (const auto without = std::ranges::count(table.some_labels, -1); without > 0)
        context.log->warn("{}: {} of {} rows have no {}, or none that the model knows", path, without,
                          table.some_labels.size(), form.schema->regression ? "target" : "label");
    return {std::move(table.records), std::move(table.names), table.has_ids, std::move(table.some_labels),
            std::move(table.other_cells)};
}

}  // namespace

NamedQueries read_named_queries(const Context& context, const QueryForm& form, const std::string& name,
                                std::uint64_t first) {
    if (is_table(name)) return table_queries(context, form, name, first);
    const FeatureMap& features = form.features;
    const DatasetReader reader(name, "test");
    const auto own = kept_schema(reader.info().schema, reader.info().path);
    if (own && form.schema && !form.schema->withheld && !own->same_features(*form.schema))
        throw Error(
            ExitCode::input,
            "its columns, their order, categories or ranges are not those of the "
            "training data",
            "import the table with that one's schema: holdfast import FILE --schema TRAINED.h5; or ask "
            "with the table itself",
            reader.info().path);
    if (reader.info().features != features.columns()) {
        throw Error(ExitCode::input,
                    std::to_string(reader.info().features) + " features, but the model takes " +
                        std::to_string(features.columns()),
                    "give the queries the columns of the training data", reader.info().path);
    }
    Records queries = reader.read(0, first == 0 ? reader.info().rows : std::min(first, reader.info().rows));
    tell_clipped(context, queries, features.range());
    return {std::move(queries), {}, reader.info().ids == IdKind::given};
}

void tell_clipped(const Context& context, const Records& queries, const FeatureRange& range) {
    if (const std::uint64_t outside = values_outside(queries.features, range); outside > 0)
        context.log->warn("{} values of the queries lie outside {} and count as its ends", outside,
                          text_of(range));
}

Records read_queries(const Context& context, const QueryForm& form, const std::string& name,
                     std::uint64_t first) {
    return read_named_queries(context, form, name, first).records;
}

AnswerUnit answer_unit_of(const std::string& answer) {
    if (const std::optional<AnswerUnit> unit = answer_unit_named(answer)) return *unit;
    throw Error(ExitCode::usage, "'" + answer + "' is not what rows are answered by",
                "give row, vote or mean", "--answer");
}

void add_answer_option(const Command& command, std::string& answer) {
    command
        .add_option(
            "--answer", answer,
            "row: an answer each; vote | mean: one for all rows of an id, by their votes, or by the mean of "
            "their outputs")
        .show_default();
}

Questions read_questions(const Context& context, const QueryForm& form, const std::string& name,
                         const std::string& answer, std::uint64_t first) {
    Questions all{{}, {0}, answer_unit_of(answer)};
    const bool by_row = all.unit == AnswerUnit::row;
    NamedQueries queries = read_named_queries(context, form, name, by_row ? first : 0);
    const std::size_t count = queries.records.size();
    all.given_ids = queries.has_ids;
    all.has_ids = queries.has_ids && (!by_row || !queries.names.empty());
    all.other_cells = std::move(queries.other_cells);
    if (by_row) {
        all.rows = std::move(queries.records);
        all.names = std::move(queries.names);
        all.some_labels = std::move(queries.some_labels);
        for (std::size_t i = 1; i <= count; ++i) all.starts.push_back(i);
        return all;
    }
    if (!queries.has_ids)
        throw Error(ExitCode::input, "no column says whose rows they are",
                    "leave --answer out, or ask with ids", name);
    // Persons in the order in which they first appear, each with its rows in theirs.
    std::map<std::uint64_t, std::vector<std::size_t>> rows_of;
    std::vector<std::uint64_t> persons;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<std::size_t>& rows = rows_of[queries.records.ids[i]];
        if (rows.empty()) persons.push_back(queries.records.ids[i]);
        rows.push_back(i);
    }
    if (first > 0 && first < persons.size()) persons.resize(first);
    std::vector<std::size_t> order;
    for (const std::uint64_t person : persons) {
        const std::vector<std::size_t>& rows = rows_of[person];
        order.insert(order.end(), rows.begin(), rows.end());
        all.starts.push_back(order.size());
        all.names.push_back(queries.names.empty() ? std::to_string(person) : queries.names[rows.front()]);
    }
    all.rows = chosen_records(queries.records, order);
    for (const std::size_t i : order) {
        if (!queries.records.labels.empty()) all.rows.labels.push_back(queries.records.labels[i]);
        if (!queries.records.targets.empty()) all.rows.targets.push_back(queries.records.targets[i]);
    }
    return all;
}

Records Questions::answered() const {
    Records persons{FeatureMatrix(rows.features.columns(), rows.features.wide()), {}, {}, {}};
    for (std::size_t i = 0; i < size(); ++i) {
        const std::size_t begin = starts[i], end = starts[i + 1];
        persons.ids.push_back(rows.ids[begin]);
        persons.rows.push_back(rows.rows[begin]);
        if (!rows.labels.empty()) {
            std::map<std::int32_t, std::size_t> counts;
            for (std::size_t r = begin; r < end; ++r) ++counts[rows.labels[r]];
            std::pair<std::size_t, std::int32_t> most;
            for (const auto& [label, count] : counts) most = std::max(most, std::pair(count, label));
            persons.labels.push_back(most.second);
        }
        if (!rows.targets.empty()) {
            const auto first = rows.targets.begin() + static_cast<std::ptrdiff_t>(begin);
            persons.targets.push_back(
                std::accumulate(first, first + static_cast<std::ptrdiff_t>(end - begin), 0.0) /
                static_cast<double>(end - begin));
        }
    }
    return persons;
}

Questions Questions::chosen(std::span<const std::size_t> indices) const {
    Questions some{{}, {0}, unit};
    std::vector<std::size_t> order;
    for (const std::size_t i : indices) {
        for (std::size_t r = starts[i]; r < starts[i + 1]; ++r) order.push_back(r);
        some.starts.push_back(order.size());
    }
    some.rows = chosen_records(rows, order);
    return some;
}

void add_encoding_option(const Command& command, std::string& encoding) {
    command
        .add_option("--encoding", encoding,
                    "The encoding of a table's text, where its first bytes do not say it")
        .one_of(text_encodings)
        .show_default();
}

void add_asking_options(const Command& command, std::string& queries, std::string& ledger) {
    command.add_option("--queries", queries, std::string(queries_help) + "; labels are not read").required();
    command
        .add_option("--ledger", ledger,
                    "SQLite file that knows the population's account (holdfast account opens it)")
        .required();
}

void add_public_queries_option(const Command& command, bool& said) {
    command.add_flag(
        "--queries-are-public", said,
        "The queries concern nobody whose records are private, though they lie in the file that was "
        "trained on, bear its population, or have the features of a record of the ledger: every claim on the "
        "answers says that this was said. An id of a person of the ledger is refused all the same");
}

void require_public_queries(const std::string& name, const DatasetFacts& trained, bool said) {
    if (said || is_table(name)) return;
    const DatasetInfo info = DatasetReader(name, "test").info();
    std::error_code ignored;
    const bool same_file = std::filesystem::equivalent(info.path, trained.path, ignored);
    if (!same_file && (info.population.empty() || info.population != trained.population)) return;
    throw Error(
        ExitCode::usage,
        same_file
            ? "the queries lie in the file whose records were trained on: an answer would tell of their "
              "people, whom no budget covers"
            : "the queries are of population '" + info.population +
                  "', whose records were trained on: an answer would tell of them",
        "ask about others; --queries-are-public if they concern nobody whose records are private",
        "--queries");
}

double in_units(double answer, const std::optional<Schema>& schema) {
    if (!schema || !is_known(schema->target_range)) return answer;
    const auto [lowest, highest] = schema->target_range;
    return lowest + answer * (highest - lowest);
}

std::vector<Digest> query_digests(const Records& queries) {
    std::vector<Digest> digests;
    std::vector<double> features(queries.features.columns());
    for (std::size_t q = 0; q < queries.size(); ++q) {
        for (std::size_t j = 0; j < features.size(); ++j) features[j] = queries.features.at(q, j);
        digests.push_back(query_digest(features));
    }
    return digests;
}

std::vector<Digest> query_digests(const Questions& questions) {
    const std::vector<Digest> rows = query_digests(questions.rows);
    if (questions.unit == AnswerUnit::row) return rows;
    std::vector<Digest> digests;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        std::vector<Digest> bag(rows.begin() + static_cast<std::ptrdiff_t>(questions.starts[i]),
                                rows.begin() + static_cast<std::ptrdiff_t>(questions.starts[i + 1]));
        std::sort(bag.begin(), bag.end());
        digests.push_back(bag_digest(name_of(questions.unit), bag));
    }
    return digests;
}

Records chosen_records(const Records& records, std::span<const std::size_t> indices) {
    Records part{FeatureMatrix(records.features.columns(), records.features.wide()), {}, {}, {}};
    for (const std::size_t i : indices) {
        part.features.append_row_of(records.features, i);
        part.ids.push_back(records.ids[i]);
        part.rows.push_back(records.rows[i]);
    }
    return part;
}

Records clipped(Records queries, const FeatureRange& range) {
    const auto [low, high] = range;
    for (float& value : queries.features.values())
        value = std::clamp(value, static_cast<float>(low), static_cast<float>(high));
    for (double& value : queries.features.wide_values()) value = std::clamp(value, low, high);
    return queries;
}

Records part_of(const Records& records, std::size_t first, std::size_t last) {
    std::vector<std::size_t> indices(last - first);
    std::iota(indices.begin(), indices.end(), first);
    return chosen_records(records, indices);
}

std::vector<double> require_targets(const Records& queries, FeatureRange range, const std::string& name) {
    if (queries.targets.empty() && queries.labels.empty())
        throw Error(ExitCode::input, "no targets: no loss can be computed",
                    "give a split with targets; predictions alone take none: certify, predict", name);
    return with_targets(queries, range).targets;
}

void require_labels(const Records& queries, std::size_t classes, const std::string& name) {
    if (queries.labels.empty())
        throw Error(ExitCode::input, "no labels: accuracy cannot be computed",
                    "give a split with labels; answers alone take none: certify, predict", name);
    for (std::size_t i = 0; i < queries.size(); ++i) {
        if (static_cast<std::size_t>(queries.labels[i]) >= classes) {
            throw Error(ExitCode::input,
                        "row " + std::to_string(i) + " has label " + std::to_string(queries.labels[i]) +
                            ", but the model has " + std::to_string(classes) + " classes",
                        "relabel it", name);
        }
    }
}

}  // namespace holdfast
