#include "jobs/answers/statement/sections.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "jobs/answers/statement/render.hpp"

namespace holdfast {
namespace {

using Json = nlohmann::ordered_json;

Json component(const char* part, const char* name, const std::string& here) {
    return {{"part", part}, {"component", name}, {"here", here}};
}

/// "epsilon 0.5 of 1, delta 0 of 1e-06"
std::string amounts(const Json& loss) {
    const auto of = [&](const char* amount) {
        return std::string(amount) + " " + scalar_text(loss.at("spent").at(amount)) + " of " +
               scalar_text(loss.at("budget").at(amount));
    };
    return of("epsilon") + ", " + of("delta");
}

/// The mechanisms by which it was released, each once.
Json mechanisms_of(const Json& statement) {
    Json names = Json::array();
    for (const Json& release : statement.at("releases")) {
        const Json& name = release.at("mechanism");
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
}

bool has(const Json& statement, const char* kind) {
    for (const Json& release : statement.at("releases")) {
        if (release.at("kind") == kind) return true;
    }
    return false;
}

Json product_types(const Json& statement) {
    Json types = Json::array();
    if (has(statement, "model")) types.push_back("Machine learning model");
    if (has(statement, "answers")) types.push_back("Predictions");
    return types;
}

Json publication_date(const Json& statement) {
    return statement.at("period").is_null() ? Json() : statement.at("period").at("last_release");
}

}  // namespace

Json nist_section(const Json& statement) {
    const Json& loss = statement.at("privacy_loss");
    return {
        {"publication",
         "NIST SP 800-226, Guidelines for Evaluating Differential Privacy Guarantees (March 2025)"},
        {"components",
         Json::array(
             {component("top", "privacy parameters",
                        amounts(loss) + " spent; " + loss.at("definition").get<std::string>()),
              component("top", "unit of privacy",
                        statement.at("unit_of_privacy").at("person").get<std::string>() + " Neighbours: " +
                            statement.at("neighbours").at("known_as").get<std::string>() + "."),
              component(
                  "middle", "algorithms and correctness",
                  "Each release names its mechanism, its parameters and its guarantee, with the status "
                  "proved "
                  "or as published (gap: …). One record's effect is bounded for the program that runs, with "
                  "its rounding, and noise follows exact laws, never those of floating point."),
              component("middle", "utility",
                        "Not in the ledger: accuracy measured on the records is for their owner alone."),
              component("middle", "bias", "Not measured; noise weighs most on small groups."),
              component(
                  "bottom", "access control",
                  "Files of their owner alone (see data handling); the rest is the owner's to arrange."),
              component("bottom", "trust models", "Central: the owner is trusted with the records."),
              component("bottom", "side channels",
                        "Not covered. An answer takes the same work whatever the records are; a training "
                        "does not."),
              component("bottom", "data collection exposure",
                        "Not covered: how the records came to the owner, and who else holds them.")})},
        {"query_model", has(statement, "answers") ? "Interactive: questions may be chosen as answers come."
                                                  : "Not interactive: models are published whole."},
        {"mixing_with_other_releases",
         "Everything that is charged to this ledger is composed. A release past it, protected or not, is "
         "outside."}};
}

Json registry_entry(const Json& statement) {
    const Json& loss = statement.at("privacy_loss");
    const bool many = statement.at("releases").size() > 1 || has(statement, "answers");
    const bool labels_alone = statement.at("neighbours").at("relation") == "label";
    return {
        {"basic",
         {{"name", "Releases about " + statement.at("population").get<std::string>()},
          {"data_curators", nullptr},
          {"intended_use", nullptr},
          {"data_product_type", product_types(statement)},
          {"data_product_region", nullptr},
          {"description", nullptr},
          {"publication_date", publication_date(statement)},
          {"data_product_sector", nullptr}}},
        {"dp_variant",
         {{"variant_name", loss.at("budget").at("delta") == 0.0 ? "Pure DP" : "Approximate DP"},
          {"data_domain", "Sets of labelled records with unique ids and finite features"},
          {"unprotected_quantities",
           std::string(labels_alone
                           ? "Features, ids, the order and number of records and who has one, settings"
                           : "Settings, ranges of features, the stated number of records") +
               ", dates and numbers of releases"}}},
        {"privacy_loss",
         {{"privacy_unit", "Record-level"},
          {"privacy_unit_details", statement.at("unit_of_privacy").at("person").get<std::string>() + " " +
                                       statement.at("neighbours").at("meaning").get<std::string>()},
          {"privacy_parameters",
           {{"epsilon", loss.at("budget").at("epsilon")}, {"delta", loss.at("budget").at("delta")}}},
          {"privacy_parameters_details",
           "The budget of all releases together; spent: " + amounts(loss) + "."}}},
        {"deployment_model",
         {{"model_name", "Central"},
          {"actors", "The owner of the data, who is trusted; those who ask, and the public, who are not."},
          {"release_type", many ? "Many releases" : "One release"},
          {"data_source_type", "Dynamic"},  // whether a version differed is private
          {"access_type", has(statement, "answers") ? "Interactive" : "Non-interactive"}}},
        {"accounting",
         {{"post_processing",
           "Whatever is computed from released labels and models, predictions included, is free."},
          {"composition", statement.at("composition").at("meaning").get<std::string>() + " " +
                              statement.at("composition").at("theorem").get<std::string>() + "."}}},
        {"implementation",
         {{"preprocessing_and_hyperparameter_tuning",
           "Settings and scaling are public constants, or the guarantee of the release names the gap."},
          {"mechanisms", mechanisms_of(statement)},
          {"justification", nullptr}}},
        {"administrative", {{"sources", nullptr}, {"registry_authors", nullptr}}}};
}

}  // namespace holdfast
