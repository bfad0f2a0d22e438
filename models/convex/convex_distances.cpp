#include "models/convex/convex_distances.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.hpp"
#include "models/certify/answers.hpp"
#include "models/certify/margins.hpp"
#include "models/certify/person_answers.hpp"
#include "models/convex/mapped_length.hpp"
#include "models/robust/query_moves.hpp"

namespace holdfast {
namespace {

constexpr std::int64_t greatest_cap = std::int64_t{1} << 20;
/// Far above what underflow adds to any chain of 2^20 products, far below any margin that decides.
constexpr double underflow = 0x1p-900;

/// What grid and quotient of a mean's gap may differ by, in both runs together: 4 2^-27, and less than 2^-29.
constexpr double grid_of_means = 0x1p-24;

/// Of one query and each class: by how much the label leads it, and by how much the class that leads it most.
template <typename Score>
struct Leads {
    std::size_t label;
    std::vector<Score> of_label, greatest;
};

template <typename Score>
Leads<Score> leads_of(std::span<const Score> scores) {
    Leads<Score> leads{greatest_logit(scores.size(), [&](std::size_t c) { return scores[c]; }), {}, {}};
    for (const Score score : scores) leads.of_label.push_back(scores[leads.label] - score);
    leads.greatest = leads.of_label;
    return leads;
}

/// What is left of them wherever the query moves within the radius; 0: nothing.
Leads<double> moved_leads(std::span<const double> logits, const QueryMoves::OfQuery& moves, double radius) {
    const auto left = [&](std::size_t c, std::size_t j) {
        const double lead = c == j ? 0 : moves.lead(c, j).within(radius);
        return lead > 0 ? lead : 0;
    };
    Leads<double> leads{greatest_logit(logits.size(), [&](std::size_t c) { return logits[c]; }), {}, {}};
    leads.of_label.assign(logits.size(), 0);
    leads.greatest.assign(logits.size(), 0);
    for (std::size_t c = 0; c < logits.size(); ++c) {
        for (std::size_t j = 0; j < logits.size(); ++j) {
            const double lead = left(c, j);
            if (c == leads.label) leads.of_label[j] = lead;
            leads.greatest[j] = std::max(leads.greatest[j], lead);
        }
    }
    return leads;
}

/// `beaten`: how many levels leave a gap as it is, of scores of doubles or of whole numbers.
template <typename Score, typename Beaten>
void add_to(Certificates& result, const Leads<Score>& leads, std::int64_t cap, Beaten beaten) {
    std::int64_t nearest = cap + 1;
    for (std::size_t j = 0; j < leads.of_label.size(); ++j) {
        if (j != leads.label) nearest = std::min<std::int64_t>(nearest, beaten(leads.of_label[j]));
        result.class_distances.push_back(beaten(leads.greatest[j]));
    }
    result.labels.push_back(static_cast<std::int32_t>(leads.label));
    result.distances.push_back(std::max<std::int64_t>(0, nearest - 1));
}

}  // namespace

std::int64_t steps_below(double gap, double step, std::int64_t most) {
    // A quotient of at most k rounds to no more than k, one above it to no less: only a last step may be
    // missed. The sign of a rounded fma is that of the exact one.
    const auto count = static_cast<std::int64_t>(std::min(std::ceil(gap / step), static_cast<double>(most)));
    const bool one_more = count < most && std::fma(static_cast<double>(count), step, -gap) < 0;
    return count + (one_more ? 1 : 0);
}

// Of two classes the margin's row is a difference of two, no longer than twice a row; of more, two logits
// make a gap.
ConvexDistances::ConvexDistances(const Network& network, const ConvexRadius& radius) : network_(network) {
    const Rational unit(1, power_of_two(50));
    const Rational chain =
        8 * as_rational(static_cast<std::int64_t>(network.inputs() + 4)) / power_of_two(53);
    rounding_ = round_up(chain * radius.row * unit);
    margin_ = round_up(radius.margin * unit);
    margin_step_ = round_up((radius.margin + chain * radius.row) * unit);
    row_ = round_up(radius.row * unit * (1 + chain));
    const Rational longest = (network.outputs() == 1 ? 1 : 2) * radius.row * unit * (1 + chain);
    const Integer cap = floor(longest / Rational(margin_step_));
    cap_ = cap < greatest_cap ? cap.get_si() : greatest_cap;
}

void ConvexDistances::move_queries(double radius, const FeatureMap& map) {
    require_bounded_moves(network_, map, Precision::double_precision);
    move_ = Move{radius, map, QueryMoves::reach(network_, map, radius)};
}

double ConvexDistances::step_of(Upper length) const {
    const Upper step = move_ ? moved_by(Upper(margin_), length) : Upper(margin_step_) * length;
    return (step + Upper(underflow)).value();
}

Upper ConvexDistances::moved_by(Upper margin, Upper length) const {
    if (!move_) return (margin + Upper(rounding_)) * length;
    const Upper computed(static_cast<double>(network_.inputs() + 16) * 0x1p-48 + 0x1p-34);
    return (margin * Upper(1 + 0x1p-18) + computed * Upper(row_)) * (length + move_->reach) +
           Upper(rounding_) * length;
}

Certificates ConvexDistances::of(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                 const Records& queries) const {
    return counted(backend, parameters, queries, cap_, [&](std::size_t, Upper length, double gap) {
        return steps_below(gap, step_of(length), cap_ + 1);
    });
}

std::vector<Upper> ConvexDistances::margins_moved(const std::vector<std::int64_t>& radii) const {
    const Upper rows = network_.outputs() == 1 ? Upper(1) : sqrt(Upper(2));
    std::vector<Upper> moved{Upper(0)};
    for (std::size_t k = 1; k < radii.size(); ++k) {
        const Upper units(std::nextafter(static_cast<double>(radii[k]), INFINITY));
        moved.push_back(units * Upper(parameter_unit) * rows);
    }
    return moved;
}

Certificates ConvexDistances::of_removals(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                          const std::vector<std::int64_t>& radii, const Records& queries,
                                          const Influences* influences) const {
    ensure(influences == nullptr || !move_, "influences are of queries that stay");
    std::vector<std::vector<Upper>> influenced;
    if (influences != nullptr) {
        std::vector<double> signs;  // of the logit: class 0 of two has its opposite
        const std::vector<double> values = deciding_values(network_, backend, parameters, queries);
        for (std::size_t q = 0; q < queries.size(); ++q) signs.push_back(-values[2 * q]);
        influenced = influences->moved(queries, signs);
    }
    std::vector<Upper> moved = margins_moved(radii);
    for (std::size_t k = 1; k < moved.size(); ++k)
        moved[k] = min(moved[k], Upper(static_cast<double>(k)) * Upper(margin_));
    const auto levels_below = [&](std::size_t q, Upper length, double gap) {
        std::size_t first = 1;
        while (first < moved.size()) {
            Upper margin = moved_by(moved[first], length);
            if (influences != nullptr && first < influenced[q].size())
                margin = min(margin, influenced[q][first] + Upper(rounding_) * length);
            if ((margin + Upper(underflow)).value() >= gap) break;
            ++first;
        }
        return gap > 0 ? static_cast<std::int64_t>(first) : 0;
    };
    return counted(backend, parameters, queries, static_cast<std::int64_t>(radii.size()) - 1, levels_below);
}

ConvexDistances::Reach ConvexDistances::reach_of_mean(const Records& rows, std::size_t first,
                                                      std::size_t end) const {
    Reach reach{mean_length(network_, rows.features, first, end), Upper(0)};
    for (std::size_t row = first; row < end; ++row) {
        const Upper length = mapped_length(network_, rows.features, row);
        reach.roundings = reach.roundings + length;
        reach.bounded = reach.bounded && (Upper(row_) * length).value() < greatest_output;
    }
    reach.roundings = reach.roundings / static_cast<double>(end - first);
    return reach;
}

Certificates ConvexDistances::of_means(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                       const std::vector<std::int64_t>& radii, const Records& rows,
                                       std::span<const std::size_t> starts) const {
    ensure(!move_, "means are of queries that stay");
    check_rows_of_means(starts);
    const std::vector<double> outputs = answers_of(network_, backend, parameters, rows).logits;
    const std::vector<Upper> moved = margins_moved(radii);
    const std::int64_t cap = radii.empty() ? cap_ : static_cast<std::int64_t>(radii.size()) - 1;
    Certificates result;
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
        const Reach reach = reach_of_mean(rows, starts[i], starts[i + 1]);
        const auto step = [&](Upper margin) {
            return (margin * reach.length + Upper(rounding_) * reach.roundings + Upper(grid_of_means))
                .value();
        };
        const auto levels_below = [&](std::int64_t units) -> std::int64_t {
            const double gap = static_cast<double>(units) / outputs_per_unit /
                               static_cast<double>(starts[i + 1] - starts[i]);
            if (!reach.bounded || units <= 0) return 0;
            if (radii.empty()) return steps_below(gap, step(Upper(margin_)), cap + 1);
            const auto first = std::find_if(moved.begin() + 1, moved.end(),
                                            [&](Upper margin) { return step(margin) >= gap; });
            return first - moved.begin();
        };
        const std::vector<std::int64_t> sums =
            added_outputs(outputs, network_.outputs(), starts[i], starts[i + 1], network_.classes());
        add_to(result, leads_of<std::int64_t>(sums), cap, levels_below);
    }
    return result;
}

Certificates ConvexDistances::counted(const Backend& backend, const std::vector<std::int64_t>& parameters,
                                      const Records& queries, std::int64_t cap,
                                      const CountLevels& levels_below) const {
    const std::vector<double> computed = deciding_values(network_, backend, parameters, queries);
    const std::size_t classes = network_.classes();
    std::optional<QueryMoves> moves;
    if (move_) moves.emplace(network_, move_->map, Precision::double_precision, parameters);
    Certificates result;
    for (std::size_t q = 0; q < queries.size(); ++q) {
        const std::span logits = std::span(computed).subspan(q * classes, classes);
        const Upper length = mapped_length(network_, queries.features, q);
        const Leads<double> leads =
            moves ? moved_leads(logits, {*moves, queries.features, q, logits.data()}, move_->radius)
                  : leads_of<double>(logits);
        add_to(result, leads, cap, [&](double gap) { return levels_below(q, length, gap); });
    }
    return result;
}

}  // namespace holdfast
