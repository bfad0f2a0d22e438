#include "models/robust/smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/margins.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/binomial.hpp"
#include "models/privacy/bisection.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"
#include "models/privacy/noise/laplace_noise.hpp"

namespace holdfast {
namespace {

/// Multiples of a power of two: a feature of the public range is rounded to the nearest, and none needs more
/// than 51 bits.
class Grid {
  public:
    explicit Grid(FeatureRange range)
        : range_(range), unit_(unit_of(range)), low_(nearest(range.low)), high_(nearest(range.high)) {}
    static double unit_of(FeatureRange range) {
        return std::exp2(std::max(std::ilogb(range.high - range.low) - 40,
                                  std::ilogb(std::max(std::abs(range.low), std::abs(range.high))) - 50));
    }

    double unit() const { return unit_; }
    std::int64_t nearest(double feature) const {
        return std::llround(InputTransform{0, 1, range_}.inside(feature) / unit_);
    }
    /// What the model is asked: of a sum beyond the range its end.
    double feature(std::int64_t place, std::int64_t noise) const {
        return static_cast<double>(std::clamp(place + noise, low_, high_)) * unit_;
    }
    std::vector<std::int64_t> nearest(const FeatureMatrix& features) const {
        std::vector<std::int64_t> places;
        places.reserve(features.rows() * features.columns());
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t column = 0; column < features.columns(); ++column)
                places.push_back(nearest(features.at(row, column)));
        }
        return places;
    }

  private:
    FeatureRange range_;
    double unit_;
    std::int64_t low_, high_;  ///< the ends
};

/// The noise in units of the grid, drawn exactly.
class GridNoise {
  public:
    GridNoise(Norm norm, double units) {
        if (norm == Norm::l1)
            laplace_ = std::make_unique<LaplaceNoise>(std::llround(units));
        else
            normal_ = std::make_unique<GaussianNoise>(units);
    }
    Rational units() const { return laplace_ ? as_rational(laplace_->scale()) : Rational(normal_->sigma()); }
    void fill(std::span<std::int64_t> noise, const SecretKey& key, std::uint64_t place) const {
        laplace_ ? laplace_->fill(noise, key, place) : normal_->fill(noise, key, place);
    }

  private:
    std::unique_ptr<LaplaceNoise> laplace_;
    std::unique_ptr<GaussianNoise> normal_;
};

/// How often the model gives each class at queries with noise, which all of them share.
class Votes {
  public:
    Votes(const Model& model, const Backend& backend, const Grid& grid, const GridNoise& noise,
          const Records& queries)
        : model_(model),
          backend_(backend),
          map_(model.feature_map()),
          grid_(grid),
          noise_(noise),
          columns_(queries.features.columns()),
          places_(grid.nearest(queries.features)) {}

    /// [queries, classes]
    std::vector<std::uint64_t> of(const SecretKey& key, std::uint64_t draws) const {
        const std::size_t classes = model_.network.classes(), queries = places_.size() / columns_,
                          at_once = std::clamp<std::size_t>(most_values / columns_, 1, 4096);
        std::vector<std::uint64_t> votes(queries * classes);
        std::vector<std::int64_t> noise(at_once * columns_);
        for (std::uint64_t first = 0; first < draws; first += at_once) {
            const std::size_t count = std::min<std::uint64_t>(at_once, draws - first);
            noise_.fill(std::span(noise).first(count * columns_), key, first / at_once);
            for (std::size_t q = 0; q < queries; ++q) {
                for (const std::int32_t label : labels_at(q, noise, count))
                    ++votes[q * classes + static_cast<std::size_t>(label)];
            }
        }
        return votes;
    }

  private:
    static constexpr std::size_t most_values = std::size_t{1} << 21;

    std::vector<std::int32_t> labels_at(std::size_t query, const std::vector<std::int64_t>& noise,
                                        std::size_t count) const {
        Records moved{FeatureMatrix(columns_, true), {}, std::vector<std::uint64_t>(count), {}};
        std::iota(moved.ids.begin(), moved.ids.end(), 0);
        moved.rows = moved.ids;
        std::vector<double>& values = moved.features.wide_values();
        values.resize(count * columns_);
#pragma omp parallel for num_threads(threads_for(static_cast <double>(values.size())))
        for (std::size_t d = 0; d < count; ++d) {
            for (std::size_t i = 0; i < columns_; ++i)
                values[d * columns_ + i] =
                    grid_.feature(places_[query * columns_ + i], noise[d * columns_ + i]);
        }
        return answers_of(model_.network, backend_, model_.parameters, map_(std::move(moved))).labels;
    }

    const Model& model_;
    const Backend& backend_;
    const FeatureMap map_;
    const Grid& grid_;
    const GridNoise& noise_;
    std::size_t columns_;
    std::vector<std::int64_t> places_;  ///< [queries, columns]
};

/// The greatest x, less 2^-40, with Phi(x) <= share.
Rational normal_quantile(const Rational& share) {
    Rational low = 0, high = 64;
    const Rational fine = Rational(1) / power_of_two(40), rest = 1 - share;
    const auto nearly_rest = static_cast<long double>(rest.get_d());
    halve_by_guess(
        low, high, [&](const Rational& from, const Rational& to) { return to - from > fine; },
        [&](const Rational& x) { return normal_tail_lower(x) >= rest; },
        [&](long double x) { return near_normal_tail(x) >= nearly_rest; });
    return low;
}

