#include "jobs/program/training/train_alone.hpp"

#include "dist/runs/member_store.hpp"
#include "models/kinds/kinds.hpp"

namespace holdfast {

TrainedAlone train_alone(const TrainingPlan& plan, std::vector<MemberRecords> members,
                         const Records& public_records, const SecretKey& key, const RunFolder& run) {
    const Kind& kind = kind_named(plan.settings.training.kind);
    const auto alone = make_serial_communicator();
    const ProcessGrid grid(*alone, "auto", members.size(), plan.settings.kept_levels().size());
    const auto training = kind.training(plan, public_records, grid, kind.secret ? &key : nullptr);
    const MemberStore store(run, "trial", seconds_of_a_group);
    PhaseTimes times;
    for (MemberRecords& member : members) {
        const auto trainer = training->start(member.member, std::move(member.records), {});
        while (!trainer->done()) trainer->step(grid.block_group(), times);
        trainer->write_result(store);
    }
    store.sync();
    TrainedAlone trained{training->join(run, store), training->arithmetic()};
    store.remove_all();
    return trained;
}

}  // namespace holdfast
