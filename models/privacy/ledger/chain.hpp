#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

class LedgerDatabase;

/// Every row that was ever written or changed, one entry each in the order of the transactions, each with a
/// digest of the row (BLAKE2b under the ledger's own key) and a head that covers all before it. Of people and
/// contents, which are many, an entry covers the whole table. It shows whatever was changed, deleted, added
/// or put in another's place by anything but this program. It cannot show a chain that was written anew from
/// its beginning, nor its last entries gone with their rows: only a head that was kept elsewhere does.
struct ChainState {
    std::string head;                ///< in hexadecimal
    std::int64_t entries = 0;        ///< how many
    std::int64_t migrated_from = 0;  ///< the layout that the ledger had when its chain began; 0: it was new
};

/// Which rows a transaction has touched: the table by its number, 1 and up, the row by its id, or 0 of a
/// table that is covered as a whole.
using TouchedRow = std::pair<std::int64_t, std::int64_t>;
using TouchedRows = std::set<TouchedRow>;

/// Empty for a table that the chain does not cover.
std::optional<TouchedRow> chained_row(std::string_view table, std::int64_t row);

/// Begins the chain with all rows that are there; inside a transaction of the caller.
void begin_chain(const LedgerDatabase& database, std::int64_t migrated_from);
/// An entry a row; inside the transaction that touched them.
void extend_chain(const LedgerDatabase& database, const TouchedRows& touched);

ChainState chain_state(const LedgerDatabase& database);
/// Whether the chain had this head (hexadecimal) once.
bool chain_had(const LedgerDatabase& database, const std::string& head);

/// Error (ExitCode::input) that names what is wrong: a file whose pages or indexes disagree, a row that names
/// another that is not there or says what it cannot, and all that the chain shows. One pass over all rows.
void verify_ledger(const LedgerDatabase& database);

}  // namespace holdfast
