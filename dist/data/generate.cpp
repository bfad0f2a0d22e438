#include "dist/data/generate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t slab_rows = 8192;

/// Streams of the keyed hash: what is drawn for one purpose never meets another.
enum Stream : std::uint64_t {
    horizontal = 1,
    vertical = 2,
    angle = 3,
    column_constants = 4,
    row_seeds = 5,
    calibration = 6
};

std::vector<std::string> power_names(int degree) {
    std::vector<std::string> names;
    for (int power = 1; power <= degree; ++power) {
        for (const char* axis : {"x1", "x2"}) {
            names.push_back(power == 1 ? axis : axis + ("^" + std::to_string(power)));
        }
    }
    return names;
}

/// x1, x2, x1^2, x2^2, …
void write_powers(double x1, double x2, int degree, double* features) {
    double first = 1, second = 1;
    for (int power = 1; power <= degree; ++power) {
        *features++ = first *= x1;
        *features++ = second *= x2;
    }
}

void require(bool holds, const char* option, const char* rule) {
    if (!holds)
        throw Error(ExitCode::usage, std::string("must be ") + rule, "see `holdfast synth --help`", option);
}

class Blobs : public Generator {
  public:
    explicit Blobs(const BlobsOptions& options) : options_(options), hash_{options.seed} {}
    std::vector<std::string> feature_names() const override { return power_names(options_.degree); }
    bool wide() const override { return true; }
    std::int32_t record(std::uint64_t row, double* features) const override {
        const std::int32_t label = row % 2;
        const double centre = label == 0 ? options_.centre : -options_.centre;
        write_powers(centre + options_.spread * hash_.normal(horizontal, row),
                     centre + options_.spread * hash_.normal(vertical, row), options_.degree, features);
        return label;
    }
    std::string description() const override {
        return "blobs centre " + std::to_string(options_.centre) + " spread " +
               std::to_string(options_.spread) + " degree " + std::to_string(options_.degree) + " seed " +
               std::to_string(options_.seed);
    }

  private:
    BlobsOptions options_;
    KeyedHash hash_;
};

class Halfmoons : public Generator {
  public:
    explicit Halfmoons(const HalfmoonsOptions& options) : options_(options), hash_{options.seed} {}
    std::vector<std::string> feature_names() const override { return power_names(options_.degree); }
    bool wide() const override { return true; }
    std::int32_t record(std::uint64_t row, double* features) const override {
        const std::int32_t label = row % 2;
        const double turn = std::numbers::pi * hash_.uniform(angle, row);
        const double x1 = label == 0 ? std::cos(turn) : 1 - std::cos(turn);
        const double x2 = label == 0 ? std::sin(turn) : 0.5 - std::sin(turn);
        write_powers(x1 + options_.noise * hash_.normal(horizontal, row),
                     x2 + options_.noise * hash_.normal(vertical, row), options_.degree, features);
        return label;
    }
    std::string description() const override {
        return "halfmoons noise " + std::to_string(options_.noise) + " degree " +
               std::to_string(options_.degree) + " seed " + std::to_string(options_.seed);
    }

  private:
    HalfmoonsOptions options_;
    KeyedHash hash_;
};

/// The draws of one record, seeded by the keyed hash of its row: SplitMix64 (Steele, Lea, Flood 2014),
/// because a record takes hundreds of draws. No call of the mathematics library: the same bytes on every
/// machine.
class RowDraws {
  public:
    explicit RowDraws(std::uint64_t seed) : state_(seed) {}
    std::uint64_t bits() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    /// Nearly normal: the sum of four 16-bit uniforms, centred and scaled to variance 1; within +-3.47.
    double normal() {
        const std::uint64_t word = bits();
        const auto sum = static_cast<double>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) +
                                             (word >> 48));
        return (sum * 0x1p-16 - 2.0) * 1.7320508075688772;
    }

  private:
    std::uint64_t state_;
};

class Tabular : public Generator {
  public:
    explicit Tabular(const TabularOptions& options) : options_(options), hash_{options.seed} {
        for (std::size_t column = 0; column < options.features; ++column)
            columns_.push_back(make_column(column));
        threshold_ = calibrate();
    }

    std::vector<std::string> feature_names() const override {
        static constexpr const char* prefixes[] = {"balance_", "spend_",   "flag_",
                                                   "count_",   "payment_", "noise_"};
        std::vector<std::string> names;
        for (std::size_t column = 0; column < columns_.size(); ++column) {
            names.push_back(prefixes[columns_[column].kind] + std::to_string(column));
        }
        return names;
    }
    bool wide() const override { return false; }
    FeatureRange range() const override { return {0, 1}; }

