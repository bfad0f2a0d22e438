#include "dist/data/problems.hpp"

#include <algorithm>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

constexpr std::size_t positions_shown = 3, samples_shown = 5, kinds_shown = 8;

}  // namespace

void Problems::add(const std::string& kind, const std::string& message, const std::string& hint,
                   std::uint64_t position, const std::string& sample) {
    Kind& found = kinds_[kind];
    if (found.count++ == 0) {
        found.message = message;
        found.hint = hint;
        found.order = kinds_.size();
        if (!sample.empty()) found.samples.push_back(sample);
        return;
    }
    if (found.positions.size() < positions_shown) found.positions.push_back(position);
    const bool known = std::find(found.samples.begin(), found.samples.end(), sample) != found.samples.end();
    if (!sample.empty() && !known && found.samples.size() < samples_shown) found.samples.push_back(sample);
}

void Problems::take(const Problems& others) {
    for (const auto& [name, kind] : others.kinds_) {
        const auto [found, is_new] = kinds_.try_emplace(name, kind);
        if (is_new)
            found->second.order = kinds_.size();
        else
            found->second.count += kind.count;
    }
}

std::string Problems::text_of(const Kind& kind) {
    if (kind.count == 1) return kind.message;
    std::string text =
        kind.message + " (and " + std::to_string(kind.count - 1) + " more like it, at " +
        joined(kind.positions, ", ", [](std::uint64_t position) { return std::to_string(position); });
    if (kind.samples.size() > 1)
        text += "; among them " + joined(std::vector(kind.samples.begin() + 1, kind.samples.end()), ", ",
                                         [](const std::string& cell) { return "'" + cell + "'"; });
    return text + ")";
}

std::vector<const Problems::Kind*> Problems::in_order() const {
    std::vector<const Kind*> kinds;
    for (const auto& [name, kind] : kinds_) kinds.push_back(&kind);
    std::sort(kinds.begin(), kinds.end(), [](const Kind* a, const Kind* b) { return a->order < b->order; });
    return kinds;
}

std::vector<std::string> Problems::told() const {
    std::vector<std::string> lines;
    for (const Kind* kind : in_order()) lines.push_back(text_of(*kind) + "; " + kind->hint);
    return lines;
}

void Problems::raise(const std::string& path) const {
    if (kinds_.empty()) return;
    const std::vector<const Kind*> kinds = in_order();
    std::string message, hints;
    for (std::size_t i = 0; i < std::min(kinds.size(), kinds_shown); ++i) {
        const Kind& kind = *kinds[i];
        message += (i == 0 ? "" : "\n  ") + text_of(kind);
        if (hints.find(kind.hint) == std::string::npos) hints += (hints.empty() ? "" : "\n  ") + kind.hint;
    }
    if (kinds.size() > kinds_shown)
        message += "\n  and problems of " + std::to_string(kinds.size() - kinds_shown) + " more kinds";
    throw Error(ExitCode::input, message, hints, path);
}

}  // namespace holdfast
