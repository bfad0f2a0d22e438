#include "dist/data/import_records.hpp"

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "dist/data/filled_records.hpp"
#include "dist/data/person_rows.hpp"
#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t import_slab = 4096;
constexpr std::int64_t most_classes = 65536;  ///< more means that the column is not a label

/// The public value for every column's missing values; NaN where a missing value is an error.
std::vector<double> fills_for(const SourceInfo& info, const MissingRule& rule) {
    std::vector<double> fills(info.feature_names.size(), rule.zero ? 0.0 : std::nan(""));
    for (const auto& [name, value] : rule.columns) {
        const auto found = std::find(info.feature_names.begin(), info.feature_names.end(), name);
        if (found == info.feature_names.end()) {
            throw Error(ExitCode::usage, "no feature column '" + name + "'",
                        name_hint(name, info.feature_names), "--missing");
        }
        fills[static_cast<std::size_t>(found - info.feature_names.begin())] = value;
    }
    return fills;
}

/// Of a table, what its schema says of gaps, and what options say over it.
std::vector<double> fills_of(const SourceInfo& info, const MissingRule& rule) {
    std::vector<double> fills = fills_for(info, rule);
    if (!info.table) return fills;
    const std::vector<double> stated = info.table->missing_values();
    for (std::size_t column = 0; column < fills.size(); ++column)
        if (std::isnan(fills[column])) fills[column] = stated[column];
    return fills;
}

/// What every missing value counts as: as stated, else the middle of its range, of values that keep their
/// scale 0. NaN: it is refused.
std::vector<double> fills_within(const SourceInfo& info, const MissingRule& rule,
                                 const std::vector<Range>& ranges) {
    std::vector<double> fills = fills_of(info, rule);
    if (rule.refused) return fills;
    for (std::size_t column = 0; column < fills.size(); ++column) {
        const bool ranged = column < ranges.size() && is_known(ranges[column]);
        if (std::isnan(fills[column]))
            fills[column] = ranged ? (ranges[column].lowest + ranges[column].highest) / 2 : 0;
    }
    return fills;
}

/// What an encoding fixes stays: a flag is 0 or 1 whatever is found.
std::vector<Range> ranges_of_data(const std::vector<NamedSource>& sources, const MissingRule& rule) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<Range> ranges(sources[0].source->info().feature_names.size(), Range{infinity, -infinity});
    RawRecord record;
    for (const NamedSource& named : sources) {
        const std::vector<double> fills = fills_of(named.source->info(), rule);
        while (named.source->next(record)) {
            if (record.flawed) continue;
            for (std::size_t column = 0; column < ranges.size(); ++column) {
                const double value =
                    std::isfinite(record.features[column]) ? record.features[column] : fills[column];
                if (std::isnan(value)) continue;
                ranges[column].lowest = std::min(ranges[column].lowest, value);
                ranges[column].highest = std::max(ranges[column].highest, value);
            }
        }
        named.source->problems.raise(named.source->info().path);
        named.source->rewind();
    }
    const SourceInfo& info = sources[0].source->info();
    for (std::size_t column = 0; column < ranges.size(); ++column) {
        const bool fixed = info.table && is_known(info.known_ranges[column]);
        if (fixed) ranges[column] = info.known_ranges[column];
        if (!std::isfinite(ranges[column].lowest)) ranges[column] = {0, 1};  // no cell is a number
        if (!is_known(ranges[column])) ranges[column].highest = ranges[column].lowest + 1;  // constant: 0
        if (!is_valid(ranges[column]))
            throw Error(
                ExitCode::input,
                "column '" + info.feature_names[column] + "': the range of its values must be " + valid_range,
                "state a smaller one: --scale COLUMN=LOW:HIGH", info.path);
    }
    return ranges;
}

void require_known_columns(const std::map<std::string, Range>& ranges,
                           const std::vector<std::string>& names) {
    for (const auto& [name, range] : ranges) {
        if (name != "*" && std::find(names.begin(), names.end(), name) == names.end()) {
            throw Error(ExitCode::usage, "no feature column '" + name + "'", name_hint(name, names),
                        "--scale");
        }
        if (!is_valid(range)) {
            throw Error(ExitCode::usage, "column '" + name + "': the range must be " + valid_range,
                        "write --scale " + name + "=LOW:HIGH", "--scale");
        }
    }
}

