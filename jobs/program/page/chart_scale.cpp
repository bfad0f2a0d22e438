#include "jobs/program/page/chart_scale.hpp"

#include "jobs/program/page/text.hpp"

namespace holdfast {
namespace {

// The least 1, 2, 2.5 or 5 times a power of ten that cuts the range into at most `pieces`.
double round_step(double range, int pieces) {
    const double least = range / pieces;
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (factor * power >= least) return factor * power;
    }
    return 10 * power;
}

std::vector<double> linear_ticks(const Scale& scale, int pieces, bool whole) {
    const double round = round_step(scale.highest() - scale.lowest(), pieces);
    const double step = whole ? std::ceil(round) : round;
    std::vector<double> ticks;
    const double first = std::ceil(scale.lowest() / step - 1e-9),
                 last = std::floor(scale.highest() / step + 1e-9);
    for (double index = first; index <= last; ++index) ticks.push_back(index * step + 0.0);  // -0 + 0 is 0
    return ticks;
}

std::vector<double> decade_ticks(const Scale& scale) {
    std::vector<double> ticks;
    const double first = std::ceil(std::log10(scale.lowest())),
                 last = std::floor(std::log10(scale.highest()));
    const double stride = std::max(1.0, std::ceil((last - first) / 6));
    for (double power = first; power <= last; power += stride) ticks.push_back(std::pow(10.0, power));
    return ticks;
}

// For ranges of less than two decades: 1, 2 and 5 times a power of ten.
std::vector<double> fine_ticks(const Scale& scale) {
    std::vector<double> ticks;
    for (double power = std::floor(std::log10(scale.lowest())); power <= std::log10(scale.highest());
         ++power) {
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double tick = factor * std::pow(10.0, power);
            if (tick >= scale.lowest() && tick <= scale.highest()) ticks.push_back(tick);
        }
    }
    return ticks;
}

std::vector<double> logarithmic_ticks(const Scale& scale) {
    const bool wide = scale.highest() >= 100 * scale.lowest();
    return wide ? decade_ticks(scale) : fine_ticks(scale);
}

}  // namespace

std::vector<double> ticks_of(const Axis& axis, const Scale& scale, double pixels) {
    if (!axis.ticks.empty()) return axis.ticks;
    if (axis.logarithmic) return logarithmic_ticks(scale);
    return linear_ticks(scale, std::max(3, static_cast<int>(pixels / 40)), axis.whole);
}

std::string tick_text(const Axis& axis, double value) {
    if (axis.whole && value == std::floor(value)) return count_text(static_cast<long long>(value));
    return axis.percent ? number_text(100 * value) + "%" : number_text(value);
}

std::string value_text(const Axis& axis, double value) {
    return axis.percent ? percent_text(value) : number_text(value);
}

}  // namespace holdfast
