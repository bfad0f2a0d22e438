#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace holdfast {

/// What is wrong with a table: every kind of it in one pass, of each how often and where first.
class Problems {
  public:
    /// message: of this one, with its place; counted with the others of its `kind`. position: line or row.
    /// sample: the cell, where another of them tells more.
    void add(const std::string& kind, const std::string& message, const std::string& hint,
             std::uint64_t position, const std::string& sample = "");
    /// One line for each kind: the first cell, how many more, and where the next of them are.
    std::vector<std::string> told() const;
    bool any() const { return !kinds_.empty(); }
    void take(const Problems& others);
    /// Error (ExitCode::input) with all of them, if there are any.
    void raise(const std::string& path) const;

  private:
    struct Kind {
        std::string message, hint;
        std::uint64_t count = 0;
        std::vector<std::uint64_t> positions;  ///< of the next few
        std::vector<std::string> samples;      ///< a few others
        std::size_t order = 0;                 ///< of its first
    };
    static std::string text_of(const Kind& kind);
    std::vector<const Kind*> in_order() const;
    std::map<std::string, Kind> kinds_;
};

}  // namespace holdfast
