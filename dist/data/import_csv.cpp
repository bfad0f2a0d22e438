#include "dist/data/import_csv.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "dist/data/csv_reader.hpp"
#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr double most_labels = 1 << 30;

/// The number that a whole cell is, a plus sign before it or not; nothing: it is none.
template <typename Number>
std::optional<Number> number_in(std::string_view cell) {
    if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
    return number_of<Number>(cell);
}

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

/// Without the marks between groups of three digits; nothing: they stand elsewhere.
std::optional<std::string> without_groups(const std::string& cell, char mark, char decimal) {
    const std::size_t whole = std::min(cell.find(decimal), cell.size());
    std::string digits;
    std::size_t in_group = 0;
    bool grouped = false;
    for (std::size_t i = 0; i < whole; ++i) {
        if (cell[i] != mark) {
            digits += cell[i];
            in_group += is_digit(cell[i]) ? 1 : 0;
            continue;
        }
        if (in_group == 0 || in_group > 3 || (grouped && in_group != 3)) return std::nullopt;
        grouped = true;
        in_group = 0;
    }
    if (grouped && (in_group != 3 || digits.find_first_of("0123456789") == digits.find('0')))
        return std::nullopt;
    return digits + cell.substr(whole);
}

std::vector<std::string> split_at(const std::string& line, char between) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= line.size();) {
        const std::size_t end = std::min(line.find(between, begin), line.size());
        parts.push_back(trimmed_cell(line.substr(begin, end - begin)));
        begin = end + 1;
    }
    return parts;
}

/// The options that read a cell which is no number as the file stands: all of them, where there are several.
std::string remedy_for(const std::string& column, const std::string& cell) {
    std::vector<std::string> remedies;
    for (const char* format : usual_dates)
        if (days_of(cell, format)) remedies.push_back("--date '" + column + "=" + format + "' reads dates");
    if (remedies.empty()) {
        for (const auto& [decimal, thousands] :
             {std::pair{',', '\0'}, {'.', ','}, {',', '.'}, {',', ' '}, {'.', '\''}}) {
            if (!number_of_cell(cell, decimal, thousands)) continue;
            const std::string option = decimal == ',' ? "--decimal ," : "";
            const std::string groups = thousands == 0 ? "" : std::string("--thousands '") + thousands + "'";
            const std::string number = printed("%.15g", *number_of_cell(cell, decimal, thousands));
            remedies.push_back(option + (option.empty() || groups.empty() ? "" : " ") + groups + " reads " +
                               number);
        }
    }
    if (!remedies.empty()) return joined(remedies, ", or ");
    return "--categories " + column + "=a|b|c encodes text, --categories '" + column +
           "=#' text of values that nobody has stated, --drop " + column +
           " leaves it out, --missing-word WORD says that WORD is a missing cell";
}

/// label: of an option, or empty.
std::vector<std::string> header_of(CsvReader& reader, const std::string& path,
                                   const std::string& label = "") {
    const auto fail = [&](const std::string& message, const std::string& hint) {
        return Error(ExitCode::input, message, hint, path);
    };
    std::vector<std::string> header;
    if (!reader.next(header)) throw fail("is empty", "the first row names the columns");
    for (std::string& name : header) name = trimmed_cell(name);
    for (const char other : {';', '\t', ',', '|'}) {
        if (header.size() > 1 || other == reader.delimiter() || header[0].find(other) == std::string::npos)
            continue;
        const std::string option =
            std::string("--delimiter ") + (other == '\t' ? "tab" : std::string("'") + other + "'");
        std::vector<std::string> names = split_at(header[0], other);
        if (!label.empty() && std::ranges::find(names, label) == names.end())
            throw Error(ExitCode::usage, "no column '" + label + "' in " + path,
                        name_hint(label, names) + "; and " + option + " stands between the cells", "--label");
        throw fail("has one column, \"" + header[0].substr(0, 60) + "\"",
                   "another character stands between its cells: " + option);
    }
    std::vector<std::string> sorted = header;
    std::erase(sorted, "");
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end())
        throw fail("two columns are named '" + *twice + "'", "give every column its own name");
    return header;
}

