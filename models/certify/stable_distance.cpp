#include "models/certify/stable_distance.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "models/certify/margins.hpp"

namespace holdfast {
namespace {

/// One question with a yes up to some level and no from there on: is the label certified (class -1), is class
/// j beaten?
struct Search {
    std::uint32_t query;
    std::int32_t tested_class;  // -1: the label
    std::size_t first;          // level to be asked
    std::size_t yes, no;        // yes at every level below `yes`, no (or unknown) from `no` on
    bool open() const { return yes < no; }
    std::size_t next(LevelSearch order) const {
        return order == LevelSearch::bisection ? yes + (no - yes) / 2 : yes;
    }
    /// Levels from the first `no` on say nothing more.
    void answer(std::size_t level, bool positive) {
        if (positive) {
            yes = level < no ? level + 1 : yes;
        } else {
            no = std::min(no, level);
        }
    }
    bool ask(const Margins& margins, const std::vector<std::int32_t>& labels, std::size_t r) const {
        return tested_class < 0 ? margins.certified(static_cast<std::size_t>(labels[query]), r)
                                : margins.beaten(static_cast<std::size_t>(tested_class), r);
    }
};

class Certifier {
  public:
    Certifier(const Network& network, const Backend& backend, const Records& queries, const LevelLoader& load)
        : network_(network),
          precision_(backend.precision()),
          engine_(backend.engine(network.shape(), {})),
          load_(load) {
        engine_->set_records(std::vector{queries.view()});
    }

    /// Calls visit(r, index, margins) for every listed query at one level, from several threads.
    template <typename Visit>
    void at_level(std::size_t level, const std::vector<std::uint32_t>& queries, Visit visit) const {
        std::vector<std::int64_t> lower, upper;
        load_(level, lower, upper);
        const Variant box{lower.data(), level == 0 ? lower.data() : upper.data()};
        const MarginRows rows(network_, precision_, box.lower, box.upper);
        engine_->outputs(box, rows.layer(), queries, [&](const OutputBlock& block) {
            const Margins margins(network_.classes(), network_.layers().back().in, precision_, block);
            for (std::size_t r = 0; r < block.count; ++r) visit(r, block.first + r, margins);
        });
    }

    /// Asks every search every level: searches[s] is about query s % queries, as certify() lists them.
    void settle_all(std::vector<Search>& searches, const std::vector<std::int32_t>& labels,
                    std::size_t levels) const {
        std::vector<std::uint32_t> all(labels.size());
        std::iota(all.begin(), all.end(), 0);
        for (std::size_t level = 0; level < levels; ++level) {
            at_level(level, all, [&](std::size_t r, std::size_t query, const Margins& margins) {
                for (std::size_t s = query; s < searches.size(); s += all.size()) {
                    const bool positive = searches[s].ask(margins, labels, r);
                    if (level >= searches[s].first) searches[s].answer(level, positive);
                }
            });
        }
    }

    /// Asks every open search its next level, all searches of a level together, until none is open.
    void settle(std::vector<Search>& searches, const std::vector<std::int32_t>& labels,
                LevelSearch order) const {
        for (;;) {
            std::map<std::size_t, std::vector<std::size_t>> by_level;
            for (std::size_t s = 0; s < searches.size(); ++s) {
                if (searches[s].open()) by_level[searches[s].next(order)].push_back(s);
            }
            if (by_level.empty()) return;
            for (const auto& [level, members] : by_level) {
                std::vector<std::uint32_t> queries;
                for (const std::size_t s : members) queries.push_back(searches[s].query);
                at_level(level, queries,
                         [&, at = level, &open = members](std::size_t r, std::size_t index,
                                                          const Margins& margins) {
                             Search& search = searches[open[index]];
                             search.answer(at, search.ask(margins, labels, r));
                         });
            }
        }
    }

  private:
    const Network& network_;
    Precision precision_;
    std::unique_ptr<Engine> engine_;
    const LevelLoader& load_;
};

}  // namespace

Certificates certify(const Network& network, const Backend& backend, const Records& queries,
                     std::size_t levels, const LevelLoader& load, LevelSearch search) {
    const Certifier certifier(network, backend, queries, load);
    const std::size_t count = queries.size(), classes = network.classes();
    Certificates result;
    result.labels.resize(count);
    std::vector<std::uint32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    std::vector<Search> searches;
    std::vector<char> decided(count);
    certifier.at_level(0, all, [&](std::size_t r, std::size_t query, const Margins& margins) {
        result.labels[query] = static_cast<std::int32_t>(margins.winner(r));
        decided[query] = margins.certified(margins.winner(r), r);
    });
    for (const std::uint32_t query : all) searches.push_back({query, -1, 1, 1, levels});
    for (std::size_t j = 0; classes > 2 && j < classes; ++j) {
        for (const std::uint32_t query : all)
            searches.push_back({query, static_cast<std::int32_t>(j), 0, 0, levels});
    }
    if (search == LevelSearch::exhaustive) {
        certifier.settle_all(searches, result.labels, levels);
    } else {
        certifier.settle(searches, result.labels, search);
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