/// Every column's public range: the option's, or what the encoding fixes (flags, categories, bytes), or "*".
std::vector<Range> ranges_of_options(const SourceInfo& info, const std::vector<Range>& stated,
                                     const std::map<std::string, Range>& given) {
    require_known_columns(given, info.feature_names);
    std::vector<Range> ranges = info.known_ranges;
    ranges.resize(info.feature_names.size(), unknown_range);
    for (std::size_t column = 0; column < ranges.size(); ++column)
        if (!is_known(ranges[column])) ranges[column] = stated[column];
    std::vector<std::string> open;
    for (std::size_t column = 0; column < ranges.size(); ++column) {
        const std::string& name = info.feature_names[column];
        if (given.contains(name)) {
            if (info.table && is_known(info.known_ranges[column]) && !(given.at(name) == ranges[column]))
                throw Error(ExitCode::usage, "'" + name + "' is a category, whose features have their range",
                            "leave it out", "--scale");
            ranges[column] = given.at(name);
        } else if (given.contains("*") && (info.bytes || !is_known(ranges[column]))) {
            ranges[column] = given.at("*");
        }
        if (!is_known(ranges[column])) open.push_back(name);
    }
    if (open.empty()) return ranges;
    throw Error(ExitCode::usage, "no public range for: " + listed(open),
                "give each a --scale COLUMN=LOW:HIGH, or '*=LOW:HIGH' for all, or none at all", "--scale");
}

/// Empty: values are stored as they are.
std::vector<Range> choose_ranges(const std::vector<NamedSource>& sources, const ImportOptions& options) {
    const SourceInfo& info = sources[0].source->info();
    if (options.ranges_from_data) return ranges_of_data(sources, options.missing);
    const std::vector<Range> stated = info.table
                                          ? info.table->feature_ranges()
                                          : std::vector<Range>(info.feature_names.size(), unknown_range);
    const bool number_has_one =
        info.table && std::any_of(info.table->columns.begin(), info.table->columns.end(),
                                  [](const Column& column) { return is_known(column.range); });
    if (!options.ranges.empty() || number_has_one) return ranges_of_options(info, stated, options.ranges);
    return info.bytes ? info.known_ranges : std::vector<Range>{};
}

/// Public ranges do not undo what was done to the values before: what is private or unknown stays so.
Scaling resulting_scaling(const SourceInfo& info, const ImportOptions& options, bool ranged) {
    const bool found = options.ranges_from_data || (info.table && info.table->found);
    if (found || info.scaling == Scaling::private_data) return Scaling::private_data;
    if (ranged && info.scaling == Scaling::measured)
        throw Error(ExitCode::usage, "the features were scaled by measured constants already",
                    "leave the ranges out, or import the table that was measured", info.path);
    if (ranged && !options.measured.empty()) return Scaling::measured;
    if (info.scaling == Scaling::unknown && !info.bytes) return Scaling::unknown;
    return ranged ? Scaling::public_constants : info.scaling;
}

void require_alike(const std::vector<NamedSource>& sources) {
    const SourceInfo& first = sources[0].source->info();
    for (const NamedSource& named : sources) {
        const SourceInfo& info = named.source->info();
        const bool alike = info.feature_names == first.feature_names && info.has_labels == first.has_labels &&
                           info.has_targets == first.has_targets && info.ids == first.ids &&
                           info.bytes == first.bytes;
        if (alike) continue;
        throw Error(ExitCode::input, "differs from " + first.path + " in its columns, labels or ids",
                    "both splits need the same columns in the same order", info.path);
    }
}

/// Where an id was met: source in the high byte, line or row below.
struct Sighting {
    std::uint64_t id, where;
};

std::uint64_t pack_place(std::size_t source, std::uint64_t position) {
    return static_cast<std::uint64_t>(source) << 56 | position;
}

void sort_by_id(std::vector<Sighting>& sightings) {
    std::sort(sightings.begin(), sightings.end(), [](const Sighting& a, const Sighting& b) {
        return std::pair(a.id, a.where) < std::pair(b.id, b.where);
    });
}

bool takes_several(const ImportOptions& options) {
    return options.persons && options.persons->takes_several();
}

