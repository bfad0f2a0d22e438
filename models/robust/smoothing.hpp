#pragma once

#include <cstdint>

#include "models/privacy/noise/secret_key.hpp"
#include "models/privacy/rational.hpp"
#include "models/robust/input_certificate.hpp"

namespace holdfast {

/// Randomised smoothing (Cohen, Rosenfeld, Kolter 2019; models/mathematics.md, smoothing): at a query the
/// answer is the class that the model gives most often under noise, and how often it does proves a radius, of
/// any model.
struct Smoothing {
    double noise = 0;  ///< in units of the features: deviation, or of the discrete Laplace law the scale
    std::uint64_t draws = 10000;  ///< of a certificate
    std::uint64_t guesses = 100;  ///< draws before them, which name the class that they are about
    double alpha = 0.001;       ///< with how much probability, at most, any certificate of the file is false
    std::uint64_t queries = 0;  ///< of the file, which share the noise: each has alpha / queries
};

inline constexpr std::int32_t abstention = -1;  ///< the label where the draws prove nothing

/// In l2 and l-infinity by normal noise, in l1 by discrete Laplace noise, on a grid 2^-40 as wide as the
/// public range or narrower. The label is that of the model smoothed, or abstention. key: of this file and
/// model alone (smoothing_key()); queries: some of the file, as predict takes them. Errors (usage): a
/// regression; noise, draws or alpha out of bounds.
InputCertificates certify_smoothed(const Model& model, const Backend& backend, Norm norm,
                                   const Smoothing& how, const SecretKey& key, const Records& queries);

/// What is asked again, of whatever noise and number of draws, is answered by the same random bits.
/// digest: of the model's file.
SecretKey smoothing_key(const SecretKey& service, const Model& model, const std::string& digest,
                        const Records& file);

/// How far a query of so many features may move where its class has `share` > 1/2 of the noise at least, in
/// units of the grid, each feature rounded to it: rounded down, at least 0. noise: in these units.
Rational smoothed_radius(Norm norm, const Rational& share, const Rational& noise, std::uint64_t features);

/// What is promised of a smoothed answer.
Guarantee smoothing_claim(Norm norm, const Smoothing& how);

}  // namespace holdfast
