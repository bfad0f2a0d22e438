#include "jobs/kept_states.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {
namespace {

/// The folders in `path` that have numbers for names, ascending.
std::set<std::int64_t> numbers_in(const std::string& path) {
    std::set<std::int64_t> found;
    std::error_code status;
    for (std::filesystem::directory_iterator entry(path, status), end; !status && entry != end;
         entry.increment(status)) {
        const std::string name = entry->path().filename();
        std::int64_t number = 0;
        const auto [stop, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
        if (problem == std::errc() && stop == name.data() + name.size() && number >= 0) found.insert(number);
    }
    return found;
}

}  // namespace

std::set<std::int64_t> KeptStates::wanted(std::size_t member) const {
    const std::int64_t steps = settings_.training.steps(), parts = std::min(count_, steps);
    const KeyedHash hash{static_cast<std::uint64_t>(settings_.training.seed)};
    std::set<std::int64_t> states;
    for (std::int64_t part = 0; part < parts; ++part) {
        // No product overflows: a part is at most 10^6.
        const std::int64_t first = steps / parts * part + steps % parts * part / parts,
                           last = steps / parts * (part + 1) + steps % parts * (part + 1) / parts;
        const std::uint64_t counter = (std::uint64_t{member} << 32) + static_cast<std::uint64_t>(part);
        const auto chosen = static_cast<std::int64_t>(hash(streams::kept_states, counter) %
                                                      static_cast<std::uint64_t>(last - first));
        const std::int64_t step = part + 1 == parts ? steps - 1 : first + chosen;
        states.insert(step);
        if (step + 1 < steps) states.insert(step + 1);
    }
    return states;
}

CheckpointFolder KeptStates::of(std::size_t member, std::int64_t step) const {
    return {folder_ + "/" + std::to_string(member) + "/" + std::to_string(step), fingerprint_};
}

std::vector<KeptStates::Step> KeptStates::found() const {
    std::vector<Step> steps;
    for (const std::int64_t member : numbers_in(folder_)) {
        const std::set<std::int64_t> states = numbers_in(folder_ + "/" + std::to_string(member));
        for (const std::int64_t state : states) {
            if (states.contains(state + 1) || state + 1 == settings_.training.steps())
                steps.push_back({static_cast<std::size_t>(member), state});
        }
    }
    return steps;
}

void require_keepable(const Settings& settings, bool secret) {
    if (secret)
        throw Error(ExitCode::usage, "what a training with noise passes through is not for keeping",
                    "leave --keep-states out", "--keep-states");
    if (settings.is_convex() && settings.certificate.relation == Relation::remove)
        throw Error(
            ExitCode::usage, "what removals may do is in no state: such a training cannot be gone on from",
            "leave --keep-states out, or train with certificate.relation = \"add_remove\"", "--keep-states");
}

}  // namespace holdfast