/// Into how many columns the character splits the header; 0: its quotes do not go together with it.
std::size_t columns_by(CsvReader& reader) {
    std::vector<std::string> header;
    try {
        return reader.next(header) ? header.size() : 0;
    } catch (const Error&) {
        return 0;  // as whoever reads on says of the likeliest
    }
}

class CsvSource : public RecordSource {
  public:
    CsvSource(const std::string& path, const Schema& schema, CsvUse use, const std::string& encoding)
        : schema_(schema), reader_(path, schema.delimiter, encoding), use_(use) {
        info_.path = path;
        info_.position_word = "line";
        info_.wide = true;
        info_.class_names = schema.classes;
        info_.table = schema;
        info_.feature_names = schema.feature_names();
        Schema encodings = schema;  // what they fix, without what is stated
        for (Column& column : encodings.columns) column.range = unknown_range;
        info_.known_ranges = encodings.feature_ranges();
        if (info_.feature_names.empty())
            fail(ExitCode::input, "has no feature columns", "leave at least one beside label and id");
        header_ = header_of(reader_, path);
        find_columns();
        info_.has_targets = schema.regression && label_at_.has_value();
        info_.has_labels = !schema.regression && label_at_.has_value();
        info_.labels_select = use == CsvUse::training && label_at_.has_value();
        if (!id_at_) return;
        info_.ids = IdKind::given;
        info_.id_note = "column '" + schema.id + "' (integers as they are, other text hashed)";
    }

    const SourceInfo& info() const override { return info_; }

    void rewind() override {
        reader_.rewind();
        problems = {};
        other_cells = {};
        unlabelled = 0;
        tolerated = {};
        rows_ = 0;
        reader_.next(cells_);  // the header
    }

    bool next(RawRecord& record) override {
        do {
            if (!reader_.next(cells_)) {
                if (rows_ == 0 && unlabelled == 0)
                    fail(ExitCode::input, "has a header but no records",
                         "a dataset needs at least one record");
                return false;
            }
            for (std::string& cell : cells_) cell = trimmed_cell(cell);
        } while (is_left_out());
        ++rows_;
        record.position = reader_.line();
        record.features.clear();
        record.flawed = false;
        if (cells_.size() != header_.size()) {
            refuse(record, "cells",
                   line() + " has " + std::to_string(cells_.size()) + " cells, the header has " +
                       std::to_string(header_.size()),
                   "quote cells that contain the delimiter, or name it with --delimiter");
            if (record.flawed) {
                record.features.resize(info_.feature_names.size(), 0);
                return true;
            }
            cells_.resize(header_.size());
        }
        for (std::size_t i = 0; i < schema_.columns.size(); ++i)
            read_column(schema_.columns[i], cells_[places_[i]], record);
        if (label_at_) read_label(cells_[*label_at_], record);
        if (id_at_) take_id(cells_[*id_at_], record);
        return true;
    }

  private:
    [[noreturn]] void fail(ExitCode code, const std::string& message, const std::string& hint) const {
        throw Error(code, message, hint, info_.path);
    }
    std::string line() const { return "line " + std::to_string(reader_.line()); }
    std::string place(const std::string& column) const { return line() + ", column '" + column + "'"; }
    void flaw(RawRecord& record, const std::string& kind, const std::string& message, const std::string& hint,
              const std::string& sample = "") {
        record.flawed = true;
        problems.add(kind, message, hint, record.position, sample);
    }

    /// A cell that does not fit: of training it counts as missing, else it is a problem.
    void refuse(RawRecord& record, const std::string& kind, const std::string& message,
                const std::string& hint, const std::string& sample = "") {
        if (use_ != CsvUse::training) return flaw(record, kind, message, hint, sample);
        tolerated.add(kind, message, hint, record.position, sample);
    }

    std::optional<std::size_t> place_of(const std::string& name) const {
        const auto found = std::find(header_.begin(), header_.end(), name);
        if (name.empty() || found == header_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - header_.begin());
    }

