#include "jobs/forgetting/unlearn/forgotten.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "dist/comm/communicator.hpp"
#include "dist/data/read_table.hpp"
#include "dist/data/record_id.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/forgetting/request_log.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/random.hpp"
#include "kernels/base/streams.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t slab_rows = 16384;

/// Those without the forgotten.
Records rest_of(const Records& records, const Forgetting& forgetting) {
    Records rest = records.none();
    for (std::size_t i = 0; i < records.size(); ++i)
        if (!forgetting.takes(records.ids[i], records.rows[i])) rest.append_row_of(records, i);
    return rest;
}

/// Counts what is left, and names either set of records.
void digest(const DatasetReader& reader, const std::string& asked, Forgetting& forgetting) {
    RecordDigest all, left;
    reader.visit([&](const Records& slab) {
        const Records rest = rest_of(slab, forgetting);
        all.add(slab);
        left.add(rest);
        forgetting.left += rest.size();
    });
    if (forgetting.left == 0)
        throw Error(ExitCode::input, "no record would be left to train on: nothing was changed",
                    "to forget everybody, delete the run and its data", asked);
    const auto alone = make_serial_communicator();
    forgetting.digest = all.hex(*alone);
    forgetting.digest_left = left.hex(*alone);
}

/// A row by what it says: what the table and the dataset have in common of it.
std::uint64_t name_of_row(const Records& records, std::size_t i, bool labelled) {
    std::vector<double> content(records.features.columns());
    for (std::size_t j = 0; j < content.size(); ++j) content[j] = records.features.at(i, j);
    const std::int32_t label = labelled && !records.labels.empty() ? records.labels[i] : 0;
    const double target = labelled && !records.targets.empty() ? records.targets[i] : 0;
    content.push_back(static_cast<double>(label));
    return KeyedHash{records.ids[i]}(streams::kept_rows, id_of_content(content, true, target));
}

}  // namespace

bool Forgetting::takes(std::uint64_t id, std::uint64_t row) const {
    return withdrawn.empty() ? std::binary_search(ids.begin(), ids.end(), id)
                             : std::binary_search(withdrawn.begin(), withdrawn.end(), row);
}

Forgetting look_up(const DatasetReader& reader, const IdList& asked, const SecretKey& key,
                   const std::vector<std::string>& tokens) {
    const DatasetInfo& info = reader.info();
    if (info.ids == IdKind::row_number)
        throw Error(
            ExitCode::input,
            "its records are known by row number: one less renames those behind it, and nobody can be "
            "named who is to be forgotten",
            "import with --id, or --id-from-content, and train on that", info.path);
    std::vector<std::uint64_t> wanted = asked.ids;
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    std::map<std::uint64_t, std::uint64_t> there;  // the first row of each
    for (std::uint64_t first = 0; first < info.rows; first += slab_rows) {
        std::uint64_t row = first;
        for (const std::uint64_t id : reader.read_ids(first, std::min(slab_rows, info.rows - first))) {
            if (std::binary_search(wanted.begin(), wanted.end(), id)) there.emplace(id, row);
            ++row;
        }
    }
    Forgetting forgetting;
    for (const auto& [id, row] : there) {
        forgetting.ids.push_back(id);
        forgetting.rows.push_back(row);
    }
    for (const std::uint64_t id : wanted) {
        if (std::binary_search(forgetting.ids.begin(), forgetting.ids.end(), id)) continue;
        if (std::binary_search(tokens.begin(), tokens.end(), tokens_of(key, {id}).front())) {
            ++forgetting.before;
            continue;
        }
        const auto at = std::find(asked.ids.begin(), asked.ids.end(), id) - asked.ids.begin();
        throw Error(ExitCode::input,
                    "line " + std::to_string(asked.lines[static_cast<std::size_t>(at)]) +
                        ": no record of this id is in " + info.path + ", split " + info.split +
                        ": nothing was changed",
                    "give the ids that the data were imported with; other splits were not trained on",
                    asked.path);
    }
    forgetting.named = forgetting.ids;
    digest(reader, asked.path, forgetting);
    return forgetting;
}

