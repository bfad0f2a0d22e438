#include "dist/data/person_rows.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {
namespace {

constexpr RowSummary all_summaries[] = {RowSummary::last, RowSummary::mean, RowSummary::min, RowSummary::max,
                                        RowSummary::count};

/// What a rule makes of something that every feature of a row has: of(row's, summary) of each summary, and
/// behind them that of the count.
template <typename T, typename Of>
std::vector<T> of_records(const PersonRule& rule, const std::vector<T>& of_rows, const T& of_count, Of of) {
    if (!rule.summarises()) return of_rows;
    std::vector<T> all;
    for (const T& of_row : of_rows) {
        for (const RowSummary summary : rule.summaries)
            if (summary != RowSummary::count) all.push_back(of(of_row, summary));
    }
    if (rule.says(RowSummary::count)) all.push_back(of_count);
    return all;
}

/// Of values in ascending order, so that it is the same for any order of the rows.
double mean_of(const std::vector<double>& sorted) {
    const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
    return std::clamp(sum / static_cast<double>(sorted.size()), sorted.front(), sorted.back());
}

/// What most of them are, of those the greatest.
std::int32_t most_frequent(const std::vector<std::int32_t>& labels) {
    std::map<std::int32_t, std::size_t> counts;
    for (const std::int32_t label : labels) ++counts[label];
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& one, const auto& other) {
                                return std::pair(one.second, one.first) <
                                       std::pair(other.second, other.first);
                            })
        ->first;
}

}  // namespace

const char* name_of(RowSummary summary) {
    switch (summary) {
        case RowSummary::last:
            return "last";
        case RowSummary::mean:
            return "mean";
        case RowSummary::min:
            return "min";
        case RowSummary::max:
            return "max";
        case RowSummary::count:
            break;
    }
    return "count";
}

std::optional<RowSummary> row_summary_named(const std::string& name) {
    for (const RowSummary summary : all_summaries) {
        if (name == name_of(summary)) return summary;
    }
    return std::nullopt;
}

std::size_t PersonRule::order_column(const std::vector<std::string>& names) const {
    if (order.empty() && (keep_last || says(RowSummary::last)))
        throw Error(ExitCode::usage, "nothing says which row of a person is the last",
                    "name a column of times or numbers: --order-by COLUMN", "--order-by");
    if (says(RowSummary::count) && rows_at_most == 0)
        throw Error(ExitCode::usage, "the number of a person's rows needs a public limit",
                    "state one: --rows-at-most V; who has more counts as V", "--aggregate");
    const auto found = std::find(names.begin(), names.end(), order);
    if (found == names.end() && !order.empty())
        throw Error(ExitCode::usage, "no feature column '" + order + "'", name_hint(order, names),
                    "--order-by");
    return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::string> PersonRule::feature_names(const std::vector<std::string>& names) const {
    return of_records(*this, names, std::string("rows"), [](const std::string& name, RowSummary summary) {
        return name + "_" + name_of(summary);
    });
}

std::size_t PersonRule::features(std::size_t of_row) const {
    return of_records(*this, std::vector<Range>(of_row), Range{},
                      [](const Range& one, RowSummary) { return one; })
        .size();
}

std::vector<Range> PersonRule::ranges_of_records(const std::vector<Range>& of_rows) const {
    if (!ranges.empty()) return ranges;
    return of_records(*this, of_rows, Range{0, 1}, [](const Range& range, RowSummary) { return range; });
}

PersonRows::PersonRows(const PersonRule& rule, std::size_t columns, bool wide, std::uint64_t seed)
    : rule_(rule), columns_(columns), seed_(seed), features_(columns, wide) {}

void PersonRows::add(std::uint64_t id, const std::vector<double>& features, std::int32_t label, double target,
                     double order) {
    contents_.insert(contents_.end(), features.begin(), features.end());
    contents_.insert(contents_.end(), {static_cast<double>(label), order});
    rows_.push_back({id, 0, order, rows_.size()});
    features_.append(features.data());
    labels_.push_back(label);
    targets_.push_back(target);
    if (contents_.size() >= hashed_together * (columns_ + 2)) hash_contents();
}

void PersonRows::hash_contents() {
    const std::size_t width = columns_ + 2, count = contents_.size() / width, first = rows_.size() - count;
    std::vector<std::uint64_t> hashes(count);
#pragma omp parallel for schedule(static) if (count == hashed_together)
    for (std::size_t i = 0; i < count; i += contents_together) {
        const std::size_t some = std::min(contents_together, count - i);
        ids_of_contents(std::span(contents_).subspan(i * width, some * width),
                        std::span(targets_).subspan(first + i, some), std::span(hashes).subspan(i, some));
    }
    for (std::size_t i = 0; i < count; ++i) rows_[first + i].hash = hashes[i];
    contents_.clear();
}

/// hash(seed; id, content, j), j the row's number among the person's equal rows: a function of the person's
/// own rows, whichever of equal ones is called the first.
void PersonRows::hash_rows() {
    hash_contents();
    std::sort(rows_.begin(), rows_.end(), [](const Row& one, const Row& other) {
        return std::tie(one.id, one.hash, one.at) < std::tie(other.id, other.hash, other.at);
    });
    std::uint64_t number = 0, last_id = 0, last_content = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        Row& row = rows_[i];
        const bool equal = i > 0 && row.id == last_id && row.hash == last_content;
        number = equal ? number + 1 : 0;
        last_id = row.id;
        last_content = row.hash;
        row.hash = KeyedHash{KeyedHash{seed_}(streams::kept_rows, row.hash)}(row.id, number);
    }
    std::sort(rows_.begin(), rows_.end(), [](const Row& one, const Row& other) {
        return std::tie(one.id, one.order, one.hash) < std::tie(other.id, other.order, other.hash);
    });
}