    std::int32_t record(std::uint64_t row, double* features) const override {
        RowDraws draws(hash_(row_seeds, row));
        const Latent latent = draw_latent(draws);
        const std::int32_t label = score(latent, draws) > threshold_;
        for (const Column& column : columns_) *features++ = scaled(value(column, latent, draws), column);
        return label;
    }
    std::string description() const override {
        return "tabular " + std::to_string(options_.features) + " features, positives " +
               std::to_string(options_.positives) + " seed " + std::to_string(options_.seed);
    }

  private:
    static constexpr std::size_t factors = 8;
    using Latent = std::array<double, factors>;
    enum Kind { balance, spend, flag, count, payment, noise };

    /// A column's public constants. Its raw value lies around [offset, offset + unit].
    struct Column {
        Kind kind;
        std::size_t first, second;  ///< the factors that drive it
        double first_weight, second_weight, own_weight;
        double lowest, highest;  ///< public range in raw units: mapped to [0, 1], clipped outside
        double unit;
    };

    Column make_column(std::size_t index) const {
        const auto draw = [&](int which) { return hash_.uniform(column_constants, 8 * index + which); };
        static constexpr Kind kinds[] = {balance, spend, flag, count, payment, noise, balance, payment};
        static constexpr double units[] = {1, 12, 100, 2500, 40000};
        Column column{};
        column.kind = kinds[index % 8];
        column.first = static_cast<std::size_t>(draw(0) * factors);
        column.second = static_cast<std::size_t>(draw(1) * factors);
        column.first_weight = 0.4 + 0.6 * draw(2);
        column.second_weight = 0.8 * draw(3) - 0.4;
        column.own_weight = column.kind == noise ? 1.0 : 0.3 + 0.7 * draw(4);
        column.unit = units[static_cast<std::size_t>(draw(5) * 5)];
        set_range(column);
        return column;
    }

    static void set_range(Column& column) {
        switch (column.kind) {
            case flag:
                column.lowest = 0, column.highest = 1, column.unit = 1;
                return;
            case count:
                column.lowest = 0, column.highest = 12, column.unit = 1;
                return;
            case spend:
                column.lowest = 0, column.highest = 25 * column.unit;
                return;  // heavy tail: clipped above
            default:
                column.lowest = -4 * column.unit, column.highest = 4 * column.unit;
                return;
        }
    }

    static Latent draw_latent(RowDraws& draws) {
        Latent latent;
        for (double& factor : latent) factor = draws.normal();
        return latent;
    }

    /// The rule behind the labels: linear terms, an interaction, a kink, and noise no model can remove.
    static double score(const Latent& z, RowDraws& draws) {
        return 1.1 * z[0] - 0.8 * z[1] + 0.6 * z[2] * z[3] + 0.7 * std::max(0.0, z[4] - 0.5) -
               0.4 * z[5] * z[5] + 0.6 * draws.normal();
    }

    static double value(const Column& column, const Latent& latent, RowDraws& draws) {
        double raw = column.own_weight * draws.normal();
        if (column.kind == noise) return column.unit * raw;
        raw += column.first_weight * latent[column.first] + column.second_weight * latent[column.second];
        switch (column.kind) {
            case flag:
                return raw > 0.3;
            case count:
                return std::floor(std::clamp(3 + 2 * raw, 0.0, 12.0));
            case spend:
                return column.unit * raw * raw * (1 + raw * raw * 0.5);  // tail of a fourth power
            default:
                return column.unit * raw;
        }
    }

    static double scaled(double raw, const Column& column) {
        return std::clamp((raw - column.lowest) / (column.highest - column.lowest), 0.0, 1.0);
    }

    /// The score that the wanted fraction exceeds, from rows that no dataset holds: public, the same for
    /// every row.
    double calibrate() const {
        std::vector<double> scores;
        for (std::uint64_t sample = 0; sample < 40000; ++sample) {
            RowDraws draws(hash_(calibration, sample));
            const Latent latent = draw_latent(draws);
            scores.push_back(score(latent, draws));
        }
        const auto rank =
            static_cast<std::ptrdiff_t>((1 - options_.positives) * static_cast<double>(scores.size() - 1));
        std::nth_element(scores.begin(), scores.begin() + rank, scores.end());
        return scores[static_cast<std::size_t>(rank)];
    }

