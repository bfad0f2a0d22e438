#include "models/fleet/influence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"

namespace holdfast {

std::vector<double> LeftOutValues::leads(const Decision& decision, std::size_t query, std::size_t c) const {
    std::vector<double> leads(networks);
    for (std::size_t i = 0; i < networks; ++i)
        leads[i] = decision.lead(c, [&](std::size_t o) { return at(query, o, i); });
    return leads;
}

LeftOutValues left_out_values(const FleetOutputs& fleet, const Communicator& world, const Records& queries) {
    const std::size_t rows = fleet.decision().rows(), held = static_cast<std::size_t>(fleet.count());
    const auto first = static_cast<std::size_t>(fleet.first());
    std::vector<double> mine(queries.size() * rows * held);
    fleet.visit(queries, [&](const ModelsBlock& block) {
        for (std::size_t r = 0; r < block.records; ++r)
            for (std::size_t o = 0; o < rows; ++o)
                for (std::size_t i = 0; i < block.count; ++i)
                    mine[((block.first_record + r) * rows + o) * held + block.first - first + i] =
                        block.at(r, o, i);
    });
    if (world.size() == 1) return {queries.size(), rows, held, std::move(mine)};

    // Rank after rank, each [queries, rows, its networks].
    const std::vector<double> parts = gathered(world, mine);
    const std::vector<std::int64_t> counts = gathered(world, std::vector<std::int64_t>{fleet.count()});
    std::size_t networks = 0;
    for (const std::int64_t count : counts) networks += static_cast<std::size_t>(count);
    LeftOutValues all{queries.size(), rows, networks, std::vector<double>(parts.size())};
    std::size_t from = 0, before = 0;
    for (const std::int64_t count : counts) {
        const auto width = static_cast<std::size_t>(count);
        for (std::size_t row = 0; row < queries.size() * rows; ++row, from += width)
            std::copy_n(parts.begin() + static_cast<std::ptrdiff_t>(from), width,
                        all.values.begin() + static_cast<std::ptrdiff_t>(row * networks + before));
        before += width;
    }
    return all;
}

std::vector<double> own_values(const FleetReader& fleet, std::int64_t first, const Records& own) {
    const Decision decision(fleet.network());
    const std::size_t rows = decision.rows(), each = fleet.network().parameters();
    std::vector<double> values(own.size() * rows);
    std::vector<std::int64_t> parameters(each), packed;
    const auto one = decision.outputs(fleet.settings().training.precision);
    Records record{FeatureMatrix(own.features.columns(), own.features.wide()), {}, {}, {}};
    for (std::size_t i = 0; i < own.size(); ++i) {
        fleet.read(first + static_cast<std::int64_t>(i), 1, parameters);
        packed.clear();
        decision.append(parameters, packed);
        one->clear();
        one->add(packed);
        record.features = FeatureMatrix(own.features.columns(), own.features.wide());
        record.features.append_row_of(own.features, i);
        record.ids.assign(1, own.ids[i]);
        one->outputs(record.view(), [&](const ModelsBlock& block) {
            for (std::size_t o = 0; o < rows; ++o) values[i * rows + o] = block.at(0, o, 0);
        });
    }
    return values;
}

namespace {

/// The k-th least, from 1 on; beyond the ends infinite.
double at_rank(std::vector<double> values, double k) {
    if (k < 1) return -std::numeric_limits<double>::infinity();
    if (k > static_cast<double>(values.size())) return std::numeric_limits<double>::infinity();
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::nth_element(values.begin(), place, values.end());
    return *place;
}

}  // namespace

PredictionInterval jackknife_interval(std::span<const double> predictions, std::span<const double> residuals,
                                      double alpha) {
    ensure(predictions.size() == residuals.size() && alpha > 0 && alpha < 1, "a residual of every record");
    std::vector<double> low, high;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
        low.push_back(predictions[i] - residuals[i]);
        high.push_back(predictions[i] + residuals[i]);
    }
    const double count = static_cast<double>(residuals.size()) + 1;
    return {at_rank(std::move(low), std::floor(alpha * count)),
            at_rank(std::move(high), std::ceil((1 - alpha) * count))};
}

bool jackknife_keeps(std::span<const double> leads, std::span<const double> own_leads, double alpha) {
    ensure(leads.size() == own_leads.size() && alpha > 0 && alpha < 1, "a lead of every record");
    double more_at_home = 0;
    for (std::size_t i = 0; i < leads.size(); ++i) more_at_home += own_leads[i] > leads[i] ? 1 : 0;
    return more_at_home < (1 - alpha) * (static_cast<double>(leads.size()) + 1);
}

}  // namespace holdfast
