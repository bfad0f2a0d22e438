#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/measure/constants.hpp"

namespace holdfast {

/// What somebody asks to pay; empty: the usual.
struct MeasureBudget {
    std::optional<double> share, epsilon, delta, names_delta;
};

/// mu^2 of the Gaussian mechanism that costs (epsilon, delta), as an account by renyi or gdp adds it.
Rational mu_squared_of(const Budget& budget, const Rational& epsilon, const Rational& delta);

/// What measuring and training may cost together.
struct Total {
    Rational epsilon, delta;
    Rational mu_squared;
};
/// Error (budget): an account without a delta.
Total total_of(const MeasureBudget& request, const Budget& budget, const std::string& ledger);

/// `wanted` with what each part may cost (models/privacy/mathematics.md, measured constants).
MeasureRequest priced(MeasureRequest wanted, const MeasureBudget& request, const Total& total);
/// What is drawn and paid for one after the other: where costs add by mu^2, the count before all else, since
/// it says how columns are best measured.
std::vector<MeasureRequest> parts_of(const MeasureRequest& wanted, const Budget& budget);
/// Of few persons, a public number, ranges alone, for as much as shows them; 0: nobody knows how many.
MeasureRequest fitted_to(double persons, MeasureRequest wanted, const MeasureBudget& request,
                         const Total& total);
/// A filter of sums charges epsilon and delta: of the delta a tenth.
Rational stated_delta(const Budget& budget, const Total& total);

/// What all of it costs together.
struct Cost {
    Rational epsilon = 0, delta = 0, mu_squared = 0;
};
/// By sums of the parts, or where costs add by mu^2 of the whole.
Cost cost_of(const std::vector<Payment>& payments, const Rational& names_delta, const Total& total,
             const Budget& budget);
/// What the total leaves for a training, rounded down to six digits.
struct Left {
    double epsilon = 0, delta = 0;
};
Left left_of(const Total& total, const Budget& budget, const Cost& cost);

/// How many deviations of a cell the persons must be to have ranges, and edges where they are drawn.
double deviations_wanted(const MeasureRequest& request);
/// The share of the total at which a column of so many persons would show, with four bins if it is to have
/// any.
std::string share_that_would_do(const MeasureRequest& request, const MeasureLaw& law, const Total& total,
                                double persons);
/// Where the number of persons is public and the noise would hide all of them, no column is charged.
void refuse_hidden(const MeasureRequest& request, const MeasureLaw& law, const Total& total, double persons,
                   const char* charged);
/// Where the account cannot pay for the training that the rest of the total is for, nothing is begun.
/// `before`: mu^2 of what was paid of it.
void refuse_beside(const Ledger& ledger, const std::string& population, const Budget& budget,
                   const Total& total, const Rational& before, const std::string& path);

}  // namespace holdfast
