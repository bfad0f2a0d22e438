#include "jobs/program/runs/kept_states.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "dist/comm/communicator.hpp"
#include "jobs/program/command.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"
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
        const auto number = number_of<std::int64_t>(entry->path().filename().string());
        if (number && *number >= 0) found.insert(*number);
    }
    return found;
}

/// Of `count` things in so many equal parts, the first of a part. No product overflows: there are at most
/// 10^6 parts.
std::int64_t begin_of_part(std::int64_t count, std::int64_t part, std::int64_t parts) {
    return count / parts * part + count % parts * part / parts;
}

/// Before each step that is checked and, but for the training's last, after it. Of so many equal parts of the
/// training one step each, by the public seed, and of the last part the last.
void add_checked(const TrainingSettings& training, std::size_t member, std::int64_t count,
                 std::set<std::int64_t>& states) {
    const std::int64_t steps = training.steps(), parts = std::min(count, steps);
    const KeyedHash hash{static_cast<std::uint64_t>(training.seed)};
    for (std::int64_t part = 0; part < parts; ++part) {
        const std::int64_t first = begin_of_part(steps, part, parts),
                           last = begin_of_part(steps, part + 1, parts);
        const std::uint64_t counter = (std::uint64_t{member} << 32) + static_cast<std::uint64_t>(part);
        const auto chosen = static_cast<std::int64_t>(hash(streams::kept_states, counter) %
                                                      static_cast<std::uint64_t>(last - first));
        const std::int64_t step = part + 1 == parts ? steps - 1 : first + chosen;
        states.insert(step);
        if (step + 1 < steps) states.insert(step + 1);
    }
}

/// Of so many equal parts of the first epoch, the beginnings; of the first part nothing needs to be kept. A
/// later epoch has none: every record has acted by then.
void add_slices(const TrainingSettings& training, std::int64_t count, std::set<std::int64_t>& states) {
    const std::int64_t slices = std::min(count, training.batches);
    for (std::int64_t slice = 1; slice < slices; ++slice)
        states.insert(begin_of_part(training.batches, slice, slices));
}

}  // namespace

std::set<std::int64_t> KeptStates::wanted(std::size_t member) const {
    std::set<std::int64_t> states = keep_.as_in.empty()
                                        ? std::set<std::int64_t>()
                                        : numbers_in(keep_.as_in + "/states/" + std::to_string(member));
    add_checked(settings_.training, member, keep_.checked, states);
    add_slices(settings_.training, keep_.slices, states);
    return states;
}

std::set<std::int64_t> KeptStates::steps_of(std::size_t member) const {
    return numbers_in(folder_ + "/" + std::to_string(member));
}

CheckpointFolder KeptStates::of(std::size_t member, std::int64_t step) const {
    const std::string number = std::to_string(member), after = std::to_string(step);
    return {folder_ + "/" + number + "/" + after, fingerprint_ + " member " + number + " step " + after};
}

std::optional<KeptStates::State> KeptStates::last(std::size_t member, std::int64_t most,
                                                  const PassedOver& passed_over) const {
    const std::set<std::int64_t> steps = steps_of(member);
    for (auto step = steps.upper_bound(most); step != steps.begin();) {
        --step;
        try {
            State state{*step, of(member, *step).load_latest(passed_over)};
            if (!state.parts.empty()) return state;
        } catch (const Error& error) {
            passed_over(error);
        }
    }
    return std::nullopt;
}

void KeptStates::take_over(const KeptStates& from, std::size_t member, std::int64_t most,
                           const PassedOver& passed_over) const {
    for (const std::int64_t step : from.steps_of(member)) {
        if (step > most) break;
        if (of(member, step).any()) continue;
        std::vector<std::pair<std::string, CheckpointFolder::Payload>> files;
        try {
            files = from.of(member, step).load_latest_files(passed_over);
        } catch (const Error& error) {
            passed_over(error);
        }
        if (!files.empty()) of(member, step).save(files, *make_serial_communicator());
    }
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

void require_keepable(const StatesToKeep& keep, const Settings& settings, bool secret) {
    if (keep.checked == 0 && keep.slices == 0) return;
    const std::string option = keep.checked > 0 ? "--keep-states" : "--slices";
    if (secret)
        throw Error(ExitCode::usage, "what a training with noise passes through is not for keeping",
                    "leave " + option + " out", option);
    if (settings.is_convex() && settings.certificate.relation == Relation::remove)
        throw Error(ExitCode::usage,
                    "what removals may do is in no state: such a training cannot be gone on from",
                    "leave " + option + " out, or train with certificate.relation = \"add_remove\"", option);
}

void add_keep_options(const Command& command, StatesToKeep& keep) {
    constexpr std::int64_t none = 0, most = 1000000;
    command
        .add_option("--keep-states", keep.checked,
                    "Keep the state before and after so many steps of every member, the last among them, in "
                    "states/ of the run: for holdfast verify, which recomputes them. As private as the run, "
                    "and each as large as a checkpoint")
        .within(none, most);
    command
        .add_option("--slices", keep.slices,
                    "Keep, in states/ too, the state before each of so many equal parts of the first epoch: "
                    "holdfast unlearn trains a member again only from the part on that took a forgotten "
                    "record. Every epoch takes every record, so only an epoch of many batches is worth "
                    "slices, and one alone most")
        .within(none, most);
}

}  // namespace holdfast
