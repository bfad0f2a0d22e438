#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/privacy/evidence.hpp"
#include "models/privacy/ledger/chain.hpp"
#include "models/privacy/ledger/query_digest.hpp"
#include "models/privacy/rational.hpp"
#include "models/privacy/session/session_law.hpp"

namespace holdfast {

class LedgerDatabase;

/// The total that the records of a population may ever cost, across models, runs, ensembles and versions of
/// the data. Fixed when its account is opened, and public.
struct Budget {
    Rational epsilon;
    Rational delta;
    /// Neither this nor `renyi_order` set: any mechanism at any epsilon, chosen as answers come; the cost is
    /// the basic sum (a filter; Rogers et al. 2016). Set: every answer is pure and costs exactly this
    /// epsilon, and nothing else can be paid; the cost is the least of basic, advanced and optimal
    /// composition at the budget's delta.
    std::optional<Rational> fixed_epsilon;
    /// Set, to one of renyi_orders(): a filter of Renyi privacy at this order (Feldman, Zrnic 2021). What has
    /// a curve adds its value there, to rho; what has none adds its epsilon and delta. The cost is the
    /// epsilon of rho at delta - delta_apart, plus the sum of those epsilons
    /// (models/privacy/mathematics.md, renyi filter).
    std::optional<std::int64_t> renyi_order = std::nullopt;
    /// With `renyi_order`: the delta set apart, once and for all, for what has no curve; with `gaussian`, for
    /// payments of no epsilon, which are a delta alone.
    Rational delta_apart = 0;
    /// A filter of Gaussian privacy: what is mu-Gaussian private adds mu^2, pure answers that of randomised
    /// response, and nothing else but a delta can be paid. The sum is at most
    /// gaussian_mu(epsilon, delta - delta_apart)^2 (models/privacy/mathematics.md, gaussian filter).
    bool gaussian = false;
};

/// The rule by which an account composes what it is charged: "basic", "fixed", "renyi" or "gdp".
const char* composition_of(const Budget& budget);

/// What an account is opened with, once.
struct Account {
    Budget budget;
    std::string relation;  ///< which neighbours it counts: "add_remove", "substitute" or "label"
};

/// A dataset whose records belong to a population.
struct DatasetVersion {
    std::string dataset;   ///< digest of its records
    std::int64_t ids = 0;  ///< how many of its ids name people; 0: they are row numbers, or layout 1 added it
};

/// What a version's records are known by, beside their ids.
struct RecordMarks {
    std::string id_kind = "given";  ///< "given", "content" or "row number"; of a migrated version "unknown"
    std::span<const std::uint64_t> contents = {};  ///< a hash of each record's features, in any order
    bool other_people = false;  ///< the owner's word that these are in no other account of the ledger
    bool held_out = false;      ///< other persons of a population, by their ids: some may look the same
};

/// Records of no account, held against all that the ledger knows: for the owner's eyes.
struct KnownRecords {
    std::vector<std::size_t> by_id, by_features;  ///< their places, ascending
    /// Populations with a version whose ids are of another kind, or of none that can be compared; and it.
    std::vector<std::pair<std::string, std::string>> uncompared;
};

/// What a population has spent.
struct Spending {
    Budget budget;
    std::int64_t answers = 0;   ///< charges, those without a stored answer included
    std::int64_t payments = 0;  ///< tokens charged
    Rational epsilon,
        delta;  ///< upper bounds of the cost so far; delta is the budget's once composition needs it
};

/// What had been spent when a month was over, "2026-11" by UTC.
struct MonthSpending {
    std::string month;
    Spending spent;
};

/// What one answer costs, by which mechanism it is drawn, and the guarantee it then has (JSON text).
struct Charge {
    Rational epsilon, delta;
    std::string mechanism, guarantee;
    bool gaussian = false;  ///< mu-Gaussian private for mu = gaussian_mu(epsilon, delta)
};

/// A release that is paid for once, as a whole: all steps of a training, a model to publish.
struct Payment {
    std::string token;            ///< names what was bought; public, and says nothing of the records
    Rational epsilon, delta;      ///< epsilon >= 0
    std::vector<Rational> curve;  ///< [renyi_orders().size()], of the same release; or empty
    std::string mechanism;        ///< "noisy", …
    std::string parameters;       ///< JSON text of what it was drawn with; public
    std::string guarantee;        ///< JSON text
    /// Of the same release, where it is mu-Gaussian private: mu^2.
    std::optional<Rational> mu_squared = std::nullopt;
};

/// A model that left the house.
struct Publication {
    std::string model_digest;
    std::int64_t time = 0;  ///< in milliseconds since 1970
};

/// A payment as the ledger keeps it, without its curve.
struct LedgerPayment {
    std::string dataset;  ///< the version that it was for
    std::string token;
    Rational epsilon, delta;
    std::string mechanism, parameters, guarantee;
    std::int64_t time = 0;  ///< in milliseconds since 1970
    std::string result;     ///< digest of what it bought, or the text itself; empty until that is there
    std::vector<Publication> publications;  ///< in the order they were recorded
};

/// Answers that were charged under equal terms.
struct LedgerTerms {
    Rational epsilon, delta;
    std::string mechanism, guarantee;
    std::int64_t answers = 0;                    ///< charges, those without a stored answer included
    std::int64_t first_time = 0, last_time = 0;  ///< in milliseconds since 1970
    bool together = false;  ///< epsilon and delta are those of one payment for all of them
};

/// One answer: what to print for a query. Its terms are those it was drawn under, whatever was asked now.
struct LedgerAnswer {
    int label = 0;            ///< as drawn; `refused` (-1) where the mechanism did not answer
    bool remembered = false;  ///< an earlier answer to the same query: cost nothing now
    Rational epsilon, delta;
    std::string mechanism, guarantee;
    bool together = false;  ///< epsilon and delta are those of a payment for this and other answers
};

/// A session as anyone may see it: its threshold is not told.
struct SessionState {
    std::string dataset, run, program;  ///< digests of the data and of the run; the program that opened it
    std::string parameters;             ///< of its payment
    SessionTerms terms;
    std::int64_t refused = 0;  ///< queries so far; at terms.refusals it has ended

