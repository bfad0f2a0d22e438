#pragma once

#include <functional>

#include "jobs/program/command.hpp"
#include "jobs/program/context.hpp"

namespace holdfast {

/// A subcommand: declares its options and returns what runs once they are parsed. One file each, in the room
/// that its group names: jobs/data/, jobs/training/ and so on.
using Run = std::function<void(const Context&)>;
struct Job {
    const char* room;  ///< "Data", under which --help lists it
    const char* name;
    const char* summary;
    Run (*declare)(const Command& command);
};

Run declare_synth(const Command& command);
Run declare_import(const Command& command);
Run declare_inspect(const Command& command);
Run declare_measure(const Command& command);
Run declare_schema(const Command& command);
Run declare_advise(const Command& command);
Run declare_pretrain(const Command& command);
Run declare_train(const Command& command);
Run declare_tune(const Command& command);
Run declare_watch(const Command& command);
Run declare_plan(const Command& command);
Run declare_fleet(const Command& command);
Run declare_idp(const Command& command);
Run declare_certify(const Command& command);
Run declare_unlearn(const Command& command);
Run declare_verify(const Command& command);
Run declare_evaluate(const Command& command);
Run declare_account(const Command& command);
Run declare_release(const Command& command);
Run declare_access(const Command& command);
Run declare_influence(const Command& command);
Run declare_publish(const Command& command);
Run declare_predict(const Command& command);
Run declare_validate(const Command& command);
Run declare_student(const Command& command);
Run declare_statement(const Command& command);
Run declare_risk(const Command& command);
Run declare_report(const Command& command);
Run declare_explain(const Command& command);
Run declare_bench(const Command& command);
Run declare_doctor(const Command& command);
Run declare_completion(const Command& command);
Run declare_man(const Command& command);

}  // namespace holdfast
