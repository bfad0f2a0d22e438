#include "jobs/data/measure/table_of_persons.hpp"

#include <optional>
#include <utility>

#include "dist/data/schema.hpp"
#include "jobs/program/next_command.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {

void require_persons(const DatasetInfo& info) {
    if (info.population.empty())
        throw Error(ExitCode::input, "does not say whose records it holds",
                    "make it again with: holdfast import … --population NAME", info.path);
    if (info.ids == IdKind::row_number)
        throw Error(ExitCode::input,
                    "its records are known by row number: " + std::string(coverage_of(info.ids)),
                    "import it with --person, which names them", info.path);
}

std::uint64_t stated_count(const DatasetInfo& info) {
    return info.count_found ? 0 : info.expected_records;
}

std::size_t stated_classes(const DatasetInfo& info) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    return schema && schema->classes.size() > 2 ? schema->classes.size() : 2;
}

Persons::Persons(const DatasetReader& reader) : count_(reader.info().rows) {
    const DatasetInfo& info = reader.info();
    if (info.rows_at_most <= 1) return;
    Records rows;
    rows.ids = reader.read_ids(0, info.rows);
    count_ = weigh_persons(rows, info.rows_at_most, info.path);
    weights_ = std::move(rows.weights);
}

std::string next_advice(const Advised& advised) {
    const auto text = [](double value) { return printed("%.10g", value); };
    std::vector<std::string> words{"advise",
                                   "--records",
                                   std::to_string(advised.persons),
                                   "--features",
                                   std::to_string(advised.features),
                                   "--classes",
                                   std::to_string(advised.classes),
                                   "--epsilon",
                                   text(advised.epsilon),
                                   "--delta",
                                   text(advised.delta),
                                   "--kind",
                                   "noisy",
                                   "--data",
                                   advised.data,
                                   "--ledger",
                                   advised.ledger,
                                   "--out",
                                   beside_dataset(advised.data, "-advised.toml")};
    if (advised.edges) words.insert(words.end(), {"--edges", "measured"});
    return next_command(words);
}

}  // namespace holdfast
