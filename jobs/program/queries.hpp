#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "dist/data/record_source.hpp"
#include "dist/data/schema.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/program/context.hpp"
#include "jobs/program/job.hpp"
#include "models/certify/person_answers.hpp"
#include "models/nets/feature_map.hpp"
#include "models/privacy/ledger/query_digest.hpp"

namespace holdfast {

/// What queries must be: features that a map takes and, where the run or model says so, columns of a table.
struct QueryForm {
    const FeatureMap& features;
    std::optional<Schema> schema;
    std::string encoding = "utf-8";  ///< of a table
};

struct NamedQueries {
    Records records;
    std::vector<std::string>
        names;             ///< [queries] of a table: the id as it stands there, or the line; else empty
    bool has_ids = false;  ///< do ids say whose they are? Names are those then
    std::vector<std::int32_t> some_labels = {};          ///< as Table has them
    std::map<std::string, OtherCells> other_cells = {};  ///< likewise
};

/// Opens queries FILE[:SPLIT] (test by default) or a CSV table, whose columns are found by name, the `first`
/// so many or all, and checks that the map takes them: as they are in the file, or as an import of the table
/// would have them. Values outside a public range count as its ends, which the log says, by column and line.
/// Errors (input): other columns or another number of features; whatever a table has that its schema does not
/// know; a value that is no finite number; (usage): a table, and no schema.
NamedQueries read_named_queries(const Context& context, const QueryForm& form, const std::string& name,
                                std::uint64_t first = 0);
/// Tells how many values of them count as an end of the range.
void tell_clipped(const Context& context, const Records& queries, const FeatureRange& range);
Records read_queries(const Context& context, const QueryForm& form, const std::string& name,
                     std::uint64_t first = 0);

/// Queries with one answer each: of a row, or of all rows that bear an id.
struct Questions {
    Records rows;                     ///< those of one answer side by side
    std::vector<std::size_t> starts;  ///< [answers + 1]: the first row of each
    AnswerUnit unit = AnswerUnit::row;
    std::vector<std::string> names = {};  ///< as those of NamedQueries
    bool has_ids = false;
    bool given_ids = false;  ///< the ids of the rows name persons, even where `names` is empty
    std::vector<std::int32_t> some_labels = {};  ///< as those of NamedQueries, where each row has an answer
    std::map<std::string, OtherCells> other_cells = {};

    std::size_t size() const { return starts.size() - 1; }
    /// Of each the id; of records with labels or targets what most rows have, of those the greatest, or the
    /// mean.
    Records answered() const;
    /// Some of them, without labels.
    Questions chosen(std::span<const std::size_t> indices) const;
};

/// What --answer says. Error (usage): it is no unit.
AnswerUnit answer_unit_of(const std::string& answer);
void add_answer_option(const Command& command, std::string& answer);

/// Reads queries as read_named_queries() does, the `first` so many answers of them. Error (input): answers
/// are of persons, and the queries have no ids.
Questions read_questions(const Context& context, const QueryForm& form, const std::string& name,
                         const std::string& answer, std::uint64_t first = 0);

/// --encoding, of a table.
void add_encoding_option(const Command& command, std::string& encoding);

/// --queries, a dataset or a table.
inline constexpr const char* queries_help =
    "Dataset FILE[:SPLIT], split test by default, or a CSV table, read by the columns' names";

/// Declares --queries and --ledger of a job whose answers a ledger pays for.
void add_asking_options(const Command& command, std::string& queries, std::string& ledger);

/// `--queries-are-public`, of a command that gives answers away.
void add_public_queries_option(const Command& command, bool& said);

/// For answers that leave the house. Error (usage): the queries lie in the file that was trained on, or are
/// of its population, and it is not said that they are public. Looks at names alone, never at ids: a refusal
/// by those would tell who is in.
void require_public_queries(const std::string& name, const DatasetFacts& trained, bool said);

/// Error (input): no labels, or one that is none of the classes. `name`: as read_queries was given.
void require_labels(const Records& queries, std::size_t classes, const std::string& name);

/// A regression's answer in the target's own units, where the schema knows them.
double in_units(double answer, const std::optional<Schema>& schema);
/// What a regression is to predict, in its public range (with_targets). Error (input): the queries have none.
std::vector<double> require_targets(const Records& queries, FeatureRange range, const std::string& name);

/// Of labels label_of(0), label_of(1), …, the fraction that are the true ones. There is at least one.
template <typename LabelOf>
double fraction_right(std::span<const std::int32_t> truth, LabelOf label_of) {
    std::size_t right = 0;
    for (std::size_t q = 0; q < truth.size(); ++q) right += label_of(q) == truth[q];
    return static_cast<double>(right) / static_cast<double>(truth.size());
}

/// By what a ledger knows each query: of its features as they are in the file.
std::vector<Digest> query_digests(const Records& queries);
/// The same of a person: of the bag of its rows, and how they are answered.
std::vector<Digest> query_digests(const Questions& questions);

/// The records of the given indices, without labels.
Records chosen_records(const Records& records, std::span<const std::size_t> indices);

/// Every feature moved into the range, as a bound over it and the answers by that bound want it.
Records clipped(Records queries, const FeatureRange& range);

/// The records [first, last), without labels.
Records part_of(const Records& records, std::size_t first, std::size_t last);

}  // namespace holdfast
