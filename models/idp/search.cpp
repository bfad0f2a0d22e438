#include "models/idp/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <queue>

#include "kernels/base/random.hpp"
#include "kernels/base/threads.hpp"
#include "models/idp/clusters.hpp"

namespace holdfast {
namespace {

constexpr double up = 1 + 0x1p-40;  // above what a few roundings take
constexpr std::size_t networks_a_round = 64, boxes_a_visit = 128;
constexpr int most_contractions = 12;
constexpr double worth_repeating = 0.9;  // of a box's volume
constexpr std::size_t random_starts = 4;
constexpr int beside_price = 1, prices_a_box = 2 * beside_price + 1;
constexpr double first_step = 0x1p-5, least_step = 0x1p-14, greatest_step = 0x1p-2, most_price = 3;
constexpr double least_width = 0x1p-40;  // of an input's range: a box is not cut below

/// A box of inputs, or the part of it where hidden units have certain signs, and what no confidence that
/// counts exceeds in it.
struct Node {
    double bound;
    std::vector<double> low, high;
    std::vector<UnitSplit> units = {};
    std::vector<double> multipliers = {};  ///< [targets, units]
    std::vector<double> gradient = {};
    double price = 1, price_step = first_step;  ///< the best known, and what to try beside it
    std::optional<UnitSplit> open = {};
    double cost = 0;
    bool operator<(const Node& other) const { return bound < other.bound; }
};

/// A network against one other class: boxes still open. Or several, as their hull, to be parted.
struct Item {
    std::vector<std::size_t> networks;
    std::size_t other;
    double bound, error;  ///< error: of the program
    bool begun = false;
    double given_up = 0;  ///< greatest bound of boxes too small to be cut
    std::priority_queue<Node> open = {};
    bool is_hull() const { return networks.size() > 1; }
};

/// What is asked of a box, of one class against one other: the confidence where the other network's margin
/// allows another label.
class Question {
  public:
    Question(const Confidence& confidence, const Twin& twin) {
        const MarginAt& at = confidence.own[confidence.against];
        for (const MarginAt& own : confidence.own) error_ = std::max(error_, twin.program_error(own.row));
        targets_.push_back({at.row, 0, -at.sign});         // C_N - C_(N_-i)
        targets_.push_back({at.row, -at.sign, -at.sign});  // -C_(N_-i)
        for (const MarginAt& own : confidence.own) targets_.push_back({own.row, own.sign, 0});
    }
    std::span<const BoundTarget> targets() const { return targets_; }
    /// C_N - price C_(N_-i); price: a multiple of 2^-30 within [0, 4), so that 1 - price is exact.
    BoundTarget at_price(double price) const {
        const BoundTarget& even = targets_[0];
        return {even.row, even.difference * (price - 1), even.difference * price};
    }
    double needed_at_price(double price, double threshold) const {
        return threshold - (1 + price) * error_ * up - std::abs(threshold) * 0x1p-50;
    }
    double bound_at_price(double price, double upper) const {
        const double bound = upper + (1 + price) * error_ * up;
        return bound + std::abs(bound) * 0x1p-50;
    }
    double error() const { return error_; }

    /// Target t must reach this somewhere for a confidence above `threshold`, as the program computes both.
    double needed(std::size_t t, double threshold) const {
        if (t == 0) return threshold - 2 * error_ * up - std::abs(threshold) * 0x1p-50;
        if (t == 1) return -error_ * up;
        return threshold - error_ * up - std::abs(threshold) * 0x1p-50;
    }
    /// No confidence that counts exceeds it; -infinity: the label does not change there.
    double bound(const std::vector<double>& upper) const {
        if (upper[1] < needed(1, 0)) return -INFINITY;
        double least = upper[0] + 2 * error_ * up;
        for (std::size_t t = 2; t < targets_.size(); ++t) least = std::min(least, upper[t] + error_ * up);
        return least + std::abs(least) * 0x1p-50;
    }

