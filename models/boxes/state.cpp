#include "models/boxes/state.hpp"

#include <algorithm>
#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <boost/serialization/vector.hpp>
#include <cstdio>
#include <sstream>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

template <typename... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
    char text[64];
    std::snprintf(text, sizeof text, format, numbers...);
    return text;
}

}  // namespace

std::vector<std::byte> MemberState::packed() const {
    std::ostringstream stream(std::ios::binary);
    boost::archive::binary_oarchive archive(stream);
    archive << *this;
    const std::string text = stream.str();
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

MemberState MemberState::unpacked(std::span<const std::byte> bytes) {
    MemberState state;
    try {
        std::istringstream stream(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                  std::ios::binary);
        boost::archive::binary_iarchive archive(stream);
        archive >> state;
    } catch (const boost::archive::archive_exception& error) {
        throw Error(ExitCode::input, std::string("a training state cannot be read: ") + error.what(),
                    "it was written by another version: train again");
    }
    return state;
}

nlohmann::json StepMetrics::to_json(std::size_t member) const {
    const auto fraction = [&](std::int64_t count) {
        return records == 0 || count < 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(records);
    };
    return {{"member", member},
            {"step", step},
            {"epoch", epoch},
            {"batch", batch},
            {"learning_rate", learning_rate},
            {"records", records},
            {"accuracy", fraction(correct)},
            {"level", level},
            {"accuracy_lower", fraction(surely_correct)},
            {"accuracy_upper", fraction(possibly_correct)},
            {"width_mean", width_mean},
            {"width_max", width_max},
            {"layer_width_mean", layer_width_mean},
            {"layer_width_max", layer_width_max},
            {"undecided", undecided},
            {"charge_share", charge_share}};
}

std::string StepMetrics::text() const {
    std::string line =
        formatted("step %5.0f  k %3.0f", static_cast<double>(step), static_cast<double>(level));
    const auto add = [&](const char* name, const std::vector<double>& values, const char* format,
                         double scale) {
        line += std::string("  ") + name;
        for (const double value : values) line += formatted(format, value * scale);
    };
    add("widths", layer_width_mean, " %.2e", 1);
    add("widest", layer_width_max, " %.2e", 1);
    if (!undecided.empty()) add("may change sign", undecided, " %5.1f%%", 100);
    add("charge", charge_share, " %5.1f%%", 100);
    return line;
}

void StepMetrics::merge(const StepMetrics& other) {
    const std::int64_t nominal = std::max(correct, other.correct);
    if (other.level > level) *this = other;  // the bounds are those of the largest level
    correct = nominal;
}

}  // namespace holdfast
