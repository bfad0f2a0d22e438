#include "models/certify/answers.hpp"

#include <numeric>

#include "kernels/base/error.hpp"
#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

/// The last layer's rows, of more than two classes as their margins have them, and for two classes their
/// margin as one row more.
std::vector<std::int64_t> rows_of(const Network& network, Precision precision,
                                  const std::vector<std::int64_t>& parameters) {
    const std::size_t last = network.layers().size() - 1, columns = network.layers()[last].in + 1;
    if (network.classes() > 2) {
        const MarginRows logits =
            MarginRows::of_logits(network, precision, parameters.data(), parameters.data());
        return {logits.layer().lower, logits.layer().lower + network.classes() * columns};
    }
    std::vector<std::int64_t> rows(parameters.begin() + static_cast<std::ptrdiff_t>(network.offset(last)),
                                   parameters.end());
    if (network.classes() != 2) return rows;
    const MarginRows margin(network, Precision::double_precision, parameters.data(), parameters.data());
    rows.insert(rows.end(), margin.layer().lower, margin.layer().lower + columns);
    return rows;
}

}  // namespace

Answers answers_of(const Network& network, const Backend& backend,
                   const std::vector<std::int64_t>& parameters, const Records& queries) {
    ensure(parameters.size() == network.parameters(), "a network has its parameters");
    const std::size_t classes = network.classes(), outputs = network.outputs(),
                      inputs = network.layers().back().in;
    const std::vector<std::int64_t> rows = rows_of(network, backend.precision(), parameters);
    const LastLayer last{rows.size() / (inputs + 1), rows.data(), rows.data()};
    std::vector<std::uint32_t> all(queries.size());
    std::iota(all.begin(), all.end(), 0);
    Answers answers{std::vector<std::int32_t>(network.is_regression() ? 0 : queries.size()),
                    std::vector<double>(queries.size() * outputs)};

    const std::unique_ptr<Engine> engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{queries.view()});
    engine->outputs({parameters.data(), parameters.data()}, last, all, [&](const OutputBlock& block) {
        const double* margin = block.lower + outputs * block.stride;
        const Margins margins(classes, inputs, backend.precision(),
                              {block.first, block.count, block.stride, margin, margin});
        for (std::size_t r = 0; r < block.count; ++r) {
            const auto logit = [&](std::size_t c) { return block.lower[c * block.stride + r]; };
            if (!network.is_regression()) {
                const std::size_t label = classes == 2 ? margins.winner(r) : greatest_logit(classes, logit);
                answers.labels[block.first + r] = static_cast<std::int32_t>(label);
            }
            for (std::size_t c = 0; c < outputs; ++c)
                answers.logits[(block.first + r) * outputs + c] = logit(c);
        }
    });
    return answers;
}

std::vector<std::int64_t> deciding_rows(const Network& network, const std::vector<std::int64_t>& parameters) {
    const std::size_t last = network.layers().size() - 1;
    if (network.classes() > 2)
        return {parameters.begin() + static_cast<std::ptrdiff_t>(network.offset(last)), parameters.end()};
    const MarginRows margin(network, Precision::double_precision, parameters.data(), parameters.data());
    return {margin.layer().lower, margin.layer().lower + network.layers()[last].in + 1};
}

std::vector<double> deciding_values(const Network& network, const Backend& backend,
                                    const std::vector<std::int64_t>& parameters, const Records& queries) {
    const std::vector<std::int64_t> deciding = deciding_rows(network, parameters);
    const std::size_t classes = network.classes(), count = deciding.size() / (network.layers().back().in + 1);
    std::vector<std::uint32_t> all(queries.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> computed(queries.size() * classes);  // class 1 of two stays 0
    const std::unique_ptr<Engine> engine = backend.engine(network.shape(), {});
    engine->set_records(std::vector{queries.view()});
    engine->outputs({parameters.data(), parameters.data()}, {count, deciding.data(), deciding.data()}, all,
                    [&](const OutputBlock& block) {
                        for (std::size_t r = 0; r < block.count; ++r) {
                            for (std::size_t c = 0; c < count; ++c)
                                computed[(block.first + r) * classes + c] = block.lower[c * block.stride + r];
                        }
                    });
    return computed;
}

}  // namespace holdfast
