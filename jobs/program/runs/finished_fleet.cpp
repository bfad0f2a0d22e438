#include "jobs/program/runs/finished_fleet.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "kernels/base/error.hpp"

namespace holdfast {

Configuration kept_configuration(const RunFolder& folder, const RunManifest& manifest) {
    try {
        Configuration kept = configuration_from_json(manifest.configuration);
        kept.settings.features = kept.settings.features.kept_in(folder.path());
        kept.settings.network = kept.settings.network.kept_in(folder.path());
        return kept;
    } catch (const Error& error) {
        if (error.code() != ExitCode::usage) throw;
        throw Error(ExitCode::input, "not a configuration of this program: " + error.message(),
                    "the file was changed, or a newer program wrote it: train again",
                    folder.file("manifest.json"));
    }
}

FinishedFleet FinishedFleet::open(const std::string& path) {
    const RunFolder folder = RunFolder::open(path);
    RunManifest manifest = RunManifest::read(folder);
    if (manifest.kind != "fleet")
        throw Error(ExitCode::input, "a run of kind \"" + manifest.kind + "\", not a fleet",
                    "name the --out folder of holdfast fleet", folder.file("manifest.json"));
    const Configuration kept = kept_configuration(folder, manifest);
    FleetReader networks(folder, manifest, kept.settings);
    return {folder, std::move(manifest), kept.run, std::move(networks)};
}

QueryForm FinishedFleet::form() const {
    return {networks.features(), kept_schema(manifest.dataset.schema, folder.file("manifest.json"))};
}

bool is_fleet(const std::string& run) {
    try {
        return RunManifest::read(RunFolder::open(run)).kind == "fleet";
    } catch (const Error&) {
        return false;  // what is wrong with it, its checks say
    }
}

}  // namespace holdfast