    TabularOptions options_;
    KeyedHash hash_;
    std::vector<Column> columns_;
    double threshold_ = 0;
};

class Surface : public Generator {
  public:
    explicit Surface(const SurfaceOptions& options) : options_(options), hash_{options.seed} {}
    std::vector<std::string> feature_names() const override {
        std::vector<std::string> names;
        for (std::size_t j = 0; j < options_.features; ++j) names.push_back("x" + std::to_string(j + 1));
        return names;
    }
    bool wide() const override { return true; }
    FeatureRange range() const override { return {0, 1}; }
    bool of_numbers() const override { return true; }
    std::int32_t record(std::uint64_t row, double* features) const override {
        RowDraws draws = draws_of(row);
        for (std::size_t j = 0; j < options_.features; ++j) features[j] = draws.uniform();
        return 0;
    }
    double target(std::uint64_t row) const override {
        RowDraws draws = draws_of(row);
        std::vector<double> x(options_.features);
        for (double& value : x) value = draws.uniform();
        const double height =
            0.4 + 0.3 * (x[0] - x[1]) + 0.8 * (x[2] - 0.5) * (x[3] - 0.5) + 0.4 * x[4] * x[4];
        return std::clamp(height + options_.noise * draws.normal(), 0.0, 1.0);
    }
    std::string description() const override {
        return "surface of " + std::to_string(options_.features) + " features noise " +
               std::to_string(options_.noise) + " seed " + std::to_string(options_.seed);
    }

  private:
    RowDraws draws_of(std::uint64_t row) const { return RowDraws(hash_(row_seeds, row)); }
    SurfaceOptions options_;
    KeyedHash hash_;
};

void write_split(const Generator& generator, std::uint64_t rows_at_most, std::uint64_t first,
                 std::uint64_t count, const std::string& split, DatasetWriter& writer) {
    writer.begin_split(split, generator.feature_names().size(), generator.wide());
    const std::uint64_t slab = std::max<std::uint64_t>(1, slab_rows / rows_at_most);
    for (std::uint64_t done = 0; done < count; done += slab) {
        const std::uint64_t some = std::min(slab, count - done);
        writer.append(rows_at_most == 1 ? generate(generator, first + done, some)
                                        : generate_persons(generator, rows_at_most, first + done, some));
    }
}

class Images : public Generator {
  public:
    explicit Images(const ImagesOptions& options) : options_(options), hash_{options.seed} {}
    std::vector<std::string> feature_names() const override {
        std::vector<std::string> names;
        for (std::size_t y = 0; y < options_.side; ++y) {
            for (std::size_t x = 0; x < options_.side; ++x)
                names.push_back("y" + std::to_string(y) + "_x" + std::to_string(x));
        }
        return names;
    }
    bool wide() const override { return false; }
    FeatureRange range() const override { return {0, 1}; }
    std::int32_t record(std::uint64_t row, double* features) const override {
        RowDraws draws(hash_(row_seeds, row));
        const std::int32_t label = row % 2;
        const std::size_t side = options_.side, length = side / 2, step = label == 0 ? 1 : side;
        const std::size_t along = draws.bits() % (side - length + 1), across = draws.bits() % side;
        for (std::size_t p = 0; p < side * side; ++p) features[p] = options_.noise * draws.uniform();
        const std::size_t first = label == 0 ? across * side + along : along * side + across;
        for (std::size_t i = 0; i < length; ++i) features[first + i * step] = 1 - features[first + i * step];
        return label;
    }
    std::string description() const override {
        return "images 1 x " + std::to_string(options_.side) + " x " + std::to_string(options_.side) +
               " noise " + std::to_string(options_.noise) + " seed " + std::to_string(options_.seed);
    }

  private:
    ImagesOptions options_;
    KeyedHash hash_;
};

}  // namespace

std::unique_ptr<Generator> make_blobs(const BlobsOptions& options) {
    require(std::isfinite(options.centre), "--centre", "a finite number");
    require(std::isfinite(options.spread) && options.spread >= 0, "--spread", "a number of at least 0");
    require(options.degree >= 1 && options.degree <= 10, "--degree", "from 1 to 10");
    return std::make_unique<Blobs>(options);
}

