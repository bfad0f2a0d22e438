#include "models/privacy/measure/column_tree.hpp"

#include <cmath>
#include <numeric>

#include "models/privacy/accountant/gaussian.hpp"
#include "models/privacy/noise/gaussian_noise.hpp"

namespace holdfast {
namespace {

constexpr double deviations_of_cell = 4;  // of the noise: less is no sign of anybody
constexpr double false_binades = 0.01;    // in all columns together
constexpr double rest_worth_dividing = 8;
constexpr double deviations_of_crowd = 4, deviations_left_out = 2;
constexpr double deviations_a_cell = 1, deviations_of_run = 3;  // where the range alone is drawn
constexpr std::int64_t greatest_sum = std::int64_t{1} << 61;    // as GaussianNoise has it
constexpr std::size_t leaves_of_binade = Cells::fan * Cells::fan;

/// x with a mass of `tail` beyond it, for thresholds: no proof rests on it.
double normal_quantile(double tail) {
    double low = 0, high = 40;
    for (int i = 0; i < 80; ++i) {
        const double middle = (low + high) / 2;
        (near_normal_tail(middle) > tail ? low : high) = middle;
    }
    return high;
}

/// A node of the tree, as its own noise has it and, once the levels agree, as all of them have it.
struct Node {
    double persons;
    bool seen;                   // above its threshold, as it was drawn
    double variance = 1;         // of the estimate, in that of one draw
    std::vector<Node> children;  // ascending; empty: not opened
};

/// Draws persons of a cell, in persons.
class NoisyCounts {
  public:
    NoisyCounts(const ColumnCounts& counts, const TreeLaw& law, RandomBits& bits)
        : counts_(counts), noise_(law.sigma * static_cast<double>(whole_person)), bits_(bits) {}

    double persons(std::size_t first, std::size_t last) {
        const std::int64_t shares =
            std::clamp(counts_.between(first, last) + noise_.draw(bits_), -greatest_sum, greatest_sum);
        return static_cast<double>(shares) / static_cast<double>(whole_person);
    }
    /// A node of the leaves [first, first + width), opened down to single leaves wherever noise shows it.
    Node node(std::size_t first, std::size_t width, double threshold, double below) {
        Node node{persons(first, first + width), false, 1, {}};
        node.seen = node.persons > threshold;
        if (width == 1 || !node.seen) return node;
        const std::size_t part = width / Cells::fan;
        for (std::size_t i = 0; i < Cells::fan; ++i)
            node.children.push_back(this->node(first + i * part, part, below, below));
        return node;
    }

