#include "jobs/program/training/member_progress.hpp"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "jobs/program/ranks.hpp"

namespace holdfast {

MemberProgress::MemberProgress(bool writes, const MemberStore& store, std::size_t member, std::size_t members,
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

void MemberProgress::step_done(const Trainer& trainer) {
    if (log_.due()) log_.event("step", trainer.step_json(member_));
}

void MemberProgress::stopped(const Trainer& trainer) {
    log_.event("stop", {{"member", member_}, {"step", trainer.steps_done()}});
}

}  // namespace holdfast
