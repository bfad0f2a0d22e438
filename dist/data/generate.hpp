#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"

namespace holdfast {

/// A made-up dataset: every record a pure function of (seed, row), so that any slab can be made alone and in
/// any order. Its constants are public, so its scaling is Scaling::public_constants.
class Generator {
  public:
    virtual ~Generator() = default;
    virtual std::vector<std::string> feature_names() const = 0;
    virtual bool wide() const = 0;  ///< float64 features
    /// Where every feature lies by construction; the default where none is certain.
    virtual FeatureRange range() const { return default_feature_range; }
    /// Has every record a number in [0, 1], target(), in place of a label? Then record() returns 0.
    virtual bool of_numbers() const { return false; }
    virtual double target(std::uint64_t /*row*/) const { return 0; }
    /// Writes features [feature_names().size()] and returns the label.
    virtual std::int32_t record(std::uint64_t row, double* features) const = 0;
    virtual std::string description() const = 0;
};

/// Two isotropic Gaussians of standard deviation `spread` at +(centre, centre) (label 0) and -(centre,
/// centre) (label 1), in turn; features are x1, x2 and their powers up to `degree`.
struct BlobsOptions {
    std::uint64_t seed = 0;
    double centre = 1.25, spread = 0.35;
    int degree = 3;
};
std::unique_ptr<Generator> make_blobs(const BlobsOptions& options);

/// Two interleaving half circles of radius 1 (label 0: upper, label 1: lower) with Gaussian noise; powers as
/// blobs.
struct HalfmoonsOptions {
    std::uint64_t seed = 0;
    double noise = 0.1;
    int degree = 3;
};
std::unique_ptr<Generator> make_halfmoons(const HalfmoonsOptions& options);

/// Imitates credit-default data (AMEX: 5.5 million x 188): columns driven by a few latent factors, flags,
/// counts, heavy tails, mixed units and pure noise, all mapped into [0, 1] by public constants; a noisy
/// nonlinear rule labels about `positives` of the records 1.
struct TabularOptions {
    std::uint64_t seed = 0;
    std::size_t features = 188;
    double positives = 0.26;
};
std::unique_ptr<Generator> make_tabular(const TabularOptions& options);

/// Square grey images [1, side, side] in [0, 1] with one bright stroke of half a side anywhere, lying (label
/// 0) or upright (label 1); every pixel is off by up to `noise`. No two pixels tell the labels apart:
/// neighbours do.
struct ImagesOptions {
    std::uint64_t seed = 0;
    std::size_t side = 12;
    double noise = 0.1;
};
std::unique_ptr<Generator> make_images(const ImagesOptions& options);

/// A regression: columns uniform in [0, 1], of which the first five make a smooth surface, and noise on it.
struct SurfaceOptions {
    std::uint64_t seed = 0;
    std::size_t features = 8;
    double noise = 0.05;
};
std::unique_ptr<Generator> make_surface(const SurfaceOptions& options);

/// Rows [first, first + count) of the generator as the rows [0, count) of a split; ids are the generator's
/// row numbers, so they are unique over the splits of one file.
Records generate(const Generator& generator, std::uint64_t first, std::uint64_t count);

/// Rows of the persons [first, first + count), side by side: of each up to `rows_at_most`, most of them that
/// many, which have the person's label and are like one another.
Records generate_persons(const Generator& generator, std::uint64_t rows_at_most, std::uint64_t first,
                         std::uint64_t count);

/// The account of those who generate records and name none.
inline constexpr const char* synthetic_population = "synthetic";

/// Writes `train` rows as split "train" and the following `test` rows as split "test" (none if 0), slab by
/// slab. Their number is a public constant and stated as such. With rows_at_most > 1 `train` and `test` are
/// numbers of persons, who have several rows. Errors (ExitCode::usage): no rows; a `population` that is no
/// name.
void write_generated(const Generator& generator, std::uint64_t train, std::uint64_t test,
                     const std::string& path, const std::string& population = synthetic_population,
                     std::uint64_t rows_at_most = 1);

}  // namespace holdfast