/// The id of the record at this place, as its file has it: the file is read once more.
std::string shown_id(const Sighting& sighting, const std::vector<NamedSource>& sources) {
    RecordSource& source = *sources[sighting.where >> 56].source;
    const std::uint64_t position = sighting.where & ((std::uint64_t{1} << 56) - 1);
    RawRecord record;
    source.rewind();
    while (source.next(record))
        if (record.position == position && !record.name.empty()) return "'" + record.name + "'";
    return std::to_string(sighting.id);
}

void require_unique_ids(std::vector<Sighting>& sightings, const std::vector<NamedSource>& sources, IdKind ids,
                        bool of_persons) {
    if (ids == IdKind::row_number) return;
    sort_by_id(sightings);
    const auto twice = std::adjacent_find(sightings.begin(), sightings.end(),
                                          [](const Sighting& a, const Sighting& b) { return a.id == b.id; });
    if (twice == sightings.end()) return;
    const auto describe = [&](std::uint64_t where) {
        const SourceInfo& info = sources[where >> 56].source->info();
        return place(info, where & ((std::uint64_t{1} << 56) - 1)) +
               (sources.size() > 1 ? " of " + info.path : "");
    };
    const std::string first = describe(twice->where), second = describe(std::next(twice)->where);
    if (ids == IdKind::content) {
        throw Error(ExitCode::input, first + " and " + second + " are equal, so their content gives one id",
                    "name the records' ids by --id (NPY, NPZ: --ids), or remove the duplicate",
                    sources[0].source->info().path);
    }
    throw Error(
        ExitCode::input, "id " + shown_id(*twice, sources) + " appears twice: " + first + " and " + second,
        of_persons ? "--aggregate mean,min,max makes one record of a person's rows, and every guarantee is "
                     "about persons as it stands: the first choice. --rows-at-most V keeps V rows of each"
                   : "one person, one id: where rows are visits, --person takes several of one",
        sources[0].source->info().path);
}

/// All rows of a person are in one split.
void require_one_file_each(std::vector<Sighting>& sightings, const std::vector<NamedSource>& sources) {
    sort_by_id(sightings);
    const auto cut = std::adjacent_find(
        sightings.begin(), sightings.end(),
        [](const Sighting& a, const Sighting& b) { return a.id == b.id && a.where >> 56 != b.where >> 56; });
    if (cut == sightings.end()) return;
    throw Error(ExitCode::input,
                "id " + shown_id(*cut, sources) + " has rows in " +
                    sources[cut->where >> 56].source->info().path + " and in " +
                    sources[std::next(cut)->where >> 56].source->info().path,
                "all rows of a person are trained on, or none: import one file with --test-fraction",
                sources[0].source->info().path);
}

/// Do the rows of each split come person by person, in the order of their ids?
bool come_by_person(const std::vector<NamedSource>& sources, const ImportOptions& options) {
    if (sources.size() > 1 && options.test_fraction > 0) return false;
    return std::all_of(sources.begin(), sources.end(),
                       [](const NamedSource& named) { return named.source->info().ids_ascend; });
}

bool has_unnamed(const SourceInfo& info) {
    const std::optional<Schema> schema = info.table ? info.table : kept_schema(info.schema, info.path);
    return schema && schema->has_unnamed();
}

/// A text that nobody has named stands as its place in the list of one table, which other rows move: nothing
/// may be made of it before it is named (models/privacy/mathematics.md, named categories).
void require_places_kept(const std::vector<NamedSource>& sources, const ImportOptions& options) {
    const SourceInfo& info = sources[0].source->info();
    if (std::none_of(sources.begin(), sources.end(),
                     [](const NamedSource& named) { return has_unnamed(named.source->info()); }))
        return;
    const auto refuse = [](const char* message, const char* hint, const std::string& where) {
        throw Error(ExitCode::usage, message, hint, where);
    };
    if (!info.table)
        refuse("has categories that nobody has named: their places in its list stay as they are",
               "import the CSV again, or name them: holdfast measure", info.path);
    if (sources.size() > 1)
        refuse("has categories that nobody has named, which one file is read for",
               "import one file, with --test-fraction", info.path);
    if (takes_several(options))
        refuse(
            "categories that nobody has named do not say which rows of a person are kept, and have no mean",
            "take buckets, --categories 'COLUMN=#', or import one row of each person, --id COLUMN",
            options.persons->summarises() ? "--aggregate" : "--rows-at-most");
    if (options.ids_from_content)
        refuse("categories that nobody has named give no ids",
               "name the records' ids, --id COLUMN, or take buckets: --categories 'COLUMN=#'",
               "--id-from-content");
    const bool stated = std::any_of(info.table->columns.begin(), info.table->columns.end(),
                                    [](const Column& column) { return is_known(column.range); });
    if (stated || !options.ranges.empty() || options.ranges_from_data)
        refuse("categories that nobody has named have no range, and measure takes values as they are",
               "leave ranges out, which holdfast measure finds too, or take buckets: --categories 'COLUMN=#'",
               "--scale");
}

