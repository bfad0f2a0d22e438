#include "models/certify/stable_distance.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <optional>

#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

/// One question with a yes up to some level and no from there on: is the label certified (class -1), is class
/// j beaten?
struct Search {
    std::int32_t tested_class;  // -1: the label
    std::size_t first;          // level to be asked
    std::size_t yes, no;        // yes at every level below `yes`, no (or unknown) from `no` on
    bool open() const { return yes < no; }
    std::size_t next(LevelSearch order) const {
        return order == LevelSearch::bisection ? yes + (no - yes) / 2 : yes;
    }
    void deny(std::size_t level) { no = std::min(no, level); }
    /// Of a level that another search may have asked for: levels from the first `no` on say nothing more, and
    /// without nesting those above `yes` are asked later.
    void answer(std::size_t level, std::int32_t label, const Verdicts& verdicts, std::size_t r) {
        if (level < first) return;
        const bool positive = tested_class < 0 ? verdicts.certified(static_cast<std::size_t>(label), r)
                                               : verdicts.beaten(static_cast<std::size_t>(tested_class), r);
        if (!positive) {
            deny(level);
        } else if (level < no) {
            yes = std::max(yes, level + 1);
        }
    }
};

class Certifier {
  public:
    /// searches: of query q those at s * queries + q.
    Certifier(const Network& network, const Backend& backend, const Records& queries, const LevelLoader& load,
              const InputRadius& radius, std::vector<Search>& searches, std::vector<std::int32_t>& labels)
        : network_(network),
          precision_(backend.precision()),
          engine_(backend.engine(network.shape(), {})),
          records_(queries.view()),
          load_(load),
          radius_(radius),
          searches_(searches),
          labels_(labels) {
        engine_->set_records({&records_, 1});
    }

    /// Labels, of the queries as they are, and what level 0 says; calls visit(r, query, margins) for every
    /// query, from several threads.
    template <typename Visit>
    void start(Visit visit) {
        const Box point = load(0);
        nominal_ = point.lower;
        const auto take_label = [&](std::size_t r, std::size_t query, const Margins& margins) {
            labels_[query] = static_cast<std::int32_t>(margins.winner(r));
        };
        const auto take = [&](std::size_t r, std::size_t query, const Margins& margins) {
            if (radius_at(0) == 0) take_label(r, query, margins);
            visit(r, query, margins);
        };
        if (radius_at(0) > 0) {
            const MarginRows rows(network_, precision_, nominal_.data(), nominal_.data());
            engine_->outputs({nominal_.data(), nominal_.data()}, rows.layer(), every_query(),
                             [&](const OutputBlock& block) {
                                 const Margins margins = margins_of(block);
                                 for (std::size_t r = 0; r < block.count; ++r)
                                     take_label(r, block.first + r, margins);
                             });
        }
        at_level(point, every_query(), take);
    }

    /// Asks every query every level.
    void settle_all(std::size_t levels) {
        for (std::size_t level = 1; level < levels; ++level) ask(load(level), every_query());
    }

    /// Halves each search by itself, in as many rounds as it takes at most. Once it is settled, what another
    /// level says changes nothing. Level 0 has been asked.
    void settle_each(std::size_t levels) {
        const std::size_t rounds = std::bit_width(levels - 1);
        for (const std::uint32_t query : every_query()) {
            for (std::size_t s = query; s < searches_.size(); s += labels_.size()) {
                for (std::size_t round = 0; round < rounds; ++round) {
                    const Search& search = searches_[s];
                    ask(load(search.open() ? search.next(LevelSearch::bisection) : levels - 1), {query});
                }
            }
        }
    }

    /// Asks every query with an open search one level, those of a level together, until none is open. What a
    /// level says of a query it says to all its searches.
    void settle(LevelSearch order) {
        for (;;) {
            std::map<std::size_t, std::vector<std::uint32_t>> by_level;
            for (const std::uint32_t query : every_query()) {
                if (const std::optional<std::size_t> level = next(query, order))
                    by_level[*level].push_back(query);
            }
            if (by_level.empty()) return;
            for (const auto& [level, queries] : by_level) {
                const bool halving = order == LevelSearch::bisection && network_.classes() > 2;
                const Box box = load(level);
                ask(box, halving ? possible(box, queries) : queries);
            }
        }
    }

  private:
    struct Box {
        std::size_t level;
        std::vector<std::int64_t> lower, upper;
    };
    Box load(std::size_t level) const {
        Box box{level, {}, {}};
        load_(level, box.lower, box.upper);
        return box;
    }

    double radius_at(std::size_t level) const { return radius_ ? radius_(level) : 0; }
    void move_queries(double radius) {
        if (records_.input_radius == radius) return;
        records_.input_radius = radius;
        engine_->set_records({&records_, 1});
    }
    Margins margins_of(const OutputBlock& block) const {
        return {network_.classes(), network_.layers().back().in, precision_, block};
    }

    std::vector<std::uint32_t> every_query() const {
        std::vector<std::uint32_t> all(labels_.size());
        std::iota(all.begin(), all.end(), 0);
        return all;
    }

    /// In ascending order the least level that an open search asks for, as it may not skip one.
    std::optional<std::size_t> next(std::size_t query, LevelSearch order) const {
        std::optional<std::size_t> least;
        for (std::size_t s = query; s < searches_.size(); s += labels_.size()) {
            if (!searches_[s].open()) continue;
            const std::size_t level = searches_[s].next(order);
            if (order == LevelSearch::bisection) return level;
            least = std::min(least.value_or(level), level);
        }
        return least;
    }

