#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/privacy/evidence.hpp"

namespace holdfast {

/// Evidence of the same queries by one model after another, with the queries' true labels. Each distinct
/// evidence is held once: what a mechanism makes of it is then computed once, however many models and queries
/// there are. For the owner: how much there is of it depends on the records.
class EvidenceTable {
  public:
    /// truth: [queries], in [0, classes); must outlive it.
    EvidenceTable(int classes, std::span<const std::int32_t> truth);

    /// One more model's evidence of query 0, 1, …: evidence(q) is made only if `key(q)`, on which it depends
    /// alone, is new.
    template <typename Key, typename Make>
    void add_model(Key key, Make evidence) {
        std::vector<std::uint32_t>& cells = cells_.emplace_back();
        cells.reserve(truth_.size());
        for (std::size_t q = 0; q < truth_.size(); ++q) {
            const std::span<const std::int64_t> words = key(q);
            auto known = places_.find(words);
            if (known == places_.end()) {
                known = places_.emplace(Words(words.begin(), words.end()), distinct_.size()).first;
                distinct_.push_back(evidence(q));
            }
            cells.push_back(static_cast<std::uint32_t>(known->second) * static_cast<std::uint32_t>(classes_) +
                            static_cast<std::uint32_t>(truth_[q]));
        }
    }
    void add_model(const std::vector<Evidence>& evidence);

    int classes() const { return classes_; }
    std::size_t queries() const { return truth_.size(); }
    std::size_t models() const { return cells_.size(); }
    const std::vector<Evidence>& distinct() const { return distinct_; }
    const Evidence& of(std::size_t model, std::size_t query) const {
        return distinct_[cells_[model][query] / static_cast<std::uint32_t>(classes_)];
    }
    std::int32_t truth(std::size_t query) const { return truth_[query]; }

    /// The least cap that all of this evidence keeps: a law made for it gives what one made for the public
    /// cap does, which may be far longer (but for sparse distances, which no cap bounds). For the owner: a
    /// release is made for the public cap.
    std::int64_t farthest() const;

    /// Mean over models of the mean over queries of laws[evidence][true label]; the sums in their order.
    double mean(const std::vector<std::vector<double>>& laws) const;

  private:
    using Words = std::vector<std::int64_t>;
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::span<const std::int64_t> words) const {
            std::uint64_t hash = 0;
            for (const std::int64_t word : words) {  // multiply and fold: FNV, by words
                hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x9E3779B97F4A7C15U;
                hash ^= hash >> 29;
            }
            return hash;
        }
    };
    struct Equal {
        using is_transparent = void;
        bool operator()(std::span<const std::int64_t> a, std::span<const std::int64_t> b) const {
            return std::equal(a.begin(), a.end(), b.begin(), b.end());
        }
    };

    int classes_;
    std::span<const std::int32_t> truth_;
    std::vector<Evidence> distinct_;
    std::unordered_map<Words, std::size_t, Hash, Equal> places_;
    std::vector<std::vector<std::uint32_t>> cells_;  // [models][queries]: evidence * classes + true label
};

}  // namespace holdfast