    bool ended() const { return refused >= terms.refusals; }
};

/// A session, and whether it was opened, and so charged, by who asks now.
struct OpenedSession {
    SessionState state;
    bool charged;
};

/// A short public text that was paid for, and whether it was charged by who asks now.
struct BoughtText {
    std::string text;
    bool charged;
};

/// Answers for one payment, and whether it was charged by who asks now.
struct AnsweredTogether {
    std::vector<LedgerAnswer> answers;
    bool charged;
};

/// What a session is opened with.
struct SessionOpening {
    std::string name, run, program;
    Payment payment;  ///< of (terms.epsilon(), terms.delta); its token is the ledger's to choose
};

/// The account of every population, in one SQLite file of mode 0600: durable (rollback journal, synchronous =
/// EXTRA; works on shared file systems with POSIX locks) and safe under concurrent processes (BEGIN
/// IMMEDIATE).
///
/// A budget belongs to people, not to bytes: every version of a population's data, whatever its digest, draws
/// on one account. The ledger knows the people by hashes of their record ids, keyed with a secret of its own,
/// and refuses to count one of them in two populations (of 64 bits: for millions of people an accident is one
/// in a million).
///
/// An answer is charged, then drawn, then stored, and printed only as stored. A crash after the charge leaves
/// it spent: the query costs again. Two processes with the same new query: the second waits for the first
/// one's answer, and after `patience` pays for its own; whichever draw is stored first is the answer, under
/// the terms it was charged with, and the other is dropped unseen. So a query never has two answers, and
/// nobody pays twice for it. A payment is charged before what it buys is begun, and once: whoever has its
/// token may begin again after a crash, and must then make the same release, to the bit. A refusal depends on
/// the budget and the charges only, never on data or answers. An account of labels pays for drawn labels and
/// for nothing else, and no other account pays for them. Errors: ExitCode::output where the file cannot
/// be made or written; ExitCode::input where it is not a ledger, or others may read it; ExitCode::budget
/// where there is no account, or the charge does not fit (nothing was drawn); ExitCode::usage for bad numbers
/// and names.
class Ledger {
  public:
    /// Opens `path`, made if nothing is there (an emptied file is refused), and verifies every row
    /// (verify_ledger); one of an earlier layout is brought up to date (models/privacy/ledger/layout.hpp).
    /// `patience` in milliseconds: how long to wait for another process's answer.
    explicit Ledger(const std::string& path, int patience = 10000);
    ~Ledger();
    Ledger(Ledger&&) noexcept;
    Ledger& operator=(Ledger&&) noexcept;

