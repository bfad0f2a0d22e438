#include "jobs/program/training/group_training.hpp"

#include <unistd.h>

#include <spdlog/logger.h>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "dist/runs/progress_log.hpp"
#include "jobs/program/progress.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace {

/// The lines that a training leaves for holdfast watch, of one member (dist/runs/progress_log.hpp).
class MemberProgress {
  public:
    /// Begins with where it goes on; members: of the run. `writes`: this rank does, and the kind has no
    /// secrets; else nothing is written.
    MemberProgress(bool writes, const MemberStore& store, std::size_t member, std::size_t members,
                   const Trainer& trainer, const Communicator& world)
        : member_(member), log_(writes ? ProgressLog(store.progress_file(member)) : ProgressLog()) {
        log_.event("start", {{"member", member},
                             {"members", members},
                             {"step", trainer.steps_done()},
                             {"steps", trainer.steps()},
                             {"host", host_name()},
                             {"process", ::getpid()},
                             {"ranks", world.size()}});
    }
    void step_done(const Trainer& trainer) {
        if (log_.due()) log_.event("step", trainer.step_json(member_));
    }
    void stopped(const Trainer& trainer) {
        log_.event("stop", {{"member", member_}, {"step", trainer.steps_done()}});
    }

  private:
    std::size_t member_;
    ProgressLog log_;
};

/// `train --trace`: what steps say of themselves and the time of their phases, on the log. At most about
/// most_lines of them, evenly spread: a line's times are those of all steps since the line before.
class StepTrace {
  public:
    static constexpr std::int64_t most_lines = 200;

    /// steps: of all members this rank trains. Not shown: says nothing.
    StepTrace(const Context& context, bool shown, std::int64_t steps)
        : context_(context), shown_(shown), every_((steps + most_lines - 1) / most_lines) {}

    /// After each step of a member.
    void add(std::size_t member, const Trainer& trainer, const PhaseTimes& times) {
        since_line_ += times;
        all_ += times;
        if (!shown_ || ++steps_ % every_ != 0) return;
        context_.log->info("member {}  {}  {}", member, trainer.step_text(), text_of(since_line_));
        since_line_ = {};
    }
    /// What the steps took together.
    void finish() const {
        if (shown_) context_.log->info("{} steps on this rank: {}", steps_, text_of(all_));
    }

  private:
    static std::string text_of(const PhaseTimes& times) {
        return printed("sums %.4f s, reduction %.4f s, charge and update %.4f s", times.sums, times.reduction,
                       times.update);
    }

    const Context& context_;
    bool shown_;
    std::int64_t every_, steps_ = 0;
    PhaseTimes since_line_, all_;
};

}  // namespace

GroupTraining::GroupTraining(const Context& context, const RunSettings& how, const ProcessGrid& grid,
                             const Communicator& block_group, const Training& training,
                             const MemberStore& store, const KeptStates& kept, std::size_t all_members,
                             Manner manner)
    : context_(context),
      how_(how),
      group_(grid.member_group()),
      writes_state_(grid.block() == 0),
      tells_progress_(!manner.secret && grid.block() == 0 && grid.holds_last_level()),
      block_group_(block_group),
      training_(training),
      store_(store),
      kept_(kept),
      all_members_(all_members),
      secret_(manner.secret),
      trace_(manner.trace) {}

