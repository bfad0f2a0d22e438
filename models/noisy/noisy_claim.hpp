#pragma once

#include <optional>

#include "models/certify/claims.hpp"
#include "models/privacy/accountant/gaussian_steps.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {

/// Noisy training as an accountant sees it: records of 2-norm 1. Of settings with their multiplier.
GaussianSteps gaussian_steps(const Settings& settings);

/// The settings with the multiplier that their epsilon and delta allow, unless they state one, and without
/// levels. Errors (usage): none serves; the one stated costs more than their epsilon; the number of records
/// is not stated, and the step would divide by a private count.
Settings settled_for_noise(const Settings& settings);

/// What the published parameters guarantee, with every condition and gap; of settings with their multiplier.
RecordClaim noisy_claim(const Settings& settings, const DataFacts& facts);

/// The same of the best of a secret number of such trainings, of these settings and of others, which together
/// cost (epsilon, delta) (models/privacy/mathematics.md, private selection).
RecordClaim selection_claim(const Settings& settings, const DataFacts& facts, const Rational& epsilon,
                            const Rational& delta);

/// Error (usage): without noise the parameters must not leave.
void require_noise(const Settings& settings);

/// What all steps cost together, but for the token; nothing where there is no noise.
std::optional<Payment> noisy_payment(const Settings& settings, const DataFacts& facts);

}  // namespace holdfast