    /// Opens the account of a population, once: the same again is allowed, other terms are refused
    /// (ExitCode::budget, names both).
    void open_account(const std::string& population, const Account& terms);

    /// Adds a dataset, named by its digest, to a population; the same again is allowed. `ids`: of its
    /// records, in any order; empty where they are row numbers and name nobody. `opening`: opens the account
    /// in the same transaction, so that a refused version leaves none behind. A dataset whose account layout
    /// 1 kept gives that account its population's name, unless the population has one. Errors:
    /// ExitCode::budget where there is no account; ExitCode::input where the dataset or some of the ids are
    /// known under another population, and, unless the owner says that these are other people,
    /// where a new version's features are those of records of another population, or its ids are of another
    /// kind, so that nobody can compare them.
    void add_version(const std::string& population, const std::string& dataset,
                     std::span<const std::uint64_t> ids, const std::optional<Account>& opening = std::nullopt,
                     const RecordMarks& marks = {});
    /// The other populations of which some version's ids are of a kind that cannot be compared with this
    /// one's. Nothing in a record decides it: a statement lists them.
    std::vector<std::string> uncompared(const std::string& population) const;

    ChainState chain() const;
    /// Whether the chain had this head (hexadecimal) once: else the ledger was put back, cut or written anew.
    bool had_head(const std::string& head) const;

    /// Of records whose ids and marks stand in one order, those that are in some account.
    KnownRecords known_records(std::span<const std::uint64_t> ids, const RecordMarks& marks) const;
    /// Notes that records, by their digest, may be taken for public, and returns known_records. Errors
    /// (ExitCode::input), for the owner's eyes: some of the ids name people of the ledger; and, unless the
    /// owner says that these are other people: some have the features of its records, or a version of an
    /// earlier layout is there, of which nothing but ids is known.
    KnownRecords record_public(const std::string& digest, std::span<const std::uint64_t> ids,
                               const RecordMarks& marks);
    /// Was it noted, and were no people or datasets added since? Depends on what the owner did alone.
    bool public_checked(const std::string& digest) const;

    /// Empty where the dataset was added to none.
    std::optional<std::string> population_of(const std::string& dataset) const;
    /// Empty where there is no such account.
    std::optional<Account> account(const std::string& population) const;
    std::optional<Spending> spending(const std::string& population) const;
    /// Of each month in which something was charged, in their order. Empty where there is no account.
    std::vector<MonthSpending> spending_by_month(const std::string& population) const;
    /// In the order of their digests.
    std::vector<DatasetVersion> versions(const std::string& population) const;
    /// All that have an account, by name.
    std::vector<std::string> populations() const;
    /// In the order of their first charges; of payments, in that they were paid. Empty where there is no
    /// account.
    std::vector<LedgerTerms> terms(const std::string& population) const;
    std::vector<LedgerPayment> payments(const std::string& population) const;

    /// Draws one label for each of the given indices of the queries, in their order.
    using Draw = std::function<std::vector<int>(std::span<const std::size_t>)>;

    /// Answers every query to a version of a population's data, which pays: remembered answers of that
    /// version first; the rest charged in one transaction or, where not all of them fit, refused as a whole
    /// before any draw; then `draw` with all that were charged (never with none), then stored. Equal queries
    /// are charged once. A query that another process charged and did not answer is drawn again: under that
    /// charge at the same terms, which costs nothing, and under a new charge at other terms. Of two draws
    /// under one charge the first to be stored is kept, and nobody sees the other.
    std::vector<LedgerAnswer> answer(const std::string& dataset, const Charge& charge,
                                     std::span<const Digest> queries, const Draw& draw);

    /// What is remembered of each query to a version of a population's data, and costs nothing; empty where
    /// no label was ever drawn. Error (ExitCode::budget) where no population has the dataset.
    std::vector<std::optional<LedgerAnswer>> remembered(const std::string& dataset,
                                                        std::span<const Digest> queries) const;

    /// Answers queries that one payment covers together: remembered answers first; the payment, which is
    /// charged before any draw, for the rest; then `draw` with all that are new, once for a payment; then
    /// stored, all in one transaction. A crash before that leaves the payment charged and nothing seen: the
    /// same request draws without paying again. A refusal (`refused`) is remembered by this payment alone:
    /// the query may be asked otherwise. Error (ExitCode::budget) as of pay.
    AnsweredTogether answer_together(const std::string& dataset, const Payment& payment,
                                     std::span<const Digest> queries, const Draw& draw);