    void find_columns() {
        std::vector<std::string> missing;
        const auto need = [&](const std::string& name) { missing.push_back("'" + name + "'"); };
        std::set<std::string> named{schema_.label, schema_.id};
        for (const Column& column : schema_.columns) {
            named.insert(column.cell_column());
            const auto found = place_of(column.cell_column());
            if (found) places_.push_back(*found);
            if (!found) need(column.cell_column());
        }
        label_at_ = place_of(schema_.label);
        id_at_ = place_of(schema_.id);
        const bool trained = use_ != CsvUse::queries;
        if (trained && !schema_.label.empty() && !label_at_) need(schema_.label);
        if (trained && !schema_.id.empty() && !id_at_) need(schema_.id);
        if (!missing.empty()) {
            fail(ExitCode::input, "lacks the columns " + listed(missing),
                 "its header names " + listed(header_) + "; columns are found by name, in any order");
        }
        for (const std::string& name : header_)
            if (!named.contains(name)) info_.ignored.push_back(name);
    }

    bool is_missing(const std::string& cell) const {
        return is_missing_cell(cell) || std::find(schema_.missing_words.begin(), schema_.missing_words.end(),
                                                  cell) != schema_.missing_words.end();
    }

    /// Of a category an empty value of the list stands for every missing cell.
    bool lacks_label(const std::string& cell) const {
        return is_missing(cell) && !listed_at(schema_.classes, cell) && !listed_at(schema_.classes, "");
    }
    /// Is the row no record, because its label is none of the stated ones?
    bool is_left_out() {
        const bool out = use_ == CsvUse::training && label_at_ && !is_labelled();
        unlabelled += out ? 1 : 0;
        return out;
    }

    bool is_labelled() const {
        if (*label_at_ >= cells_.size()) return false;
        const std::string& cell = cells_[*label_at_];
        if (schema_.regression) {
            const auto target = number_of_cell(cell, schema_.decimal, schema_.thousands);
            return !is_missing(cell) && target && std::isfinite(*target);
        }
        if (lacks_label(cell)) return false;
        if (!schema_.classes.empty()) return is_missing(cell) || listed_at(schema_.classes, cell).has_value();
        const auto label = whole_number(cell);  // how many classes there are says ImportOptions::classes
        return label && *label >= 0;
    }

    static std::optional<std::int64_t> whole_number(const std::string& cell) {
        if (const auto value = number_in<std::int64_t>(cell)) return value;
        const auto real = number_in<double>(cell);
        if (!real || *real != std::floor(*real) || std::abs(*real) >= 1e15) return std::nullopt;
        return static_cast<std::int64_t>(*real);
    }

    /// One of both parts of a column that has no type.
    void read_part(const Column& column, const std::string& cell, RawRecord& record) {
        const auto value = is_missing(cell) ? std::nullopt : number_of_undeclared(cell, schema_);
        if (column.kind == Column::Kind::number)
            record.features.push_back(value.value_or(column.missing.value_or(0)));
        else
            push_bucket(
                column,
                value ? bucket_of_numbers(column) : column.hashed_bucket(is_missing(cell) ? "" : cell),
                record);
    }

    /// The place of a bucket among those that are counted apart: the last stands for all others.
    static void push_bucket(const Column& column, std::size_t bucket, RawRecord& record) {
        const std::size_t at = column.place_of_bucket(bucket);
        if (column.integer) record.features.push_back(static_cast<double>(at));
        for (std::size_t i = 0; !column.integer && i < column.values.size(); ++i)
            record.features.push_back(i == at ? 1 : 0);
    }

