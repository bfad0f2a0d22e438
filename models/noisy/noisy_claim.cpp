#include "models/noisy/noisy_claim.hpp"

#include <nlohmann/json.hpp>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

bool has_noise(const Settings& settings) {
    return settings.noise.law == NoiseSettings::Law::gaussian;
}

Rational delta_of(const Settings& settings) {
    return decimal_value(settings.noise.delta, "noise.delta");
}
Rational asked_epsilon(const Settings& settings) {
    return decimal_value(settings.noise.epsilon, "noise.epsilon");
}

/// What is charged: no more than was asked for, and no less than any accountant proves.
StepsCost cost_of_settings(const Settings& settings) {
    return cost_of(gaussian_steps(settings), delta_of(settings));
}

/// Who is in a step is a secret coin, and no record's place is a function of its id that anyone knows.
RecordClaim claim_of(std::string statement, const Settings& settings, const DataFacts& facts) {
    RecordClaim claim =
        claim_about_records(std::move(statement), settings, facts,
                            {settings.certificate.relation, "the noise does not cover", false, false});
    claim.require(
        "who sees the parameters does not know the key of the run, which is destroyed at its end, and cannot "
        "tell ChaCha20 and BLAKE2b under it from random (a computational assumption)");
    claim.require(
        "nothing else of the run leaves its owner: not its metrics, checkpoints, batch counts or times");
    return claim;
}

}  // namespace

GaussianSteps gaussian_steps(const Settings& settings) {
    return {Rational(settings.step_share()), settings.noise.multiplier, settings.training.steps(),
            settings.certificate.relation};
}

Settings settled_for_noise(const Settings& asked) {
    Settings settings = asked;
    settings.certificate.levels = 0;
    settings.certificate.level_list.clear();
    if (!has_noise(settings)) return settings;
    if (settings.training.expected_records == 0)
        throw Error(ExitCode::usage, "the step would divide by the number of records found, which is private",
                    "state a public number: import --expected-records, or training.expected_records",
                    "training.expected_records");
    const Rational epsilon = asked_epsilon(settings), delta = delta_of(settings);
    if (settings.noise.multiplier == 0) {
        const GaussianSteps steps = gaussian_steps(settings);
        settings.noise.multiplier =
            noise_multiplier_for(epsilon, delta, steps.sampling_rate, steps.steps, steps.relation);
        return settings;
    }
    const StepsCost cost = cost_of_settings(settings);
    if (cost.epsilon > epsilon)
        throw Error(ExitCode::usage,
                    "this noise costs epsilon " + decimal_text(Rational(shown(cost.epsilon))) +
                        ", more than noise.epsilon = " + decimal_text(epsilon),
                    "raise noise.multiplier or noise.epsilon, or set noise.multiplier = 0 for the least",
                    "noise.multiplier");
    return settings;
}

// models/privacy/mathematics.md, noisy training; models/privacy/mathematics.md, Gaussian steps.
RecordClaim noisy_claim(const Settings& settings, const DataFacts& facts) {
    if (!has_noise(settings))
        return RecordClaim::not_private(
            "the parameters of a training without noise are for their owner",
            facts.labels_drawn ? "nothing hides what a record's features changed; what covers its label, "
                                 "holdfast publish says"
                               : "nothing hides what a record changed");
    return claim_of("the parameters that are published, and all that is computed from them alone, are (" +
                        decimal_text(asked_epsilon(settings)) + ", " + decimal_text(delta_of(settings)) +
                        ")-differentially private: all steps together, for whoever sees every one of them",
                    settings, facts);
}

RecordClaim selection_claim(const Settings& settings, const DataFacts& facts, const Rational& epsilon,
                            const Rational& delta) {
    RecordClaim claim = claim_of(
        "the parameters that are published, their setting and the score they were chosen by, the best of a "
        "secret number of trainings of public settings, are together (" +
            decimal_text(epsilon) + ", " + decimal_text(delta) + ")-differentially private",
        settings, facts);
    claim.require(
        "nobody but the owner learns how many trainings there were: not their files, their time, nor a day "
        "of publication that was not set beforehand");
    claim.require(
        "the selection went on to its end: one that is given up for the time it takes, and begun anew, is "
        "another one");
    return claim;
}

void require_noise(const Settings& settings) {
    if (has_noise(settings)) return;
    throw Error(ExitCode::usage, "parameters of a training without noise are for their owner",
                "train with noise.law = \"gaussian\"", "noise.law");
}

std::optional<Payment> noisy_payment(const Settings& settings, const DataFacts& facts) {
    if (!has_noise(settings)) return std::nullopt;
    const GaussianSteps steps = gaussian_steps(settings);
    const nlohmann::json parameters = {{"noise_multiplier", steps.noise_multiplier},
                                       {"sampling_rate", settings.step_share()},
                                       {"steps", steps.steps},
                                       {"norm_limit", settings.clip.norm_limit},
                                       {"relation", name_of(steps.relation)},
                                       {"accountant", cost_of_settings(settings).accountant}};
    std::optional<Rational> mu_squared;  // of the Gaussian mechanism, which all steps are without sampling
    if (steps.sampling_rate == 1) {
        const Rational reach = reach_of(steps.relation), sigma(steps.noise_multiplier);
        mu_squared = as_rational(steps.steps) * reach * reach / (sigma * sigma);
    }
    return Payment{"",
                   asked_epsilon(settings),
                   delta_of(settings),
                   renyi_curve(steps),
                   "noisy_training",
                   parameters.dump(),
                   noisy_claim(settings, facts).to_json().dump(),
                   mu_squared};
}

}  // namespace holdfast
