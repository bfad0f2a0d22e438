#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/privacy/measure/column_tree.hpp"
#include "models/privacy/rational.hpp"
#include "models/privacy/samplers.hpp"

namespace holdfast {

/// The persons of one column of text, a row each, by the name that the cell has there, in shares
/// (models/privacy/mathematics.md, named categories).
class NameCounts {
  public:
    /// names: different ones, whose places are counted; some may be nobody's.
    explicit NameCounts(std::vector<std::string> names) : names_(std::move(names)), shares_(names_.size()) {}
    void add_person(std::size_t place) { shares_[place] += whole_person; }
    std::size_t size() const { return names_.size(); }
    const std::string& name(std::size_t place) const { return names_[place]; }
    std::int64_t at(std::size_t place) const { return shares_[place]; }

  private:
    std::vector<std::string> names_;
    std::vector<std::int64_t> shares_;
};

/// Noise and threshold of a column of names: public.
struct NameLaw {
    double sigma = 0;            ///< in persons, of every name
    std::int64_t threshold = 0;  ///< in shares: a name comes out at so many, noise included, or more

    /// The least threshold at which a name that one person alone has comes out with a probability of `delta`
    /// at most. Error (usage): delta is not in (0, 1).
    static NameLaw of(double sigma, const Rational& delta);
    double persons() const { return static_cast<double>(threshold) / static_cast<double>(whole_person); }
};

inline constexpr std::size_t most_names = 64;  ///< of a column

/// The names that come out, ascending: each that somebody has gets noise of its own; those that reach the
/// threshold, at most most_names of them, the greatest first. `other`, what all
/// that did not come out are called, never does.
std::vector<std::string> draw_names(const NameCounts& counts, const NameLaw& law, const std::string& other,
                                    RandomBits& bits);

}  // namespace holdfast
