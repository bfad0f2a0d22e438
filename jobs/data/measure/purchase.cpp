#include "jobs/data/measure/purchase.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/schema.hpp"
#include "dist/files/hdf5.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/claims.hpp"

namespace holdfast {
namespace {

constexpr std::size_t block_rows = 512;  // of which all columns lie in a cache

/// The columns whose type nobody has stated, by the features of both parts.
std::vector<UndeclaredColumn> undeclared_columns(const DatasetInfo& info) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    std::vector<UndeclaredColumn> found;
    if (!schema || (schema->persons && schema->persons->summarises())) return found;
    std::size_t at = 0;
    for (std::size_t i = 0; i < schema->columns.size(); at += schema->columns[i++].features()) {
        const Column& column = schema->columns[i];
        const bool of_text = !column.reads.empty() && column.kind == Column::Kind::category;
        if (of_text && i > 0 && schema->columns[i - 1].reads == column.reads)
            found.push_back({at - 1, at, bucket_of_numbers(column)});
    }
    return found;
}

/// One pass over the records for columns [first, last) of those that are asked for. A cell that is text is a
/// missing number.
std::vector<ColumnCounts> counted(const DatasetReader& reader, const Persons& persons,
                                  const std::vector<std::size_t>& features,
                                  const std::vector<UndeclaredColumn>& undeclared, std::size_t first,
                                  std::size_t last) {
    std::vector<ColumnCounts> counts(last - first);
    std::vector<const UndeclaredColumn*> parts(last - first, nullptr);
    for (std::size_t i = first; i < last; ++i)
        for (const UndeclaredColumn& column : undeclared)
            if (column.number == features[i]) parts[i - first] = &column;
    const auto value_at = [&](const Records& slab, std::size_t row, std::size_t i) {
        const UndeclaredColumn* part = parts[i - first];
        const bool text =
            part && slab.features.at(row, part->text) != static_cast<double>(part->bucket_of_numbers);
        return text ? std::nan("") : slab.features.at(row, features[i]);
    };
    std::vector<std::int64_t> shares;
    reader.visit([&](const Records& slab) {
        shares.resize(slab.size());
        for (std::size_t row = 0; row < slab.size(); ++row) shares[row] = persons.share(slab.rows[row]);
            // Each thread has columns of its own, and sums of whole numbers: in no order.
#pragma omp parallel if (slab.size() >= block_rows)
        for (std::size_t block = 0; block < slab.size(); block += block_rows) {
            const std::size_t end = std::min(block + block_rows, slab.size());
#pragma omp for schedule(static) nowait
            for (std::size_t i = first; i < last; ++i)
                for (std::size_t row = block; row < end; ++row)
                    counts[i - first].add(value_at(slab, row, i), shares[row]);
        }
    });
    return counts;
}

/// One pass over the records for a feature of text: a person has one.
NameCounts counted_names(const DatasetReader& reader, const std::vector<std::string>& names,
                         std::size_t feature) {
    const DatasetInfo& info = reader.info();
    NameCounts counts(names);
    reader.visit([&](const Records& slab) {
        for (std::size_t row = 0; row < slab.size(); ++row) {
            const double place = slab.features.at(row, feature);
            if (!(place >= 0 && place < static_cast<double>(names.size()) && place == std::floor(place)))
                throw Error(ExitCode::input, "has categories that its list of names does not have",
                            "import the table again", info.path);
            counts.add_person(static_cast<std::size_t>(place));
        }
    });
    return counts;
}

/// Also by which features they are, and of names by the private list of them, which the digest of the records
/// does not know.
std::string token_for(const Payment& payment, const Payer& payer, const MeasureRequest& part,
                      const std::vector<std::size_t>& features) {
    nlohmann::json request = {payment.mechanism, payer.population, payer.digest, payment.parameters};
    if (part.columns + part.categories + part.names > 0) request.push_back(features);
    if (part.names > 0) request.push_back(read_names(hdf5::File::open_read(payer.data)));
    return payer.ledger.token_of(request.dump());
}

/// Where the account cannot pay the delta of names, beside what its rule takes for the constants, nothing is
/// begun.
void refuse_without_delta(const Payer& payer, const Payment& constants, const std::string& charged) {
    const Budget& budget = payer.account.budget;
    const bool apart = budget.gaussian || budget.renyi_order;
    const Rational &delta = payer.names_delta, left = delta_left(payer.ledger, payer.population) -
                                                      (apart ? Rational(0) : constants.delta);
    if (delta <= left) return;
    throw Error(
        ExitCode::budget,
        "names cost a delta of " + decimal_text(delta) + ", and of what this account " +
            (apart ? "sets apart " : "has beside the constants ") +
            (left > 0 ? decimal_text(left) : "nothing") + " is left: " + charged + " was charged",
        std::string(apart ? "open accounts with --delta-apart, " : "") +
            "ask for less by --names-delta, or take buckets of a hash: import --categories 'COLUMN=#'",
        payer.path);
}

std::optional<Payment> payment_of_names(const MeasureRequest& part, const MeasureLaw& law,
                                        const std::string& guarantee, const Payer& payer,
                                        const std::vector<std::size_t>& features) {
    if (part.names == 0) return std::nullopt;
    Payment payment = payment_for_names(part, law);
    payment.guarantee = guarantee;
    payment.token = token_for(payment, payer, part, features);
    return payment;
}

/// The list of a feature's texts, private.
std::vector<std::string> names_of(const DatasetInfo& info, std::size_t feature) {
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    std::size_t at = 0;
    for (const Column& column : schema->columns) {
        if (at == feature) return read_names(hdf5::File::open_read(info.path))[column.name];
        at += column.features();
    }
    throw Error(ExitCode::input, "has no column for a feature", "import the table again", info.path);
}

}  // namespace

