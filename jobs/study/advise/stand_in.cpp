#include "jobs/study/advise/stand_in.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t test_records = 2000;
constexpr std::uint64_t draws_like = 3;
constexpr std::int64_t most_parameters_of_several = 500;  // beyond, trials on one take long enough

/// Streams of the keyed hash. Those of rows are shifted by 16 bits of column or class.
enum Stream : std::uint64_t {
    column_form = 1,
    effect_form = 2,
    weight = 3,
    own = 4,
    factor = 5,
    label_noise = 6,
    order = 7,
    own_class = 8
};
std::uint64_t stream_of(Stream stream, std::size_t index) {
    return static_cast<std::uint64_t>(index) << 16 | stream;
}

void write(const std::string& path, const PublicFacts& facts, const Records& train, const Records& test) {
    DatasetWriter writer(path);
    writer.set_facts(facts);
    for (const auto& [name, records] : {std::pair("train", &train), {"test", &test}}) {
        writer.begin_split(name, records->features.columns(), records->features.wide());
        writer.append(*records);
    }
    writer.commit();
}

/// So many rows, as many of each class, taken in turn.
Records of_equal_classes(const Records& records, std::size_t classes, std::size_t count) {
    std::vector<std::vector<std::size_t>> rows(classes);
    for (std::size_t i = 0; i < records.size(); ++i)
        rows[static_cast<std::size_t>(records.labels[i])].push_back(i);
    std::erase_if(rows, [](const auto& of_class) { return of_class.empty(); });
    Records equal = records.none();
    for (std::size_t i = 0; i < count; ++i) {
        const std::vector<std::size_t>& of_class = rows[i % rows.size()];
        const std::size_t row = of_class[i / rows.size() % of_class.size()];
        equal.append_row_of(records, row);
        equal.ids.back() = equal.rows.back() = i;
    }
    return equal;
}

/// The test of a stand-in whose classes have known shares is for one as good as for another.
void balance_test(const std::string& path, const PublicNumbers& numbers) {
    if (numbers.class_shares.empty()) return;
    const DatasetReader train(path, "train"), test(path, "test");
    const Records trained = train.read_all();
    const Records tests = of_equal_classes(test.read_all(), numbers.class_shares.size(), test_records);
    const PublicFacts& facts = train.info();
    write(path, facts, trained, tests);
}

void require_fit(const DatasetInfo& info, const PublicNumbers& numbers) {
    const auto refuse = [&](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::input, message, hint, info.path);
    };
    if (info.features != static_cast<std::size_t>(numbers.features))
        refuse(
            std::to_string(info.features) + " features, but --features " + std::to_string(numbers.features),
            "a table that is to stand in has the same columns");
    if (numbers.is_regression() ? !info.has_targets : !info.has_labels)
        refuse(numbers.is_regression() ? "no numbers to learn" : "no labels",
               "a table that is to stand in has the same classes, or numbers");
    if (numbers.is_regression() && !(info.target_range == FeatureRange{0, 1}))
        refuse("its numbers are not scaled to [0, 1]", "import it with --regression and --target-range");
    if (info.rows < 8) refuse("only " + std::to_string(info.rows) + " records", "give 8 or more");
}

/// Writes records in an order of this seed, the first quarter of them as the test. How many are trained on.
std::int64_t write_drawn(const DatasetReader& reader, const Records& all, const PublicNumbers& numbers,
                         std::uint64_t seed, const std::string& path) {
    std::vector<std::size_t> drawn(all.size());
    std::iota(drawn.begin(), drawn.end(), 0);
    const KeyedHash hash{seed};
    std::sort(drawn.begin(), drawn.end(), [&](std::size_t one, std::size_t other) {
        return std::pair(hash(order, one), one) < std::pair(hash(order, other), other);
    });
    const std::size_t tests = std::min(all.size() / 4, static_cast<std::size_t>(test_records));
    const std::size_t trained =
        std::min(all.size() - tests, static_cast<std::size_t>(most_stand_in_records(numbers)));
    const auto part = [&](std::size_t first, std::size_t count) {
        Records records = all.none();
        for (std::size_t i = first; i < first + count; ++i) {
            records.append_row_of(all, drawn[i]);
            records.ids.back() = i;
            records.rows.back() = i - first;
        }
        return records;
    };
    PublicFacts facts = reader.info();
    facts.scaling =
        Scaling::public_constants;  // its records are public, and so is all that is computed of them
    facts.ids = IdKind::given;
    facts.expected_records = trained;
    facts.population = synthetic_population;
    write(path, facts, part(tests, trained), part(0, tests));
    return static_cast<std::int64_t>(trained);
}

}  // namespace