    void read_column(const Column& column, const std::string& cell, RawRecord& record) {
        if (!column.reads.empty()) return read_part(column, cell, record);
        switch (column.kind) {
            case Column::Kind::number:
                record.features.push_back(number(column.name, cell, record));
                return;
            case Column::Kind::date:
                record.features.push_back(date(column, cell, record));
                return;
            case Column::Kind::category:
                break;
        }
        if (column.is_unnamed()) {
            record.features.push_back(static_cast<double>(place_of_name(column.name, cell)));
            return;
        }
        if (column.named) {
            const std::size_t other = column.values.size() - 1;
            const std::size_t at = std::min(
                listed_at(column.values, is_missing(cell) ? "" : name_of_cell(cell)).value_or(other), other);
            count_other(column.name, cell, at == other);
            for (std::size_t i = 0; i <= other; ++i) record.features.push_back(i == at ? 1 : 0);
            return;
        }
        if (column.buckets > 0) {
            const std::size_t bucket = column.hashed_bucket(is_missing(cell) ? "" : cell);
            push_bucket(column, bucket, record);
            count_other(column.name, cell,
                        column.values.size() != column.buckets &&
                            column.place_of_bucket(bucket) + 1 == column.values.size());
            return;
        }
        if (column.integer) {
            const bool gap = !listed_at(column.values, cell) && is_missing(cell);
            const auto found = gap ? std::nullopt : category(column.name, column.values, cell, record);
            record.features.push_back(found ? static_cast<double>(*found) : std::nan(""));
            return;
        }
        const auto index = category(column.name, column.values, cell, record);
        for (std::size_t i = 0; i < column.values.size(); ++i) record.features.push_back(index == i ? 1 : 0);
    }

    void count_other(const std::string& column, const std::string& cell, bool other) {
        if (is_missing(cell))
            ++other_cells[column].missing;
        else if (other)
            ++other_cells[column].other;
    }

    double number(const std::string& column, const std::string& cell, RawRecord& record) {
        if (is_missing(cell)) return std::nan("");
        if (const auto value = number_of_cell(cell, schema_.decimal, schema_.thousands)) return *value;
        refuse(record, "number " + column, place(column) + ": '" + cell + "' is not a number",
               column == schema_.label
                   ? "a regression learns numbers: name another --label, or leave out --regression"
                   : remedy_for(column, cell),
               cell);
        return std::nan("");
    }

    double date(const Column& column, const std::string& cell, RawRecord& record) {
        if (is_missing(cell)) return std::nan("");
        if (const auto days = days_of(cell, column.format)) return *days;
        refuse(record, "date " + column.name,
               place(column.name) + ": '" + cell + "' is no date of the form " + column.format,
               "--date " + column.name + "=FORMAT names another form, as %d.%m.%Y", cell);
        return std::nan("");
    }

    /// In the order in which they were found.
    std::size_t place_of_name(const std::string& column, const std::string& cell) {
        const std::string name = is_missing(cell) ? "" : name_of_cell(cell);
        std::vector<std::string>& names = info_.names[column];
        const auto [entry, fresh] = places_of_names_[column].try_emplace(name, names.size());
        if (fresh) names.push_back(name);
        return entry->second;
    }

    static std::optional<std::size_t> listed_at(const std::vector<std::string>& values,
                                                const std::string& cell) {
        const auto found = std::find(values.begin(), values.end(), cell);
        if (found == values.end()) return std::nullopt;
        return static_cast<std::size_t>(found - values.begin());
    }

    /// An empty value of the list stands for every missing cell; nothing: no value does.
    std::optional<std::size_t> category(const std::string& column, const std::vector<std::string>& values,
                                        const std::string& cell, RawRecord& record) {
        if (const auto found = listed_at(values, cell)) return found;
        const bool gap = is_missing(cell);
        if (const auto found = listed_at(values, ""); gap && found) {
            if (column != schema_.label) ++other_cells[column].missing;
            return found;
        }
        refuse(record, (gap ? "gap " : "value ") + column,
               place(column) +
                   (gap ? ": '" + cell + "' is missing, and no value of its public list stands for that"
                        : ": '" + cell + "' is not in its public list of values"),
               gap ? "an empty value in the list is one: --categories '" + column + "=a|b|'"
                   : std::string("add it to ") + (column == schema_.label ? "--classes" : "--categories"),
               cell);
        return std::nullopt;
    }

