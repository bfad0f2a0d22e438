#include "jobs/program/page/summary.hpp"

#include <algorithm>
#include <cmath>

#include "jobs/program/page/html.hpp"
#include "jobs/program/page/text.hpp"

namespace holdfast {
namespace {

using namespace html;

constexpr double largest_factor = 1000;  // beyond it there is no protection to speak of

/// To so many significant digits, in the direction that `round` has; what a sum was off by is forgiven.
double rounded(double value, int digits, double (*round)(double)) {
    if (!(value > 0) || !std::isfinite(value)) return value;
    const double unit = std::pow(10.0, std::floor(std::log10(value)) + 1 - digits);
    const double nearest = std::round(value / unit);
    return std::abs(value / unit - nearest) < 1e-6 ? nearest * unit : round(value / unit) * unit;
}

double upward(double value, int digits) {
    return rounded(value, digits, [](double x) { return std::ceil(x); });
}

double downward(double value, int digits) {
    return rounded(value, digits, [](double x) { return std::floor(x); });
}

std::string chance_text(double delta) {
    return "a chance of 1 in " + count_text(static_cast<long long>(downward(1 / delta, 2)));
}

}  // namespace

std::string summary_card(const std::vector<std::pair<std::string, std::string>>& lines) {
    std::string list;
    for (const auto& [question, answer] : lines) {
        if (!answer.empty()) list += element("dt", escape_html(question)) + element("dd", answer);
    }
    return element("dl class=\"summary\"", list) + "\n";
}

std::string promise_text(double epsilon, double delta, const std::string& relation, bool person,
                         const std::string& what) {
    const std::string whose = person ? "your record" : "any one row about you";
    const std::string otherwise = relation == "label"        ? " another label"
                                  : relation == "substitute" ? " said something else"
                                                             : " not been in the table";
    const double factor = upward(std::exp(epsilon), 3);
    if (!(factor <= largest_factor))
        return "Had " + whose + otherwise + ", " + what +
               " could show it to almost anyone: at this epsilon hardly anything is promised.";
    std::string text = "Had " + whose + otherwise + ", whatever anyone sees of " + what +
                       " would have been as likely, up to a factor of " + number_text(factor);
    if (delta > 0 && delta < 1) text += " and " + chance_text(delta);
    return text + ".";
}

std::string spending_text(const SpentAndLeft& account) {
    std::string text =
        "epsilon " + number_text(upward(account.epsilon, 4)) + " of " + number_text(account.epsilon_budget);
    if (account.delta_budget > 0)
        text += " and delta " + number_text(upward(account.delta, 4)) + " of " +
                number_text(account.delta_budget);
    const double left = account.epsilon_budget - account.epsilon;
    const bool nothing = left <= 1e-3 * account.epsilon_budget;
    return text + " spent; left: " + (nothing ? "nothing" : "epsilon " + number_text(downward(left, 3)));
}

}  // namespace holdfast
