#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace holdfast {

/// The one type that words a guarantee; everything the program prints about one comes from here.
/// A status is exactly `proved`, `as published (gap: …)` or `not differentially private`.
class Guarantee {
  public:
    static Guarantee proved(std::string statement, std::string relation = "");
    /// `gap`: what the published argument leaves open.
    static Guarantee as_published(std::string statement, std::string gap, std::string relation = "");
    static Guarantee not_private(std::string statement, std::string reason);

    /// What must hold for the statement: "features were scaled by public constants". Kept in order, once
    /// each.
    void require(std::string condition);
    /// Weakens a proved statement to `as published (gap: …)`; adds to the gap of one already so.
    void weaken(const std::string& gap);
    /// It holds where `other` does: takes over what that leaves open and requires, not what it says.
    void rest_on(const Guarantee& other);
    /// Both hold: the weaker status, the statements and conditions of both.
    void combine(const Guarantee& other);

    bool is_proved() const { return kind_ == Kind::proved; }
    bool is_private() const {
        return kind_ != Kind::not_private;
    }  ///< false only for `not differentially private`
    const std::string& relation() const {
        return relation_;
    }  ///< "add_remove", "substitute", "remove", "poison" or empty
    const std::string& statement() const { return statement_; }
    const std::vector<std::string>& conditions() const { return conditions_; }
    std::string status() const;
    std::string text() const;        ///< one paragraph: status, statement, relation, conditions
    std::string lines() const;       ///< for a screen: a line a condition, none of them long; no end of line
    nlohmann::json to_json() const;  ///< {status, statement, relation, conditions[], gap?}
    /// text() and lines() of what to_json() gave, earlier perhaps. `about`: words before it.
    static std::string text_of(const nlohmann::json& guarantee);
    static std::string lines_of(const nlohmann::json& guarantee, const std::string& about = "");

  private:
    enum class Kind { proved, as_published, not_private };
    Guarantee(Kind kind, std::string statement, std::string gap, std::string relation);

    Kind kind_;
    std::string statement_, gap_, relation_;
    std::vector<std::string> conditions_;
};

}  // namespace holdfast