/// False: stopped by a signal, after a checkpoint.
bool GroupTraining::run(std::vector<MemberRecords> members, std::int64_t steps, bool joins) {
    const std::int64_t all_steps = steps * static_cast<std::int64_t>(members.size());
    const Progress::Show show = trace_    ? Progress::Show::nothing  // the trace says how far it is
                                : secret_ ? Progress::Show::tenths
                                          : Progress::Show::times;
    Progress progress(context_, "train", all_steps, show);
    StepTrace trace(context_, trace_, all_steps);
    for (std::size_t i = 0; i < members.size(); ++i) {
        const CheckpointFolder checkpoints = store_.checkpoints(members[i].member);
        const std::unique_ptr<Trainer> trainer =
            start(members[i].member, std::move(members[i].records), checkpoints, joins);
        std::set<std::int64_t> wanted = kept_.wanted(members[i].member);
        if (from_kept_) wanted.erase(trainer->steps_done());
        MemberProgress told(tells_progress_, store_, members[i].member, all_members_, *trainer,
                            context_.world);
        while (!trainer->done()) {
            if (wanted.contains(trainer->steps_done()))
                kept_.of(members[i].member, trainer->steps_done()).save(parts_of(*trainer), group_);
            const Agreement now = agreed(progress.seconds());
            if (now.stop || now.checkpoint) save(*trainer, checkpoints, progress.seconds());
            if (store_.due()) settle();
            if (now.stop) {
                told.stopped(*trainer);
                trace.finish();
                return false;
            }
            PhaseTimes times;
            trainer->step(block_group_, times);
            trace.add(members[i].member, *trainer, times);
            told.step_done(*trainer);
            ++steps_since_;
            progress.advance_to(static_cast<std::int64_t>(i) * steps + trainer->steps_done());
        }
        trainer->write_result(store_);
        waiting_.push_back(members[i].member);
        if (!store_.waiting()) settle();
    }
    settle();
    trace.finish();
    return true;
}

GroupTraining::Agreement GroupTraining::agreed(double seconds) const {
    const bool by_steps = how_.checkpoint_steps > 0 && steps_since_ >= how_.checkpoint_steps;
    const bool by_time = how_.checkpoint_seconds > 0 && seconds - last_checkpoint_ >= how_.checkpoint_seconds;
    std::int64_t flags[] = {context_.interrupted_by_signal(), by_steps || by_time};
    if (group_.size() > 1) group_.max(flags);
    return {flags[0] != 0, flags[1] != 0};
}

/// What the group's first rank has found, on all of its ranks: another host may see the folder otherwise.
void GroupTraining::share(std::vector<CheckpointFolder::Payload>& saved) {
    const std::vector<std::size_t> found =
        holdfast::agreed(group_, std::vector<std::size_t>{saved.size(), from_kept_ ? std::size_t{1} : 0});
    saved.resize(found[0]);
    from_kept_ = found[1] != 0;
    for (CheckpointFolder::Payload& part : saved) group_.broadcast(part, 0);
}

/// From the newest checkpoint that is sound; where there is none, from the last state that was kept; its
/// group's first rank says which are not.
std::unique_ptr<Trainer> GroupTraining::start(std::size_t member, Records records,
                                              const CheckpointFolder& checkpoints, bool joins) {
    const auto passed_over = [&](const Error& error) {
        if (group_.is_root() && !context_.quiet)
            std::cerr << printable(std::string("holdfast: ") + error.what() +
                                   "; the one before it is used\n");
    };
    std::vector<CheckpointFolder::Payload> saved;
    from_kept_ = false;
    if (joins && group_.is_root()) {
        saved = checkpoints.load_latest(passed_over);
        std::optional<KeptStates::State> kept;
        if (saved.empty()) kept = kept_.last(member, std::numeric_limits<std::int64_t>::max(), passed_over);
        from_kept_ = kept.has_value();
        if (kept) saved = std::move(kept->parts);
    }
    if (joins) share(saved);
    std::unique_ptr<Trainer> trainer = training_.start(member, std::move(records), saved);
    if (trainer->steps_done() > 0 && !secret_)
        context_.log->info("member {} goes on from step {} of {}", member, trainer->steps_done(),
                           trainer->steps());
    return trainer;
}

/// Members that are finished get their file, and need no checkpoint any more.
void GroupTraining::settle() {
    store_.sync();
    for (const std::size_t member : waiting_)
        if (group_.is_root()) store_.checkpoints(member).remove_all();
    waiting_.clear();
}

/// Of the one member that has moved: those before it are finished, those behind it have not begun.
void GroupTraining::save(const Trainer& trainer, const CheckpointFolder& checkpoints, double seconds) {
    settle();
    checkpoints.save(parts_of(trainer), group_);
    if (!secret_) context_.log->info("checkpoint written");
    last_checkpoint_ = seconds;
    steps_since_ = 0;
}

/// This rank's file of a checkpoint, if it has one.
std::vector<std::pair<std::string, CheckpointFolder::Payload>> GroupTraining::parts_of(
    const Trainer& trainer) const {
    if (!writes_state_) return {};
    return {{"part-" + std::to_string(group_.rank()), trainer.packed_state()}};
}

}  // namespace holdfast
