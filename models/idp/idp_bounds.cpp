#include "models/idp/idp_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "dist/files/json_fields.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t format = 1;

nlohmann::json to_json(const IdpClass& found) {
    nlohmann::json object = {{"lower", found.lower},       {"upper", found.upper},
                             {"record", nullptr},          {"input", nullptr},
                             {"complete", found.complete}, {"seconds", found.seconds}};
    if (found.record) {
        object["record"] = *found.record;
        object["input"] = found.input;
    }
    return object;
}

/// Throws text.
IdpClass class_from(const nlohmann::json& object) {
    const JsonFields fields(object, "classes.", true);
    IdpClass found{fields.number("lower"), fields.number("upper"), {}, {}, fields.number("seconds"), false};
    if (!(found.lower >= 0) || !(found.upper >= found.lower) || !std::isfinite(found.upper))
        throw std::string("\"classes\" has a bound that is none");
    found.complete = object.value("complete", false);
    const nlohmann::json *record = fields.find("record", false), *input = fields.find("input", false);
    if (record && !record->is_null() && input && input->is_array()) {
        found.record = fields.whole(*record, "record");
        for (const nlohmann::json& value : *input) {
            if (!value.is_number()) throw std::string("\"input\" has no numbers");
            found.input.push_back(value.get<double>());
        }
    }
    return found;
}

}  // namespace

void IdpBounds::keep_better(const IdpBounds& earlier) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
        if (!earlier.classes[c]) continue;
        if (!classes[c]) {
            classes[c] = earlier.classes[c];
            continue;
        }
        IdpClass& here = *classes[c];
        const IdpClass& there = *earlier.classes[c];
        here.upper = std::min(here.upper, there.upper);
        if (there.lower > here.lower) {
            here.lower = there.lower;
            here.record = there.record;
            here.input = there.input;
        }
        here.complete = here.complete || there.complete;
    }
}

void IdpBounds::gather(const Communicator& ranks) {
    nlohmann::json mine = nlohmann::json::array();
    for (const std::optional<IdpClass>& found : classes)
        mine.push_back(found ? holdfast::to_json(*found) : nlohmann::json());
    const std::string text = mine.dump();
    for (const std::vector<std::byte>& bytes : ranks.all_gather(std::as_bytes(std::span(text)))) {
        const auto* first = reinterpret_cast<const char*>(bytes.data());
        const nlohmann::json theirs = nlohmann::json::parse(first, first + bytes.size());
        for (std::size_t c = 0; c < classes.size(); ++c) {
            if (!theirs[c].is_null()) classes[c] = class_from(theirs[c]);
        }
    }
}

nlohmann::json IdpBounds::to_json(const Guarantee& claim, double seconds) const {
    nlohmann::json object = {{"format", format},   {"fleet", fleet},
                             {"low", range.low},   {"high", range.high},
                             {"gap", gap},         {"classes", nlohmann::json::array()},
                             {"seconds", seconds}, {"guarantee", claim.to_json()}};
    for (const std::optional<IdpClass>& found : classes)
        object["classes"].push_back(found ? holdfast::to_json(*found) : nlohmann::json());
    return object;
}

void IdpBounds::write(const RunFolder& run, const Guarantee& claim, double seconds) const {
    run.write_json(file_name, to_json(claim, seconds));
}

bool IdpBounds::known(const RunFolder& run) {
    return run.has(file_name);
}

IdpBounds IdpBounds::read(const RunFolder& run, const RunManifest& manifest, std::size_t classes) {
    const nlohmann::json object = run.read_json(file_name);
    const auto damaged = [&](const std::string& problem) {
        return Error(ExitCode::input, "a damaged file of bounds: " + problem,
                     "remove it and run holdfast idp again", run.file(file_name));
    };
    if (!object.is_object()) throw damaged("no object");
    IdpBounds bounds{};
    try {
        const JsonFields fields(object, "", true);
        if (fields.count("format", true) != format) throw std::string("\"format\" is none of this program");
        bounds.fleet = fields.text("fleet", true);
        bounds.range = {fields.number("low"), fields.number("high")};
        bounds.gap = fields.number("gap");
        for (const nlohmann::json& found : fields.list("classes")) {
            bounds.classes.emplace_back();
            if (found.is_null()) continue;
            if (!found.is_object()) throw std::string("\"classes\" has no objects");
            bounds.classes.back() = class_from(found);
        }
    } catch (const std::string& problem) {
        throw damaged(problem);
    }
    if (bounds.fleet != manifest.digest)
        throw Error(ExitCode::input, "the bounds are of another fleet", "run holdfast idp again",
                    run.file(file_name));
    if (bounds.classes.size() != classes) throw damaged("another number of classes");
    if (!(bounds.range.low < bounds.range.high)) throw damaged("a range that is none");
    return bounds;
}

FeatureRange query_range(const FeatureRange& declared) {
    return declared == default_feature_range ? FeatureRange{0, 1} : declared;
}

Guarantee idp_claim(const FeatureRange& range, std::uint64_t left_out, std::uint64_t records) {
    Guarantee claim = Guarantee::proved(
        "where the confidence in the label is above the upper bound of its class, the training without any "
        "one record gives the same label",
        "remove");
    claim.require("queries are clipped to " + text_of(range) + ", feature by feature");
    claim.require("networks answer in double precision");
    claim.require(
        "a record is removed as the fleet does it: its place in its batches stays empty, all else is equal");
    if (left_out < records)
        claim.require("the record is among the " + std::to_string(left_out) + " of " +
                      std::to_string(records) + " that the fleet did without");
    return claim;
}

}  // namespace holdfast
