// The class that a model gives most often under noise: what is certified of it holds as often as it is said
// to, where the truth is known and where it is only sampled.

#include "models/robust/smoothing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/backends.hpp"
#include "kernels/base/random.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "tests/support/records_of.hpp"

namespace holdfast {
namespace smoothing_test {

Model model_of(Network network, std::vector<std::int64_t> parameters) {
    return {
        std::move(network), Precision::double_precision, std::move(parameters), "elsewhere", "", "", {}, {}};
}

/// Class 1 where .6 x + .8 y > 0, x and y from -8 to 8.
Model half_plane() {
    return model_of(Network(2, {}, 2, Loss::binary_cross_entropy, InputTransform{0, 1, {-8, 8}}),
                    {parameter_units(.6), parameter_units(.8), 0});
}

TEST(Smoothing, RadiiAreThoseOfTheFormulas) {
    const Rational share(97, 100), noise = 1'000'000;
    const double quantile = 1.880793608151251;  // Phi(quantile) = .97
    EXPECT_NEAR(smoothed_radius(Norm::l2, share, noise, 16).get_d(), 1e6 * quantile - 4, 1e-6);
    EXPECT_NEAR(smoothed_radius(Norm::linf, share, noise, 16).get_d(), 1e6 * quantile / 4 - 1, 1e-6);
    EXPECT_NEAR(smoothed_radius(Norm::l1, share, noise, 16).get_d(), -1e6 * std::log(.06) - 16, 1e-6);
    for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
        EXPECT_EQ(smoothed_radius(norm, Rational(1, 2), noise, 3), 0);
        EXPECT_EQ(smoothed_radius(norm, share, 1, 16), 0) << "less than rounding to the grid";
    }
    // Phi, rounded up, is at most the share there.
    const Rational radius = smoothed_radius(Norm::l2, share, 1 << 20, 1);
    EXPECT_LE(1 - normal_tail_lower((radius + 1) / (1 << 20)), share);
}

/// Certificates of queries one by one, each with a key of its own; `far`: how far each is from the border.
struct Trial {
    std::size_t certified = 0, wrong = 0;
};
Trial tried(Norm norm, double distance, const Smoothing& how, std::size_t times) {
    const Model model = half_plane();
    const auto backend = make_backend("cpu");
    // In l1 the border is nearest along y, in l-infinity along the diagonal.
    const double dual = norm == Norm::l1 ? .8 : norm == Norm::l2 ? 1 : 1.4;
    const Records query = records_of({{distance * .6 + .8, distance * .8 - .6}});
    Trial trial;
    for (std::size_t t = 0; t < times; ++t) {
        const SecretKey key = SecretKey::known_to_all(t);
        const InputCertificates found = certify_smoothed(model, *backend, norm, how, key, query);
        if (found.labels[0] == abstention) continue;
        ++trial.certified;
        trial.wrong += found.labels[0] != 1 || found.radii[0] > distance / dual ? 1 : 0;
    }
    return trial;
}

/// The normal law is the same in every direction, so the smoothed half-plane is the half-plane, and a
/// certificate that reaches beyond the border is false.
TEST(Smoothing, IsFalseNoMoreOftenThanAlpha) {
    constexpr std::size_t times = 1000;
    const Smoothing how{.noise = .5, .draws = 60, .guesses = 60, .alpha = .1, .queries = 1};
    for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
        for (const double distance : {0.0, .3}) {
            if (norm != Norm::l2 && distance == 0) continue;  // alike in all
            const Trial trial = tried(norm, distance, how, times);
            // 100 are allowed, and 35 more by the luck of one in ten thousand.
            EXPECT_LE(trial.wrong, 135U) << distance_in(norm) << " " << distance;
            if (norm == Norm::l2) {
                EXPECT_GE(trial.wrong, 25U) << "the bound is the least there is";
            }
        }
    }
    Smoothing shared = how;
    shared.queries = 50;
    EXPECT_LE(tried(Norm::l2, .3, shared, times).wrong, 12U) << "alpha is of the whole file";
}

