#include "dist/data/guess_schema.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "dist/data/csv_reader.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/text.hpp"

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
    /// A cell that {',', 0} and {'.', ','} read as different numbers; a cell that two forms of dates read as
    /// different days.
    std::string two_numbers, two_days;

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
        const auto decimals = number_of_cell(cell, ',', 0), thousands = number_of_cell(cell, '.', ',');
        if (decimals && thousands && *decimals != *thousands) two_numbers = cell;
        std::optional<double> day;
        for (std::size_t i = 0; i < dates.size(); ++i) {
            if (!dates[i]) continue;
            const auto value = days_of(cell, usual_dates[i]);
            dates[i] = value.has_value();
            if (!value) continue;
            widen(days[i], *value);
            if (day && *day != *value) two_days = cell;
            day = value;
        }
    }
    bool empty() const { return cells == missing; }
    bool unique() const { return missing == 0 && distinct.size() == cells && cells > 1; }
};

void require_one_reading(const std::string& name, const Seen& seen, const std::string& path) {
    std::vector<std::string> options;
    for (std::size_t i = 0; i < seen.dates.size(); ++i)
        if (seen.dates[i]) options.push_back("--date '" + name + "=" + usual_dates[i] + "'");
    if (seen.empty() || seen.two_days.empty() || options.size() < 2) return;
    throw Error(ExitCode::input,
                "column '" + name + "': day and month of '" + seen.two_days + "' may stand in either order",
                "say which: " + joined(options, " or "), path);
}

/// The form that reads most of the columns that are numbers in any, of those that the options allow.
/// Error (input): decimal commas and groups of thousands read as many, and say different numbers.
std::size_t likeliest_numbers(const std::vector<Seen>& columns, const CsvOptions& options,
                              const std::string& path) {
    constexpr std::size_t decimal_commas = 1, thousands_commas = 2;
    std::vector<std::size_t> read(std::size(number_forms), 0);
    for (std::size_t form = 0; form < read.size(); ++form) {
        const auto [decimal, thousands] = number_forms[form];
        const bool allowed = (options.decimal == 0 || options.decimal == decimal) &&
                             (options.thousands == 0 || options.thousands == thousands);
        for (const Seen& seen : columns) read[form] += allowed && !seen.empty() && seen.numbers[form];
    }
    const auto best = static_cast<std::size_t>(std::ranges::max_element(read) - read.begin());
    const auto two = std::ranges::find_if(columns, [](const Seen& seen) {
        return !seen.two_numbers.empty() && seen.numbers[decimal_commas] && seen.numbers[thousands_commas];
    });
    if (best == decimal_commas && read[thousands_commas] == read[best] && two != columns.end())
        throw Error(ExitCode::input,
                    "'" + two->two_numbers + "' is a number with a decimal comma or with groups of thousands",
                    "say which: --decimal ',' or --thousands ','", path);
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
Column column_of(const std::string& name, const Seen& seen, std::size_t form, const std::string& date) {
    Column column{.name = name};
    const auto known = [](Range range) {
        return is_known(range) ? range : Range{range.lowest, range.lowest + 1};
    };
    if (seen.empty()) return {};
    if (seen.numbers[form]) {
        column.range = known(seen.ranges[form]);
        return column;
    }
    if (!date.empty()) {
        column.kind = Column::Kind::date;
        column.format = date;
        column.range = unknown_range;
    }
    for (std::size_t i = 0; i < seen.dates.size(); ++i) {
        if (!seen.dates[i] || (!date.empty() && date != usual_dates[i])) continue;
        column.kind = Column::Kind::date;
        column.format = usual_dates[i];
        column.range = known(seen.days[i]);
        return column;
    }
    if (column.kind == Column::Kind::date) return column;
    if (seen.distinct.size() > most_categories) return {};
    column.kind = Column::Kind::category;
    column.values = sorted_values(seen);
    if (seen.missing > 0) column.values.emplace_back("");
    return column;
}

}  // namespace

TableGuess guess_schema(const std::string& path, const CsvOptions& options) {
    TableGuess guess;
    CsvOptions said = options;
    if (said.delimiter == 0) said.delimiter = delimiter_of_header(path, options.text_encoding);
    Schema& schema = guess.schema;
    schema = schema_of_csv(path, said);  // says which columns are not there
    schema.columns.clear();
    CsvReader reader(path, schema.delimiter, options.text_encoding);
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
    const std::size_t form = likeliest_numbers(seen, options, path);
    schema.decimal = number_forms[form].first;
    schema.thousands = number_forms[form].second;
    guess.unnamed_first = header[0].empty() && !options.drop.contains("");
    for (std::size_t i = 0; i < header.size(); ++i) {
        const std::string& name = header[i];
        if (name.empty()) continue;
        if (seen[i].missing > 0) guess.missing[name] = seen[i].missing;
        if (name == options.id || options.drop.contains(name)) continue;
        if (name == options.label) {
            if (options.regression) {
                schema.target_range = column_of(name, seen[i], form, "").range;
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
        const auto dated = options.dates.find(name);
        if (dated == options.dates.end() && !seen[i].numbers[form]) require_one_reading(name, seen[i], path);
        const Column column =
            column_of(name, seen[i], form, dated == options.dates.end() ? "" : dated->second);
        if (column.name.empty())
            guess.dropped.push_back(name);
        else
            schema.columns.push_back(column);
    }
    return guess;
}

}  // namespace holdfast