  private:
    const ColumnCounts& counts_;
    GaussianNoise noise_;
    RandomBits& bits_;
};

/// From the leaves up: the best of a node's own draw and its children's sum, each by its variance.
void gather(Node& node) {
    if (node.children.empty()) return;
    double sum = 0, variance = 0;
    for (Node& child : node.children) {
        gather(child);
        sum += child.persons;
        variance += child.variance;
    }
    node.persons = (node.persons / node.variance + sum / variance) / (1 / node.variance + 1 / variance);
    node.variance = 1 / (1 / node.variance + 1 / variance);
}

/// From the root down: children add up to their parent, what was missing shared by their variances.
void settle(Node& node) {
    if (node.children.empty()) return;
    double sum = 0, variance = 0;
    for (const Node& child : node.children) {
        sum += child.persons;
        variance += child.variance;
    }
    for (Node& child : node.children) {
        child.persons += child.variance / variance * (node.persons - sum);
        settle(child);
    }
}

/// The cells of a node that was opened, left to right; where nothing of it is seen, the node itself is.
bool append_cells(const Node& node, std::size_t first, std::size_t width, std::vector<SeenCell>& cells) {
    if (node.children.empty()) {
        cells.push_back(
            {Cells::end_below(first), Cells::end_above(first + width - 1), node.persons, node.seen});
        return node.seen;
    }
    const std::size_t part = width / Cells::fan, begin = cells.size();
    bool seen = false;
    for (std::size_t i = 0; i < Cells::fan; ++i)
        seen = append_cells(node.children[i], first + i * part, part, cells) || seen;
    if (!seen) cells[begin].seen = cells.back().seen = true;
    return true;
}

/// From `begin` on, in either direction: the first cell that is seen; or, where a crowd is before it, in
/// which no single cell was, where that begins.
template <typename Iterator>
Iterator first_seen(Iterator begin, Iterator end, double sigma) {
    const Iterator seen = std::find_if(begin, end, [](const SeenCell& cell) { return cell.seen; });
    double before = 0;
    for (Iterator cell = begin; cell != seen; ++cell) before += cell->persons;
    if (before <= deviations_of_crowd * sigma) return seen;
    double sum = 0;
    return std::find_if(begin, seen, [&](const SeenCell& cell) {
        sum += cell.persons;
        return sum > deviations_left_out * sigma;
    });
}

/// The nearest ascending sums from 0 on (pool adjacent violators), and what the cells then hold.
void make_sums_ascend(std::vector<SeenCell>& cells) {
    struct Block {
        double total;
        std::size_t size;
        double mean() const { return total / static_cast<double>(size); }
    };
    std::vector<Block> blocks;
    double sum = 0;
    for (const SeenCell& cell : cells) {
        sum += cell.persons;
        blocks.push_back({sum, 1});
        while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
            const Block last = blocks.back();
            blocks.pop_back();
            blocks.back().total += last.total;
            blocks.back().size += last.size;
        }
    }
    double before = 0;
    std::size_t at = 0;
    for (const Block& block : blocks) {
        const double level = std::max(block.mean(), before);
        for (std::size_t i = 0; i < block.size; ++i) {
            cells[at++].persons = level - before;
            before = level;
        }
    }
}

/// [0, 1] for a column of zeros, whose cell ends far below.
double highest_of(const DrawnColumn& column, double end) {
    if (end != Cells::end_below(Cells::leaves / 2)) return end;
    return column.lowest < 0 ? 0.0 : 1.0;
}

/// The first level with noise but for what is missing, ascending.
std::vector<SeenCell> first_level(NoisyCounts& noisy) {
    std::vector<SeenCell> cells;
    for (std::size_t b = 0; b < Cells::binades; ++b) {
        const std::size_t first = b * leaves_of_binade, end = first + leaves_of_binade;
        if (b == Cells::binades / 2)
            cells.push_back({0, Cells::end_below(first), noisy.persons(Cells::zero, Cells::zero + 1), true});
        cells.push_back(
            {Cells::end_below(first), Cells::end_above(end - 1), noisy.persons(first, end), true});
    }
    return cells;
}

/// Cells side by side, and the persons in them beyond what each costs.
struct CellRun {
    std::size_t first = 0, end = 0;
    double worth = 0;
};

/// The best run of cells [from, to): the greatest sum that is anywhere.
CellRun best_run(const std::vector<SeenCell>& cells, std::size_t from, std::size_t to, double cost) {
    CellRun best, run;
    for (std::size_t i = from; i < to; ++i) {
        if (run.worth <= 0) run = {i, i, 0};
        run.worth += cells[i].persons - cost;
        run.end = i + 1;
        if (run.worth > best.worth) best = run;
    }
    return best;
}

}  // namespace

std::int64_t ColumnCounts::between(std::size_t first, std::size_t last) const {
    return std::accumulate(shares_.begin() + static_cast<std::ptrdiff_t>(first),
                           shares_.begin() + static_cast<std::ptrdiff_t>(last), std::int64_t{0});
}

TreeLaw TreeLaw::of(double sigma, std::size_t columns) {
    const double cells = static_cast<double>(Cells::first_level) * static_cast<double>(columns);
    return {sigma, sigma * normal_quantile(false_binades / cells), sigma * deviations_of_cell};
}

DrawnColumn draw_column(const ColumnCounts& counts, const TreeLaw& law, RandomBits& bits) {
    // 1. Noise: the first level, and whatever is opened below it.
    NoisyCounts noisy(counts, law, bits);
    const double zero = noisy.persons(Cells::zero, Cells::zero + 1);
    DrawnColumn column;
    column.sigma = law.sigma;
    column.missing = std::max(0.0, noisy.persons(Cells::missing, Cells::missing + 1));
    std::vector<Node> binades;
    for (std::size_t b = 0; b < Cells::binades; ++b)
        binades.push_back(
            noisy.node(b * leaves_of_binade, leaves_of_binade, law.first_threshold, law.threshold));

    // 2. What follows of it: estimates that agree, and where the column lies.
    for (std::size_t b = 0; b < Cells::binades; ++b) {
        if (b == Cells::binades / 2 && zero > law.first_threshold)
            column.cells.push_back({0, Cells::end_below(Cells::leaves / 2), zero, true});
        if (binades[b].children.empty()) continue;
        gather(binades[b]);
        settle(binades[b]);
        append_cells(binades[b], b * leaves_of_binade, leaves_of_binade, column.cells);
    }
    if (column.cells.empty()) return column;
    make_sums_ascend(column.cells);
    column.lowest = first_seen(column.cells.begin(), column.cells.end(), law.sigma)->low;
    column.highest =
        highest_of(column, first_seen(column.cells.rbegin(), column.cells.rend(), law.sigma)->high);
    return column;
}