TEST(Smoothing, LabelsStandWhereQueriesMove) {
    // A network of two layers, at random; a certificate is put to the share at inputs as far as it says.
    Network network(3, {8}, 3, Loss::cross_entropy, InputTransform{0, 1, {-2, 2}});
    const KeyedHash hash{5};
    std::vector<std::int64_t> parameters;
    for (std::size_t p = 0; p < network.parameters(); ++p)
        parameters.push_back(parameter_units(2 * hash.uniform(1, p) - 1));
    const Model model = model_of(std::move(network), std::move(parameters));
    const auto backend = make_backend("cpu");
    std::vector<std::vector<double>> rows;
    for (std::size_t q = 0; q < 40; ++q)
        rows.push_back({2 * hash.uniform(2, 3 * q) - 1, 2 * hash.uniform(2, 3 * q + 1) - 1,
                        2 * hash.uniform(2, 3 * q + 2) - 1});
    std::size_t certified = 0;
    for (const Norm norm : {Norm::l1, Norm::l2, Norm::linf}) {
        const Smoothing how{
            .noise = .3, .draws = 2000, .guesses = 100, .alpha = .001, .queries = rows.size()};
        const InputCertificates found =
            certify_smoothed(model, *backend, norm, how, SecretKey::known_to_all(1), records_of(rows));
        std::vector<std::vector<double>> moved;
        std::vector<std::int32_t> labels;
        for (std::size_t q = 0; q < rows.size(); ++q) {
            if (found.labels[q] == abstention) continue;
            ++certified;
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                std::vector<double> by;
                double length = 0, most = 0, sum = 0;
                for (std::size_t i = 0; i < 3; ++i) {
                    by.push_back(hash.normal(10 + seed, 3 * q + i));
                    length = std::hypot(length, by[i]);
                    most = std::max(most, std::abs(by[i]));
                    sum += std::abs(by[i]);
                }
                const double size = norm == Norm::l1 ? sum : norm == Norm::l2 ? length : most;
                for (std::size_t i = 0; i < 3; ++i) by[i] = rows[q][i] + by[i] * found.radii[q] / size;
                moved.push_back(by);
                labels.push_back(found.labels[q]);
            }
        }
        // Elsewhere by other draws: what has more than a half cannot lose 2000 to 1 by chance. At the radius
        // itself the share may be a half, so a label that certifies another class would be false.
        const Smoothing again{.noise = .3, .draws = 2000, .guesses = 100, .alpha = 1e-6, .queries = 1};
        const InputCertificates there =
            certify_smoothed(model, *backend, norm, again, SecretKey::known_to_all(2), records_of(moved));
        for (std::size_t i = 0; i < moved.size(); ++i)
            EXPECT_TRUE(there.labels[i] == abstention || there.labels[i] == labels[i]) << distance_in(norm);
    }
    EXPECT_GT(certified, 60U);
}

TEST(Smoothing, AbstainsWhereHalfOfTheDrawsAreNone) {
    const Model model = half_plane();
    const auto backend = make_backend("cpu");
    const Records border = records_of({{.8, -.6}}), far = records_of({{7, 7}});
    const double unit = smoothing_unit(model);
    EXPECT_EQ(unit, 0x1p-36);
    for (const double noise : {unit, .5, 1e6}) {
        const Smoothing how{.noise = noise, .draws = 2000, .guesses = 100, .alpha = 1e-6, .queries = 1};
        if (noise > unit) {  // less finds that the border lies between points of the grid
            const InputCertificates found =
                certify_smoothed(model, *backend, Norm::l2, how, SecretKey::known_to_all(8), border);
            EXPECT_EQ(found.labels[0], abstention) << noise;
            EXPECT_EQ(found.radii[0], 0);
        }
        const InputCertificates there =
            certify_smoothed(model, *backend, Norm::l2, how, SecretKey::known_to_all(8), far);
        EXPECT_EQ(there.labels[0], noise > 1 ? abstention : 1) << "noise of many ranges leaves two ends";
    }
    // Of all hits the radius is what so many draws can show, and no more.
    const Smoothing sure{.noise = .5, .draws = 1000, .guesses = 10, .alpha = .001, .queries = 1};
    const InputCertificates found =
        certify_smoothed(model, *backend, Norm::l2, sure, SecretKey::known_to_all(8), far);
    EXPECT_NEAR(found.radii[0], .5 * 2.46326, 1e-5);
}

TEST(Smoothing, WhatIsAskedAgainIsAnsweredAlike) {
    const Model model = half_plane();
    const auto backend = make_backend("cpu");
    const Records file = records_of({{.3, .1}, {-.2, .5}, {9, .1}, {-1, -1}}), part = records_of({{.3, .1}});
    const Smoothing how{.noise = .5, .draws = 3000, .guesses = 100, .alpha = .01, .queries = 4};
    const SecretKey service = SecretKey::known_to_all(3), other = SecretKey::known_to_all(4);
    const auto radii = [&](const SecretKey& of, const Records& all, const Records& asked) {
        return certify_smoothed(model, *backend, Norm::l2, how, smoothing_key(of, model, "digest", all),
                                asked)
            .radii;
    };
    const std::vector<double> once = radii(service, file, file);
    EXPECT_EQ(radii(service, file, file), once);
    EXPECT_EQ(radii(service, file, part)[0], once[0]) << "ranks share the queries";
    EXPECT_NE(radii(other, file, part)[0], once[0]);
    EXPECT_NE(radii(service, part, part)[0], once[0]) << "another file";
    EXPECT_EQ(radii(service, file, records_of({{8, .1}}))[0], once[2]) << "beyond the range its end";
}

}  // namespace smoothing_test
}  // namespace holdfast