    /// Of the listed queries those of which a nested level may say yes to an open search; to the others it
    /// says no, which takes the logits of one point of its box (models/mathematics.md, search).
    std::vector<std::uint32_t> possible(const Box& box, const std::vector<std::uint32_t>& queries) {
        const MarginRows logits =
            MarginRows::of_logits(network_, precision_, box.lower.data(), box.upper.data());
        std::vector<char> is_possible(queries.size());
        move_queries(0);
        engine_->outputs({nominal_.data(), nominal_.data()}, logits.layer(), queries,
                         [&](const OutputBlock& block) {
                             for (std::size_t r = 0; r < block.count; ++r)
                                 is_possible[block.first + r] = may_hold(queries[block.first + r], block, r);
                         });
        std::vector<std::uint32_t> left;
        for (std::size_t i = 0; i < queries.size(); ++i) {
            if (is_possible[i] != 0) {
                left.push_back(queries[i]);
                continue;
            }
            for (std::size_t s = queries[i]; s < searches_.size(); s += labels_.size())
                if (searches_[s].open()) searches_[s].deny(box.level);
        }
        return left;
    }

    /// logits: bounds over the last layer, behind the hidden layers of level 0.
    bool may_hold(std::size_t query, const OutputBlock& logits, std::size_t r) const {
        const std::size_t classes = network_.classes(), count = labels_.size();
        const auto beats = [&](std::size_t c, std::size_t j) {
            return c != j && logits.lower[c * logits.stride + r] > logits.upper[j * logits.stride + r];
        };
        // The class of the greatest lower bound beats whatever any class does, but for itself.
        std::size_t best = 0, second = 1;
        for (std::size_t c = 1; c < classes; ++c) {
            const auto lower = [&](std::size_t of) { return logits.lower[of * logits.stride + r]; };
            if (lower(c) > lower(best)) {
                second = best;
                best = c;
            } else if (c != second && lower(c) > lower(second)) {
                second = c;
            }
        }
        const auto label = static_cast<std::size_t>(labels_[query]);
        bool certified = searches_[query].open();
        for (std::size_t j = 0; j < classes; ++j) {
            if (searches_[(j + 1) * count + query].open() && (beats(best, j) || beats(second, j)))
                return true;
            certified = certified && (j == label || beats(label, j));
        }
        return certified;
    }

    /// Answers the listed queries' searches at one level; before that calls visit(r, query, margins) for
    /// each, from several threads.
    template <typename Visit>
    void at_level(const Box& of, const std::vector<std::uint32_t>& queries, Visit visit) {
        if (queries.empty()) return;
        move_queries(radius_at(of.level));
        const Variant box{of.lower.data(), of.level == 0 ? of.lower.data() : of.upper.data()};
        const MarginRows rows(network_, precision_, box.lower, box.upper);
        engine_->outputs(box, rows.layer(), queries, [&](const OutputBlock& block) {
            const Margins margins = margins_of(block);
            const Verdicts verdicts(margins);
            for (std::size_t r = 0; r < block.count; ++r) {
                const std::size_t query = queries[block.first + r];
                visit(r, query, margins);
                for (std::size_t s = query; s < searches_.size(); s += labels_.size())
                    searches_[s].answer(of.level, labels_[query], verdicts, r);
            }
        });
    }
    void ask(const Box& box, const std::vector<std::uint32_t>& queries) {
        at_level(box, queries, [](std::size_t, std::size_t, const Margins&) {});
    }

    const Network& network_;
    Precision precision_;
    std::unique_ptr<Engine> engine_;
    RecordSet records_;
    const LevelLoader& load_;
    const InputRadius& radius_;
    std::vector<Search>& searches_;
    std::vector<std::int32_t>& labels_;
    std::vector<std::int64_t> nominal_;  // the parameters of level 0
};

}  // namespace

Certificates certify(const Network& network, const Backend& backend, const Records& queries,
                     std::size_t levels, const LevelLoader& load, LevelSearch search,
                     const InputRadius& radius) {
    const std::size_t count = queries.size(), classes = network.classes();
    Certificates result;
    result.labels.resize(count);
    std::vector<Search> searches(count, Search{-1, 1, 1, levels});
    for (std::size_t j = 0; classes > 2 && j < classes; ++j)
        searches.insert(searches.end(), count, Search{static_cast<std::int32_t>(j), 0, 0, levels});
    std::vector<char> decided(count);
    Certifier certifier(network, backend, queries, load, radius, searches, result.labels);
    certifier.start([&](std::size_t r, std::size_t query, const Margins& margins) {
        decided[query] = margins.certified(static_cast<std::size_t>(result.labels[query]), r);
    });
    if (search == LevelSearch::exhaustive) {
        certifier.settle_all(levels);
    } else if (search == LevelSearch::each_apart) {
        certifier.settle_each(levels);
    } else {
        certifier.settle(search);
    }
    for (std::size_t q = 0; q < count; ++q)
        result.distances.push_back(static_cast<std::int64_t>(searches[q].yes) - 1);
    if (classes == 2) {  // the other class is beaten as long as the label is certified, at level 0 too
        for (std::size_t q = 0; q < count; ++q) {
            const std::int64_t other = decided[q] ? result.distances[q] + 1 : 0;
            for (std::int32_t j = 0; j < 2; ++j)
                result.class_distances.push_back(j == result.labels[q] ? 0 : other);
        }
    } else {
        for (std::size_t q = 0; q < count; ++q) {
            for (std::size_t j = 0; j < classes; ++j)
                result.class_distances.push_back(
                    static_cast<std::int64_t>(searches[(j + 1) * count + q].yes));
        }
    }
    return result;
}

}  // namespace holdfast
