#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace holdfast {

/// The fields of one JSON object of a file, each checked where it is read. A problem is thrown as text: who
/// reads the file makes an Error of it, with the file and the remedy.
class JsonFields {
  public:
    /// prefix: "" or "dataset."; complete: an object of a format that has every field. The object must
    /// outlive this.
    JsonFields(const nlohmann::json& object, std::string prefix, bool complete)
        : object_(object), prefix_(std::move(prefix)), complete_(complete) {}

    /// Null where it is left out and may be.
    const nlohmann::json* find(const char* name, bool always) const;

    // 0 or empty where it is left out and may be.
    std::uint64_t count(const char* name, bool always = false) const;
    double number(const char* name) const;
    std::string text(const char* name, bool always = false) const;
    nlohmann::json object(const char* name, bool always = false) const;
    nlohmann::json list(const char* name) const;

    /// Of a value that was found under this name, or within it.
    std::uint64_t whole(const nlohmann::json& value, const char* name) const;
    std::int64_t signed_count(const nlohmann::json& value, const char* name) const;
    [[noreturn]] void wrong(const char* name, const std::string& expected, const nlohmann::json& value) const;

  private:
    const nlohmann::json& object_;
    std::string prefix_;
    bool complete_;
};

}  // namespace holdfast