    /// An answer to compare with, if the cell has one.
    void read_label_of_query(const std::string& cell, RawRecord& record) {
        if (schema_.regression) {
            record.target = number_of_cell(cell, schema_.decimal, schema_.thousands).value_or(std::nan(""));
            return;
        }
        record.label = -1;
        if (!schema_.classes.empty()) {
            const auto found = listed_at(schema_.classes, is_missing(cell) ? "" : cell);
            if (const auto exact = listed_at(schema_.classes, cell); exact || found)
                record.label = static_cast<std::int64_t>(exact ? *exact : *found);
        } else if (const auto value = number_in<double>(cell);
                   value && *value == std::floor(*value) && *value >= 0 && *value < most_labels) {
            record.label = static_cast<std::int64_t>(*value);
        }
    }

    void read_label(const std::string& cell, RawRecord& record) {
        const std::string& name = schema_.label;
        if (use_ == CsvUse::queries) return read_label_of_query(cell, record);
        if (schema_.regression) {
            record.target = number(name, cell, record);
            return;
        }
        if (lacks_label(cell)) {
            flaw(record, "no label", place(name) + ": the label is missing",
                 "without --missing error such rows are left out");
            return;
        }
        if (!schema_.classes.empty()) {
            record.label =
                static_cast<std::int64_t>(category(name, schema_.classes, cell, record).value_or(0));
            return;
        }
        if (const auto label = whole_number(cell)) {
            record.label = *label;
            return;
        }
        flaw(record, "label", place(name) + ": label '" + cell + "' is not an integer",
             "labels are 0, 1, 2, …, or --classes a|b names the values in their order; --regression learns "
             "numbers",
             cell);
    }

    void take_id(const std::string& cell, RawRecord& record) {
        ReadId found = read_id(cell);
        if (found.fault.empty() && is_missing(cell)) found.fault = "the id '" + cell + "' is a missing word";
        if (!found.fault.empty()) {
            flaw(record, "id", place(schema_.id) + ": " + found.fault, id_hint, cell);
            return;
        }
        record.id = found.id;
        record.name = cell;
    }

    Schema schema_;
    CsvReader reader_;
    SourceInfo info_;
    std::vector<std::string> header_, cells_;
    std::vector<std::size_t> places_;  ///< of each column of the schema, in the header
    CsvUse use_;
    std::optional<std::size_t> label_at_, id_at_;
    std::map<std::string, std::unordered_map<std::string, std::size_t>> places_of_names_;
    std::uint64_t rows_ = 0;
};

}  // namespace

std::string trimmed_cell(const std::string& cell) {
    const auto first = cell.find_first_not_of(" \t\r"), last = cell.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : cell.substr(first, last - first + 1);
}

std::optional<double> number_of_cell(const std::string& cell, char decimal, char thousands) {
    if (decimal == '.' && thousands == 0) return number_in<double>(cell);
    std::string plain = cell;
    if (thousands != 0) {
        const auto found = without_groups(cell, thousands, decimal);
        if (!found) return std::nullopt;
        plain = *found;
    }
    if (decimal != '.') {
        if (plain.find('.') != std::string::npos) return std::nullopt;
        std::replace(plain.begin(), plain.end(), decimal, '.');
    }
    return number_in<double>(plain);
}

std::optional<double> number_of_undeclared(const std::string& cell, const Schema& schema) {
    std::string plain = cell;
    const bool comma_is_decimal = schema.delimiter == ';' || schema.delimiter == '\t';
    if (comma_is_decimal && std::count(cell.begin(), cell.end(), ',') == 1 &&
        cell.find('.') == std::string::npos)
        std::replace(plain.begin(), plain.end(), ',', '.');
    const bool stated = schema.decimal != '.' || schema.thousands != 0;
    const auto value =
        stated ? number_of_cell(cell, schema.decimal, schema.thousands) : number_in<double>(plain);
    if (value) return std::isfinite(*value) ? value : std::nullopt;
    for (const char* format : {"%Y-%m-%d", "%d.%m.%Y"})
        if (const auto days = days_of(cell, format)) return days;
    return std::nullopt;
}