/// Routes records to their splits and writes them slab by slab; of persons with several rows once all rows
/// have been seen, or where they come by person, all of that person.
class SplitWriter {
  public:
    SplitWriter(DatasetWriter& writer, const SourceInfo& info, const ImportOptions& options,
                ImportSummary& summary, bool by_person)
        : writer_(writer), info_(info), options_(options), summary_(summary), by_person_(by_person) {}

    /// order: of the row among its person's.
    void add_row(const std::string& split, const std::vector<double>& features, std::int32_t label,
                 double target, std::uint64_t id, double order) {
        if (!takes_several(options_)) return add(split, features, label, target, id);
        const auto [rows, fresh] = persons_.try_emplace(split, *options_.persons, info_.feature_names.size(),
                                                        info_.wide, options_.seed);
        if (by_person_ && rows->second.ends_before(id)) add_persons(split, rows->second);
        rows->second.add(id, features, label, target, order);
    }
    void finish() {
        for (auto& [split, rows] : persons_) add_persons(split, rows);
        for (const auto& [split, slab] : slabs_) flush(split);
        written();
    }

  private:
    void add_persons(const std::string& split, PersonRows& rows) {
        std::uint64_t& persons = summary_.persons[split];
        std::optional<std::uint64_t> last;
        summary_.rows_left_out += rows.visit(
            [&](std::uint64_t id, const std::vector<double>& features, std::int32_t label, double target) {
                persons += last != id;
                last = id;
                add(split, features, label, target, id);
            });
    }
    void add(const std::string& split, const std::vector<double>& features, std::int32_t label, double target,
             std::uint64_t id) {
        Records& slab = slabs_[split];
        if (!summary_.rows.contains(split)) {
            written();
            writer_.begin_split(split, features.size(), info_.wide);
            slab.features = FeatureMatrix(features.size(), info_.wide);
        }
        slab.features.append(features.data());
        slab.ids.push_back(id);
        slab.rows.push_back(summary_.rows[split]++);
        if (info_.has_labels) {
            slab.labels.push_back(label);
            ++summary_.class_counts[split][label];
        }
        if (info_.has_targets) slab.targets.push_back(target);
        if (slab.size() == import_slab) flush(split);
    }
    /// By another thread, while the next rows come; one slab after the other.
    void flush(const std::string& split) {
        Records fresh{FeatureMatrix(slabs_[split].features.columns(), info_.wide), {}, {}, {}};
        auto slab = std::make_shared<const Records>(std::exchange(slabs_[split], std::move(fresh)));
        written();
        writing_ = std::async(std::launch::async, [this, split, slab] {
            writer_.append(split, *slab);
            if (options_.written) options_.written(split, *slab);
        });
    }
    void written() {
        if (writing_.valid()) writing_.get();
    }

    DatasetWriter& writer_;
    const SourceInfo& info_;
    const ImportOptions& options_;
    ImportSummary& summary_;
    bool by_person_;
    std::map<std::string, Records> slabs_;
    std::map<std::string, PersonRows> persons_;
    std::future<void> writing_;  // is waited for before all else goes
};

/// A target that is no finite number, or a label that is no class, is a problem of the source.
void check_answer(RecordSource& source, RawRecord& record) {
    const SourceInfo& info = source.info();
    if (record.flawed) return;
    if (info.has_targets && !std::isfinite(record.target)) {
        record.flawed = true;
        source.problems.add("target",
                            place(info, record.position) + " has a target that is " +
                                (std::isnan(record.target) ? "missing or NaN" : "infinite"),
                            "a regression learns finite numbers: correct or leave out the record",
                            record.position);
    }
    if (info.has_labels && (record.label < 0 || record.label >= most_classes)) {
        record.flawed = true;
        source.problems.add(
            "class", place(info, record.position) + " has label " + std::to_string(record.label),
            "labels are class indices 0, 1, 2, …; for a CSV, --classes a|b names the values in their order",
            record.position, std::to_string(record.label));
    }
}