DrawnColumn draw_range(const ColumnCounts& counts, double sigma, RandomBits& bits) {
    NoisyCounts of_level(counts, {sigma, 0, 0}, bits);
    const std::vector<SeenCell> cells = first_level(of_level);
    // Numbers below 0, 0 and those above: what lies between two of these that show is small, and costs
    // nothing.
    constexpr std::size_t zero = Cells::binades / 2;
    const double cost = deviations_a_cell * sigma, zeros = cells[zero].persons - cost;
    const CellRun below = best_run(cells, 0, zero, cost),
                  above = best_run(cells, zero + 1, cells.size(), cost);
    const auto shows = [&](double worth) { return worth > deviations_of_run * sigma; };
    DrawnColumn column;
    column.sigma = sigma;
    if (!shows(std::max({below.worth, zeros, above.worth}))) return column;
    const std::size_t first = shows(below.worth) ? below.first
                              : shows(zeros)     ? zero
                                                 : above.first,
                      end = shows(above.worth) ? above.end
                            : shows(zeros)     ? zero + 1
                                               : below.end;
    double persons = 0;
    for (std::size_t i = first; i < end; ++i) persons += cells[i].persons;
    column.lowest = cells[first].low;
    column.highest = highest_of(column, cells[end - 1].high);
    column.cells = {{column.lowest, column.highest, persons, true}};
    return column;
}

std::vector<std::size_t> draw_buckets(const ColumnCounts& counts, double sigma, std::size_t columns,
                                      RandomBits& bits) {
    const auto cells = static_cast<double>(counted_buckets * columns);
    const double threshold = sigma * normal_quantile(false_binades / cells);
    NoisyCounts noisy(counts, {sigma, 0, 0}, bits);
    std::vector<std::pair<double, std::size_t>> frequent;
    for (std::size_t bucket = 0; bucket < counted_buckets; ++bucket) {  // each is drawn, whoever is there
        const std::size_t cell = Cells::of(static_cast<double>(bucket));
        const double persons = noisy.persons(cell, cell + 1);
        if (persons > threshold) frequent.emplace_back(-persons, bucket);
    }
    std::sort(frequent.begin(), frequent.end());
    frequent.resize(std::min(frequent.size(), most_frequent_buckets));
    std::vector<std::size_t> buckets;
    for (const auto& [persons, bucket] : frequent) buckets.push_back(bucket);
    std::sort(buckets.begin(), buckets.end());
    return buckets;
}

std::vector<double> DrawnColumn::edges(std::size_t bins) const {
    double all = 0, rest = 0;
    for (const SeenCell& cell : cells) all += cell.persons;
    const double part = all / static_cast<double>(bins);
    const auto is_atom = [&](const SeenCell& cell) { return cell.persons > part; };

    // 1. Both ends of every atom; one for two atoms with nothing between.
    std::vector<double> edges;
    std::size_t left = bins;  // of the rest
    bool after_atom = false;
    for (const SeenCell& cell : cells) {
        if (is_atom(cell)) {
            if (after_atom) edges.pop_back();
            edges.insert(edges.end(), {cell.low, cell.high});
            --left;
        } else {
            rest += cell.persons;
        }
        after_atom = is_atom(cell);
    }

    // 2. Quantiles of the rest, where that is more than noise: the nearer end of the cell that one falls
    // into.
    if (rest < rest_worth_dividing * sigma) left = 0;
    double sum = 0;
    std::size_t cut = 1;
    for (const SeenCell& cell : cells) {
        if (is_atom(cell)) continue;
        const auto quantile = [&] { return rest * static_cast<double>(cut) / static_cast<double>(left); };
        for (; cut < left && sum + cell.persons >= quantile(); ++cut)
            edges.push_back(quantile() - sum < sum + cell.persons - quantile() ? cell.low : cell.high);
        sum += cell.persons;
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    std::erase_if(edges, [&](double edge) { return !(lowest < edge && edge < highest); });
    return edges;
}

}  // namespace holdfast
