#include "jobs/answers/moved_queries.hpp"

#include <cmath>

#include "kernels/base/error.hpp"
#include "models/privacy/rational.hpp"
#include "models/robust/input_certificate.hpp"

namespace holdfast {

std::string MovedQueries::text() const {
    return decimal_text(decimal_value(radius, "--input-radius")) + " (" + distance_in(norm) + ")";
}

Guarantee MovedQueries::claim() const {
    Guarantee claim = Guarantee::proved(
        "where h >= k >= 1 every dataset at distance at most k gives the label at every input within " +
        text() +
        " of the query, too, in units of the features (of a column that a schema scales: of its range)");
    require_as_moved(claim);
    return claim;
}

std::optional<MovedQueries> move_queries(const FinishedRun& run, const std::vector<double>& radii,
                                         const std::string& norm) {
    if (radii.empty()) return std::nullopt;
    const auto refuse = [](const std::string& message, const std::string& hint) {
        throw Error(ExitCode::usage, message, hint, "--input-radius");
    };
    const MovedQueries moved{radii.front(), norm_named(norm)};
    if (radii.size() > 1 || !(moved.radius > 0) || !std::isfinite(moved.radius))
        refuse("of a run one radius is asked at a time, a number above 0", "give one, as --input-radius .01");
    if (run.network.is_regression()) refuse("a regression has no label that could change", "leave it out");
    if (run.members() > 1 && run.aggregation() != Aggregation::stable)
        refuse("the published aggregation says nothing of queries that move",
               "train with ensemble.aggregate = \"stable\"");
    run.certificate->set_input_radius(moved.radius, moved.norm);
    return moved;
}

}  // namespace holdfast
