#include "models/privacy/measure/distance_aggregate.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_sum = std::int64_t{1} << 60;  // as output noise holds it

[[noreturn]] void refuse(const std::string& text) {
    throw Error(ExitCode::usage, "no aggregate of distances: '" + text + "'",
                "give mean, least, quantile:P, certified:SHARE or right:SHARE, such as certified:0.9",
                "--aggregate");
}

/// The share behind the colon, in (0, 1].
Rational share_of(const std::string& text, std::size_t colon) {
    const std::string share = text.substr(colon + 1);
    char* end = nullptr;
    const double value = std::strtod(share.c_str(), &end);
    if (share.empty() || *end != '\0' || !(value > 0 && value <= 1)) refuse(text);
    return decimal_value(value, "--aggregate");
}

}  // namespace

const char* const aggregate_mechanism = "distance_aggregate";

DistanceAggregate DistanceAggregate::of(const std::string& text, std::size_t queries) {
    if (queries == 0)
        throw Error(ExitCode::usage, "an aggregate is of one query or more", "give a file that has some",
                    "--queries");
    DistanceAggregate aggregate{text, queries};
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos) {
        if (text != "mean" && text != "least") refuse(text);
        aggregate.rank = text == "least" ? 1 : 0;
        return aggregate;
    }
    const std::string kind = text.substr(0, colon);
    const Rational part = share_of(text, colon) * as_rational(static_cast<std::int64_t>(queries));
    const std::size_t count = ceil(part).get_ui();  // in [1, queries]
    if (kind == "quantile")
        aggregate.rank = count;
    else if (kind == "certified" || kind == "right")
        aggregate.rank = queries - count + 1;  // so many queries have this distance or more
    else
        refuse(text);
    aggregate.right = kind == "right";
    return aggregate;
}

std::int64_t DistanceAggregate::sensitivity() const {
    return unit * (rank == 0 ? static_cast<std::int64_t>(queries) : 1);
}

std::int64_t DistanceAggregate::units_of(std::span<const Evidence> evidence,
                                         std::span<const std::int32_t> truth) const {
    ensure(evidence.size() == queries, "an aggregate is of every query of its file");
    const std::int64_t most = greatest_sum / sensitivity();  // still 1-Lipschitz, and no sum overflows
    std::vector<std::int64_t> distances;
    for (std::size_t q = 0; q < queries; ++q) {
        const bool counts = !right || evidence[q].label == truth[q];
        distances.push_back(counts ? std::min(evidence[q].distance, most) : 0);
    }
    if (rank == 0) {
        std::int64_t sum = 0;
        for (const std::int64_t distance : distances) sum += distance;
        return unit * sum;
    }
    const auto at = distances.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::nth_element(distances.begin(), at, distances.end());
    return unit * *at;
}

double DistanceAggregate::distance(double units) const {
    return units / static_cast<double>(sensitivity());
}

OutputNoise DistanceAggregate::noise(const Rational& epsilon, const Rational& delta) const {
    return OutputNoise::of(epsilon, delta, as_rational(sensitivity()), 1);
}

std::int64_t DistanceAggregate::noisy(std::span<const Evidence> evidence, std::span<const std::int32_t> truth,
                                      const OutputNoise& noise) const {
    std::int64_t units = units_of(evidence, truth);
    noise.add_to({&units, 1}, SecretKey::fresh());
    return units;
}

}  // namespace holdfast