  private:
    std::vector<BoundTarget> targets_;
    double error_ = 0;
};

/// Takes off the box what no point of target t can be in that reaches what is needed. The part of the volume
/// that stays.
double contract(const BoxBounds& bounds, std::size_t t, double needed, Node& node) {
    const std::size_t inputs = node.low.size();
    const double slack = (bounds.upper[t] - needed) * up;
    double part = 1;
    for (std::size_t i = 0; i < inputs; ++i) {
        const double slope = bounds.coefficients[t * inputs + i];
        const double width = node.high[i] - node.low[i];
        if (!(std::abs(slope) * width > slack)) continue;
        // A point further from the better end than this falls short.
        const double end = std::max(std::abs(node.low[i]), std::abs(node.high[i]));
        const double reach = slack / std::abs(slope) * up + end * 0x1p-50;
        if (slope > 0) {
            node.low[i] = std::max(node.low[i], node.high[i] - reach);
        } else {
            node.high[i] = std::min(node.high[i], node.low[i] + reach);
        }
        part *= (node.high[i] - node.low[i]) / width;
    }
    return part;
}

/// Multipliers of one unit more, 0 for all targets.
std::vector<double> with_one_more(const std::vector<double>& multipliers, std::size_t targets) {
    std::vector<double> more;
    const std::size_t units = multipliers.size() / targets;
    for (std::size_t t = 0; t < targets; ++t) {
        const auto first = multipliers.begin() + static_cast<std::ptrdiff_t>(t * units);
        more.insert(more.end(), first, first + static_cast<std::ptrdiff_t>(units));
        more.push_back(0);
    }
    return more;
}

std::vector<double> centre(const Node& node) {
    std::vector<double> x(node.low.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = node.low[i] + (node.high[i] - node.low[i]) / 2;
    return x;
}

/// Visits boxes of one network against one other class.
class Visitor {
  public:
    Visitor(DifferenceBounds& kernel, const Twin& twin, const Question& question, const SearchRules& rules,
            double threshold, std::size_t& boxes)
        : kernel_(kernel),
          twin_(twin),
          question_(question),
          rules_(rules),
          threshold_(threshold),
          boxes_(boxes),
          targets_(question.targets().begin(), question.targets().end()) {
        for (std::size_t t = 0; t < targets_.size(); ++t) levels_.push_back(question.needed(t, threshold));
        targets_.resize(targets_.size() + prices_a_box);
        levels_.resize(targets_.size());
    }
    std::size_t targets() const { return targets_.size(); }

    /// Bounds the node, and contracts it while that helps. False: nothing in it exceeds the threshold.
    bool visit(Node& node) {
        for (int time = 0; time < most_contractions; ++time) {
            ++boxes_;
            if (!bound(node)) return false;
            if (!rules_.contraction) break;
            double part = 1;
            for (std::size_t t = 0; t < levels_.size(); ++t) part *= contract(bounds_, t, levels_[t], node);
            if (!(part < worth_repeating)) break;
        }
        node.gradient.assign(node.low.size(), 0.0);
        for (std::size_t t = 0; t < levels_.size(); ++t) {
            const double above = std::max(bounds_.upper[t] - levels_[t], 1e-300);
            for (std::size_t i = 0; i < node.low.size(); ++i)
                node.gradient[i] += std::abs(bounds_.coefficients[t * node.low.size() + i]) / above;
        }
        return true;
    }

    /// Do no bounds move over the node, and those of its centre reach as far? Then no cut brings its bound
    /// down.
    bool is_level(const Node& node) {
        for (const double slope : node.gradient)
            if (slope > 0) return false;
        Node middle{node.bound, centre(node), centre(node)};
        return bound(middle) && middle.bound + 8 * question_.error() >= node.bound;
    }

  private:
    bool bound(Node& node) {
        const std::size_t plain = question_.targets().size();
        std::array<double, prices_a_box> prices;
        for (std::size_t k = 0; k < prices_a_box; ++k) {
            const double at = node.price + node.price_step * (static_cast<int>(k) - beside_price);
            prices[k] = std::clamp(std::round(at * 0x1p30) * 0x1p-30, 0.0, most_price);
            targets_[plain + k] = question_.at_price(prices[k]);
            levels_[plain + k] = question_.needed_at_price(prices[k], threshold_);
        }
        if (!bound_targets(node)) return false;
        node.bound = std::min(node.bound, question_.bound(bounds_.upper));
        std::array<double, prices_a_box> at_prices;
        for (std::size_t k = 0; k < prices_a_box; ++k) {
            at_prices[k] = question_.bound_at_price(prices[k], bounds_.upper[plain + k]);
            node.bound = std::min(node.bound, at_prices[k]);
        }
        const auto best = std::min_element(at_prices.begin(), at_prices.end()) - at_prices.begin();
        const double scale = best == beside_price ? 0.5 : 2;
        node.price = prices[static_cast<std::size_t>(best)];
        node.price_step = std::clamp(node.price_step * scale, least_step, greatest_step);
        if (!(node.bound > threshold_)) return false;
        for (std::size_t t = 0; t < targets_.size(); ++t)
            if (bounds_.upper[t] < levels_[t]) return false;
        return true;
    }
    /// False: the node is empty.
    bool bound_targets(Node& node) {
        if (!rules_.units) {
            kernel_.bound(twin_, node.low.data(), node.high.data(), targets_, rules_.bounds, bounds_);
            return true;
        }
        SplitBox part{node.units, levels_, std::move(node.multipliers)};
        kernel_.bound(twin_, node.low.data(), node.high.data(), targets_, rules_.bounds, part, bounds_);
        node.multipliers = std::move(part.multipliers);
        node.open = part.open;
        node.cost = part.cost;
        return !part.empty;
    }

    DifferenceBounds& kernel_;
    const Twin& twin_;
    const Question& question_;
    const SearchRules& rules_;
    double threshold_;
    std::size_t& boxes_;
    std::vector<BoundTarget> targets_;  // those of the question, and some at prices
    std::vector<double> levels_;        // of each, below which nothing exceeds the threshold
    BoxBounds bounds_;
};

/// Where to cut: across the widest side, those along which the bounds move more counting as wider (the square
/// root was best of the powers tried); of bounds that move along none, the widest.
std::size_t widest(const Node& node) {
    std::size_t best = 0;
    std::pair<double, double> most{-1, 0};
    for (std::size_t i = 0; i < node.low.size(); ++i) {
        const double width = node.high[i] - node.low[i];
        const std::pair reach{width * std::sqrt(node.gradient[i]), width};
        if (reach > most) {
            most = reach;
            best = i;
        }
    }
    return best;
}

class Search {
  public:
    Search(const VerifiedFleet& fleet, std::size_t c, const SearchRules& rules)
        : fleet_(fleet), class_(c), rules_(rules), prepared_(fleet.network), began_(rules.clock()) {
        for (int t = 0; t < omp_get_max_threads(); ++t) kernels_.emplace_back(prepared_);
        for (std::size_t other = 0; other < fleet.classes; ++other)
            confidences_.push_back(other == c ? Confidence{} : Confidence::of(fleet.classes, c, other));
    }

    ClassBound run() {
        first_bounds();
        attack();
        while (rules_.branching && !open_.empty() && open_.front().bound > threshold() && !late()) round();
        result_.upper =
            std::max(open_.empty() ? 0.0 : open_.front().bound, std::max(threshold(), result_.lower));
        result_.complete = open_.empty() || open_.front().bound <= threshold();
        result_.seconds = rules_.clock() - began_;
        return result_;
    }

  private:
    /// What a box must exceed to be looked at.
    double threshold() const {
        return std::max({result_.lower * (1 + rules_.gap), result_.lower + 8 * error_, floor_});
    }

    bool late() const { return !(rules_.clock() - began_ < rules_.seconds); }

    /// 1. Bounds over the whole box, the greatest first: of every network, or of one hull.
    void first_bounds() {
        std::vector<std::vector<std::size_t>> groups;
        for (std::size_t i = 0; i < fleet_.count && !rules_.clusters; ++i) groups.push_back({i});
        if (rules_.clusters && fleet_.count > 0) {
            groups.emplace_back(fleet_.count);
            std::iota(groups[0].begin(), groups[0].end(), 0);
        }
        const std::size_t others = fleet_.classes - 1;
        std::vector<Item> items(groups.size() * others);
        ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 8)
        for (std::size_t g = 0; g < groups.size(); ++g) {
            failure.guard([&] {
                const Twin twin = twin_of(groups[g]);
                for (std::size_t k = 0; k < others; ++k)
                    items[g * others + k] = bounded(twin, groups[g], k + (k >= class_ ? 1 : 0));
            });
        }
        failure.rethrow();
        open_ = std::move(items);
        std::stable_sort(open_.begin(), open_.end(),
                         [](const Item& a, const Item& b) { return a.bound > b.bound; });
        floor_ = std::max(0.0, open_.empty() ? 0.0 : open_.front().bound) * rules_.gap * 1e-3;
        for (const Item& item : open_) error_ = std::max(error_, item.error);
        result_.first_bounds = open_.size();
    }
    DifferenceBounds& kernel() {
        return kernels_[static_cast<std::size_t>(omp_get_thread_num())];
    }
    std::vector<PlainNetwork> networks_of(const std::vector<std::size_t>& group) const {
        std::vector<PlainNetwork> networks;
        for (const std::size_t i : group) networks.push_back(fleet_.other(i));
        return networks;
    }
    Twin twin_of(const std::vector<std::size_t>& group) const {
        if (group.size() == 1) return {fleet_.network, fleet_.other(group[0]), fleet_.box, fleet_.precision};
        return {fleet_.network, networks_of(group), fleet_.box, fleet_.precision};
    }
    Item bounded(const Twin& twin, const std::vector<std::size_t>& group, std::size_t other) {
        const Question question(confidences_[other], twin);
        BoxBounds bounds;
        kernel().bound(twin, fleet_.box.low.data(), fleet_.box.high.data(), question.targets(), rules_.bounds,
                       bounds);
        return {group, other, question.bound(bounds.upper), question.error()};
    }

    /// 2. Lower bounds by ascent from a few points, of the networks that promise most.
    void attack() {
        const std::size_t count = std::min(rules_.attacked, open_.size());
        std::vector<std::vector<Found>> found(count);
        ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 1)
        for (std::size_t k = 0; k < count; ++k) {
            failure.guard([&] {
                if (!open_[k].is_hull()) found[k] = attacked(twin_of(open_[k].networks), open_[k]);
            });
        }
        failure.rethrow();
        for (std::size_t k = 0; k < count; ++k) {
            for (Found& one : found[k]) offer(open_[k].networks[0], std::move(one));
        }
    }
    std::vector<Found> attacked(const Twin& twin, const Item& item) {
        std::vector<Found> found;
        for (std::size_t start = 0; start <= random_starts && !late(); ++start) {
            std::vector<double> x(fleet_.box.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double part = start == 0 ? 0.5 : KeyedHash{item.networks[0]}.uniform(start, i);
                x[i] = fleet_.box.low[i] + part * (fleet_.box.high[i] - fleet_.box.low[i]);
            }
            if (auto better = ascended(twin, item, std::move(x))) found.push_back(std::move(*better));
        }
        return found;
    }
    std::optional<Found> ascended(const Twin& twin, const Item& item, std::vector<double> x) {
        const Question question(confidences_[item.other], twin);
        return ascend(kernel(), twin, confidences_[item.other], fleet_.box, 4 * question.error() + 1e-12,
                      std::move(x));
    }
    void offer(std::size_t network, Found found) {
        if (!(found.confidence > result_.lower)) return;
        const std::optional<double> computed = fleet_.witness(network, class_, found.input);
        if (!computed || !(*computed > result_.lower)) return;
        result_.lower = *computed;
        result_.network = network;
        result_.input = std::move(found.input);
    }