/// A double below units of the grid, or 0.
double in_features(const Rational& units, double unit) {
    const double value = -round_up(Rational(-units * Rational(unit)));
    return value > 0 ? std::nextafter(value, 0.0) : 0;
}

}  // namespace

void check_smoothing(const Model& model, const Smoothing& how) {
    const auto refuse = [](const std::string& message, const std::string& hint, const char* option) {
        throw Error(ExitCode::usage, message, hint, option);
    };
    if (model.network.is_regression())
        refuse("a regression has no label that could change", "certify a model of classes", "--model");
    const double unit = smoothing_unit(model);
    if (!(unit >= 0x1p-900 && unit <= 0x1p900))
        refuse("no grid fits the range of its features", "scale the columns to [0, 1], and train again",
               "--model");
    const double units = how.noise / unit;
    if (!(units >= 1 && units <= GaussianNoise::greatest_sigma))
        refuse("no such noise beside the range of the features",
               "give a number above 0, in units of the features, as .25", "--smoothing");
    if (!(how.alpha > 0 && how.alpha < 0.5))
        refuse("alpha is a probability above 0 and below 1/2", "give .001, say", "--alpha");
}

double smoothing_unit(const Model& model) {
    return Grid::unit_of(model.feature_map().range());
}

Rational smoothed_radius(Norm norm, const Rational& share, const Rational& noise, std::uint64_t features) {
    if (share <= Rational(1, 2)) return 0;
    const Rational root = sqrt_upper(Rational(features));
    Rational radius;
    switch (norm) {
        case Norm::l1:
            radius = noise * log_lower(1 / (2 * (1 - share))) - features;
            break;
        case Norm::l2:
            radius = noise * normal_quantile(share) - root;
            break;
        case Norm::linf:
            radius = noise * normal_quantile(share) / root - 1;
            break;
    }
    return radius > 0 ? radius : Rational(0);
}

SecretKey smoothing_key(const SecretKey& service, const Model& model, const std::string& digest,
                        const Records& file) {
    StreamDigest asked;
    const std::vector<std::int64_t> places = Grid(model.feature_map().range()).nearest(file.features);
    asked.add_values(std::span<const std::int64_t>(places));
    return service.derived("smoothing", digest + " " + asked.hex());
}

InputCertificates certify_smoothed(const Model& model, const Backend& backend, Norm norm,
                                   const Smoothing& how, const SecretKey& key, const Records& queries) {
    // 1. The grid, and the noise on it.
    check_smoothing(model, how);
    const Grid grid(model.feature_map().range());
    const GridNoise noise(norm, how.noise / grid.unit());
    const Votes votes(model, backend, grid, noise, queries);

    // 2. The class that a certificate will be about, by draws that no certificate counts.
    const std::size_t classes = model.network.classes();
    const std::vector<std::uint64_t> guesses = votes.of(key.derived("guesses", ""), how.guesses);

    // 3. How often it comes, by fresh draws, and how far that reaches.
    const std::vector<std::uint64_t> counts = votes.of(key.derived("draws", ""), how.draws);
    const Rational alpha = decimal_value(how.alpha, "--alpha") / how.queries;
    std::map<std::uint64_t, double> radii;  // by hits
    InputCertificates result;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const std::uint64_t* of_query = guesses.data() + q * classes;
        const std::size_t label = greatest_logit(classes, [&](std::size_t c) { return of_query[c]; });
        const std::uint64_t hits = counts[q * classes + label];
        const auto [radius, is_new] = radii.try_emplace(hits, 0);
        if (is_new && 2 * hits > how.draws) {
            const Rational share = rate_lower(how.draws, hits, alpha);
            radius->second = in_features(
                smoothed_radius(norm, share, noise.units(), queries.features.columns()), grid.unit());
        }
        result.labels.push_back(radius->second > 0 ? static_cast<std::int32_t>(label) : abstention);
        result.radii.push_back(radius->second);
    }
    return result;
}

Guarantee smoothing_claim(const Model& model, Norm norm, const Smoothing& how) {
    const auto text = [](double value) { return decimal_text(decimal_value(value, "")); };
    const double unit = smoothing_unit(model),
                 drawn = norm == Norm::l1 ? std::round(how.noise / unit) * unit : how.noise;
    Guarantee claim = Guarantee::proved(
        "with a probability of at least 1 - " + text(how.alpha) +
        " over what the service's key draws, of all " + std::to_string(how.queries) +
        " queries at once: at every input within its radius of a query, in " + distance_in(norm) +
        ", the class that this model gives most often, with each feature rounded to a multiple of " +
        text(unit) + " and " +
        (norm == Norm::l1 ? "discrete Laplace noise of scale "
                          : "normal noise, rounded likewise, of deviation ") +
        text(drawn) + ", is the label named; " + std::to_string(abstention) + " names none");
    require_as_moved(claim);
    claim.require(
        "the queries, the norm, the noise, the number of draws and alpha were settled before anything drawn "
        "by "
        "this key for them was seen: who picks among the answers of m files or settings has m times alpha");
    claim.require(
        "who settled them does not know the service's key, and cannot tell ChaCha20 and BLAKE2b under it "
        "from "
        "random (a computational assumption)");
    claim.require(
        "it is about the class given most often: answers drawn at another input may abstain, or rarely "
        "differ");
    return claim;
}

}  // namespace holdfast
