#pragma once

#include <string>

#include "jobs/study/advise/candidates.hpp"
#include "jobs/study/advise/stand_in.hpp"

namespace holdfast {

/// Trains a candidate on the stand-in, as train would on the private table, into the run folder `run`: with
/// the noise and the members that weigh there as the candidate's will on so many records more. Its noise is
/// drawn from a key that everybody knows, number `noise` of the stand-in's, since nothing of it is private,
/// so that advice is the same every time. Settings as they are tried are in the run's manifest.
void train_on_stand_in(const Candidate& candidate, const PublicNumbers& numbers, const StandIn& stand_in,
                       std::uint64_t noise, const std::string& run);

}  // namespace holdfast
