#include "dist/files/json_fields.hpp"

#include <nlohmann/json.hpp>

namespace holdfast {

using nlohmann::json;

namespace {

/// A damaged file may hold anything of any length, bytes that are no text too.
std::string shown(const json& value) {
    const std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    return text.size() <= 40 ? text : text.substr(0, 40) + "…";
}

}  // namespace

const json* JsonFields::find(const char* name, bool always) const {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    if (always || complete_) throw "field \"" + prefix_ + name + "\" is missing";
    return nullptr;
}

std::uint64_t JsonFields::count(const char* name, bool always) const {
    const json* value = find(name, always);
    return value == nullptr ? 0 : whole(*value, name);
}

double JsonFields::number(const char* name) const {
    const json* value = find(name, false);
    if (value != nullptr && !value->is_number()) wrong(name, "a number", *value);
    return value == nullptr ? 0 : value->get<double>();
}

std::string JsonFields::text(const char* name, bool always) const {
    const json* value = find(name, always);
    if (value != nullptr && !value->is_string()) wrong(name, "a text", *value);
    return value == nullptr ? "" : value->get<std::string>();
}

json JsonFields::object(const char* name, bool always) const {
    const json* value = find(name, always);
    if (value != nullptr && !value->is_object()) wrong(name, "an object", *value);
    return value == nullptr ? json::object() : *value;
}

json JsonFields::list(const char* name) const {
    const json* value = find(name, false);
    if (value != nullptr && !value->is_array()) wrong(name, "a list", *value);
    return value == nullptr ? json::array() : *value;
}

std::uint64_t JsonFields::whole(const json& value, const char* name) const {
    if (!value.is_number_unsigned()) wrong(name, "a whole number", value);
    return value.get<std::uint64_t>();
}

std::int64_t JsonFields::signed_count(const json& value, const char* name) const {
    const std::uint64_t number = whole(value, name);
    if (number > INT64_MAX) wrong(name, "a whole number below 2^63", value);
    return static_cast<std::int64_t>(number);
}

void JsonFields::wrong(const char* name, const std::string& expected, const json& value) const {
    throw "field \"" + prefix_ + name + "\" must be " + expected + ", found " + shown(value);
}

}  // namespace holdfast