std::vector<double> PersonRows::features_of(const Row& row) const {
    std::vector<double> features(columns_);
    for (std::size_t column = 0; column < columns_; ++column) features[column] = features_.at(row.at, column);
    return features;
}

void PersonRows::summarise(std::span<const Row> rows, const Visit& use) const {
    std::vector<double> features;
    for (std::size_t column = 0; column < columns_; ++column) {
        std::vector<double> values;
        for (const Row& row : rows) values.push_back(features_.at(row.at, column));
        const double last = values.back();
        std::sort(values.begin(), values.end());
        for (const RowSummary summary : rule_.summaries) {
            if (summary == RowSummary::last) features.push_back(last);
            if (summary == RowSummary::mean) features.push_back(mean_of(values));
            if (summary == RowSummary::min) features.push_back(values.front());
            if (summary == RowSummary::max) features.push_back(values.back());
        }
    }
    if (rule_.says(RowSummary::count)) {  // the part of V that there is
        const double most = static_cast<double>(rule_.rows_at_most);
        features.push_back(std::min(static_cast<double>(rows.size()), most) / most);
    }
    if (!rule_.order.empty())
        return use(rows.back().id, features, labels_[rows.back().at], targets_[rows.back().at]);
    std::vector<std::int32_t> labels;
    std::vector<double> targets;
    for (const Row& row : rows) {
        labels.push_back(labels_[row.at]);
        targets.push_back(targets_[row.at]);
    }
    std::sort(targets.begin(), targets.end());
    use(rows.back().id, features, most_frequent(labels), mean_of(targets));
}

std::uint64_t PersonRows::visit(const Visit& use) {
    hash_rows();
    const std::uint64_t most = rule_.rows_at_most;
    std::uint64_t left_out = 0;
    for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
        while (last < rows_.size() && rows_[last].id == rows_[first].id) ++last;
        std::span<Row> rows(rows_.data() + first, last - first);
        if (rule_.summarises()) {
            summarise(rows, use);
            continue;
        }
        if (rows.size() > most) {
            left_out += rows.size() - most;
            if (rule_.keep_last) {
                rows = rows.last(most);
            } else {
                const auto by_hash = [](const Row& one, const Row& other) { return one.hash < other.hash; };
                std::sort(rows.begin(), rows.end(), by_hash);
                rows = rows.first(most);
            }
        }
        for (const Row& row : rows) use(row.id, features_of(row), labels_[row.at], targets_[row.at]);
    }
    features_.values().clear();
    features_.wide_values().clear();
    labels_.clear();
    targets_.clear();
    rows_.clear();
    return left_out;
}

}  // namespace holdfast
