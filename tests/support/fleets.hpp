#pragma once

#include <random>
#include <string>
#include <vector>

#include "dist/runs/manifest.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "models/fleet/fleet_file.hpp"

namespace holdfast::test {

/// Writes a finished fleet into `path`: networks [1 + left_out, parameters] in parameter units, N first, of
/// settings whose expected_records it states.
inline void write_fleet(const std::string& path, const Settings& settings, std::size_t features,
                        FeatureRange range, const std::vector<std::vector<std::int64_t>>& networks,
                        const std::vector<std::uint64_t>& left_out, const std::string& dataset = "data") {
    const RunFolder run = RunFolder::create(path, false);
    const std::size_t each = networks.front().size();
    const FleetParts parts(run, "fingerprint", {settings.training.precision, networks.size(), each});
    parts.make_folder();
    for (std::size_t part = 0; part < parts.count(); ++part) {
        std::vector<std::int64_t> some;
        for (std::size_t i = 0; i < parts.size(part); ++i) {
            const auto& network = networks[parts.first(part) + i];
            some.insert(some.end(), network.begin(), network.end());
        }
        parts.write(part, some);
    }
    Configuration configuration;
    configuration.settings = settings;
    RunManifest manifest;
    manifest.kind = "fleet";
    manifest.configuration = to_json(configuration);
    manifest.dataset.path = "data.h5";
    manifest.dataset.rows = left_out.size();
    manifest.dataset.features = features;
    manifest.dataset.classes = static_cast<std::uint64_t>(settings.network.classes);
    manifest.dataset.range = range;
    manifest.dataset.digest = dataset;
    manifest.members = networks.size();
    manifest.parameters = each;
    manifest.relation = "remove";
    manifest.arithmetic = manifest.guarantee = nlohmann::json::object();
    manifest.digest = parts.join(left_out);
    manifest.write(run);
    parts.remove_all();
}

/// Networks near one another, as those of a fleet are, for tests that need not train them.
inline std::vector<std::vector<std::int64_t>> networks_near(const Network& network, std::size_t count,
                                                            double radius, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-radius, radius);
    std::vector<std::vector<std::int64_t>> networks{network.initial_parameters(seed, 0)};
    for (std::size_t i = 1; i < count; ++i) {
        networks.push_back(networks.front());
        for (std::int64_t& parameter : networks.back()) parameter += parameter_units(uniform(random));
    }
    return networks;
}

inline std::vector<std::uint64_t> some_ids(std::size_t count) {
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(1000 + 17 * i);
    return ids;
}

/// Queries of any doubles: mostly within +-2, some infinite, huge or not numbers.
inline Records any_queries(std::size_t count, std::size_t features, std::uint64_t seed, bool wide = true) {
    Records records{FeatureMatrix(features, wide), {}, {}, {}};
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-2, 2);
    const double odd[] = {0, -0.0, 1e30, -1e30, INFINITY, -INFINITY, NAN};
    std::vector<double> row(features);
    for (std::size_t i = 0; i < count; ++i) {
        for (double& value : row) value = random() % 23 == 0 ? odd[random() % 7] : uniform(random);
        records.features.append(row.data());
        records.ids.push_back(i);
        records.rows.push_back(i);
    }
    return records;
}

}  // namespace holdfast::test
