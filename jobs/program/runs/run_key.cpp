#include "jobs/program/runs/run_key.hpp"

#include <spdlog/logger.h>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "jobs/program/runs/late_files.hpp"
#include "jobs/program/runs/payer.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

std::string key_file(const RunFolder& run) {
    return run.file("key");
}

/// A run that has drawn already cannot be given another key, nor one that another job has just finished.
void require_unbegun(const RunFolder& run, const MemberStore& store) {
    if (run.finished())
        throw Error(ExitCode::output, "another job has finished this run meanwhile",
                    "there is nothing left to do", run.path());
    if (store.checkpoints(0).load_latest().empty() && MemberStore::finished(run.path()).empty()) return;
    throw Error(ExitCode::input, "the key of this run is gone, and its noise with it",
                "restore the file: whatever is trained without it is charged anew", key_file(run));
}

nlohmann::json text_of(const Payment& payment) {
    return {{"token", payment.token},
            {"epsilon", shown(payment.epsilon)},
            {"delta", shown(payment.delta)},
            {"mechanism", payment.mechanism},
            {"parameters", nlohmann::json::parse(payment.parameters)}};
}

/// On rank 0: the key is on the disk before it is paid for, or a crash between would cost for nothing.
nlohmann::json prepare(const Context& context, const RunFolder& run, const MemberStore& store,
                       std::optional<Payment> payment, const Payee& payee) {
    const bool fresh = !is_kept(key_file(run));
    if (fresh) {
        require_unbegun(run, store);
        SecretKey::fresh().write_new(key_file(run));
    }
    if (!payment) return nullptr;
    payment->token = SecretKey::read(key_file(run)).token(store.fingerprint());
    charge(context, *payment, payee, "the whole training", [&] {
        if (!fresh) return;
        destroy_key_file(key_file(run));
        store.remove_if_empty();
    });
    return text_of(*payment);
}

}  // namespace

void charge(const Context& context, const Payment& payment, const Payee& payee, const std::string& what,
            const std::function<void()>& refused) {
    try {
        Ledger ledger(payee.ledger);
        check_payer(ledger, payee);
        const bool now = ledger.pay(payee.dataset, payment);
        context.log->info("{} epsilon {}, delta {} for {}",
                          now ? "charged" : "charged before:", decimal_text(payment.epsilon),
                          decimal_text(payment.delta), what);
    } catch (const Error& error) {
        // Of any other failure nobody knows whether it came before the charge or after.
        if (error.code() == ExitCode::budget || error.code() == ExitCode::usage) refused();
        throw;
    }
}

RunKey paid_run_key(const Context& context, const RunFolder& run, const MemberStore& store,
                    std::optional<Payment> payment, const Payee& payee) {
    nlohmann::json paid;
    if (context.world.is_root()) paid = prepare(context, run, store, std::move(payment), payee);
    context.world.barrier();
    await_files(
        run.path(), [&] { return is_kept(key_file(run)); }, "the key of the run");
    return {SecretKey::read(key_file(run)).derived("run", store.fingerprint()), std::move(paid)};
}

void record_bought(const RunFolder& run, const MemberStore& store, const Payee& payee,
                   const std::string& digest) {
    if (!is_kept(key_file(run))) return;
    const std::string token = SecretKey::read(key_file(run)).token(store.fingerprint());
    Ledger(payee.ledger).record_result(payee.dataset, token, digest);
}

bool is_kept(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

void destroy_run_key(const RunFolder& run) {
    destroy_key_file(key_file(run));
}

}  // namespace holdfast
