#include "models/privacy/measure/drawn_labels.hpp"

#include <sodium.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/mechanisms/mechanism.hpp"
#include "models/privacy/noise/laplace_noise.hpp"

namespace holdfast {

const char* const drawn_labels_mechanism = "drawn_labels";
const char* const label_relation = "label";

namespace {

constexpr double least_epsilon = 1e-3, greatest_epsilon = 64;

void draw_response(std::span<const std::int32_t> labels, const LabelLaw& law, RandomBits& bits,
                   std::vector<std::uint8_t>& evidence) {
    const int classes = static_cast<int>(law.classes);
    MechanismParameters parameters;
    parameters.epsilon = shown(law.epsilon);
    parameters.classes = classes;
    const Mechanism response("stable_rr", parameters);
    Evidence own;
    own.classes = classes;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        own.label = labels[i];
        const int drawn = response.draw(own, bits);
        evidence[i * law.classes + static_cast<std::size_t>(drawn)] = 1;
    }
}

void draw_laplace(std::span<const std::int32_t> labels, const LabelLaw& law, RandomBits& bits,
                  std::vector<std::uint8_t>& evidence) {
    const LaplaceNoise noise(law.scale());
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (std::size_t c = 0; c < law.classes; ++c) {
            const std::int64_t own = static_cast<std::size_t>(labels[i]) == c ? LabelLaw::whole : 0;
            evidence[i * law.classes + c] = static_cast<std::uint8_t>(
                std::clamp(own + noise.draw(bits), std::int64_t{0}, LabelLaw::whole));
        }
}

[[noreturn]] void refuse_damaged(const std::string& path) {
    throw Error(ExitCode::input, "what it says of its drawn labels is damaged",
                "draw them again by the same ledger, which costs nothing: holdfast measure --labels", path);
}

}  // namespace

LabelLaw LabelLaw::of(const std::string& form, std::size_t classes, double epsilon) {
    if (form != "response" && form != "laplace")
        throw Error(ExitCode::usage, "no way to draw labels", "give response or laplace", "--labels");
    if (!(epsilon >= least_epsilon && epsilon <= greatest_epsilon))
        throw Error(ExitCode::usage, "not in [0.001, 64]", "give what the labels cost, such as 1",
                    "--epsilon");
    return {form, classes, decimal_value(epsilon, "--epsilon")};
}

std::int64_t LabelLaw::scale() const {
    return ceil(Rational(2 * whole / epsilon)).get_si();
}

double LabelLaw::unit() const {
    return form == "response" ? shown(epsilon) : 2 / static_cast<double>(scale());
}

std::string LabelLaw::to_text() const {
    return nlohmann::json{{"form", form}, {"classes", classes}, {"epsilon", shown(epsilon)}, {"unit", unit()}}
        .dump();
}

double LabelLaw::unit_of(const std::string& text, const std::string& path) {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object() || !object.value("unit", nlohmann::json()).is_number()) refuse_damaged(path);
    return object.at("unit").get<double>();
}

std::vector<std::uint8_t> draw_labels(std::span<const std::int32_t> labels, const LabelLaw& law,
                                      RandomBits& bits) {
    std::vector<std::uint8_t> evidence(labels.size() * law.classes);
    (law.form == "response" ? draw_response : draw_laplace)(labels, law, bits, evidence);
    return evidence;
}

std::int32_t likeliest_label(std::span<const std::uint8_t> evidence, std::uint64_t id) {
    std::vector<std::int32_t> likeliest;
    const std::uint8_t most = *std::max_element(evidence.begin(), evidence.end());
    for (std::size_t c = 0; c < evidence.size(); ++c)
        if (evidence[c] == most) likeliest.push_back(static_cast<std::int32_t>(c));
    return likeliest[id % likeliest.size()];
}

std::vector<std::int32_t> likeliest_labels(std::span<const std::uint8_t> evidence,
                                           std::span<const std::uint64_t> ids) {
    std::vector<std::int32_t> labels;
    const std::size_t classes = ids.empty() ? 0 : evidence.size() / ids.size();
    for (std::size_t i = 0; i < ids.size(); ++i)
        labels.push_back(likeliest_label(evidence.subspan(i * classes, classes), ids[i]));
    return labels;
}

Payment payment_for(const LabelLaw& law) {
    nlohmann::json parameters = {{"relation", label_relation},
                                 {"law", law.form},
                                 {"classes", law.classes},
                                 {"rate", shown(law.epsilon)}};
    if (law.form == "laplace") parameters["scale"] = law.scale();
    const Rational mu = gaussian_mu_of_pure(law.epsilon);
    return {
        "", law.epsilon,      0, renyi_curve_of_pure(law.epsilon), drawn_labels_mechanism, parameters.dump(),
        "", Rational(mu * mu)};
}

std::string DrawnLabels::to_text() const {
    return nlohmann::json{{"dataset", dataset}, {"evidence", hex_of(evidence)}}.dump();
}

DrawnLabels DrawnLabels::of(const std::string& text, const std::string& path) {
    const nlohmann::json object = nlohmann::json::parse(text, nullptr, false);
    if (!object.is_object() || !object.value("dataset", nlohmann::json()).is_string() ||
        !object.value("evidence", nlohmann::json()).is_string())
        refuse_damaged(path);
    const std::string digits = object.at("evidence");
    DrawnLabels drawn{object.at("dataset"), std::vector<std::uint8_t>(digits.size() / 2)};
    const bool read = sodium_hex2bin(drawn.evidence.data(), drawn.evidence.size(), digits.data(),
                                     digits.size(), nullptr, nullptr, nullptr) == 0;
    if (!read || hex_of(drawn.evidence) != digits) refuse_damaged(path);
    return drawn;
}

}  // namespace holdfast
