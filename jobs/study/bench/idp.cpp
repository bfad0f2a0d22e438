// holdfast bench idp: the search behind holdfast idp with parts of it left out, on one fleet.
//   holdfast bench idp --run fleet --seconds 60 --json

#include "jobs/study/bench/idp.hpp"

#include <spdlog/logger.h>
#include <cmath>
#include <nlohmann/json.hpp>

#include "jobs/program/runs/finished_fleet.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "models/idp/idp_bounds.hpp"
#include "models/idp/verified_fleet.hpp"

namespace holdfast {
namespace {

struct BenchIdpRequest {
    std::string run;
    double gap = 1e-3, seconds = 60;
};

/// Which parts take part: relaxations of differences, bounds passed back to the inputs, boxes that are cut,
/// boxes that shrink, boxes that are cut by the signs of units too, hulls of near networks before the
/// networks themselves.
struct Variant {
    const char* name;
    bool differences, symbolic, branching, contraction, units = false, hulls = false;
};

constexpr Variant variants[] = {
    {"intervals", false, false, false, false},
    {"symbolic", false, true, false, false},
    {"differences", true, false, false, false},
    {"differences, symbolic", true, true, false, false},
    {"branching on intervals", false, false, true, false},
    {"all but differences", false, true, true, true},
    {"all but symbolic", true, false, true, true},
    {"all but contraction", true, true, true, false},
    {"all", true, true, true, true},
    {.name = "all, and units",
     .differences = true,
     .symbolic = true,
     .branching = true,
     .contraction = true,
     .units = true},
    {.name = "all, hulls first",
     .differences = true,
     .symbolic = true,
     .branching = true,
     .contraction = true,
     .hulls = true},
};

SearchRules rules_of(const Variant& variant, const BenchIdpRequest& request) {
    SearchRules rules{.gap = request.gap, .seconds = request.seconds};
    rules.branching = variant.branching;
    rules.contraction = variant.contraction;
    rules.units = variant.units;
    rules.clusters = variant.hulls;
    rules.bounds = {.differences = variant.differences, .symbolic = variant.symbolic};
    return rules;
}

nlohmann::json found_by(const VerifiedFleet& fleet, const Variant& variant, const BenchIdpRequest& request) {
    nlohmann::json classes = nlohmann::json::array();
    for (std::size_t c = 0; c < fleet.classes; ++c) {
        const ClassBound bound = bound_class(fleet, c, rules_of(variant, request));
        classes.push_back({{"lower", bound.lower},
                           {"upper", bound.upper},
                           {"seconds", bound.seconds},
                           {"complete", bound.complete},
                           {"first_bounds", bound.first_bounds},
                           {"boxes", bound.boxes}});
    }
    return {{"variant", variant.name}, {"classes", classes}};
}

std::string text_of(const nlohmann::json& found) {
    std::string text;
    for (std::size_t c = 0; c < found["classes"].size(); ++c) {
        const nlohmann::json& bound = found["classes"][c];
        text +=
            printed("%-24s %-6zu %-12.6g %-12.6g %9.2f %12llu\n", found["variant"].get<std::string>().c_str(),
                    c, bound["lower"].get<double>(), bound["upper"].get<double>(),
                    bound["seconds"].get<double>(), bound["boxes"].get<unsigned long long>());
    }
    return text;
}

void bench_idp(const Context& context, const BenchIdpRequest& request) {
    if (!(request.gap > 0) || !std::isfinite(request.gap) || !(request.seconds > 0))
        throw Error(ExitCode::usage, "a gap and a time above 0 end a search", "leave them out, or give such",
                    "--gap, --seconds");
    if (!context.world.is_root()) return;
    const FinishedFleet fleet = FinishedFleet::open(request.run);
    const VerifiedFleet networks = verified_fleet(fleet.networks, query_range(fleet.manifest.dataset.range));
    nlohmann::json result = {{"networks", networks.count}, {"variants", nlohmann::json::array()}};
    std::string text = "parts                    class  lower        upper          seconds        boxes\n";
    for (const Variant& variant : variants) {
        context.log->info("{}", variant.name);
        result["variants"].push_back(found_by(networks, variant, request));
        text += text_of(result["variants"].back());
    }
    context.print(result, text);
}

}  // namespace

Run declare_bench_idp(const Command& command) {
    auto request = std::make_shared<BenchIdpRequest>();
    command.add_option("--run", request->run, "Run folder of holdfast fleet").required();
    command.add_option("--gap", request->gap, "As of holdfast idp").show_default();
    command.add_option("--seconds", request->seconds, "Of each class and variant that cuts boxes")
        .show_default();
    return [request](const Context& context) { bench_idp(context, *request); };
}

}  // namespace holdfast
