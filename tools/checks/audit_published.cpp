#include "tools/checks/audit_published.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/convex/convex_claim.hpp"
#include "models/convex/convex_trainer.hpp"
#include "models/convex/convex_training.hpp"
#include "models/convex/radius.hpp"
#include "models/privacy/noise/output_noise.hpp"
#include "models/training/phase_times.hpp"

namespace holdfast {
namespace {

using Parameters = std::vector<std::int64_t>;
constexpr std::size_t features = 3;

/// One step from 0, in which a derivative is as large as any.
Settings one_step() {
    Settings settings;
    settings.network.hidden.clear();
    settings.training.kind = "convex";
    settings.training.epochs = 1;
    settings.training.learning_rate = 0.5;
    settings.training.expected_records = 8;
    settings.convex.derivative_limit = 0.5;
    return settled_for_convex(settings);
}

/// So many records at the end of their range.
Records records_of(std::size_t count) {
    Records records{FeatureMatrix(features, true), {}, {}, {}};
    const std::vector<double> x(features, 1);
    for (std::size_t i = 0; i < count; ++i) {
        records.features.append(x.data());
        records.labels.push_back(1);
        records.ids.push_back(1000 + i);
        records.rows.push_back(i);
    }
    return records;
}

Parameters trained(const TrainingPlan& plan, Records records) {
    const Records none = records_of(0);
    ConvexTrainer trainer(plan, std::move(records), none, ConvexTrainer::fresh_state(plan));
    const auto alone = make_serial_communicator();
    PhaseTimes times;
    while (!trainer.done()) trainer.step(*alone, times);
    return trainer.result();
}

/// Both worlds, which no key enters, and how far they may be apart.
struct Worlds {
    Worlds() {
        const Settings settings = one_step();
        check(settings);
        const TrainingPlan plan =
            convex_plan(make_plan(settings, {features, {-1, 1}, 1}, make_backend("cpu")));
        radius = convex_radius(settings, plan.features, settings.certificate.relation).all;
        before = trained(plan, records_of(0));
        after = trained(plan, records_of(1));
        double square = 0;
        for (std::size_t p = 0; p < before.size(); ++p)
            square += std::pow(static_cast<double>(after[p] - before[p]), 2);
        ensure(std::sqrt(square) > 0.99 * radius.get_d(), "the record moves them as far as it may");
    }
    OutputNoise noise(const Claim& claim, const Rational& moved) const {
        return OutputNoise::of(claim.epsilon, claim.delta, moved, before.size());
    }
    Parameters published(bool changed, const OutputNoise& noise, const SecretKey& key) const {
        Parameters parameters = changed ? after : before;
        noise.add_to(parameters, key);
        return parameters;
    }

    Rational radius;
    Parameters before, after;
};
using SharedWorlds = std::shared_ptr<const Worlds>;

/// How far the parameters lie towards the other world: all the way counts, or at most up to there.
double towards(const Worlds& worlds, const Parameters& parameters, bool all) {
    double sum = 0;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const auto way = static_cast<double>(worlds.after[p] - worlds.before[p]),
                   gone = static_cast<double>(parameters[p] - worlds.before[p]);
        sum += all ? way * gone : std::clamp(std::copysign(gone, gone * way), 0.0, std::abs(way));
    }
    return sum;
}

/// The likeliest way to tell: of a Gaussian the projection, of a Laplace law its likelihood.
Play look_at(const SharedWorlds& worlds, const OutputNoise& noise, bool all) {
    return [worlds, noise, all](bool changed, const SecretKey& key) {
        return towards(*worlds, worlds->published(changed, noise, key), all);
    };
}

/// The first publication is of the world before the change, whichever the second is of.
Play look_at_both(const SharedWorlds& worlds, const OutputNoise& noise, const std::string& second) {
    return [worlds, noise, second](bool changed, const SecretKey& key) {
        const Parameters one = worlds->published(false, noise, key.derived("publication", "first")),
                         other = worlds->published(changed, noise, key.derived("publication", second));
        double apart = 0;
        for (std::size_t p = 0; p < one.size(); ++p)
            apart += std::abs(static_cast<double>(other[p] - one[p]));
        return apart;
    };
}

}  // namespace

std::vector<PublishedAudit> published_audits() {
    const auto worlds = std::make_shared<const Worlds>();
    const Claim gaussian{1, Rational(1, 10)}, pure{1, 0};
    const OutputNoise normal = worlds->noise(gaussian, worlds->radius),
                      halved = worlds->noise(gaussian, worlds->radius / 2),
                      laplace = worlds->noise(pure, worlds->radius),
                      as_published = worlds->noise(pure, worlds->radius / 2);  // four parameters: sqrt(4)
    return {{"published, Gaussian", gaussian, look_at(worlds, normal, true), "noise of an output halved",
             look_at(worlds, halved, true), 20000},
            {"published, pure", pure, look_at(worlds, laplace, false), "scale for the 2-norm",
             look_at(worlds, as_published, false), 40000},
            {"published twice, their difference", gaussian, look_at_both(worlds, normal, "second"),
             "key of a publication reused", look_at_both(worlds, normal, "first"), 2000}};
}

Finding audit_published(const PublishedAudit& audit, bool honest, std::int64_t runs, const Rational& error,
                        const SecretKey& key) {
    Stopwatch watch;
    const Scores scores = scores_of(honest ? audit.honest : audit.broken, runs, key);
    return {honest ? audit.subject : audit.fault, audit.claim,
            epsilon_of_scores(scores, audit.claim.delta, error), std::to_string(runs) + " runs a world",
            watch.lap()};
}

}  // namespace holdfast
