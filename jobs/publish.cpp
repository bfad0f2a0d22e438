// holdfast publish: the parameters of a run, as a file that anyone may have. They were paid for before the
// run's first step: to publish, and to publish again, costs nothing more.
//   holdfast publish --run run --ledger hospital.db --out model.h5

#include <cstdio>

#include "dist/files/digest.hpp"
#include "jobs/finished_run.hpp"
#include "jobs/payer.hpp"
#include "jobs/run_key.hpp"
#include "kernels/base/error.hpp"
#include "models/kinds/kinds.hpp"
#include "models/nets/model_file.hpp"
#include "models/privacy/ledger/ledger.hpp"

namespace holdfast {
namespace {

struct Request {
    std::string run, ledger, out;
};

/// The one point that the run came to. Error (input): it is not what the manifest names.
std::vector<std::int64_t> parameters_of(const FinishedRun& run) {
    std::vector<std::int64_t> lower, upper;
    BoxesReader(run.folder).read(0, 0, lower, upper);
    StreamDigest digest;
    digest.add_values(std::span<const std::int64_t>(lower));
    digest.add_values(std::span<const std::int64_t>(upper));
    if (digest.hex() != run.manifest.digest)
        throw Error(ExitCode::input, "holds other parameters than manifest.json says",
                    "the folder was changed since it was written: train again", run.folder.file("boxes.h5"));
    return lower;
}

/// What the ledger was charged for the run: what leaves says that, and not what manifest.json says of it.
/// Errors (budget): nothing; other parameters, or none yet.
LedgerPayment payment_for(const Ledger& ledger, const FinishedRun& run, const Request& request) {
    const nlohmann::json& stated = run.manifest.payment;
    const std::string token = stated.is_null() ? "" : stated["token"].get<std::string>(),
                      dataset = run.manifest.dataset.digest;
    if (const std::optional<std::string> population = ledger.population_of(dataset)) {
        for (const LedgerPayment& payment : ledger.payments(*population)) {
            if (payment.dataset != dataset || payment.token != token) continue;
            if (payment.result == run.manifest.digest) return payment;
            throw Error(ExitCode::budget,
                        payment.result.empty() ? "its training has not ended in this ledger"
                                               : "the ledger was charged for other parameters",
                        payment.result.empty() ? "end it: the command that began it, with --resume"
                                               : "the folder was changed since it was written: train again",
                        request.run);
        }
    }
    throw Error(ExitCode::budget, "this ledger was not charged for the run: nothing is published",
                "name the ledger that the run was trained with", request.ledger);
}

Model model_of(const FinishedRun& run, const LedgerPayment& payment) {
    return {run.network,
            run.settings.training.precision,
            parameters_of(run),
            run.manifest.kind,
            run.manifest.program,
            run.manifest.version,
            nlohmann::json::parse(payment.guarantee),
            {{"epsilon", shown(payment.epsilon)},
             {"delta", shown(payment.delta)},
             {"mechanism", payment.mechanism},
             {"parameters", nlohmann::json::parse(payment.parameters)}},
            run.features};
}

void print(const Context& context, const Request& request, const Model& model, const std::string& digest) {
    char text[256];
    std::snprintf(text, sizeof text, "%zu parameters, model %s, for anyone in ", model.parameters.size(),
                  digest.substr(0, 16).c_str());
    const std::string file = text + request.out;
    std::snprintf(text, sizeof text, "epsilon %g, delta %g, charged when it was trained\n",
                  model.cost["epsilon"].get<double>(), model.cost["delta"].get<double>());
    context.print({{"model", digest},
                   {"file", request.out},
                   {"kind", model.kind},
                   {"parameters", model.parameters.size()},
                   {"cost", model.cost},
                   {"guarantee", model.guarantee}},
                  file + "\n" + text + Guarantee::text_of(model.guarantee) + "\n");
}

void publish(const Context& context, const Request& request) {
    if (!context.world.is_root()) return;
    // 1. A run whose parameters may leave.
    require_ledger(request.ledger);
    const FinishedRun run = FinishedRun::open(request.run);
    kind_named(run.manifest.kind).require_publishable(run.settings);

    // 2. That was paid for, and whose noise nobody can draw again: a crash may have left the key.
    Ledger ledger(request.ledger);
    const LedgerPayment payment = payment_for(ledger, run, request);
    destroy_run_key(run.folder);

    // 3. The ledger knows that the model is out before anyone can see the file. After a crash between the
    // two, the same command again writes the same bytes.
    const Model model = model_of(run, payment);
    const std::string digest = write_model(request.out, model, [&](const std::string& name) {
        ledger.record_publication(payment.dataset, payment.token, name);
    });

    // 4. What has left the house.
    print(context, request, model, digest);
}

}  // namespace

Run declare_publish(CLI::App& app) {
    auto request = std::make_shared<Request>();
    app.add_option("--run", request->run, "Run folder of holdfast train, of training.kind = \"noisy\"")
        ->required();
    app.add_option("--ledger", request->ledger, "The file that paid for the training")->required();
    app.add_option("--out", request->out, "The model file: replaces none, unless it is the same model")
        ->required();
    return [request](const Context& context) { publish(context, *request); };
}

}  // namespace holdfast
