#include "jobs/program/training/public_training.hpp"

#include <omp.h>

#include "jobs/program/transport.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

Settings plain_settings(Settings settings) {
    if (settings.training.kind != "boxes")
        throw Error(ExitCode::usage, "what trains on public records alone trains plainly",
                    "leave training.kind out", "training.kind");
    if (settings.training.precision == Precision::fixed)
        throw Error(ExitCode::usage, "a model in a file answers in double or single",
                    "set training.precision = \"double\" or \"single\"", "training.precision");
    settings.training.expected_records = 0;
    settings.certificate = CertificateSettings();
    settings.certificate.levels = 0;
    settings.ensemble.members = 1;
    return settings;
}

std::shared_ptr<const Backend> plain_backend(const RunSettings& how, const TrainingSettings& training) {
    if (how.threads > 0) omp_set_num_threads(static_cast<int>(how.threads));
    return make_backend(how.backend, training.arithmetic(), Product::exact,
                        choose_device(how.backend, *make_serial_communicator()));
}

TrainingPlan plain_plan(const Settings& settings, const FeatureMap& features, std::size_t records,
                        std::shared_ptr<const Backend> backend) {
    TrainingPlan plan =
        make_plan(settings, {features.columns(), features.range(), records, 0}, std::move(backend));
    plan.normaliser = static_cast<double>(records) / static_cast<double>(settings.training.batches);
    return plan;
}

}  // namespace holdfast
