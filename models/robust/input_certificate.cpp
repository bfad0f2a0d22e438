#include "models/robust/input_certificate.hpp"

#include "kernels/base/error.hpp"
#include "kernels/base/threads.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/margins.hpp"
#include "models/certify/stable_distance.hpp"
#include "models/robust/query_moves.hpp"

namespace holdfast {
namespace {

void require_classifier(const Model& model) {
    if (model.network.is_regression())
        throw Error(ExitCode::usage, "a regression has no label that could change",
                    "certify a model of classes", "--model");
}

}  // namespace

InputCertificates certify_boxes(const Model& model, const Backend& backend, std::span<const double> radii,
                                const Records& queries) {
    require_classifier(model);
    if (!model.feature_map().is_identity())
        throw Error(ExitCode::usage, "boxes of inputs are bounded through no map of features",
                    "ask --smoothing, which alone certifies a model that reads bins; or --norm l2 of a "
                    "model with a norm limit or a scattering; or train with features.map = \"none\" and "
                    "features.norm_limit = 0",
                    "--model");
    const LevelLoader load = [&](std::size_t, auto& lower, auto& upper) { lower = upper = model.parameters; };
    const InputRadius radius = [&](std::size_t level) { return level == 0 ? 0 : radii[level - 1]; };
    const Certificates found =
        certify(model.network, backend, queries, radii.size() + 1, load, LevelSearch::bisection, radius);
    InputCertificates result{found.labels, {}};
    for (const std::int64_t levels : found.distances)
        result.radii.push_back(radius(static_cast<std::size_t>(levels)));
    return result;
}

InputCertificates certify_l2_radii(const Model& model, const Backend& backend, const Records& queries) {
    require_classifier(model);
    const FeatureMap map = model.feature_map();
    require_bounded_moves(model.network, map, model.precision);
    const Records mapped = map(queries);
    const std::size_t classes = model.network.classes();
    const std::vector<double> logits = deciding_values(model.network, backend, model.parameters, mapped);
    const QueryMoves moves(model.network, map, model.precision, model.parameters);
    InputCertificates result{std::vector<std::int32_t>(queries.size()), std::vector<double>(queries.size())};
    const int threads = threads_for(static_cast<double>(queries.size() * model.parameters.size()) * 4);
#pragma omp parallel for num_threads(threads)
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const double* of_query = logits.data() + q * classes;
        const std::size_t label = greatest_logit(classes, [&](std::size_t c) { return of_query[c]; });
        result.labels[q] = static_cast<std::int32_t>(label);
        result.radii[q] = QueryMoves::OfQuery(moves, mapped.features, q, of_query).radius(label);
    }
    return result;
}

Guarantee input_claim(Norm norm) {
    Guarantee claim =
        Guarantee::proved(std::string("at every input within its radius of a query, in ") +
                          distance_in(norm) + ", this program gives the label that it gives at the query");
    require_as_moved(claim);
    return claim;
}

void require_as_moved(Guarantee& claim) {
    claim.require(
        "the input reaches the program as it was moved: a radius is in the units of the features as the "
        "program holds them, and what is done before them is not in it");
}

}  // namespace holdfast
