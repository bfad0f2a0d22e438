#include "jobs/study/report/read_fleet.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/text.hpp"
#include "models/idp/idp_bounds.hpp"

namespace holdfast {
namespace {

constexpr const char *records_file = "influence_records.csv", *summary_file = "influence.json";

[[noreturn]] void damaged(const std::string& path, const std::string& problem) {
    throw Error(ExitCode::input, problem, "write it again: holdfast influence", path);
}

void add_bounds(const RunFolder& folder, const RunManifest& manifest, FleetFigures& figures) {
    const IdpBounds bounds = IdpBounds::read(folder, manifest, manifest.dataset.classes);
    for (std::size_t c = 0; c < bounds.classes.size(); ++c) {
        const std::optional<IdpClass>& found = bounds.classes[c];
        if (!found) continue;
        figures.bounds.push_back({c, found->lower, found->upper, found->seconds, found->complete,
                                  found->record ? std::to_string(*found->record) : ""});
    }
    const nlohmann::json object = folder.read_json(IdpBounds::file_name);
    try {
        figures.bound_guarantee = guarantee_field(object);
    } catch (const Error& error) {
        throw Error(ExitCode::input, error.message(), "write it again: holdfast idp",
                    folder.file(IdpBounds::file_name));
    }
}

std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    return cells;
}

/// influence_records.csv: columns are known by their names, as some are there only where they were asked for.
class RecordTable {
  public:
    /// `path`: for messages.
    RecordTable(const std::string& text, std::string path) : path_(std::move(path)), file_(text) {
        std::string line;
        if (!std::getline(file_, line)) damaged(path_, "cannot be read, or is empty");
        names_ = cells_of(line);
        for (const char* name : {"record", "labels_changed", "largest_change", "mean_change"})
            if (place(name) == names_.size()) damaged(path_, std::string("has no column ") + name);
    }
    bool next() {
        std::string line;
        if (!std::getline(file_, line)) return false;
        ++line_;
        cells_ = cells_of(line);
        if (cells_.size() != names_.size())
            damaged(path_, "line " + std::to_string(line_) + " has " + std::to_string(cells_.size()) +
                               " columns of " + std::to_string(names_.size()));
        return true;
    }
    std::string text(const char* name) const { return cells_[place(name)]; }
    /// NaN: there is no such column.
    double number(const char* name) const {
        const std::size_t at = place(name);
        if (at == names_.size()) return std::numeric_limits<double>::quiet_NaN();
        const auto value = number_of<double>(cells_[at]);
        if (!value) damaged(path_, "line " + std::to_string(line_) + ": \"" + cells_[at] + "\" is no number");
        return *value;
    }

  private:
    std::size_t place(const char* name) const {
        return static_cast<std::size_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
    }
    std::string path_;
    std::istringstream file_;
    std::vector<std::string> names_, cells_;
    std::size_t line_ = 1;
};

void add_influence(const RunFolder& folder, FleetFigures& figures) {
    const nlohmann::json object =
        folder.has(summary_file) ? folder.read_json(summary_file) : nlohmann::json::object();
    const nlohmann::json digest = object.value("records_digest", nlohmann::json());
    RecordTable table(folder.read_text(records_file, digest.is_string() ? digest.get<std::string>() : ""),
                      folder.file(records_file));
    while (table.next())
        figures.records.push_back({table.text("record"), table.number("labels_changed"),
                                   table.number("largest_change"), table.number("mean_change"),
                                   table.number("newton"), table.number("memorised")});
    if (object.empty()) return;
    try {
        const JsonFields fields(object, "", false);
        figures.queries = static_cast<double>(fields.count("queries"));
        figures.queries_changed = static_cast<double>(fields.count("queries_that_a_record_changes"));
        const nlohmann::json newton = object.value("newton", nlohmann::json());
        if (!newton.is_object() || newton.value("correlation", nlohmann::json()).is_null()) return;
        const JsonFields estimate(newton, "newton.", false);
        figures.newton = printed("correlation %.4f with the exact changes, off by %.4g at most",
                                 estimate.number("correlation"), estimate.number("largest_error"));
    } catch (const std::string& problem) {
        damaged(folder.file(summary_file), problem);
    }
}

}  // namespace

FleetFigures read_fleet_figures(const RunFolder& folder, const RunManifest& manifest) {
    FleetFigures figures;
    if (IdpBounds::known(folder)) add_bounds(folder, manifest, figures);
    if (folder.has(records_file)) add_influence(folder, figures);
    return figures;
}

}  // namespace holdfast
