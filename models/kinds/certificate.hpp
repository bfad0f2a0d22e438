#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "dist/data/dataset.hpp"
#include "kernels/base/error.hpp"
#include "models/certify/norm.hpp"
#include "models/certify/output_bounds.hpp"
#include "models/certify/record_claim.hpp"
#include "models/certify/stable_distance.hpp"

namespace holdfast {

/// For whom distances are counted.
enum class Asker {
    owner,    ///< as soon as may be
    relaxed,  ///< the owner, by linear relaxations besides (models/certify/relaxation.hpp)
    release   ///< with work that is a function of public numbers alone
};

/// What a finished run can show of its members' answers, whatever the kind of its training.
class Certificate {
  public:
    virtual ~Certificate() = default;

    /// How many changed records a distance stands for: [cap + 1], 0 first.
    virtual const std::vector<std::int64_t>& levels() const = 0;
    /// Largest distance of one member: levels counted, not records, if the list of levels is sparse.
    std::int64_t cap() const { return static_cast<std::int64_t>(levels().size()) - 1; }
    /// Do distances of neighbours differ by at most one, whatever rounding does?
    virtual bool nested() const = 0;

    /// From now on distances are those of queries that may lie anywhere within so far of where they are, at
    /// every level (models/mathematics.md, joint distance); labels are those of the queries as they are.
    /// Error (usage): not bounded by this kind, in this norm, or through these features.
    virtual void set_input_radius(double radius, Norm norm);
    virtual bool moves_queries() const { return false; }

    /// May the records that a member was trained on prove longer distances, for its owner alone?
    virtual bool learns_from_records() const { return false; }
    /// A member's records, as its training saw them, which need not stay, for up to so many changes; of how
    /// many they prove something that was not known. A release asks as if they were not there.
    virtual std::size_t set_records(std::size_t /*member*/, const Records& /*records*/,
                                    std::size_t /*most*/) {
        return 0;
    }

    /// May linear relaxations prove longer distances than a release counts?
    virtual bool relaxes() const { return false; }

    /// Labels and distances of the queries by one member; device: which of a node's GPUs computes, if one
    /// does.
    virtual Certificates distances(std::size_t member, const Records& queries, Asker asker,
                                   int device) const = 0;
    /// The same of members [first, last), in their order; at once where that is cheaper.
    virtual std::vector<Certificates> distances_of(std::size_t first, std::size_t last,
                                                   const Records& queries, Asker asker, int device) const {
        std::vector<Certificates> all;
        for (std::size_t member = first; member < last; ++member)
            all.push_back(distances(member, queries, asker, device));
        return all;
    }

    /// Bounds of what one member puts out for the queries over its box of each level, visited in their order;
    /// false, and no visit: this kind has no boxes.
    virtual bool output_bounds(
        std::size_t /*member*/, const Records& /*queries*/, int /*device*/,
        const std::function<void(std::size_t level, const OutputBounds&)>& /*visit*/) const {
        return false;
    }

    /// Labels and distances of persons by the mean of their rows' outputs, where no boxes are needed for it:
    /// person i has the rows [starts[i], starts[i + 1]); nothing: this kind has no such bound.
    virtual std::optional<Certificates> means(std::size_t /*member*/, const Records& /*rows*/,
                                              std::span<const std::size_t> /*starts*/, int /*device*/) const {
        return std::nullopt;
    }

    /// May labels be released from its distances, at a price each? Else they come with the parameters.
    virtual bool by_answers() const { return true; }

    /// What the distances guarantee, with every condition and gap.
    virtual RecordClaim claim() const = 0;
    /// The same as the basis of a release. Error (usage): no release may rest on it.
    virtual RecordClaim release_claim() const = 0;
};

inline void Certificate::set_input_radius(double /*radius*/, Norm /*norm*/) {
    throw Error(ExitCode::usage, "distances of queries that move are of boxes and of convex runs",
                "train with training.kind = \"boxes\" or \"convex\"; of a published model: holdfast certify "
                "--model",
                "--input-radius");
}

}  // namespace holdfast