/// A target in its public range, mapped to [0, 1]; whether it lay outside is added to `clipped`.
double apply(const std::optional<Range>& range, double target, std::uint64_t& clipped) {
    if (!range) return target;
    std::vector<double> one{target};
    clipped += scale_features({*range}, one);
    return one.front();
}

/// As it is asked for, or as a table's schema states it.
std::optional<Range> target_range_of(const SourceInfo& info, const std::optional<Range>& asked) {
    if (!asked) {
        const bool stated = info.has_targets && info.table && is_known(info.table->target_range);
        return stated ? std::optional(info.table->target_range) : std::nullopt;
    }
    if (!info.has_targets)
        throw Error(ExitCode::usage, "is for numbers, and the records have labels or none",
                    "say --regression, or leave it out", "--target-range");
    if (!is_valid(*asked))
        throw Error(ExitCode::usage, std::string("must be ") + valid_range, "write --target-range LOW:HIGH",
                    "--target-range");
    return asked;
}

void require_fraction(double fraction) {
    if (fraction >= 0 && fraction < 1) return;
    throw Error(ExitCode::usage, "must be at least 0 and below 1", "for example 0.2", "--test-fraction");
}

/// Where ids come from content, an id must tell of its own record only, and replace no better one.
void require_content_ids_possible(const SourceInfo& info, const ImportOptions& options) {
    if (!options.ids_from_content) return;
    if (info.ids == IdKind::given) {
        throw Error(ExitCode::usage, "the records have ids: " + info.id_note,
                    "leave it out: ids that the records name cover more", "--id-from-content");
    }
    if (options.ranges_from_data) {
        throw Error(ExitCode::usage, "cannot be joined with --scale-from-data",
                    "ranges of the data void what such ids are for, a guarantee about one record: give "
                    "public ones by "
                    "--scale",
                    "--id-from-content");
    }
}

/// A budget belongs to people: whatever is made of their records spends from the same account.
void require_same_population(const SourceInfo& info, const std::string& population) {
    require_population(population);
    if (info.population.empty() || info.population == population) return;
    throw Error(ExitCode::usage, "the records are those of population '" + info.population + "'",
                "leave it out: a budget belongs to people, so copies and rescaled or later versions of their "
                "records share the account",
                "--population");
}

/// Persons are known by ids that somebody gave them: content pulls their rows apart, and so do row numbers.
void require_person_ids(const SourceInfo& info, const ImportOptions& options) {
    if (!options.persons) {
        if (info.rows_at_most <= 1) return;
        throw Error(ExitCode::usage, "has several rows of a person",
                    "say how many of each are kept: --rows-at-most " + std::to_string(info.rows_at_most),
                    info.path);
    }
    if (options.ids_from_content || info.ids != IdKind::given)
        throw Error(ExitCode::usage, "nothing names the persons whose rows these are",
                    "name them: --person COLUMN of a table, --ids FILE of an array", "--person");
    if (options.persons->summarises() && !info.image_shape.empty())
        throw Error(ExitCode::usage, "the records are images, of which there is no mean or last",
                    "keep rows of each person: --rows-at-most V", "--aggregate");
}

/// Of those a file states for training, the number that --test-fraction leaves for it.
std::uint64_t inherited_count(const SourceInfo& info, double test_fraction) {
    return static_cast<std::uint64_t>(
        std::llround(static_cast<double>(info.expected_records) * (1 - test_fraction)));
}

/// To two significant digits.
std::uint64_t rounded(std::uint64_t count) {
    std::uint64_t unit = 1;
    while (count / unit >= 100) unit *= 10;
    return (count + unit / 2) / unit * unit;
}

/// Dealt now, or dealt before, by the ids that tell less of a record.
Dealt resulting_dealing(const SourceInfo& info, IdKind ids, double test_fraction) {
    if (test_fraction == 0) return info.dealt;
    const Dealt now = ids == IdKind::given     ? Dealt::given
                      : ids == IdKind::content ? Dealt::content
                                               : Dealt::row_number;
    return std::max(now, info.dealt);
}

