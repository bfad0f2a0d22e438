#include "dist/data/import_npy.hpp"

#include <optional>

#include "dist/data/npy_reader.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/nearest_name.hpp"

namespace holdfast {
namespace {

NpyReader open_array(const ArrayName& array) {
    if (array.member.empty()) return NpyReader(open_bytes(array.file));
    const ZipArchive archive(array.file);
    std::vector<std::string> members = archive.names();
    for (std::string& name : members) name = name.substr(0, name.rfind(".npy"));
    if (archive.has(array.member + ".npy")) return NpyReader(archive.open(array.member + ".npy"));
    throw Error(ExitCode::input, "has no array '" + array.member + "'", name_hint(array.member, members),
                array.file);
}

std::optional<NpyReader> open_column(const ArrayName& array, std::uint64_t rows, const std::string& what) {
    if (array.file.empty()) return {};
    NpyReader reader = open_array(array);
    if (reader.columns() != 1) {
        throw Error(ExitCode::input, "has more than one value a row", what + " are one-dimensional",
                    reader.name());
    }
    if (reader.rows() != rows) {
        throw Error(ExitCode::input,
                    "has " + std::to_string(reader.rows()) + " " + what + ", the features have " +
                        std::to_string(rows) + " rows",
                    "there must be one for each row", reader.name());
    }
    return reader;
}

class NpySource : public RecordSource {
  public:
    NpySource(const ArrayName& features, const ArrayName& labels, const ArrayName& ids, bool regression)
        : features_(open_array(features)),
          labels_(open_column(labels, features_.rows(), "labels")),
          ids_(open_column(ids, features_.rows(), "ids")) {
        info_.path = features_.name();
        for (std::uint64_t i = 0; i < features_.columns(); ++i)
            info_.feature_names.push_back("f" + std::to_string(i));
        info_.bytes = features_.type() == "u1";
        info_.wide = features_.type() != "f4" && !info_.bytes;
        if (info_.bytes) info_.known_ranges.assign(features_.columns(), Range{0, uint8_divisor});
        if (features_.shape().size() == 3) set_image_shape();
        info_.has_targets = regression && labels_.has_value();
        info_.has_labels = !regression && labels_.has_value();
        if (!ids_) return;
        info_.ids = IdKind::given;
        info_.id_note = ids_->name();
    }

    const SourceInfo& info() const override { return info_; }
    bool next(RawRecord& record) override {
        if (row_ == features_.rows()) return false;
        features_.next_row(record.features);
        if (info_.has_labels) record.label = labels_->next_integer();
        if (info_.has_targets) {
            labels_->next_row(target_);
            record.target = target_.front();
        }
        record.position = row_;
        record.flawed = false;
        if (ids_) take_id(record);
        ++row_;
        return true;
    }
    void rewind() override {
        features_.rewind();
        if (labels_) labels_->rewind();
        if (ids_) ids_->rewind();
        problems = {};
        row_ = 0;
    }

  private:
    void take_id(RawRecord& record) {
        ReadId found = ids_->next_id();
        record.id = found.id;
        record.name = std::move(found.name);
        record.flawed = !found.fault.empty();
        if (record.flawed)
            problems.add("id", "row " + std::to_string(row_) + ": " + found.fault, id_hint, row_);
    }

    /// [n, height, width]: grey images. With four axes the place of the channels is not known.
    void set_image_shape() {
        info_.image_shape = {1, static_cast<std::int64_t>(features_.shape()[1]),
                             static_cast<std::int64_t>(features_.shape()[2])};
    }

    NpyReader features_;
    std::optional<NpyReader> labels_, ids_;
    SourceInfo info_;
    std::vector<double> target_;
    std::uint64_t row_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> open_npy(const ArrayName& features, const ArrayName& labels,
                                       const ArrayName& ids, bool regression) {
    return std::make_unique<NpySource>(features, labels, ids, regression);
}

std::vector<std::string> npz_splits(const std::string& path) {
    std::vector<std::string> splits;
    for (const std::string& name : ZipArchive(path).names()) {
        if (name.starts_with("x_") && name.ends_with(".npy") && name.size() > 6)
            splits.push_back(name.substr(2, name.size() - 6));
    }
    return splits;
}

bool npz_has(const std::string& path, const std::string& member) {
    return ZipArchive(path).has(member + ".npy");
}

}  // namespace holdfast