    /// What a visit of an item came to.
    struct Visit {
        bool put_off = false;     ///< there was no time left
        std::vector<Item> parts;  ///< of a hull
        std::vector<Found> found;
        std::size_t boxes = 0;
    };

    /// 3. Some boxes of each of the networks with the greatest bounds, or the parts of a hull.
    void round() {
        const auto count = static_cast<std::ptrdiff_t>(std::min(networks_a_round, open_.size()));
        std::vector<Item> visited(std::make_move_iterator(open_.begin()),
                                  std::make_move_iterator(open_.begin() + count));
        open_.erase(open_.begin(), open_.begin() + count);
        std::vector<Visit> visits(visited.size());
        const double threshold_now = threshold();
        ThreadFailure failure;
#pragma omp parallel for schedule(dynamic, 1)
        for (std::size_t k = 0; k < visited.size(); ++k) {
            failure.guard([&] {
                if (!(visited[k].bound > threshold_now)) return;  // closed by what others found
                if (late()) {
                    visits[k].put_off = true;
                    return;
                }
                visits[k] = visited[k].is_hull() ? part(visited[k]) : work(visited[k], threshold_now);
            });
        }
        failure.rethrow();
        for (std::size_t k = 0; k < visited.size(); ++k) {
            Item& item = visited[k];
            result_.boxes += visits[k].boxes;
            floor_ = std::max(floor_, item.given_up);
            for (Found& found : visits[k].found) offer(item.networks[0], std::move(found));
            for (Item& part : visits[k].parts) insert(std::move(part));
            if (item.open.empty() && !visits[k].put_off) continue;
            if (!item.open.empty()) item.bound = item.open.top().bound;
            insert(std::move(item));
        }
    }
    void insert(Item item) {
        const auto place = std::lower_bound(open_.begin(), open_.end(), item.bound,
                                            [](const Item& a, double bound) { return a.bound > bound; });
        open_.insert(place, std::move(item));
    }

