#include "dist/data/import_csv.hpp"

#include <sodium.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "dist/data/csv_reader.hpp"
#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

std::string trimmed(const std::string& text) {
    const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
    return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

bool is_missing(const std::string& cell) {
    std::string lower = cell;
    for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return lower.empty() || lower == "na" || lower == "n/a" || lower == "nan" || lower == "null" ||
           lower == "?";
}

/// The number that a whole cell is, a plus sign before it or not; nothing: it is none.
template <typename Number>
std::optional<Number> number_in(std::string_view cell) {
    if (cell.starts_with('+') && !cell.starts_with("+-")) cell.remove_prefix(1);
    return number_of<Number>(cell);
}

class CsvSource : public RecordSource {
  public:
    CsvSource(const std::string& path, const CsvOptions& options)
        : options_(options), reader_(path, options.delimiter) {
        info_.path = path;
        info_.position_word = "line";
        info_.wide = true;
        info_.class_names = options.classes;
        read_header();
        check_options();
        for (std::size_t column = 0; column < header_.size(); ++column) plan(column);
        if (info_.feature_names.empty())
            fail(ExitCode::input, "has no feature columns", "leave at least one beside label and id");
        info_.has_targets = options.regression && !options.label.empty();
        info_.has_labels = !options.regression && !options.label.empty();
        if (options.id.empty()) return;
        info_.ids = IdKind::given;
        info_.id_note = "column '" + options.id + "' (integers as they are, other text hashed)";
    }

    const SourceInfo& info() const override { return info_; }

    void rewind() override {
        reader_.rewind();
        rows_ = 0;
        reader_.next(cells_);  // the header
    }

    bool next(RawRecord& record) override {
        if (!reader_.next(cells_)) {
            if (rows_ == 0)
                fail(ExitCode::input, "has a header but no records", "a dataset needs at least one record");
            return false;
        }
        ++rows_;
        record.position = reader_.line();
        if (cells_.size() != header_.size()) {
            fail(ExitCode::input,
                 line() + " has " + std::to_string(cells_.size()) + " cells, the header has " +
                     std::to_string(header_.size()),
                 "quote cells that contain the delimiter, or name it with --delimiter");
        }
        record.features.clear();
        for (std::size_t column = 0; column < cells_.size(); ++column)
            read_cell(column, trimmed(cells_[column]), record);
        return true;
    }

  private:
    enum class Use { number, one_hot, integer, label, id, dropped };
    struct Column {
        Use use;
        const std::vector<std::string>* values = nullptr;  ///< public categories
    };

    [[noreturn]] void fail(ExitCode code, const std::string& message, const std::string& hint) const {
        throw Error(code, message, hint, info_.path);
    }
    std::string line() const { return "line " + std::to_string(reader_.line()); }
    std::string place(std::size_t column) const { return line() + ", column '" + header_[column] + "'"; }

    void read_header() {
        if (!reader_.next(header_)) fail(ExitCode::input, "is empty", "the first row names the columns");
        for (std::string& name : header_) name = trimmed(name);
        std::vector<std::string> sorted = header_;
        std::sort(sorted.begin(), sorted.end());
        const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
        if (twice != sorted.end()) {
            fail(ExitCode::input, "two columns are named '" + *twice + "'", "give every column its own name");
        }
    }

    void require_column(const std::string& name, const char* option) const {
        if (std::find(header_.begin(), header_.end(), name) != header_.end()) return;
        throw Error(ExitCode::usage, "no column '" + name + "' in " + info_.path, name_hint(name, header_),
                    option);
    }

    void check_options() const {
        if (!options_.label.empty()) require_column(options_.label, "--label");
        if (!options_.id.empty()) require_column(options_.id, "--id");
        for (const std::string& name : options_.drop) require_column(name, "--drop");
        for (const auto& [name, values] : options_.categories) require_column(name, "--categories");
        if (!options_.label.empty() && options_.label == options_.id) {
            throw Error(ExitCode::usage, "column '" + options_.id + "' is the label", "name another column",
                        "--id");
        }
    }

    void plan(std::size_t column) {
        const std::string& name = header_[column];
        const auto categories = options_.categories.find(name);
        if (name == options_.label) {
            columns_.push_back({Use::label, &options_.classes});
        } else if (name == options_.id) {
            columns_.push_back({Use::id});
        } else if (options_.drop.contains(name)) {
            columns_.push_back({Use::dropped});
        } else if (categories == options_.categories.end()) {
            columns_.push_back({Use::number});
            add_feature(name, unknown_range);
        } else {
            plan_categories(name, categories->second);
        }
    }

    void plan_categories(const std::string& name, const std::vector<std::string>& values) {
        if (options_.encoding == CategoryEncoding::integer) {
            columns_.push_back({Use::integer, &values});
            add_feature(name, {0, std::max<double>(1, static_cast<double>(values.size()) - 1)});
            return;
        }
        columns_.push_back({Use::one_hot, &values});
        for (const std::string& value : values) add_feature(name + "=" + value, {0, 1});
    }

    void add_feature(const std::string& name, Range range) {
        info_.feature_names.push_back(name);
        info_.known_ranges.push_back(range);
    }

    void read_cell(std::size_t column, const std::string& cell, RawRecord& record) {
        const Column& plan = columns_[column];
        switch (plan.use) {
            case Use::number:
                record.features.push_back(number(column, cell));
                return;
            case Use::integer:
                record.features.push_back(integer_category(column, cell));
                return;
            case Use::one_hot: {
                const std::size_t index = category(column, cell);
                for (std::size_t i = 0; i < plan.values->size(); ++i)
                    record.features.push_back(i == index ? 1 : 0);
                return;
            }
            case Use::label:
                if (options_.regression) {
                    record.target = number(column, cell);
                } else {
                    record.label = label(column, cell);
                }
                return;
            case Use::id:
                record.id = id(column, cell);
                return;
            case Use::dropped:
                return;
        }
    }

    double number(std::size_t column, const std::string& cell) const {
        if (is_missing(cell)) return std::nan("");
        if (const auto value = number_in<double>(cell)) return *value;
        fail(ExitCode::input, place(column) + ": '" + cell + "' is not a number",
             columns_[column].use == Use::label
                 ? "a regression learns numbers: name another --label, or leave out --regression"
                 : "--categories " + header_[column] + "=a|b|c encodes text, --drop " + header_[column] +
                       " leaves it out");
    }

    double integer_category(std::size_t column, const std::string& cell) const {
        const auto& values = *columns_[column].values;
        const bool listed = std::find(values.begin(), values.end(), cell) != values.end();
        return !listed && is_missing(cell) ? std::nan("") : static_cast<double>(category(column, cell));
    }

    std::size_t category(std::size_t column, const std::string& cell) const {
        const auto& values = *columns_[column].values;
        const auto found = std::find(values.begin(), values.end(), cell);
        if (found != values.end()) return static_cast<std::size_t>(found - values.begin());
        const char* option = columns_[column].use == Use::label ? "--classes" : "--categories";
        fail(ExitCode::input, place(column) + ": '" + cell + "' is not in its public list of values",
             std::string("add it to ") + option);
    }

    std::int64_t label(std::size_t column, const std::string& cell) const {
        if (!options_.classes.empty()) return static_cast<std::int64_t>(category(column, cell));
        if (const auto value = number_in<std::int64_t>(cell)) return *value;
        const auto real = number_in<double>(cell);
        if (real && *real == std::floor(*real) && std::abs(*real) < 1e15)
            return static_cast<std::int64_t>(*real);
        fail(ExitCode::input, place(column) + ": label '" + cell + "' is not an integer",
             "labels are 0, 1, 2, …, or --classes a|b names the values in their order; --regression learns "
             "numbers");
    }

    std::uint64_t id(std::size_t column, const std::string& cell) const {
        if (cell.empty())
            fail(ExitCode::input, place(column) + ": the id is missing", "every record needs an id");
        return id_of_cell(cell);
    }

    CsvOptions options_;
    CsvReader reader_;
    SourceInfo info_;
    std::vector<std::string> header_, cells_;
    std::vector<Column> columns_;
    std::uint64_t rows_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> open_csv(const std::string& path, const CsvOptions& options) {
    if (sodium_init() < 0) throw Error(ExitCode::internal, "libsodium does not start", "please report it");
    return std::make_unique<CsvSource>(path, options);
}

}  // namespace holdfast
