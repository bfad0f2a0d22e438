#include "models/settings/option.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

namespace holdfast {
namespace {

constexpr std::int64_t least_entry = 1, most_entry = 1 << 20;

std::string limit_text(std::int64_t most) {
    return most == INT64_MAX ? "" : std::to_string(most);
}

}  // namespace

const char* const range_of_whole_numbers = "[1..1048576 each]";

std::int64_t whole_number(const nlohmann::json& value, std::int64_t least, std::int64_t most) {
    if (!value.is_number_integer()) throw std::string("wants a whole number");
    const auto number = value.get<std::int64_t>();
    if (number < least || number > most)
        throw "is " + std::to_string(number) + ", outside " + std::to_string(least) + ".." + limit_text(most);
    return number;
}

std::string range_of_whole(std::int64_t least, std::int64_t most) {
    return "[" + std::to_string(least) + ".." + limit_text(most) + "]";
}

double RealRange::checked(const nlohmann::json& value) const {
    if (!value.is_number()) throw std::string("wants a number");
    const auto number = value.get<double>();
    if ((open ? number > least : number >= least) && number <= most) return number;
    throw "is " + (std::isfinite(number) ? value.dump() : "not a finite number") + ", outside" + text();
}

std::string RealRange::text() const {
    std::ostringstream range;
    range << (open ? " (" : " [") << least << ", " << most << "]";
    return range.str();
}

std::string word(const nlohmann::json& value, const std::vector<std::string>& allowed) {
    if (!value.is_string()) throw std::string("wants a text");
    const auto found = value.get<std::string>();
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), found) == allowed.end())
        throw "is \"" + found + "\", not one of those named in its help";
    return found;
}

std::vector<std::int64_t> whole_numbers(const nlohmann::json& value) {
    if (!value.is_array()) throw std::string("wants a list of whole numbers, as [1, 2]");
    std::vector<std::int64_t> numbers;
    for (const nlohmann::json& entry : value) {
        if (!entry.is_number_integer() || entry.get<std::int64_t>() < least_entry ||
            entry.get<std::int64_t>() > most_entry)
            throw "wants whole numbers in " + std::to_string(least_entry) + ".." +
                std::to_string(most_entry) + ", not " + entry.dump();
        numbers.push_back(entry.get<std::int64_t>());
    }
    return numbers;
}

std::vector<std::string> words(const nlohmann::json& value) {
    if (!value.is_array()) throw std::string("wants a list of texts, as [\"dense 100\"]");
    std::vector<std::string> list;
    for (const nlohmann::json& entry : value) {
        if (!entry.is_string()) throw "wants texts, not " + entry.dump();
        list.push_back(entry.get<std::string>());
    }
    return list;
}

bool flag_of(const nlohmann::json& value) {
    if (!value.is_boolean()) throw std::string("wants true or false");
    return value.get<bool>();
}

}  // namespace holdfast