void buy(Measured& measured, const MeasureRequest& part, const Payer& payer, const DatasetReader& reader,
         const Persons& persons, const std::vector<std::size_t>& features, double known) {
    const DatasetInfo& info = reader.info();
    const MeasureLaw law = MeasureLaw::of(part);
    const bool first = measured.payments.empty(),
               of_columns = part.columns + part.categories + part.names > 0;
    const char* charged = first ? "nothing" : "nothing but the count";
    refuse_hidden(part, law, payer.total, known, charged);
    Payment payment = payment_for(part, law, stated_delta(payer.account.budget, payer.total));
    const Rational before = measured.law.mu_squared;
    measured.law.mu_squared += law.mu_squared;
    // Of all constants that the ledger keeps under this payment, those of parts before with them.
    DataFacts facts = facts_of(info, false);
    facts.scaling = info.scaling;  // texts are counted by their names, whatever their places are
    payment.guarantee =
        claim_about_constants(facts, counted_by(payer.account), measured.law.mu_squared, part.names_delta)
            .to_json()
            .dump();
    payment.token = token_for(payment, payer, part, features);
    const std::optional<Payment> of_names = payment_of_names(part, law, payment.guarantee, payer, features);
    if (!payer.ledger.paid(payer.digest, payment.token)) {
        refuse_beside(payer.ledger, payer.population, payer.account.budget, payer.total, before, payer.path);
        if (payer.names_delta > 0) refuse_without_delta(payer, payment, charged);
    }
    const BoughtText bought = payer.ledger.buy(payer.digest, payment, [&] {
        if (of_names) payer.ledger.pay(payer.digest, *of_names);
        SystemRandomBits bits;
        const std::vector<UndeclaredColumn> undeclared = undeclared_columns(info);
        const std::vector<std::size_t> places = of_columns ? features : std::vector<std::size_t>();
        MeasuredConstants drawn = draw_constants(
            part, law,
            {static_cast<std::int64_t>(persons.count()), static_cast<std::uint64_t>(known), places,
             info.features, other_values, undeclared},
            [&](std::size_t begin, std::size_t end) {
                return counted(reader, persons, features, undeclared, begin, end);
            },
            bits,
            [&](std::size_t feature) { return counted_names(reader, names_of(info, feature), feature); });
        if (!first) drawn.count = measured.constants.count;
        drawn.token = payment.token;
        return drawn.to_json().dump();
    });
    measured.constants = MeasuredConstants::from_text(bought.text, "ledger");
    measured.text = bought.text;
    measured.charged = measured.charged || bought.charged;
    if (part.count) measured.law.count_sigma = law.count_sigma;
    if (of_columns) {
        measured.law.sigma = law.sigma;
        measured.law.names = law.names;
        measured.names_delta = part.names_delta;
        measured.columns = part;
    }
    measured.payments.push_back(std::move(payment));
}

}  // namespace holdfast
