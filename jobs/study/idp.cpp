// holdfast idp: above which confidence no single record decides the label (paper 001).
//   holdfast fleet --config jobs/configs/idp_crypto.toml --data crypto.h5 --out fleet
//   holdfast idp --run fleet
//   holdfast idp --run fleet --class 1 --gap 0.0001 --seconds 60 --json

#include <omp.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/runs/finished_fleet.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/fleet/fleet_settings.hpp"
#include "models/idp/idp_bounds.hpp"
#include "models/idp/verified_fleet.hpp"

namespace holdfast {
namespace {

struct IdpRequest {
    std::string run;
    long wanted = -1;  // class; -1: all of them
    double gap = 1e-3, seconds = 600;
};

void check(const IdpRequest& request, std::size_t classes) {
    if (request.wanted >= static_cast<long>(classes) || request.wanted < -1)
        throw Error(ExitCode::usage, "no class " + std::to_string(request.wanted),
                    "the classes are 0 to " + std::to_string(classes - 1), "--class");
    if (!(request.gap > 0) || !std::isfinite(request.gap))
        throw Error(ExitCode::usage, "a gap that is not above 0", "give 0.001 for a tenth of a percent",
                    "--gap");
    if (!(request.seconds > 0))
        throw Error(ExitCode::usage, "no time to search in", "give seconds for each class, above 0",
                    "--seconds");
}

IdpClass as_found(const FleetReader& fleet, const ClassBound& bound) {
    IdpClass found{bound.lower, bound.upper, {}, bound.input, bound.seconds, bound.complete};
    if (bound.network) found.record = fleet.left_out(static_cast<std::int64_t>(*bound.network));
    return found;
}

std::string line_of(std::size_t c, const std::optional<IdpClass>& found) {
    if (!found) return "";
    const double gap = found->lower > 0 ? 100 * (found->upper / found->lower - 1) : INFINITY;
    return printed("%-7zu %-12.6g %-12.6g %-9.2g %-9.2f %s\n", c, found->lower, found->upper, gap,
                   found->seconds, found->record ? std::to_string(*found->record).c_str() : "none found");
}

void idp_job(const Context& context, const IdpRequest& request) {
    // 1. The fleet.
    const FinishedFleet fleet = FinishedFleet::open(request.run);
    const std::size_t classes = fleet.networks.network().classes();
    check(request, classes);
    if (fleet.how.threads > 0) omp_set_num_threads(static_cast<int>(fleet.how.threads));
    const FeatureRange range = query_range(fleet.manifest.dataset.range);
    if (range != fleet.manifest.dataset.range)
        context.log->warn("the data of {} state no range: each feature of a query counts as clipped to {}",
                          fleet.folder.path(), text_of(range));
    const VerifiedFleet networks = verified_fleet(fleet.networks, range);

    // 2. The bound of every class, on some rank.
    const auto began = std::chrono::steady_clock::now();
    IdpBounds bounds{fleet.manifest.digest, range, request.gap, {}};
    bounds.classes.resize(classes);
    const SearchRules rules{.gap = request.gap, .seconds = request.seconds};
    for (std::size_t c = 0; c < classes; ++c) {
        if (request.wanted >= 0 && c != static_cast<std::size_t>(request.wanted)) continue;
        if (c % static_cast<std::size_t>(context.world.size()) !=
            static_cast<std::size_t>(context.world.rank()))
            continue;
        bounds.classes[c] = as_found(fleet.networks, bound_class(networks, c, rules));
    }
    bounds.gather(context.world);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

    // 3. For the owner: the file that access reads, and a table.
    Guarantee claim =
        idp_claim(range, static_cast<std::uint64_t>(fleet.networks.count()), fleet.manifest.dataset.rows);
    claim.rest_on(fleet_claim(fleet.networks.settings(), facts_of(fleet.manifest)));
    if (bounds.known(fleet.folder))
        bounds.keep_better(IdpBounds::read(fleet.folder, fleet.manifest, classes));
    context.world.barrier();  // before the file changes
    if (context.world.is_root()) bounds.write(fleet.folder, claim, seconds);
    std::string text = "class   lower        upper        gap %     seconds   record\n";
    for (std::size_t c = 0; c < classes; ++c) text += line_of(c, bounds.classes[c]);
    context.print(bounds.to_json(claim, seconds), text + "confidence bounds on queries in " + text_of(range) +
                                                      " in " + fleet.folder.file(IdpBounds::file_name) +
                                                      "\n" + claim.lines() + "\n" +
                                                      next_command({"report", fleet.folder.path()}));
}

}  // namespace

Run declare_idp(const Command& command) {
    auto request = std::make_shared<IdpRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast fleet").required();
    command.add_option("--class", request->wanted, "One class alone; what is known of the others stays");
    command
        .add_option("--gap", request->gap, "Stop where the upper bound is at most 1 + this times the lower")
        .show_default();
    command
        .add_option("--seconds", request->seconds,
                    "Or after this long, for each class: the bounds hold all the same")
        .show_default();
    return [request](const Context& context) { idp_job(context, *request); };
}

}  // namespace holdfast
