#include "jobs/program/training/held_out.hpp"

#include "jobs/program/command.hpp"
#include "jobs/program/training/trained_records.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

void add_validation_options(const Command& command, ValidationRequest& request, const std::string& use) {
    command.add_option("--validation", request.records,
                       "Public records FILE[:SPLIT] that nothing is trained on, of nobody in --data: " + use);
    command
        .add_option("--validate-every", request.every,
                    "Steps from one look at --validation to the next; 0: those of an epoch")
        .within(std::int64_t{0}, std::int64_t{1000000000});
}

std::shared_ptr<const HeldOut> read_held_out(const ValidationRequest& request, const DatasetInfo& trained_on,
                                             const Settings& settings, const FeatureMap& features) {
    if (request.records.empty()) return nullptr;
    if (settings.training.kind != "boxes")
        throw Error(ExitCode::usage, "of the kinds of training, boxes alone are looked at on the way",
                    "leave it out, and evaluate the run once it is finished", "--validation");
    Records records = as_trained(read_public(request.records, trained_on, settings), settings, features,
                                 trained_on.target_range);
    if (records.size() == 0)
        throw Error(ExitCode::input, "no records to look at", "name a split that has some", request.records);
    const std::int64_t every = request.every > 0 ? request.every : settings.training.batches;
    return std::make_shared<const HeldOut>(HeldOut{std::move(records), every});
}

}  // namespace holdfast
