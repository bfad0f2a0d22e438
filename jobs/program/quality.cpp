#include "jobs/program/quality.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numeric>

namespace holdfast {
namespace {

constexpr double two_sided_95 = 1.959963984540054;

std::string line_of(const char* format, auto... values) {
    char line[256];
    std::snprintf(line, sizeof line, format, values...);
    return line;
}

std::string table_of(const Quality& quality, const std::vector<std::string>& names) {
    constexpr std::size_t most_classes = 10, width = 12;
    const std::size_t classes = quality.confusion.size();
    if (classes > most_classes) return "";
    const auto name = [&](std::size_t c) {
        return (c < names.size() ? names[c] : "class " + std::to_string(c)).substr(0, width - 1);
    };
    std::string text = line_of("%-20s", "  true \\ answered");
    for (std::size_t c = 0; c < classes; ++c)
        text += line_of("%*s", static_cast<int>(width), name(c).c_str());
    text += "\n";
    for (std::size_t truth = 0; truth < classes; ++truth) {
        text += line_of("  %-18s", name(truth).c_str());
        for (const std::uint64_t count : quality.confusion[truth])
            text += line_of("%*llu", static_cast<int>(width), static_cast<unsigned long long>(count));
        text += "\n";
    }
    return text;
}

}  // namespace

Quality quality_of(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth,
                   std::size_t classes) {
    Quality quality;
    quality.confusion.assign(classes, std::vector<std::uint64_t>(classes, 0));
    quality.queries = truth.size();
    for (std::size_t q = 0; q < truth.size(); ++q)
        ++quality.confusion[static_cast<std::size_t>(truth[q])][static_cast<std::size_t>(labels[q])];
    std::uint64_t right = 0, commonest = 0, occurring = 0;
    for (std::size_t c = 0; c < classes; ++c) {
        const std::vector<std::uint64_t>& row = quality.confusion[c];
        const std::uint64_t count = std::accumulate(row.begin(), row.end(), std::uint64_t{0});
        right += row[c];
        commonest = std::max(commonest, count);
        if (count == 0) continue;
        ++occurring;
        quality.balanced += static_cast<double>(row[c]) / static_cast<double>(count);
    }
    const auto n = static_cast<double>(quality.queries);
    const double z = two_sided_95, p = static_cast<double>(right) / n;
    const double centre = (p + z * z / (2 * n)) / (1 + z * z / n),
                 reach = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    quality.accuracy = p;
    quality.lowest = std::max(0.0, centre - reach);
    quality.highest = std::min(1.0, centre + reach);
    quality.commonest = static_cast<double>(commonest) / n;
    quality.balanced /= static_cast<double>(occurring);
    return quality;
}

nlohmann::json to_json(const Quality& quality) {
    return {{"accuracy", quality.accuracy},
            {"interval", {quality.lowest, quality.highest}},
            {"commonest_class", quality.commonest},
            {"balanced_accuracy", quality.balanced},
            {"beats_guessing", quality.beats_guessing()},
            {"confusion", quality.confusion}};
}

std::string text_of(const Quality& quality, const std::vector<std::string>& names) {
    std::string text =
        line_of("accuracy %.4f of %llu queries, 95%% interval %.4f to %.4f\n", quality.accuracy,
                static_cast<unsigned long long>(quality.queries), quality.lowest, quality.highest) +
        line_of("who always says the commonest class: %.4f; balanced accuracy %.4f\n", quality.commonest,
                quality.balanced) +
        table_of(quality, names);
    if (!quality.beats_guessing())
        text +=
            "This model is not shown to be better than always saying the commonest class. What helps: a "
            "larger "
            "epsilon, more records, fewer columns, tighter public ranges.\n";
    return text;
}

}  // namespace holdfast