TypicalTable::TypicalTable(std::uint64_t seed, const PublicNumbers& numbers, const TableShape& shape)
    : hash_{seed}, numbers_(numbers), shape_(shape) {
    const auto columns = static_cast<std::size_t>(numbers.features),
               classes = static_cast<std::size_t>(numbers.classes);
    for (std::size_t j = 0; j < columns; ++j) {
        const double falling = std::sqrt(1 + static_cast<double>(j));
        columns_.push_back(
            {hash_(stream_of(column_form, j), 0) % 4, numbers.columns == Columns::amounts ? 1 : 1 / falling});
        spread_ = std::hypot(spread_, columns_[j].spread);
    }
    for (std::size_t c = 0; c < classes; ++c) {
        for (std::size_t j = 0; j < columns; ++j) {
            const bool linear = numbers.columns == Columns::coordinates || shape.agreeing;
            const double drawn = hash_.normal(stream_of(weight, j), c);
            const std::size_t teller = shape.apart ? c : c - 1;
            const bool told = numbers.is_regression() || j % shape.factors == teller;
            const double agreed = told ? std::abs(drawn) : 0;
            const double size = shape.agreeing ? agreed : drawn;
            effects_.push_back(
                {linear ? 0 : hash_(stream_of(effect_form, j), c) % 3, columns_[j].spread * size});
        }
    }
    advantages_.assign(classes, 0);
    advantages_.front() = shape.advantage * spread_;
    if (!numbers.class_shares.empty()) give_shares();
}

/// Whoever has too few of the rows beyond those that are written gets an advantage, until all have theirs.
void TypicalTable::give_shares() {
    constexpr std::uint64_t rows = 2000, first_row = std::uint64_t{1} << 40;
    constexpr int rounds = 60;
    std::vector<std::vector<double>> sums;
    advantages_.assign(advantages_.size(), 0);
    for (std::uint64_t row = first_row; row < first_row + rows; ++row)
        sums.push_back(scores(row, standard_values(row)));
    for (int round = 0; round < rounds; ++round) {
        std::vector<double> found(advantages_.size(), 0.5);
        for (const std::vector<double>& sum : sums) {
            std::size_t greatest = 0;
            for (std::size_t c = 1; c < sum.size(); ++c)
                if (sum[c] + advantages_[c] > sum[greatest] + advantages_[greatest]) greatest = c;
            ++found[greatest];
        }
        for (std::size_t c = 0; c < found.size(); ++c)
            advantages_[c] += 0.4 * spread_ * std::log(numbers_.class_shares[c] * rows / found[c]);
    }
}

std::vector<std::string> TypicalTable::feature_names() const {
    std::vector<std::string> names;
    for (std::int64_t j = 0; j < numbers_.features; ++j) names.push_back("x" + std::to_string(j + 1));
    return names;
}

std::string TypicalTable::description() const {
    return std::string(shape_.name) + " table of " +
           (numbers_.columns == Columns::amounts ? "amounts, " : "coordinates, ") +
           std::to_string(numbers_.features) + " features, " +
           (of_numbers() ? "numbers" : std::to_string(numbers_.classes) + " classes") + ", seed " +
           std::to_string(hash_.seed);
}

/// Where a standard normal value comes to lie in [0, 1].
double TypicalTable::placed(const Column& column, double standard) const {
    if (numbers_.columns == Columns::coordinates)
        return std::clamp(0.5 + column.spread * standard / 8, 0.0, 1.0);
    switch (column.form) {
        case 0:
            return std::clamp(0.4 + standard / 8, 0.0, 1.0);
        case 1:
            return std::min(1.0, std::exp(1.2 * standard) / 32);  // a few large amounts
        case 2:
            return std::clamp(std::floor(3 + 2 * standard) / 8, 0.0, 1.0);  // a few levels
        default:
            return standard > 0.7;
    }
}

double TypicalTable::value(const Effect& effect, double standard) {
    switch (effect.form) {
        case 0:
            return effect.size * standard;
        case 1:
            return effect.size * (standard > 0.3 ? 1 : -0.5);
        default:
            return effect.size * (std::abs(standard) - 0.8);
    }
}

