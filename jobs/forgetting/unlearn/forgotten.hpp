#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dist/data/dataset.hpp"
#include "jobs/program/id_list.hpp"
#include "models/privacy/noise/secret_key.hpp"

namespace holdfast {

/// What of a dataset is to be forgotten, and what that leaves.
struct Forgetting {
    std::vector<std::uint64_t> ids;    ///< of records that are there: ascending, each once
    std::vector<std::uint64_t> rows;   ///< [ids] where each of them is
    std::vector<std::uint64_t> named;  ///< what the log's tokens are of: the ids, or rows withdrawn
    std::uint64_t before = 0;          ///< of those asked for, how many were forgotten earlier
    std::uint64_t left = 0;            ///< records
    std::string digest, digest_left;   ///< of the records with them and without
    /// Of rows withdrawn, where each is, ascending; empty: all rows of the ids go.
    std::vector<std::uint64_t> withdrawn = {};
    bool ends_persons = false;  ///< rows are withdrawn, and somebody has none left

    /// Is the row at `row`, of this id, to go?
    bool takes(std::uint64_t id, std::uint64_t row) const;
};

/// Looks the ids up, slab by slab. `tokens`: of what was forgotten earlier, under `key`, sorted; an id among
/// them need not be there any more. Errors (input): ids that are row numbers; an id that is neither there nor
/// forgotten, naming its line and not the id; nothing would be left; what DatasetReader finds.
Forgetting look_up(const DatasetReader& reader, const IdList& asked, const SecretKey& key,
                   const std::vector<std::string>& tokens);

/// Rows of persons that are to be withdrawn while the persons stay: those of `table`, as the dataset's schema
/// reads it, found by id, features and, where it has them, labels; of equal ones as many as it has. Errors
/// (usage): a dataset of one row a person, or that does not know the table's columns; (input): as look_up(),
/// naming the table's row.
Forgetting look_up_rows(const DatasetReader& reader, const std::string& table, const SecretKey& key,
                        const std::vector<std::string>& tokens);

/// Is a file of what is left there already? Error (output): another file is.
bool is_written(const DatasetReader& reader, const Forgetting& forgetting, const std::string& path);
/// Writes the dataset file without these records to `path`: the other splits whole, every fact kept; bytes
/// become floats of the same value. Error (output).
void write_without(const DatasetReader& reader, const Forgetting& forgetting, const std::string& path);

}  // namespace holdfast
