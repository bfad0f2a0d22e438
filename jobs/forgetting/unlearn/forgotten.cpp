#include "jobs/forgetting/unlearn/forgotten.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "dist/comm/communicator.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/layout/distribute.hpp"
#include "jobs/forgetting/request_log.hpp"
#include "jobs/program/runs/dataset_identity.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t id_slab = 16384;

/// Calls `use` with one slab after the other; the test splits of a file may hold anything.
void for_each_slab(const DatasetReader& reader, bool checked,
                   const std::function<void(const Records&)>& use) {
    const std::uint64_t rows = reader.info().rows;
    for (std::uint64_t first = 0; first < rows; first += id_slab) {
        const std::uint64_t count = std::min(id_slab, rows - first);
        use(checked ? reader.read(first, count) : reader.read_unchecked(first, count));
    }
}

/// Those without the forgotten.
Records rest_of(const Records& records, const Forgetting& forgetting) {
    Records rest{FeatureMatrix(records.features.columns(), records.features.wide()), {}, {}, {}};
    for (std::size_t i = 0; i < records.size(); ++i) {
        if (forgetting.contains(records.ids[i])) continue;
        rest.features.append_row_of(records.features, i);
        if (!records.labels.empty()) rest.labels.push_back(records.labels[i]);
        if (!records.targets.empty()) rest.targets.push_back(records.targets[i]);
        rest.ids.push_back(records.ids[i]);
        rest.rows.push_back(records.rows[i]);
    }
    return rest;
}

}  // namespace

bool Forgetting::contains(std::uint64_t id) const {
    return std::binary_search(ids.begin(), ids.end(), id);
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
    for (std::uint64_t first = 0; first < info.rows; first += id_slab) {
        std::uint64_t row = first;
        for (const std::uint64_t id : reader.read_ids(first, std::min(id_slab, info.rows - first))) {
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
        if (forgetting.contains(id)) continue;
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
    RecordDigest all, left;
    for_each_slab(reader, true, [&](const Records& slab) {
        const Records rest = rest_of(slab, forgetting);
        all.add(slab);
        left.add(rest);
        forgetting.left += rest.size();
    });
    if (forgetting.left == 0)
        throw Error(ExitCode::input, "no record would be left to train on: nothing was changed",
                    "to forget everybody, delete the run and its data", asked.path);
    const auto alone = make_serial_communicator();
    forgetting.digest = all.hex(*alone);
    forgetting.digest_left = left.hex(*alone);
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
        for_each_slab(split, reduced, [&](const Records& slab) {
            writer.append(reduced ? rest_of(slab, forgetting) : slab);
        });
    }
    writer.set_facts(info);
    if (!info.image_shape.empty()) writer.set_image_shape(info.image_shape);
    const auto file = hdf5::File::open_read(info.path);
    if (file.has_attribute("class_names"))
        writer.set_attribute("class_names", file.read_text_attribute("class_names"));
    writer.commit();
}

}  // namespace holdfast
