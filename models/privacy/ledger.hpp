#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/privacy/query_digest.hpp"
#include "models/privacy/rational.hpp"

namespace holdfast {

class LedgerDatabase;

/// The total a dataset may ever spend, across models, runs and ensembles. Fixed when first set, and public.
struct Budget {
    Rational epsilon;
    Rational delta;
    /// Unset: any mechanism at any epsilon, chosen as answers come; the cost is the basic sum (a filter;
    /// Rogers et al. 2016). Set: every answer is pure and costs exactly this epsilon; the cost is the least
    /// of basic, advanced and optimal composition at the budget's delta.
    std::optional<Rational> fixed_epsilon;
};

/// What a dataset has spent.
struct Spending {
    Budget budget;
    std::int64_t answers = 0;  ///< charges, those without a stored answer included
    Rational epsilon,
        delta;  ///< upper bounds of the cost so far; delta is the budget's once composition needs it
};

/// One answer: what to print for a query.
struct LedgerAnswer {
    int label = 0;            ///< as drawn; `refused` (-1) where the mechanism did not answer
    bool remembered = false;  ///< an earlier answer to the same query: cost nothing now
};

/// What one answer costs, and by which mechanism it is drawn.
struct Charge {
    Rational epsilon, delta;
    std::string mechanism;
};

/// A query charged and not yet answered. Only who holds its claim may store its answer.
struct Claim {
    std::size_t query = 0;  ///< index in the span given to `charge`
    std::array<std::byte, 16> token{};
};

/// The account of every dataset, in one SQLite file of mode 0600: durable (rollback journal, synchronous =
/// EXTRA; works on shared file systems with POSIX locks) and safe under concurrent processes (BEGIN
/// IMMEDIATE).
///
/// An answer is charged, then drawn, then stored, and printed only as stored. A crash after the charge leaves
/// it spent: the query costs again. Two processes with the same new query: the second waits for the first
/// one's answer, and after `patience` pays for its own; the first then finds its claim gone, drops its draw
/// and takes the stored answer. So a query never has two answers. A refusal depends on the budget and the
/// charges only, never on data or answers. Errors: ExitCode::output where the file cannot be made or written;
/// ExitCode::input where it is not a ledger, or others may read it; ExitCode::budget where the charge does
/// not fit (nothing was drawn); ExitCode::usage for bad numbers.
class Ledger {
  public:
    /// Opens `path`, creating it if need be. `patience` in milliseconds: how long to wait for another
    /// process's answer.
    explicit Ledger(const std::string& path, int patience = 10000);
    ~Ledger();
    Ledger(Ledger&&) noexcept;
    Ledger& operator=(Ledger&&) noexcept;

    /// Sets the budget of a dataset version (a digest), once; the same again is allowed, another one is
    /// refused.
    void set_budget(const std::string& dataset, const Budget& budget);
    /// Empty where no budget was set.
    std::optional<Spending> spending(const std::string& dataset) const;

    /// Answers every query: remembered answers first; the rest charged in one transaction or, where not all
    /// of them fit, refused as a whole before any draw; then `draw(i)` once for each charged query i, then
    /// stored. Equal queries are charged once.
    std::vector<LedgerAnswer> answer(const std::string& dataset, const Charge& charge,
                                     std::span<const Digest> queries,
                                     const std::function<int(std::size_t)>& draw);

    /// The steps of `answer`, for callers that draw elsewhere. `known[i]` is filled for queries that have an
    /// answer; queries equal to an earlier one of the span, or claimed by another process less than
    /// `patience` ago, get neither an answer nor a claim: store the claims, then ask again.
    struct Charged {
        std::vector<std::optional<LedgerAnswer>> known;
        std::vector<Claim> claims;
    };
    Charged charge(const std::string& dataset, const Charge& charge, std::span<const Digest> queries);
    /// labels[c] belongs to claims[c]. A claim taken over meanwhile is dropped: its label must not be shown.
    void store(const std::string& dataset, std::span<const Digest> queries, std::span<const Claim> claims,
               std::span<const int> labels);

  private:
    std::unique_ptr<LedgerDatabase> database_;
    int patience_;
};

}  // namespace holdfast
