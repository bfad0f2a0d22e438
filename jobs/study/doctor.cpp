// holdfast doctor: what this machine has, and what is wrong with it.
//   mpirun -n 2 holdfast doctor
//   holdfast doctor --licences

#include <nlohmann/json.hpp>

#include "jobs/program/job.hpp"
#include "jobs/study/doctor/diagnosis.hpp"
#include "jobs/study/doctor/licences.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

void doctor(const Context& context) {
    // 1. Every rank looks at itself; rank 0 speaks for its host.
    const Diagnosis diagnosis = diagnose(context.world);
    context.print(diagnosis_json(diagnosis), diagnosis_text(diagnosis));
    // 2. A machine on which no guarantee holds is a failure that a script can see; rank 0 says it once.
    if (!diagnosis.sound && context.world.is_root()) {
        throw Error(ExitCode::arithmetic, "the arithmetic of a rank is not what the proofs assume",
                    "run holdfast doctor on each host and mend the lines marked wrong", "doctor");
    }
}

}  // namespace

Run declare_doctor(const Command& command) {
    auto licences = std::make_shared<bool>(false);
    command.add_flag("--licences", *licences,
                     "Only list what this program is linked with: version, licence, what for");
    return [licences](const Context& context) {
        if (!*licences) return doctor(context);
        const std::vector<LinkedLibrary> libraries = linked_libraries();
        context.print(licences_json(libraries), licences_text(libraries));
    };
}

}  // namespace holdfast