Forgetting look_up_rows(const DatasetReader& reader, const std::string& table, const SecretKey& key,
                        const std::vector<std::string>& tokens) {
    const DatasetInfo& info = reader.info();
    if (info.rows_at_most <= 1)
        throw Error(ExitCode::usage, "a person has one row in " + info.path,
                    "forget the person: --ids FILE in place of --rows", "--rows");
    const std::optional<Schema> schema = kept_schema(info.schema, info.path);
    if (!schema)
        throw Error(ExitCode::usage, "the dataset does not know the names of the table's columns",
                    "import the table that it was made of again, and train on that", info.path);
    const Records asked = read_table(table, *schema).records;
    const bool labelled = !asked.labels.empty() || !asked.targets.empty();
    std::map<std::uint64_t, std::vector<std::size_t>> wanted;  // by name: rows of the table
    for (std::size_t i = 0; i < asked.size(); ++i) wanted[name_of_row(asked, i, labelled)].push_back(i);
    Forgetting forgetting;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> persons;  // first row, rows that stay
    reader.visit([&](const Records& slab) {
        for (std::size_t i = 0; i < slab.size(); ++i) {
            auto& [first, stay] = persons.try_emplace(slab.ids[i], slab.rows[i], 0).first->second;
            const auto found = wanted.find(name_of_row(slab, i, labelled));
            const bool goes = found != wanted.end() && !found->second.empty();
            stay += goes ? 0 : 1;
            if (!goes) continue;
            found->second.pop_back();
            forgetting.withdrawn.push_back(slab.rows[i]);
            forgetting.named.push_back(found->first);
            if (forgetting.ids.empty() || forgetting.ids.back() != slab.ids[i])
                forgetting.ids.push_back(slab.ids[i]);
        }
    });
    for (const auto& [name, rows] : wanted) {
        if (rows.empty()) continue;
        if (std::binary_search(tokens.begin(), tokens.end(), tokens_of(key, {name}).front())) {
            forgetting.before += rows.size();
            continue;
        }
        throw Error(ExitCode::input,
                    "row " + std::to_string(rows.front() + 1) + ": no such row of its person is in " +
                        info.path + ", split " + info.split + ": nothing was changed",
                    "give rows as the imported table had them; an import may have kept others of the person",
                    table);
    }
    std::sort(forgetting.ids.begin(), forgetting.ids.end());
    for (const std::uint64_t id : forgetting.ids) {
        forgetting.rows.push_back(persons.at(id).first);
        forgetting.ends_persons = forgetting.ends_persons || persons.at(id).second == 0;
    }
    digest(reader, table, forgetting);
    return forgetting;
}

bool is_written(const DatasetReader& reader, const Forgetting& forgetting, const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return false;
    try {
        if (digest_of_records(DatasetReader(path, reader.info().split)) == forgetting.digest_left)
            return true;
    } catch (const Error&) {  // whatever it is, it is not that
    }
    throw Error(ExitCode::output, "another file is there, and is kept", "name a file that is not there",
                path);
}

void write_without(const DatasetReader& reader, const Forgetting& forgetting, const std::string& path) {
    const DatasetInfo& info = reader.info();
    DatasetWriter writer(path);
    for (const std::string& name : info.splits) {
        const DatasetReader split(info.path + ":" + name);
        const bool reduced = name == info.split;
        writer.begin_split(name, split.info().features, split.info().wide);
        for (std::uint64_t first = 0, rows = split.info().rows; first < rows; first += slab_rows) {
            const std::uint64_t count = std::min(slab_rows, rows - first);
            // The other splits of a file may hold anything.
            writer.append(reduced ? rest_of(split.read(first, count), forgetting)
                                  : split.read_unchecked(first, count));
        }
    }
    writer.set_facts(info);
    if (!info.image_shape.empty()) writer.set_image_shape(info.image_shape);
    const auto file = hdf5::File::open_read(info.path);
    if (file.has_attribute("class_names"))
        writer.set_attribute("class_names", file.read_text_attribute("class_names"));
    writer.commit();
}

}  // namespace holdfast
