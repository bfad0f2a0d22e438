#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/base/random.hpp"
#include "models/robust/input_certificate.hpp"
#include "models/robust/surrogate.hpp"

namespace holdfast {

/// Attacks on a query that know the model's every parameter. Each climbs the surrogate's cross-entropy of the
/// true class within a ball around the query and within the public range, `steps` steps of it:
///   fgsm    one step to the ball's end along the gradient (its signs in l-infinity, its direction in l2)
///   ifgsm   steps of radius / steps
///   mim     the same along v <- v + gradient / |gradient|_1 (momentum)
///   pgd     from `restarts` random starts in the ball, steps of 2.5 radius / steps, each brought back into
///   it apgd    likewise along the gradient of the next class's lead, with momentum and steps that halve by
///           themselves, from 2 radius on
///   margin  likewise from the query, for every other class along the gradient of its lead over the true one:
///           of a linear model it touches the bound
///   square  asks for logits alone, questions_a_step times as often as others step, `restarts` times over:
///           random windows of an image are moved
struct Attack {
    static const std::vector<std::string>& names();
    std::string name;
    std::size_t steps = 40, restarts = 2;
    std::uint64_t seed = 0;  ///< public: of the random starts
    static constexpr std::size_t questions_a_step = 25;
};

/// Climbs of one attack by one thread, several at once, each as if it were alone.
class Climb {
  public:
    /// Surrogate and attack must outlive it.
    Climb(const Surrogate& surrogate, const Attack& attack, Norm norm, double radius)
        : surrogate_(surrogate), attack_(attack), norm_(norm), radius_(radius) {}

    /// x lies within the range. start: which of the attack's; seed and id: of what its random start is drawn.
    struct Start {
        std::span<const double> x;
        std::size_t truth;  ///< class
        std::size_t start;
        std::uint64_t seed, id;
    };
    void from(std::span<const Start> starts);
    /// The input on the way from start i at which its class leads least, but for rounding in the ball. Valid
    /// until the next call.
    const std::vector<double>& found(std::size_t i) const { return ways_[i].best; }

  private:
    struct Way {
        std::size_t truth, target, next = 0;  ///< classes: of margin; of the least lead
        double lead = 0, least_lead;
        std::vector<double> x, centre, best, velocity;
    };
    /// Of all channels of an image.
    struct Patch {
        std::size_t y, x, height, width;
    };
    void adapt(std::size_t i);
    void search(std::size_t i, const KeyedHash& hash, std::size_t start, std::uint64_t id);
    void set(Way& way, const Patch& patch, std::size_t channel, double beside) const;
    double length_left(Way& way, const Patch& patch) const;
    void look(std::size_t first, std::size_t last);
    void aim(std::size_t first, std::size_t last);
    void move(std::size_t i, double length);
    void jump(Way& way, const KeyedHash& hash, std::size_t start, std::uint64_t id) const;
    void project(Way& way) const;

    const Surrogate& surrogate_;
    const Attack& attack_;
    Norm norm_;
    double radius_;
    std::vector<Way> ways_;
    std::vector<Surrogate::Pass> passes_;  ///< of each way
};

/// Attacks on one model at some queries.
class Attacker {
  public:
    /// Model, backend (of the host) and queries must outlive it. Error (usage): features that are mapped; as
    /// Surrogate's.
    Attacker(const Model& model, const Backend& backend, const Records& queries);

    /// Of each query whether the program itself gives another label than truth [queries] at an input that was
    /// found: one that a dataset of the queries' precision can hold, within `radius` exactly. Those that are
    /// not `wanted` are left out.
    std::vector<char> succeed(const Attack& attack, Norm norm, double radius,
                              const std::vector<std::int32_t>& truth, const std::vector<char>& wanted) const;

  private:
    const Model& model_;
    const Backend& backend_;
    const Records& queries_;
    FeatureMap map_;
    Surrogate surrogate_;
};

/// The number of [x - radius, x + radius] within the range that is nearest to `wanted`, exactly, as a double
/// or, where not `wide`, as a float; x lies within the range, and is a float where not wide.
double within_reach(double wanted, double x, double radius, FeatureRange range, bool wide);

}  // namespace holdfast