bool is_missing_cell(const std::string& cell) {
    std::string lower = cell;
    for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return lower.empty() || lower == "na" || lower == "n/a" || lower == "nan" || lower == "null" ||
           lower == "?";
}

char delimiter_of_header(const std::string& path, const std::string& encoding) {
    char best = ',';
    std::size_t most = 0;
    for (const char delimiter : {',', ';', '\t', '|'}) {
        CsvReader reader(path, delimiter, encoding);
        const std::size_t columns = columns_by(reader);
        if (columns > most) {
            most = columns;
            best = delimiter;
        }
    }
    return best;
}

Schema schema_of_csv(const std::string& path, const CsvOptions& options) {
    CsvReader reader(path, options.delimiter, options.text_encoding);
    const std::vector<std::string> header = header_of(reader, path, options.label);
    const auto require_column = [&](const std::string& name, const char* option) {
        if (name.empty() || std::find(header.begin(), header.end(), name) != header.end()) return;
        throw Error(ExitCode::usage, "no column '" + name + "' in " + path, name_hint(name, header), option);
    };
    require_column(options.label, "--label");
    require_column(options.id, "--id");
    for (const std::string& name : options.drop) require_column(name, "--drop");
    for (const auto& [name, values] : options.categories) require_column(name, "--categories");
    for (const auto& [name, format] : options.dates) require_column(name, "--date");
    if (!options.label.empty() && options.label == options.id)
        throw Error(ExitCode::usage, "column '" + options.id + "' is the label", "name another column",
                    "--id");
    Schema schema;
    schema.label = options.label;
    schema.classes = options.classes;
    schema.regression = options.regression;
    schema.id = options.id;
    schema.delimiter = reader.delimiter();
    schema.decimal = options.decimal;
    schema.thousands = options.thousands;
    schema.missing_words = options.missing_words;
    for (std::size_t i = 0; i < header.size(); ++i) {
        const std::string& name = header[i];
        if (name.empty() && i > 0 && !options.drop.contains(""))
            throw Error(ExitCode::input, "column " + std::to_string(i + 1) + " has no name",
                        "name it in the header; --drop '' leaves out all columns without a name", path);
        if (name.empty() || name == options.label || name == options.id || options.drop.contains(name))
            continue;
        Column column{.name = name};
        if (const auto values = options.categories.find(name); values != options.categories.end()) {
            column.kind = Column::Kind::category;
            column.values = values->second;
            column.integer = options.encoding == CategoryEncoding::integer;
            if (values->second == std::vector<std::string>{"#"}) column = hashed_column(name);
            if (values->second == std::vector<std::string>{"?"}) column = unnamed_column(name);
        } else if (const auto format = options.dates.find(name); format != options.dates.end()) {
            column.kind = Column::Kind::date;
            column.format = format->second;
        } else if (options.undeclared) {
            for (Column& part : parts_of_undeclared(name)) schema.columns.push_back(std::move(part));
            continue;
        }
        schema.columns.push_back(column);
    }
    return schema;
}

std::unique_ptr<RecordSource> open_csv(const std::string& path, const Schema& schema, CsvUse use,
                                       const std::string& encoding) {
    if (sodium_init() < 0) throw Error(ExitCode::internal, "libsodium does not start", "please report it");
    if (schema.withheld)
        throw Error(ExitCode::usage,
                    "the ranges and categories of its columns were found in private records, and stayed with "
                    "their owner",
                    "whoever has the dataset gives it as --schema; a model trained with public ranges "
                    "(import --schema, --scale) carries them",
                    path);
    return std::make_unique<CsvSource>(path, schema, use, encoding);
}

std::unique_ptr<RecordSource> open_csv(const std::string& path, const CsvOptions& options, CsvUse use) {
    return open_csv(path, schema_of_csv(path, options), use, options.text_encoding);
}

}  // namespace holdfast
