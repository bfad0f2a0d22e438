#include "jobs/forgetting/kept_members.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/base/error.hpp"

namespace holdfast {

std::vector<std::string> metrics_of_members(const RunFolder& run, const RunManifest& manifest) {
    const std::string path = run.file("metrics.jsonl");
    std::istringstream stream(run.read_text("metrics.jsonl", manifest.metrics));
    std::vector<std::string> metrics(manifest.members);
    const auto damaged = [&](const std::string& problem) {
        return Error(ExitCode::input, problem,
                     "the file was changed since it was written: restore it from a copy", path);
    };
    std::string line;
    for (std::uint64_t number = 0; number < manifest.members * manifest.steps; ++number) {
        const bool whole = std::getline(stream, line) && !stream.eof();
        const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
        if (!whole || !object.is_object() ||
            object.value("member", nlohmann::json()) != number / manifest.steps ||
            object.value("step", nlohmann::json()) != number % manifest.steps || object.dump() != line)
            throw damaged("line " + std::to_string(number + 1) + " is not that of member " +
                          std::to_string(number / manifest.steps) + ", step " +
                          std::to_string(number % manifest.steps));
        metrics[number / manifest.steps] += line + "\n";
    }
    if (std::getline(stream, line)) throw damaged("lines of no step at its end");
    return metrics;
}

namespace {

/// Lines of metrics as a training has them that looks at no records held out on its way.
std::string unseen(const std::string& metrics) {
    std::istringstream lines(metrics);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        nlohmann::json step = nlohmann::json::parse(line), kept = nlohmann::json::object();
        for (auto& [name, value] : step.items()) {
            if (!name.starts_with("validation_")) kept[name] = std::move(value);
        }
        text += kept.dump() + "\n";
    }
    return text;
}

}  // namespace

void keep_members(const FinishedRun& run, const std::vector<std::size_t>& members, const RunFolder& to,
                  const MemberStore& store) {
    require_boxes(run);
    const std::vector<std::string> metrics = metrics_of_members(run.folder, run.manifest);
    const std::vector<std::size_t> there = MemberStore::finished(to.path());
    const BoxesReader boxes(run.folder);
    std::vector<std::int64_t> lower, upper;
    for (const std::size_t member : members) {
        if (std::binary_search(there.begin(), there.end(), member)) continue;
        MemberWriter writer(store, member, boxes.levels().size(), boxes.parameters());
        for (std::size_t level = 0; level < boxes.levels().size(); ++level) {
            boxes.read(member, level, lower, upper);
            writer.write(lower, upper);
        }
        writer.commit(unseen(metrics[member]));
    }
    store.sync();
}

}  // namespace holdfast
