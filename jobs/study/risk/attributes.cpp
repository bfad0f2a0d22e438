#include "jobs/study/risk/attributes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "dist/data/schema.hpp"

namespace holdfast {
namespace {

constexpr std::size_t most_values = 8, most_persons = 1000;

/// Features [first, first + count) of a record.
struct ColumnPlace {
    std::string name;
    std::size_t first, count;
};
using Value = std::vector<double>;  // of a column's features

std::vector<ColumnPlace> columns_of(const AttackedRun& attacked) {
    const DatasetFacts& facts = attacked.manifest.dataset;
    const std::optional<Schema> schema = kept_schema(facts.schema, attacked.folder.file("manifest.json"));
    std::vector<ColumnPlace> columns;
    if (schema && schema->features() == facts.features &&
        !(schema->persons && schema->record_features() != schema->features())) {
        std::size_t first = 0;
        for (const Column& column : schema->columns) {
            columns.push_back({column.name, first, column.features()});
            first += column.features();
        }
        return columns;
    }
    for (std::size_t feature = 0; feature < facts.features; ++feature)
        columns.push_back({"feature " + std::to_string(feature), feature, 1});
    return columns;
}

std::vector<std::size_t> evenly(std::size_t first, std::size_t last, std::size_t most) {
    const std::size_t count = std::min(most, last - first);
    std::vector<std::size_t> taken;
    for (std::size_t i = 0; i < count; ++i) taken.push_back(first + i * (last - first) / count);
    return taken;
}

Value value_of(const Records& records, std::size_t row, const ColumnPlace& column) {
    Value value;
    for (std::size_t i = 0; i < column.count; ++i)
        value.push_back(records.features.at(row, column.first + i));
    return value;
}

std::size_t nearest(const std::vector<Value>& values, const Value& value) {
    const auto distance = [&](const Value& other) {
        double sum = 0;
        for (std::size_t i = 0; i < value.size(); ++i) sum += std::abs(value[i] - other[i]);
        return sum;
    };
    std::size_t best = 0;
    for (std::size_t v = 1; v < values.size(); ++v)
        best = distance(values[v]) < distance(values[best]) ? v : best;
    return best;
}

/// The commonest ones of a category, of a number the middles of equal parts.
std::vector<Value> values_to_guess(const Records& records, const ColumnPlace& column) {
    std::map<Value, std::size_t> counts;
    for (std::size_t row = 0; row < records.size(); ++row) ++counts[value_of(records, row, column)];
    std::vector<std::pair<std::size_t, Value>> by_count;
    for (const auto& [value, count] : counts) by_count.emplace_back(count, value);
    std::vector<Value> values;
    if (column.count > 1 || by_count.size() <= most_values) {
        std::sort(by_count.rbegin(), by_count.rend());
        for (std::size_t i = 0; i < std::min(most_values, by_count.size()); ++i)
            values.push_back(by_count[i].second);
        return values;
    }
    std::vector<Value> all;
    for (std::size_t row = 0; row < records.size(); ++row) all.push_back(value_of(records, row, column));
    std::sort(all.begin(), all.end());
    for (std::size_t part = 0; part < most_values; ++part)
        values.push_back(all[(2 * part + 1) * all.size() / (2 * most_values)]);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

void set_value(Records& records, const ColumnPlace& column, const Value& value) {
    const std::size_t width = records.features.columns();
    for (std::size_t row = 0; row < records.size(); ++row) {
        for (std::size_t i = 0; i < value.size(); ++i) {
            const std::size_t at = row * width + column.first + i;
            if (records.features.wide())
                records.features.wide_values()[at] = value[i];
            else
                records.features.values()[at] = static_cast<float>(value[i]);
        }
    }
}

/// Some persons of one side: a row of each, by the member that is asked about it.
class Side {
  public:
    Side(const AttackedRun& attacked, const AskedPersons& persons, std::size_t first, std::size_t last)
        : attacked_(attacked), by_member_(attacked.members.size()) {
        const std::vector<std::size_t> taken = evenly(first, last, most_persons);
        records = persons.first_rows_of(taken);
        for (std::size_t i = 0; i < taken.size(); ++i) by_member_[persons.own[taken[i]]].push_back(i);
    }

    /// ln of the label's probability if the column had this value, [records]
    std::vector<double> likelihoods(const ColumnPlace& column, const Value& value) const {
        std::vector<double> found(records.size());
        for (std::size_t member = 0; member < by_member_.size(); ++member) {
            const std::vector<std::size_t>& mine = by_member_[member];
            if (mine.empty()) continue;
            Records asked = records.none();
            for (const std::size_t i : mine) asked.append_row_of(records, i);
            set_value(asked, column, value);
            std::vector<std::size_t> starts(mine.size() + 1);
            std::iota(starts.begin(), starts.end(), 0);
            const Said said =
                said_of(attacked_, attacked_.members[member], attacked_.features(std::move(asked)), starts);
            for (std::size_t i = 0; i < mine.size(); ++i)
                found[mine[i]] = log_probability(said.confidence[i]);
        }
        return found;
    }

    Records records;

  private:
    const AttackedRun& attacked_;
    std::vector<std::vector<std::size_t>> by_member_;
};

std::vector<std::size_t> truths(const Side& side, const ColumnPlace& column,
                                const std::vector<Value>& values) {
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < side.records.size(); ++row)
        found.push_back(nearest(values, value_of(side.records, row, column)));
    return found;
}

Estimated guessed(const Side& side, const ColumnPlace& column, const std::vector<Value>& values,
                  const std::vector<double>& prior, const Rational& error) {
    std::vector<double> best(side.records.size(), -INFINITY);
    std::vector<std::size_t> guess(side.records.size());
    for (std::size_t v = 0; v < values.size(); ++v) {
        const std::vector<double> likelihood = side.likelihoods(column, values[v]);
        for (std::size_t i = 0; i < guess.size(); ++i) {
            const double score = likelihood[i] + prior[v];
            if (score <= best[i]) continue;
            best[i] = score;
            guess[i] = v;
        }
    }
    const std::vector<std::size_t> truth = truths(side, column, values);
    std::uint64_t right = 0;
    for (std::size_t i = 0; i < guess.size(); ++i) right += guess[i] == truth[i] ? 1 : 0;
    return estimated_rate(right, guess.size(), error);
}

}  // namespace

std::vector<AttributeAttack> attribute_attacks(const AttackedRun& attacked, const AskedPersons& persons,
                                               std::size_t most_columns, const Rational& error) {
    const std::vector<ColumnPlace> columns = columns_of(attacked);
    const Side trained(attacked, persons, 0, persons.trained),
        held_out(attacked, persons, persons.trained, persons.size());
    const std::vector<std::size_t> taken = evenly(0, columns.size(), most_columns);
    std::vector<AttributeAttack> attacks;
    for (const std::size_t c : taken) {
        const ColumnPlace& column = columns[c];
        const std::vector<Value> values = values_to_guess(held_out.records, column);
        if (values.size() < 2) continue;  // nothing to guess
        std::vector<double> counts(values.size(), 1);
        for (const std::size_t value : truths(held_out, column, values)) ++counts[value];
        std::vector<double> prior;
        for (const double count : counts) prior.push_back(std::log(count));
        const double commonest = *std::max_element(counts.begin(), counts.end()) - 1;
        const Rational each = error / static_cast<unsigned long>(2 * taken.size());
        attacks.push_back({column.name, guessed(trained, column, values, prior, each),
                           guessed(held_out, column, values, prior, each),
                           commonest / static_cast<double>(held_out.records.size())});
    }
    std::stable_sort(attacks.begin(), attacks.end(), [](const AttributeAttack& a, const AttributeAttack& b) {
        return a.trained.value - a.held_out.value > b.trained.value - b.held_out.value;
    });
    return attacks;
}

}  // namespace holdfast
