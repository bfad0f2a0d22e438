#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

/// What a rank says of itself every few seconds, from a thread of its own: however long it computes, it is
/// heard.
struct Sign {
    enum Kind : std::int32_t {
        alive,
        failed,   ///< to rank 0: I fail, may I say so?
        speak,    ///< rank 0's answer
        silence,  ///< rank 0's answer to all who ask after the first
        leaving   ///< the last sign, and rank 0's when all have sent theirs
    };
    std::int32_t kind = alive;
    std::int32_t waits = 0;        ///< for other ranks; else it computes
    std::uint64_t operations = 0;  ///< with other ranks, that it has finished
    char host[64] = {};            ///< zero at the end
};

/// Who is heard of, and since when nobody got any further. Time is what the listener has lived through: while
/// the whole job is suspended none passes.
class Presence {
  public:
    explicit Presence(std::size_t ranks) : ranks_(ranks) {}

    void pass(double seconds);
    void hear(std::size_t rank, const Sign& sign);
    double still() const { return still_; }    ///< seconds in which no rank computed or finished an operation
    void progress() { still_ = 0; }            ///< somewhere, as others have found
    std::string name(std::size_t rank) const;  ///< "rank 3 (node7)"
    /// Who was not heard of for most of the time that the job stands still: "rank 3 (node7), rank 5 (node8)".
    std::string missing() const;

  private:
    struct Rank {
        double silent = 0;
        Sign last;
    };
    std::vector<Rank> ranks_;
    double still_ = 0;
};

}  // namespace holdfast