/// What becomes of rows; where so many of a person are only passed on, the rule that chose them stays.
void take_rule(Schema& schema, const std::optional<PersonRule>& rule) {
    if (!rule) return;
    if (rule->summarises() || !schema.persons)
        schema.persons = rule;
    else
        schema.persons->rows_at_most = rule->rows_at_most;
}

/// Of a dataset of the same values, its schema with the rule; nothing where it is of summaries already.
std::string with_persons(const SourceInfo& info, const std::optional<PersonRule>& rule) {
    if (!rule) return info.schema;
    std::optional<Schema> schema = kept_schema(info.schema, info.path);
    if (!schema) return "";
    if (schema->persons && schema->persons->summarises()) return "";
    take_rule(*schema, rule);
    return to_json(*schema).dump();
}

/// What the columns of the features written are; empty: not known.
std::string resulting_schema(const SourceInfo& info, const ImportOptions& options,
                             const std::vector<Range>& ranges, const std::optional<Range>& target_range) {
    const bool as_it_was = ranges.empty() && !options.ranges_from_data;
    if (!info.table && as_it_was) return with_persons(info, options.persons);
    if (!info.table && options.measured.empty()) return "";
    // Of a dataset whose ranges are measured, the schema of its table.
    const std::optional<Schema> kept = info.table ? info.table : kept_schema(info.schema, info.path);
    if (!kept) return "";
    Schema schema = *kept;
    schema.measured = !options.measured.empty() && !ranges.empty();
    if (!info.table && schema.persons && schema.persons->summarises()) {  // of records, not of rows
        schema.persons->ranges = ranges;
        return to_json(schema).dump();
    }
    const std::vector<double> fills = fills_of(info, options.missing);
    std::size_t feature = 0;
    for (Column& column : schema.columns) {
        if (column.kind != Column::Kind::category && !ranges.empty()) column.range = ranges[feature];
        if (std::isfinite(fills[feature]) && column.features() == 1) column.missing = fills[feature];
        feature += column.features();
    }
    if (target_range) schema.target_range = *target_range;
    take_rule(schema, options.persons);
    schema.found = schema.found || options.ranges_from_data;
    return to_json(schema).dump();
}

PublicFacts resulting_facts(const SourceInfo& info, const ImportOptions& options, bool ranged) {
    require_content_ids_possible(info, options);
    require_person_ids(info, options);
    if (options.population) require_same_population(info, *options.population);
    PublicFacts facts = info;
    if (options.persons) {
        facts.unit = Unit::person;
        facts.rows_at_most =
            options.persons->summarises() ? 1 : std::max<std::uint64_t>(1, options.persons->rows_at_most);
        facts.feature_names = options.persons->feature_names(info.feature_names);
    }
    facts.scaling = resulting_scaling(info, options, ranged);
    if (options.ids_from_content) facts.ids = IdKind::content;
    facts.expected_records = options.expected_records > 0 ? options.expected_records
                                                          : inherited_count(info, options.test_fraction);
    facts.count_found = options.count_found || (options.expected_records == 0 && info.count_found);
    facts.count_measured = options.count_measured || (options.expected_records == 0 && info.count_measured);
    if (!options.measured.empty()) facts.measured = options.measured;
    facts.dealt = resulting_dealing(info, facts.ids, options.test_fraction);
    facts.labels_select = info.labels_select || (options.classes > 0 && info.has_labels);
    if (options.population) facts.population = *options.population;
    if (ranged) facts.range = {0, 1};
    facts.source = "holdfast import: " + info.path;
    return facts;
}

std::string id_note_of(IdKind ids, const SourceInfo& info) {
    const std::string origin = ids == info.ids && !info.id_note.empty() ? info.id_note
                               : ids == IdKind::content                 ? "a hash of each record's content"
                                                                        : "the file names none";
    return std::string(name_of(ids)) + " (" + origin + "): " + coverage_of(ids);
}

void write_facts(DatasetWriter& writer, const PublicFacts& facts, const SourceInfo& info) {
    writer.set_facts(facts);
    writer.set_names(info.names);
    if (!info.image_shape.empty()) writer.set_image_shape(info.image_shape);
    if (info.class_names.empty()) return;
    writer.set_attribute("class_names", joined(info.class_names, ","));
}

}  // namespace

