#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/data/generate.hpp"
#include "jobs/study/advise/public_numbers.hpp"
#include "kernels/base/random.hpp"

namespace holdfast {

/// A public table on which candidates are tried in place of the private one: a dataset file with the splits
/// train and test.
struct StandIn {
    std::string path, name, description;
    std::int64_t records = 0;  ///< of its split train, at most the public number
    std::uint64_t seed = 0;    ///< of the noise that is drawn on it
    bool judges = true;        ///< else it only shows how far accuracy may be from that of typical ones

    /// Of what the private table will hold: noise is made less and members fewer by it, so that they weigh as
    /// they will there.
    double share(const PublicNumbers& numbers) const {
        return static_cast<double>(records) / static_cast<double>(numbers.records);
    }
};

/// How hard a made-up table is.
struct TableShape {
    const char* name;
    std::size_t factors;
    double common;       ///< of a column's spread, the part that a factor has which it shares with others
    double chance;       ///< of the label's, beside what columns say, the part that no model can know
    double advantage;    ///< of the first class before all others
    bool agreeing;       ///< each factor tells a class from the first, and its columns say the same
    bool apart = false;  ///< each class has a factor, which is high of its rows alone
};
inline constexpr TableShape typical_table{"typical", 6, 0.6, 0.5, 0, false};
/// Whose columns say much the same, as measures of one thing do.
inline constexpr TableShape alike_table{"alike", 3, 0.95, 0.5, 0, false};

/// As many records as a few seconds of trials bear: 5000 to 10000, fewer of many features.
std::int64_t most_stand_in_records(const PublicNumbers& numbers);
inline constexpr std::uint64_t stand_in_seed = 12;  ///< public: the same advice every time

/// Records of which every column has an effect of its own, rising, in steps, or highest in the middle
/// (amounts); or a linear one, of columns that spread less and less (coordinates). Columns share hidden
/// factors; a class is the greatest of their sums with noise that no model can remove, a number one such sum.
/// Where the shares of the classes are known, each sum has a constant that brings them about.
class TypicalTable final : public Generator {
  public:
    TypicalTable(std::uint64_t seed, const PublicNumbers& numbers, const TableShape& shape = typical_table);
    std::vector<std::string> feature_names() const override;
    bool wide() const override { return false; }
    FeatureRange range() const override { return {0, 1}; }
    bool of_numbers() const override { return numbers_.is_regression(); }
    double target(std::uint64_t row) const override;
    std::int32_t record(std::uint64_t row, double* features) const override;
    std::string description() const override;

  private:
    struct Column {
        std::uint64_t form;
        double spread;  ///< of all its values and effects
    };
    struct Effect {
        std::uint64_t form;
        double size;
    };
    double factor_of(std::size_t index, std::uint64_t row) const;
    std::vector<double> standard_values(std::uint64_t row) const;
    std::vector<double> scores(std::uint64_t row, const std::vector<double>& standard) const;
    double placed(const Column& column, double standard) const;
    static double value(const Effect& effect, double standard);
    void give_shares();

    KeyedHash hash_;
    PublicNumbers numbers_;
    TableShape shape_;
    double spread_ = 0;
    std::vector<Column> columns_;
    std::vector<Effect> effects_;     ///< [classes, features]
    std::vector<double> advantages_;  ///< [classes]
};

/// Writes generated ones, typical ones first, then an easy and a hard one, into files of this beginning; of
/// many columns and classes a typical one alone. Where shares of the classes are known, their tests have as
/// many rows of each class, some of them several times, here and below: what is right there is balanced
/// accuracy.
std::vector<StandIn> generated_stand_ins(const PublicNumbers& numbers, const std::string& path);
/// Of public records FILE[:SPLIT] (train by default), which the user vouches for, three times: as many as
/// wanted are drawn without replacement, a quarter of them for the test. Errors (input): other columns, no or
/// other labels, fewer than 8 records.
std::vector<StandIn> stand_ins_like(const std::string& like, const PublicNumbers& numbers,
                                    const std::string& path);

}  // namespace holdfast
