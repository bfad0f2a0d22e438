#pragma once

#include <string>

#include "jobs/study/advise/candidates.hpp"
#include "jobs/study/advise/stand_in.hpp"

namespace holdfast {

/// The candidate's settings for the fewer records of the stand-in: with the noise and the members that weigh
/// there as the candidate's will on so many records more.
Settings settings_on(const StandIn& stand_in, const Candidate& candidate, const PublicNumbers& numbers);

/// Trains by them on the stand-in, as train would on the private table, into the run folder `run`. The noise
/// is drawn from a key that everybody knows, number `noise` of the stand-in's, since nothing of it is
/// private, so that advice is the same every time. The settings are in the run's manifest.
void train_on_stand_in(const Settings& settings, const StandIn& stand_in, std::uint64_t noise,
                       const std::string& run);

}  // namespace holdfast
