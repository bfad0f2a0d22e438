#include "models/verify/search.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <queue>

#include "kernels/base/random.hpp"
#include "kernels/base/threads.hpp"
#include "models/verify/clusters.hpp"

namespace holdfast {
namespace {

constexpr double up = 1 + 0x1p-40;  // above what a few roundings take
constexpr std::size_t networks_a_round = 64, boxes_a_visit = 128;
constexpr int most_contractions = 12;
constexpr double worth_repeating = 0.9;  // of a box's volume
constexpr std::size_t random_starts = 4;
constexpr double least_width = 0x1p-40;  // of an input's range: a box is not cut below

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A box of inputs and what no confidence that counts exceeds in it.
struct Node {
    double bound;
    std::vector<double> low, high, gradient;
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
    Question(const Confidence& confidence, const Twin& twin) : confidence_(confidence) {
        const MarginAt& at = confidence.own[confidence.against];
        for (const MarginAt& own : confidence.own) error_ = std::max(error_, twin.program_error(own.row));
        targets_.push_back({at.row, 0, -at.sign});         // C_N - C_(N_-i)
        targets_.push_back({at.row, -at.sign, -at.sign});  // -C_(N_-i)
        for (const MarginAt& own : confidence.own) targets_.push_back({own.row, own.sign, 0});
    }
    std::span<const BoundTarget> targets() const { return targets_; }
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
        for (std::size_t t = 2; t < upper.size(); ++t) least = std::min(least, upper[t] + error_ * up);
        return least + std::abs(least) * 0x1p-50;
    }

  private:
    const Confidence& confidence_;
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

/// Bounds the node, and contracts it while that helps. False: nothing in it exceeds the threshold.
bool visit(DifferenceBounds& kernel, const Twin& twin, const Question& question, const SearchRules& rules,
           double threshold, Node& node, BoxBounds& bounds, std::size_t& boxes) {
    for (int time = 0; time < most_contractions; ++time) {
        ++boxes;
        kernel.bound(twin, node.low.data(), node.high.data(), question.targets(), rules.bounds, bounds);
        node.bound = std::min(node.bound, question.bound(bounds.upper));
        if (!(node.bound > threshold)) return false;
        if (!rules.contraction) break;
        double part = 1;
        for (std::size_t t = 0; t < question.targets().size(); ++t) {
            if (bounds.upper[t] < question.needed(t, threshold)) return false;
            part *= contract(bounds, t, question.needed(t, threshold), node);
        }
        if (!(part < worth_repeating)) break;
    }
    node.gradient.assign(node.low.size(), 0.0);
    for (std::size_t t = 0; t < question.targets().size(); ++t) {
        for (std::size_t i = 0; i < node.low.size(); ++i)
            node.gradient[i] += std::abs(bounds.coefficients[t * node.low.size() + i]);
    }
    return true;
}

/// Where to cut: across the widest side, those along which the bounds move more counting as wider (the square
/// root was best of the powers tried).
std::size_t widest(const Node& node) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t i = 0; i < node.low.size(); ++i) {
        const double reach = (node.high[i] - node.low[i]) * std::sqrt(node.gradient[i]);
        if (reach > most) {
            most = reach;
            best = i;
        }
    }
    return best;
}

std::vector<double> centre(const Node& node) {
    std::vector<double> x(node.low.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = node.low[i] + (node.high[i] - node.low[i]) / 2;
    return x;
}

class Search {
  public:
    Search(const VerifiedFleet& fleet, std::size_t c, const SearchRules& rules)
        : fleet_(fleet), class_(c), rules_(rules), prepared_(fleet.network), began_(now()) {
        for (int t = 0; t < omp_get_max_threads(); ++t) kernels_.emplace_back(prepared_);
        for (std::size_t other = 0; other < fleet.classes; ++other)
            confidences_.push_back(other == c ? Confidence{} : Confidence::of(fleet.classes, c, other));
    }

    ClassBound run() {
        first_bounds();
        attack();
        while (!open_.empty() && open_.front().bound > threshold() && now() - began_ < rules_.seconds)
            round();
        result_.upper =
            std::max(open_.empty() ? 0.0 : open_.front().bound, std::max(threshold(), result_.lower));
        result_.complete = open_.empty() || open_.front().bound <= threshold();
        result_.seconds = now() - began_;
        return result_;
    }

  private:
    /// What a box must exceed to be looked at.
    double threshold() const {
        return std::max({result_.lower * (1 + rules_.gap), result_.lower + 8 * error_, floor_});
    }

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
        for (std::size_t start = 0; start <= random_starts; ++start) {
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
            if (item.open.empty()) continue;
            item.bound = item.open.top().bound;
            insert(std::move(item));
        }
    }
    void insert(Item item) {
        const auto place = std::lower_bound(open_.begin(), open_.end(), item.bound,
                                            [](const Item& a, double bound) { return a.bound > bound; });
        open_.insert(place, std::move(item));
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
        BoxBounds bounds;
        const auto look = [&](Node node) {
            if (holdfast::visit(kernel(), twin, question, rules_, threshold_now, node, bounds, visit.boxes))
                item.open.push(std::move(node));
        };
        const auto try_at = [&](const Node& node) {
            if (auto better = ascended(twin, item, centre(node))) visit.found.push_back(std::move(*better));
        };
        if (!item.begun) {
            item.begun = true;
            if (rules_.clusters) visit.found = attacked(twin, item);
            look({item.bound, fleet_.box.low, fleet_.box.high, {}});
        } else if (!item.open.empty()) {
            try_at(item.open.top());
        }
        while (!item.open.empty() && item.open.top().bound > threshold_now && visit.boxes < boxes_a_visit) {
            Node node = item.open.top();
            item.open.pop();
            const std::size_t at = widest(node);
            if (!(node.high[at] - node.low[at] > least_width * (fleet_.box.high[at] - fleet_.box.low[at]))) {
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

ClassBound bound_class(const VerifiedFleet& fleet, std::size_t c, const SearchRules& rules) {
    return Search(fleet, c, rules).run();
}

}  // namespace holdfast
