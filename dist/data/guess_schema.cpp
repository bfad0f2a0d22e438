#include "dist/data/guess_schema.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "dist/data/csv_reader.hpp"
#include "dist/data/import_csv.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_categories = 50, most_classes = 100, most_distinct = 100000;
/// How numbers are written: {decimal, thousands}.
constexpr std::pair<char, char> number_forms[] = {{'.', 0}, {',', 0}, {'.', ','}, {',', '.'}, {',', ' '}};

/// What all cells of one column have in common.
struct Seen {
    std::uint64_t cells = 0, missing = 0;
    std::set<std::string> distinct;
    bool all_whole = true;
    std::vector<bool> numbers = std::vector<bool>(std::size(number_forms), true);
    std::vector<Range> ranges = std::vector<Range>(std::size(number_forms), Range{INFINITY, -INFINITY});
    std::vector<bool> dates = std::vector<bool>(std::size(usual_dates), true);
    std::vector<Range> days = std::vector<Range>(std::size(usual_dates), Range{INFINITY, -INFINITY});

    void add(const std::string& cell) {
        ++cells;
        if (is_missing_cell(cell)) {
            ++missing;
            return;
        }
        if (distinct.size() < most_distinct) distinct.insert(cell);
        all_whole = all_whole && number_of<std::int64_t>(cell).has_value();
        const auto widen = [](Range& range, double value) {
            range.lowest = std::min(range.lowest, value);
            range.highest = std::max(range.highest, value);
        };
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (!numbers[i]) continue;
            const auto value = number_of_cell(cell, number_forms[i].first, number_forms[i].second);
            numbers[i] = value && std::isfinite(*value);
            if (numbers[i]) widen(ranges[i], *value);
        }
        for (std::size_t i = 0; i < dates.size(); ++i) {
            if (!dates[i]) continue;
            const auto value = days_of(cell, usual_dates[i]);
            dates[i] = value.has_value();
            if (value) widen(days[i], *value);
        }
    }
    bool empty() const { return cells == missing; }
    bool unique() const { return missing == 0 && distinct.size() == cells && cells > 1; }
};

/// The form that reads most of the columns that are numbers in any.
std::size_t likeliest_numbers(const std::vector<Seen>& columns) {
    std::size_t best = 0, most = 0;
    for (std::size_t form = 0; form < std::size(number_forms); ++form) {
        const auto read =
            static_cast<std::size_t>(std::count_if(columns.begin(), columns.end(), [&](const Seen& seen) {
                return !seen.empty() && seen.numbers[form];
            }));
        if (read > most) {
            most = read;
            best = form;
        }
    }
    return best;
}

/// Numbers by their value, others by their letters.
std::vector<std::string> sorted_values(const Seen& seen) {
    std::vector<std::string> values(seen.distinct.begin(), seen.distinct.end());
    if (seen.all_whole)
        std::sort(values.begin(), values.end(), [](const std::string& a, const std::string& b) {
            return *number_of<std::int64_t>(a) < *number_of<std::int64_t>(b);
        });
    return values;
}

/// Empty name: nothing can be made of it.
Column column_of(const std::string& name, const Seen& seen, std::size_t form) {
    Column column{.name = name};
    const auto known = [](Range range) {
        return is_known(range) ? range : Range{range.lowest, range.lowest + 1};
    };
    if (seen.empty()) return {};
    if (seen.numbers[form]) {
        column.range = known(seen.ranges[form]);
        return column;
    }
    for (std::size_t i = 0; i < seen.dates.size(); ++i) {
        if (!seen.dates[i]) continue;
        column.kind = Column::Kind::date;
        column.format = usual_dates[i];
        column.range = known(seen.days[i]);
        return column;
    }
    if (seen.distinct.size() > most_categories) return {};
    column.kind = Column::Kind::category;
    column.values = sorted_values(seen);
    if (seen.missing > 0) column.values.emplace_back("");
    return column;
}

}  // namespace

TableGuess guess_schema(const std::string& path, const std::string& label, bool regression,
                        const std::string& id, const std::vector<std::string>& drop, char delimiter) {
    TableGuess guess;
    Schema& schema = guess.schema;
    schema.delimiter = delimiter != 0 ? delimiter : delimiter_of_header(path);
    schema_of_csv(path, {.delimiter = schema.delimiter,
                         .label = label,
                         .id = id,
                         .drop = {drop.begin(), drop.end()}});  // says which columns are not there
    CsvReader reader(path, schema.delimiter);
    std::vector<std::string> header, cells;
    reader.next(header);
    for (std::string& name : header) name = trimmed_cell(name);
    std::vector<Seen> seen(header.size());
    while (reader.next(cells)) {
        if (cells.size() != header.size())
            throw Error(ExitCode::input,
                        "line " + std::to_string(reader.line()) + " has " + std::to_string(cells.size()) +
                            " cells, the header has " + std::to_string(header.size()),
                        "quote cells that contain the delimiter, or name it with --delimiter", path);
        ++guess.rows;
        for (std::size_t i = 0; i < cells.size(); ++i) seen[i].add(trimmed_cell(cells[i]));
    }
    if (guess.rows == 0)
        throw Error(ExitCode::input, "has a header but no records", "a table needs at least one row", path);
    const std::size_t form = likeliest_numbers(seen);
    schema.decimal = number_forms[form].first;
    schema.thousands = number_forms[form].second;
    schema.label = label;
    schema.id = id;
    schema.regression = regression;
    for (std::size_t i = 0; i < header.size(); ++i) {
        const std::string& name = header[i];
        if (seen[i].missing > 0) guess.missing[name] = seen[i].missing;
        if (name == id || std::find(drop.begin(), drop.end(), name) != drop.end()) continue;
        if (name == label) {
            if (regression) {
                schema.target_range = column_of(name, seen[i], form).range;
            } else if (seen[i].distinct.size() <= most_classes) {
                schema.classes = sorted_values(seen[i]);
            } else {
                throw Error(ExitCode::usage,
                            "column '" + name + "' has more than " + std::to_string(most_classes) +
                                " different values",
                            "name the column that holds the class, or say --regression", "--label");
            }
            continue;
        }
        if (seen[i].unique() && (seen[i].all_whole || !seen[i].numbers[form]))
            guess.possible_ids.push_back(name);
        const Column column = column_of(name, seen[i], form);
        if (column.name.empty())
            guess.dropped.push_back(name);
        else
            schema.columns.push_back(column);
    }
    return guess;
}

}  // namespace holdfast
