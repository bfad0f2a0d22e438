#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "dist/runs/member_store.hpp"
#include "jobs/program/context.hpp"
#include "models/privacy/ledger/ledger.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

struct Payee;

/// Charges the payee's ledger, for `what`, under the token of the payment: once. Errors: as check_payer;
/// (budget) it does not fit; before either leaves, `refused` is called, since nothing was charged.
void charge(const Context& context, const Payment& payment, const Payee& payee, const std::string& what,
            const std::function<void()>& refused);

/// The secret that a run draws from while it trains, and what that cost. The file `key` of the run folder
/// holds it until the run is finished; without it, a stopped run cannot go on.
struct RunKey {
    SecretKey key;           ///< of this very configuration and data
    nlohmann::json payment;  ///< for the manifest, on rank 0; null: nothing was to be paid
};

/// Collective. A new run gets a fresh key, an interrupted one its own; `payment`, if any, is charged to the
/// payee's ledger before this returns, once for the key and the fingerprint of the run: to go on costs
/// nothing, and other data or settings draw other noise, which is to be paid for. Where the charge is
/// refused, a key made now is destroyed. Errors: (input) a run that has begun lacks its key, or it is
/// damaged; (budget) it does not fit; as check_payer.
RunKey paid_run_key(const Context& context, const RunFolder& run, const MemberStore& store,
                    std::optional<Payment> payment, const Payee& payee);

/// Notes in the ledger that the payment under the run's key bought this result, if the key is there: what is
/// published under it later can be no other. Before the key is destroyed. Error (budget): it bought another.
void record_bought(const RunFolder& run, const MemberStore& store, const Payee& payee,
                   const std::string& digest);

/// Is there a file? One that cannot be asked about is taken for none.
bool is_kept(const std::string& path);
/// Once nothing is left to draw: nobody can take the noise off again.
void destroy_run_key(const RunFolder& run);

}  // namespace holdfast
