#include "models/privacy/measure/name_counts.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_count = std::int64_t{1} << 61;  // as GaussianNoise has it

/// Of each of so many names: floor(2^16/sqrt names).
std::int64_t share_of(std::uint64_t names) {
    const std::uint64_t square = static_cast<std::uint64_t>(whole_person) * whole_person / names;
    auto share = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(square)));
    while (share * share > square) --share;
    while ((share + 1) * (share + 1) <= square) ++share;
    return static_cast<std::int64_t>(share);
}

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

void NameCounts::add_person(std::span<const std::size_t> places) {
    std::vector<std::size_t> different(places.begin(), places.end());
    std::sort(different.begin(), different.end());
    different.erase(std::unique(different.begin(), different.end()), different.end());
    if (different.empty()) return;
    const std::int64_t share = share_of(different.size());
    for (const std::size_t place : different) shares_[place] += share;
}

NameLaw NameLaw::of(double sigma, const Rational& delta, std::uint64_t rows) {
    if (delta <= 0 || delta >= 1)
        throw Error(ExitCode::usage, "names come out at a delta in (0, 1)", "give a value such as 1e-6",
                    "--names-delta");
    // Of j names alone one comes out with no more than j times the tail of one; noise is rounded to shares.
    Rational least = 0;
    for (std::uint64_t names = 1; names <= rows; ++names) {
        const Rational beyond = normal_quantile_above(delta / as_rational(static_cast<std::int64_t>(names)));
        least = std::max(least, Rational(as_rational(share_of(names)) + Rational(1, 2) +
                                         Rational(sigma) * whole_person * beyond));
    }
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
