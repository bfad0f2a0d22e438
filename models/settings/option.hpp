#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/text.hpp"

namespace holdfast {

/// One row of a table of options: parsing, range, help and manifest all come from it. A section of settings
/// has its rows beside it (network_options() and its like), under names of its own;
/// jobs/program/configuration.cpp joins them under "section.name".
template <typename Section>
struct BasicOption {
    std::string key;
    std::string help;  ///< with its range
    std::function<nlohmann::json(const Section&)> get;
    std::function<void(Section&, const nlohmann::json&)> set;  ///< throws std::string: what is wrong
};

/// What a value must be; each throws std::string with what is wrong.
std::int64_t whole_number(const nlohmann::json& value, std::int64_t least, std::int64_t most);
std::string range_of_whole(std::int64_t least, std::int64_t most);

/// least <= x <= most, or least < x <= most.
struct RealRange {
    double least;
    bool open = false;
    double most = 1e6;
    double checked(const nlohmann::json& value) const;
    std::string text() const;  ///< " [least, most]"
};
constexpr RealRange at_least(double least, double most = 1e6) {
    return {least, false, most};
}
constexpr RealRange above(double least) {
    return {least, true};
}

std::string word(const nlohmann::json& value, const std::vector<std::string>& allowed);
/// Every entry in 1..2^20: what is wider or farther than that fits no machine.
std::vector<std::int64_t> whole_numbers(const nlohmann::json& value);
extern const char* const range_of_whole_numbers;
std::vector<std::string> words(const nlohmann::json& value);
bool flag_of(const nlohmann::json& value);

template <typename Section, typename Field, typename Read>
BasicOption<Section> option(std::string key, std::string help, Field Section::*field, Read read) {
    return {std::move(key), std::move(help),
            [field](const Section& settings) { return nlohmann::json(settings.*field); },
            [field, read](Section& settings, const nlohmann::json& value) { settings.*field = read(value); }};
}

template <typename Section>
BasicOption<Section> integer(std::string key, const std::string& help, std::int64_t Section::*field,
                             std::int64_t least, std::int64_t most = INT64_MAX) {
    return option(std::move(key), help + " " + range_of_whole(least, most), field,
                  [=](const nlohmann::json& value) { return whole_number(value, least, most); });
}

template <typename Section>
BasicOption<Section> real(std::string key, const std::string& help, double Section::*field, RealRange range) {
    return option(std::move(key), help + range.text(), field,
                  [=](const nlohmann::json& value) { return range.checked(value); });
}

/// One of `allowed`; empty: any text.
template <typename Section>
BasicOption<Section> text(std::string key, std::string help, std::string Section::*field,
                          const std::vector<std::string>& allowed = {}) {
    return option(std::move(key), std::move(help), field,
                  [=](const nlohmann::json& value) { return word(value, allowed); });
}

template <typename Section>
BasicOption<Section> integers(std::string key, const std::string& help,
                              std::vector<std::int64_t> Section::*field) {
    return option(std::move(key), help + " " + range_of_whole_numbers, field, whole_numbers);
}

template <typename Section>
BasicOption<Section> texts(std::string key, std::string help, std::vector<std::string> Section::*field) {
    return option(std::move(key), std::move(help), field, words);
}

template <typename Section>
BasicOption<Section> flag(std::string key, const std::string& help, bool Section::*field) {
    return option(std::move(key), "true | false: " + help, field, flag_of);
}

template <typename Section, typename Enum>
BasicOption<Section> choice(std::string key, const std::string& help, Enum Section::*field,
                            std::vector<std::pair<std::string, Enum>> names) {
    const std::string list = joined(names, " | ", &std::pair<std::string, Enum>::first);
    return {std::move(key), help + ": " + list,
            [=](const Section& settings) {
                for (const auto& [name, value] : names) {
                    if (value == settings.*field) return nlohmann::json(name);
                }
                return nlohmann::json();
            },
            [=](Section& settings, const nlohmann::json& wanted) {
                for (const auto& [name, value] : names) {
                    if (!wanted.is_string() || wanted.get<std::string>() != name) continue;
                    settings.*field = value;
                    return;
                }
                throw "is " + wanted.dump() + ", not one of " + list;
            }};
}

}  // namespace holdfast