std::unique_ptr<Generator> make_halfmoons(const HalfmoonsOptions& options) {
    require(std::isfinite(options.noise) && options.noise >= 0, "--noise", "a number of at least 0");
    require(options.degree >= 1 && options.degree <= 10, "--degree", "from 1 to 10");
    return std::make_unique<Halfmoons>(options);
}

std::unique_ptr<Generator> make_tabular(const TabularOptions& options) {
    require(options.features >= 1, "--features", "at least 1");
    require(options.positives > 0 && options.positives < 1, "--positives", "between 0 and 1");
    return std::make_unique<Tabular>(options);
}

std::unique_ptr<Generator> make_images(const ImagesOptions& options) {
    require(options.side >= 2 && options.side <= 1024, "--side", "from 2 to 1024");
    require(options.noise >= 0 && options.noise <= 1, "--noise", "between 0 and 1");
    return std::make_unique<Images>(options);
}

std::unique_ptr<Generator> make_surface(const SurfaceOptions& options) {
    require(options.features >= 5 && options.features <= 10000, "--features", "from 5 to 10000");
    require(std::isfinite(options.noise) && options.noise >= 0, "--noise", "a number of at least 0");
    return std::make_unique<Surface>(options);
}

Records generate(const Generator& generator, std::uint64_t first, std::uint64_t count) {
    Records records;
    const std::size_t columns = generator.feature_names().size();
    records.features = FeatureMatrix(columns, generator.wide());
    auto& narrow = records.features.values();
    generator.wide() ? records.features.wide_values().reserve(count * columns)
                     : narrow.reserve(count * columns);
    std::vector<double> row(columns);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::int32_t label = generator.record(first + i, row.data());
        if (generator.of_numbers()) {
            records.targets.push_back(generator.target(first + i));
        } else {
            records.labels.push_back(label);
        }
        records.features.append(row.data());
        records.ids.push_back(first + i);
        records.rows.push_back(i);
    }
    return records;
}

Records generate_persons(const Generator& generator, std::uint64_t rows_at_most, std::uint64_t first,
                         std::uint64_t count) {
    constexpr double most_have_all = 0.8, shared = 0.75;  // AMEX: 13 rows at most, 12 on average
    constexpr std::uint64_t own_rows = std::uint64_t{1} << 40, stream = 0x706572736f6e;
    const std::size_t columns = generator.feature_names().size();
    Records records;
    records.features = FeatureMatrix(columns, generator.wide());
    std::vector<double> row(columns), base(columns);
    for (std::uint64_t person = first; person < first + count; ++person) {
        const double draw = KeyedHash{0}.uniform(stream, person) / (1 - most_have_all);
        const std::uint64_t rows =
            draw < 1 ? 1 + static_cast<std::uint64_t>(draw * static_cast<double>(rows_at_most))
                     : rows_at_most;
        const std::int32_t label = generator.record(person, base.data());
        for (std::uint64_t j = 0; j < rows; ++j) {
            // A row of its own in a place of the person's parity, by which some generators label.
            generator.record(own_rows + 2 * (person * rows_at_most + j) + person % 2, row.data());
            for (std::size_t c = 0; c < columns; ++c) row[c] = shared * base[c] + (1 - shared) * row[c];
            records.features.append(row.data());
            if (generator.of_numbers())
                records.targets.push_back(generator.target(person));
            else
                records.labels.push_back(label);
            records.ids.push_back(person);
            records.rows.push_back(records.rows.size());
        }
    }
    return records;
}

void write_generated(const Generator& generator, std::uint64_t train, std::uint64_t test,
                     const std::string& path, const std::string& population, std::uint64_t rows_at_most) {
    require(train >= 1 && train <= most_expected_records, "--records", "from 1 to 10^12");
    require(rows_at_most >= 1 && rows_at_most <= 1000, "--rows-at-most", "from 1 to 1000");
    require_population(population);
    DatasetWriter writer(path);
    writer.set_facts({.scaling = Scaling::public_constants,
                      .ids = IdKind::given,
                      .expected_records = train,
                      .population = population,
                      .range = generator.range(),
                      .target_range = generator.of_numbers() ? FeatureRange{0, 1} : default_feature_range,
                      .source = "holdfast synth: " + generator.description(),
                      .feature_names = generator.feature_names(),
                      .unit = Unit::person,
                      .rows_at_most = rows_at_most});
    write_split(generator, rows_at_most, 0, train, "train", writer);
    if (test > 0) write_split(generator, rows_at_most, train, test, "test", writer);
    writer.commit();
}

}  // namespace holdfast
