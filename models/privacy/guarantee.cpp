#include "models/privacy/guarantee.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

/// What is guaranteed, of what to_json() gave: all but the conditions.
std::string statement_of(const nlohmann::json& guarantee) {
    const std::string status = guarantee.at("status"), relation = guarantee.at("relation");
    std::string text = status + ": " + guarantee.at("statement").get<std::string>();
    // A status names the gap of what is published; a reason stands beside.
    if (const std::string gap = guarantee.value("gap", ""); status.find(gap) == std::string::npos)
        text += " (" + gap + ")";
    return relation.empty() ? text : text + ", neighbours: " + relation;
}

}  // namespace

Guarantee::Guarantee(Kind kind, std::string statement, std::string gap, std::string relation)
    : kind_(kind), statement_(std::move(statement)), gap_(std::move(gap)), relation_(std::move(relation)) {
    ensure(!statement_.empty(), "a guarantee says something");
    ensure(kind_ == Kind::proved || !gap_.empty(), "what is not proved names its gap");
}

Guarantee Guarantee::proved(std::string statement, std::string relation) {
    return Guarantee(Kind::proved, std::move(statement), "", std::move(relation));
}

Guarantee Guarantee::as_published(std::string statement, std::string gap, std::string relation) {
    return Guarantee(Kind::as_published, std::move(statement), std::move(gap), std::move(relation));
}

Guarantee Guarantee::not_private(std::string statement, std::string reason) {
    return Guarantee(Kind::not_private, std::move(statement), std::move(reason), "");
}

void Guarantee::require(std::string condition) {
    if (std::find(conditions_.begin(), conditions_.end(), condition) == conditions_.end()) {
        conditions_.push_back(std::move(condition));
    }
}

void Guarantee::weaken(const std::string& gap) {
    ensure(!gap.empty(), "what is not proved names its gap");
    kind_ = std::max(kind_, Kind::as_published);
    if (gap_.find(gap) == std::string::npos) gap_ = gap_.empty() ? gap : gap_ + "; " + gap;
}

void Guarantee::rest_on(const Guarantee& other) {
    kind_ = std::max(kind_, other.kind_);
    if (gap_.find(other.gap_) == std::string::npos)
        gap_ = gap_.empty() ? other.gap_ : gap_ + "; " + other.gap_;
    if (relation_.empty()) relation_ = other.relation_;
    ensure(other.relation_.empty() || relation_ == other.relation_, "combined guarantees share one relation");
    for (const std::string& condition : other.conditions_) require(condition);
}

void Guarantee::combine(const Guarantee& other) {
    if (statement_ != other.statement_) statement_ += "; " + other.statement_;
    rest_on(other);
}

std::string Guarantee::status() const {
    switch (kind_) {
        case Kind::proved:
            return "proved";
        case Kind::as_published:
            return "as published (gap: " + gap_ + ")";
        case Kind::not_private:
            return "not differentially private";
    }
    throw Error(ExitCode::internal, "unknown kind of guarantee", "please report it");
}

std::string Guarantee::text() const {
    return text_of(to_json());
}

std::string Guarantee::lines() const {
    return lines_of(to_json());
}

std::string Guarantee::text_of(const nlohmann::json& guarantee) {
    std::string text = statement_of(guarantee), joint = "; provided that ";
    for (const nlohmann::json& condition : guarantee.at("conditions")) {
        text += joint + condition.get<std::string>();
        joint = ", and ";
    }
    return text;
}

std::string Guarantee::lines_of(const nlohmann::json& guarantee, const std::string& about) {
    std::string lines = wrapped("", about + statement_of(guarantee), 2);
    const auto& conditions = guarantee.at("conditions");
    if (!conditions.empty()) lines += "\n  provided that";
    for (const nlohmann::json& condition : conditions)
        lines += "\n" + wrapped("  - ", condition.get<std::string>(), 4);
    return lines;
}

nlohmann::json Guarantee::to_json() const {
    nlohmann::json object = {{"status", status()},
                             {"statement", statement_},
                             {"relation", relation_},
                             {"conditions", conditions_}};
    if (!gap_.empty()) object["gap"] = gap_;
    return object;
}

}  // namespace holdfast