ImportSummary import_records(const std::vector<NamedSource>& sources, const ImportOptions& options,
                             const std::string& path) {
    ensure(!sources.empty() && sources.size() < 256, "an import has sources");
    require_fraction(options.test_fraction);
    require_alike(sources);
    require_places_kept(sources, options);
    const SourceInfo& info = sources[0].source->info();
    const std::optional<Range> target_range = target_range_of(info, options.target_range);
    const std::vector<Range> ranges = choose_ranges(sources, options);
    const KeyedHash hash{options.seed};

    ImportSummary summary;
    summary.facts = resulting_facts(info, options, !ranges.empty());
    if (target_range) summary.facts.target_range = {0, 1};
    summary.facts.schema = resulting_schema(info, options, ranges, target_range);
    summary.id_note = id_note_of(summary.facts.ids, info);
    summary.targets = info.has_targets;
    DatasetWriter writer(path, options.deflate);
    SplitWriter splits(writer, info, options, summary, come_by_person(sources, options));
    const std::size_t order_column =
        options.persons ? options.persons->order_column(info.feature_names) : info.feature_names.size();
    std::vector<Sighting> sightings;
    // Rows are numbered before any is left out, so that none renumbers another.
    const auto left_out = [&] {
        return std::accumulate(
            sources.begin(), sources.end(), std::uint64_t{0},
            [](std::uint64_t sum, const NamedSource& named) { return sum + named.source->unlabelled; });
    };
    RawRecord record;
    for (std::size_t index = 0; index < sources.size(); ++index) {
        FilledRecords records(*sources[index].source,
                              fills_within(sources[index].source->info(), options.missing, ranges));
        while (records.next(record)) {
            if (options.classes > 0 && info.has_labels &&
                (record.label < 0 || record.label >= options.classes)) {
                ++sources[index].source->unlabelled;
                continue;
            }
            check_answer(*sources[index].source, record);
            if (record.flawed) continue;
            const auto label = static_cast<std::int32_t>(record.label);
            const double target = record.target;
            const auto content_id = [&] {
                return info.has_targets ? id_of_content(record.features, info.wide, target)
                                        : id_of_content(record.features, info.wide, label);
            };
            const std::uint64_t id = options.ids_from_content         ? content_id()
                                     : info.ids == IdKind::row_number ? sightings.size() + left_out()
                                                                      : record.id;
            const double order = order_column < record.features.size() ? record.features[order_column] : 0;
            summary.clipped += scale_features(ranges, record.features);
            const bool tested =
                options.test_fraction > 0 && hash.uniform(streams::test_split, id) < options.test_fraction;
            splits.add_row(tested ? "test" : sources[index].split, record.features, label,
                           apply(target_range, target, summary.clipped), id, order);
            sightings.push_back({id, pack_place(index, record.position)});
        }
        summary.filled += records.filled();
        summary.unlabelled += sources[index].source->unlabelled;
    }
    Problems problems;
    Problems tolerated;
    for (const NamedSource& named : sources) {
        problems.take(named.source->problems);
        tolerated.take(named.source->tolerated);
    }
    summary.tolerated = tolerated.told();
    problems.raise(info.path);
    if (options.persons) require_one_file_each(sightings, sources);
    splits.finish();
    for (const NamedSource& named : sources) {
        if (summary.rows[named.split] > 0) continue;
        if (named.source->unlabelled > 0)
            throw Error(ExitCode::input,
                        "has " + std::to_string(named.source->unlabelled) + " rows for split '" +
                            named.split + "', and the label of none is one of the stated classes",
                        "--classes 'a|b' names the label's values in their order (default: 0 and 1); "
                        "--regression learns numbers",
                        named.source->info().path);
        throw Error(ExitCode::input, "has no records for split '" + named.split + "'",
                    "a dataset needs at least one record in each split", named.source->info().path);
    }
    if (!takes_several(options)) {
        require_unique_ids(sightings, sources, summary.facts.ids, options.persons.has_value());
        if (options.persons) summary.persons = summary.rows;
    }
    if (options.count_found)
        summary.facts.expected_records =
            rounded((options.persons ? summary.persons : summary.rows)[sources[0].split]);
    write_facts(writer, summary.facts, info);
    writer.commit();
    return summary;
}

}  // namespace holdfast