    /// Is the node better cut by the sign of a unit than across input `at`? Both count in parts of what the
    /// bounds are above their levels.
    bool by_unit(const Node& node, std::size_t at) const {
        return rules_.units && node.open &&
               node.cost > (node.high[at] - node.low[at]) / 2 * node.gradient[at];
    }

    Visit part(const Item& item) {
        Visit visit;
        for (std::vector<std::size_t>& cluster : clusters_of(networks_of(item.networks))) {
            for (std::size_t& network : cluster) network = item.networks[network];
            visit.parts.push_back(bounded(twin_of(cluster), cluster, item.other));
            visit.parts.back().bound = std::min(visit.parts.back().bound, item.bound);
            ++visit.boxes;
        }
        return visit;
    }

    Visit work(Item& item, double threshold_now) {
        Visit visit;
        const Twin twin = twin_of(item.networks);
        const Question question(confidences_[item.other], twin);
        Visitor visitor(kernel(), twin, question, rules_, threshold_now, visit.boxes);
        const auto look = [&](Node node) {
            if (visitor.visit(node)) item.open.push(std::move(node));
        };
        const auto try_at = [&](const Node& node) {
            if (auto better = ascended(twin, item, centre(node))) visit.found.push_back(std::move(*better));
        };
        if (!item.begun) {
            item.begun = true;
            if (rules_.clusters) visit.found = attacked(twin, item);
            look({item.bound, fleet_.box.low, fleet_.box.high});
        } else if (!item.open.empty()) {
            try_at(item.open.top());
        }
        while (!item.open.empty() && item.open.top().bound > threshold_now && visit.boxes < boxes_a_visit &&
               !late()) {
            Node node = item.open.top();
            item.open.pop();
            const std::size_t at = widest(node);
            if (by_unit(node, at)) {
                node.multipliers = with_one_more(node.multipliers, visitor.targets());
                node.units.push_back(*node.open);
                Node other = node;
                other.units.back().sign = -1;
                look(std::move(node));
                look(std::move(other));
                continue;
            }
            const double least = least_width * (fleet_.box.high[at] - fleet_.box.low[at]);
            if (!(node.high[at] - node.low[at] > least) || visitor.is_level(node)) {
                try_at(node);
                item.given_up = std::max(item.given_up, node.bound);
                continue;
            }
            const double middle = node.low[at] + (node.high[at] - node.low[at]) / 2;
            Node right = node;
            node.high[at] = right.low[at] = middle;
            look(std::move(node));
            look(std::move(right));
        }
        if (!item.open.empty() && !(item.open.top().bound > threshold_now)) item.open = {};
        return visit;
    }

    const VerifiedFleet& fleet_;
    std::size_t class_;
    SearchRules rules_;
    PreparedNetwork prepared_;
    std::vector<DifferenceBounds> kernels_;
    std::vector<Confidence> confidences_;
    std::vector<Item> open_;  // the greatest bound first
    ClassBound result_;
    double floor_ = 0, error_ = 0, began_;
};

}  // namespace

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ClassBound bound_class(const VerifiedFleet& fleet, std::size_t c, const SearchRules& rules) {
    return Search(fleet, c, rules).run();
}

}  // namespace holdfast
