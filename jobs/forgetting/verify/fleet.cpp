#include "jobs/forgetting/verify/fleet.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "jobs/program/runs/finished_fleet.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "models/fleet/fleet_settings.hpp"

namespace holdfast {
namespace {

std::string check_claim(const FinishedFleet& fleet) {
    const Guarantee claim = fleet_claim(fleet.networks.settings(), facts_of(fleet.manifest));
    if (fleet.manifest.guarantee != claim.to_json())
        throw Error(ExitCode::input, "it is not what follows from the settings");
    return "worded by manifest.json as its settings demand: \"" + claim.status() + "\"";
}

/// The parameters of a run of one member, level 0, as the fleet keeps parameters.
std::vector<std::int64_t> parameters_of(const FinishedRun& run, Precision precision) {
    if (run.manifest.kind != "boxes" || run.members() != 1)
        throw Error(ExitCode::input, "no single model of training.kind = \"boxes\"");
    const BoxesReader boxes(run.folder);
    std::vector<std::int64_t> lower, upper;
    boxes.read(0, 0, lower, upper);
    for (std::int64_t& units : lower) units = stored_units(precision, units);
    return lower;
}

std::string check_deletion(const FleetReader& fleet, const std::string& path) {
    const Precision precision = fleet.settings().training.precision;
    const std::vector<std::int64_t> own = parameters_of(FinishedRun::open(path), precision);
    const std::size_t parameters = fleet.network().parameters();
    if (own.size() != parameters)
        throw Error(ExitCode::input, "its network has other layers than the fleet's");
    if (own == fleet.nominal()) throw Error(ExitCode::input, "it is the fleet's network of all records");
    std::vector<std::string> found;  // the records without which a network has these parameters
    constexpr std::int64_t some = FleetParts::part_size;
    for (std::int64_t first = 0; first < fleet.count(); first += some) {
        const std::int64_t count = std::min(some, fleet.count() - first);
        std::vector<std::int64_t> networks(static_cast<std::size_t>(count) * parameters);
        fleet.read(first, count, networks);
        for (std::int64_t i = 0; i < count; ++i) {
            const auto at = networks.begin() + i * static_cast<std::ptrdiff_t>(parameters);
            if (std::equal(own.begin(), own.end(), at))
                found.push_back(std::to_string(fleet.left_out(first + i)));
        }
    }
    if (found.empty()) throw Error(ExitCode::input, "it is no network of the fleet");
    if (found.size() == 1) return "its parameters are those of the network without record " + found.front();
    constexpr std::size_t most = 20;
    std::string names;
    for (std::size_t i = 0; i < std::min(most, found.size()); ++i) names += (i == 0 ? "" : ", ") + found[i];
    if (found.size() > most) names += ", …";
    return "its parameters are those of the networks without any one of " + std::to_string(found.size()) +
           " records, which coincide: " + names + "; which of them it does without cannot be told";
}

}  // namespace

void check_fleet_run(const std::string& run, const std::vector<std::string>& unlearned,
                     const std::function<bool(const std::string&)>& check_own, Findings& findings) {
    std::optional<FinishedFleet> fleet;
    findings.check("fleet.h5", [&] {
        fleet.emplace(FinishedFleet::open(run));
        return std::to_string(fleet->networks.count()) +
               " networks without a record, and the one of all; digest " +
               fleet->manifest.digest.substr(0, 16);
    });
    if (!fleet) return;
    findings.check("guarantee", [&] { return check_claim(*fleet); });
    for (const std::string& path : unlearned) {
        const bool sound = check_own(path);
        findings.check(path, [&] {
            if (!sound)
                throw Error(ExitCode::input, "its own folder does not hold: nothing is said of its deletion");
            return check_deletion(fleet->networks, path);
        });
        findings.leave_open(path,
                            "that it was trained, and not copied from the fleet, no parameters show "
                            "(verify its folder with --data)");
    }
    findings.leave_open("guarantee",
                        "no network was trained again: that each is what the training makes of "
                        "the other records is said by manifest.json alone");
}

}  // namespace holdfast
