#pragma once

#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "jobs/data/measure/cost.hpp"
#include "jobs/data/measure/table_of_persons.hpp"
#include "models/privacy/measure/constants.hpp"

namespace holdfast {

/// What was drawn, part by part; the last has all of it.
struct Measured {
    MeasuredConstants constants;
    std::string text = "";  ///< as the ledger keeps it
    bool charged = false;
    MeasureRequest columns;  ///< as they were asked for in the end
    MeasureLaw law;          ///< of all parts
    Rational names_delta = 0;
    std::vector<Payment> payments;
};

/// Whose account pays, and of which records.
struct Payer {
    Ledger& ledger;
    std::string path, population, digest, data;
    Account account;
    Total total;
    Rational names_delta;  ///< that it will pay in all
};

/// One part, charged, then counted and drawn, then kept in the ledger, and shown as it is kept there.
/// features: those that it is of; known: how many persons, a public number, 0 if nobody knows.
void buy(Measured& measured, const MeasureRequest& part, const Payer& payer, const DatasetReader& reader,
         const Persons& persons, const std::vector<std::size_t>& features, double known);

}  // namespace holdfast