double TypicalTable::factor_of(std::size_t index, std::uint64_t row) const {
    const double drawn = hash_.normal(stream_of(factor, index), row);
    if (!shape_.apart) return drawn;
    return (hash_(own_class, row) % shape_.factors == index ? 1.5 : -0.5) + 0.3 * drawn;
}

std::vector<double> TypicalTable::standard_values(std::uint64_t row) const {
    std::vector<double> standard(columns_.size());
    for (std::size_t j = 0; j < columns_.size(); ++j) {
        const double shared = factor_of(j % shape_.factors, row);
        standard[j] = shape_.common * shared +
                      std::sqrt(1 - shape_.common * shape_.common) * hash_.normal(stream_of(own, j), row);
    }
    return standard;
}

std::vector<double> TypicalTable::scores(std::uint64_t row, const std::vector<double>& standard) const {
    std::vector<double> scores(static_cast<std::size_t>(numbers_.classes));
    auto effect = effects_.begin();
    for (std::size_t c = 0; c < scores.size(); ++c) {
        scores[c] = shape_.chance * spread_ * hash_.normal(stream_of(label_noise, c), row) + advantages_[c];
        for (const double each : standard) scores[c] += value(*effect++, each);
    }
    return scores;
}

std::int32_t TypicalTable::record(std::uint64_t row, double* features) const {
    const std::vector<double> standard = standard_values(row);
    for (std::size_t j = 0; j < columns_.size(); ++j) features[j] = placed(columns_[j], standard[j]);
    if (of_numbers()) return 0;
    const std::vector<double> all = scores(row, standard);
    return static_cast<std::int32_t>(std::max_element(all.begin(), all.end()) - all.begin());
}

/// Ranges that anybody may know are wide: most numbers lie in their lower half.
double TypicalTable::target(std::uint64_t row) const {
    return std::clamp(0.4 + 0.15 * scores(row, standard_values(row)).front() / spread_, 0.0, 1.0);
}

std::int64_t most_stand_in_records(const PublicNumbers& numbers) {
    return std::min(numbers.records, std::clamp<std::int64_t>(200000 / numbers.features, 5000, 10000));
}

std::vector<StandIn> generated_stand_ins(const PublicNumbers& numbers, const std::string& path) {
    const bool several = numbers.classes > 2;
    const std::size_t tellers = several ? static_cast<std::size_t>(numbers.classes) : 1;
    const std::pair<TableShape, std::uint64_t> tables[] = {
        {typical_table, stand_in_seed},
        {numbers.is_regression() ? alike_table : typical_table, stand_in_seed + 1},
        {{"easy", tellers, 0.9, 0.1, 0, true, several}, stand_in_seed},
        {{"hard", 6, 0.6, 1.5, 1.5, false}, stand_in_seed}};
    const std::int64_t records = most_stand_in_records(numbers);
    std::vector<StandIn> all;
    const bool wide = numbers.features * numbers.classes > most_parameters_of_several;
    for (const auto& [shape, seed] : tables) {
        if (wide && !all.empty()) break;
        const TypicalTable table(seed, numbers, shape);
        const std::string file = path + "-" + std::to_string(all.size());
        write_generated(table, static_cast<std::uint64_t>(records), test_records, file);
        balance_test(file, numbers);
        all.push_back({file, shape.name, "generated: " + table.description(), records, seed, all.size() < 2});
    }
    return all;
}

std::vector<StandIn> stand_ins_like(const std::string& like, const PublicNumbers& numbers,
                                    const std::string& path) {
    const DatasetReader reader(like);
    require_fit(reader.info(), numbers);
    Records all = reader.read_all();
    if (numbers.is_regression()) all = with_targets(std::move(all), {0, 1});
    for (std::size_t i = 0; i < all.labels.size(); ++i) {
        if (all.labels[i] >= numbers.classes)
            throw Error(ExitCode::input,
                        "row " + std::to_string(i) + " has no label below --classes " +
                            std::to_string(numbers.classes),
                        "a table that is to stand in has the same classes", reader.info().path);
    }
    std::vector<StandIn> draws;
    for (std::uint64_t draw = 0; draw < draws_like; ++draw) {
        const std::string file = path + "-" + std::to_string(draw);
        const std::int64_t trained = write_drawn(reader, all, numbers, stand_in_seed + draw, file);
        balance_test(file, numbers);
        draws.push_back({file, "draw " + std::to_string(draw + 1),
                         "public records of " + reader.info().path + ", for which the user vouches", trained,
                         stand_in_seed + draw, true});
    }
    return draws;
}

}  // namespace holdfast