    /// How many of the queries, equal ones counted once, have no remembered answer.
    std::int64_t unanswered(const std::string& dataset, std::span<const Digest> queries) const;

    /// A session of the dataset's population, by its name; empty where there is none.
    std::optional<SessionState> session(const std::string& dataset, const std::string& name) const;
    /// Pays for a session and draws its threshold, in one transaction; where one of that name is there,
    /// nothing is charged. Returns what is there then. Errors: ExitCode::budget as of pay, and where its
    /// threshold was lost.
    OpenedSession open_session(const std::string& dataset, const SessionOpening& opening,
                               const SessionLaw& law, RandomBits& bits);

    /// What a law of distances is drawn from, of each of the given indices of the queries, in their order.
    using Distances = std::function<std::vector<Evidence>(std::span<const std::size_t>)>;

    /// Answers in a session, in the order of the queries: remembered answers, and those refusals that were
    /// its own, are free; `distances` is asked once, for all others; then all are drawn and stored in one
    /// transaction, until so many are refused as end it. Empty where it ended before the query. Errors
    /// (ExitCode::budget): no such session, or one of another version of the data, run or program, which has
    /// thereby ended, or of another law.
    std::vector<std::optional<LedgerAnswer>> answer_in_session(const std::string& dataset,
                                                               const SessionOpening& opening,
                                                               std::span<const Digest> queries,
                                                               const SessionLaw& law,
                                                               const Distances& distances, RandomBits& bits);

    /// Pays, in one transaction, for a release about a version of a population's data. True: charged now.
    /// False: this token was charged before for this dataset, and costs nothing, whatever else the payment
    /// says. Error (ExitCode::budget): no population has the dataset, or the payment does not fit; nothing
    /// was charged. The caller has checked that the account counts the neighbours of the payment's guarantee.
    bool pay(const std::string& dataset, const Payment& payment);
    bool paid(const std::string& dataset, const std::string& token) const;
    /// Pays, once, for a public text, as pay does; what `draw` then gives is kept as its result, and returned
    /// as it was kept, now and whenever the token is bought again. A crash before that leaves the payment
    /// charged and nothing seen, and the same again draws without paying; of two processes one draw is kept,
    /// and the other dropped unseen.
    BoughtText buy(const std::string& dataset, const Payment& payment,
                   const std::function<std::string()>& draw);
    /// 64 hexadecimal digits that name `text`, by a hash under the ledger's own key: the same in this ledger
    /// for ever, and nothing to whoever does not know the key.
    std::string token_of(const std::string& text) const;
    /// Notes the one result that a token paid for, by its digest; the same again is allowed. Error
    /// (ExitCode::budget): the token was not paid for, or bought another result.
    void record_result(const std::string& dataset, const std::string& token, const std::string& digest);
    /// Notes that a model that the token paid for has left the house; once a digest. Error
    /// (ExitCode::budget): the token was not paid for.
    void record_publication(const std::string& dataset, const std::string& token,
                            const std::string& model_digest);

  private:
    /// The draw of a query: charged, and not yet answered.
    struct Reservation {
        std::size_t query;     ///< index in the span given to charge()
        std::int64_t charge;   ///< its row
        bool charged = false;  ///< now, not by a process that ended before it stored an answer
    };
    /// known[i] is filled for queries that have an answer; queries equal to an earlier one of the span, or
    /// reserved by another process less than `patience` ago, get neither an answer nor a reservation.
    struct Charged {
        std::vector<std::optional<LedgerAnswer>> known;
        std::vector<Reservation> reserved;
    };
    Charged charge(const std::string& dataset, const Charge& charge, std::span<const Digest> queries);
    /// labels[i] belongs to charged.reserved[i]: it is stored and known then, or dropped where a label
    /// stands.
    void store(const Charge& charge, std::span<const int> labels, Charged& charged);

    /// labels[i] belongs to queries[drawn[i]]; all are dropped where the payment's were stored before.
    void store_together(std::int64_t account, const std::string& dataset, const Payment& payment,
                        std::span<const Digest> queries, std::span<const std::size_t> drawn,
                        std::span<const int> labels);

    std::unique_ptr<LedgerDatabase> database_;
    int patience_;
};

}  // namespace holdfast
