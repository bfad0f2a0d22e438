#include "models/privacy/measure/name_counts.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_count = std::int64_t{1} << 61;  // as GaussianNoise has it

/// x with a normal tail of no more than `tail` beyond it, and hardly less.
Rational normal_quantile_above(const Rational& tail) {
    long double low = 0, high = 8192;
    for (int i = 0; i < 80; ++i) {
        const long double middle = (low + high) / 2;
        (near_normal_tail(middle) > tail.get_d() ? low : high) = middle;
    }
    auto x = static_cast<double>(high);
    while (normal_tail_upper(Rational(x)) > tail) x += std::max(x, 1.0) * 0x1p-44;
    return x;
}

}  // namespace

NameLaw NameLaw::of(double sigma, const Rational& delta) {
    if (delta <= 0 || delta >= 1)
        throw Error(ExitCode::usage, "names come out at a delta in (0, 1)", "give a value such as 1e-6",
                    "--names-delta");
    // Noise is rounded to shares.
    const Rational least = as_rational(whole_person) + Rational(1, 2) +
                           Rational(sigma) * whole_person * normal_quantile_above(delta);
    return {sigma, static_cast<std::int64_t>(ceil(least).get_si())};
}

std::vector<std::string> draw_names(const NameCounts& counts, const NameLaw& law, const std::string& other,
                                    RandomBits& bits) {
    const GaussianNoise noise(law.sigma * static_cast<double>(whole_person));
    std::vector<std::pair<std::int64_t, std::string>> out;
    for (std::size_t place = 0; place < counts.size(); ++place) {
        if (counts.at(place) == 0 || counts.name(place) == other) continue;
        const std::int64_t shares = std::min(counts.at(place) + noise.draw(bits), greatest_count);
        if (shares >= law.threshold) out.emplace_back(-shares, counts.name(place));
    }
    std::sort(out.begin(), out.end());
    out.resize(std::min(out.size(), most_names));
    std::vector<std::string> names;
    for (const auto& [shares, name] : out) names.push_back(name);
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace holdfast
