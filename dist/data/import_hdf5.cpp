#include "dist/data/import_hdf5.hpp"

#include <algorithm>
#include <cmath>
#include <future>

#include "dist/data/record_id.hpp"
#include "dist/data/width.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t slab_values = 1 << 20;

Scaling scaling_of(const hdf5::File& file, std::optional<Scaling> otherwise) {
    if (!file.has_attribute("scaling")) return otherwise.value_or(Scaling::unknown);
    return scaling_named(file.read_text_attribute("scaling")).value_or(Scaling::unknown);
}

std::vector<std::string> numbered_names(std::uint64_t count) {
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < count; ++i) names.push_back("f" + std::to_string(i));
    return names;
}

class Hdf5Source : public RecordSource {
  public:
    Hdf5Source(const std::string& path, const std::string& split, std::optional<Scaling> scaling,
               bool regression)
        : file_(hdf5::File::open_read(path)), features_(file_.dataset("x_" + split)) {
        static_cast<PublicFacts&>(info_) = read_facts(file_, split);
        info_.path = path + ":" + split;
        info_.names = read_names(file_);
        if (features_.shape().size() < 2 || features_.size() == 0) {
            throw Error(ExitCode::input, "has no rows of features",
                        "x_SPLIT is [rows, features], with at least one of each", path + ":x_" + split);
        }
        rows_ = features_.shape()[0];
        columns_ = features_.size() / rows_;
        require_width(columns_, path + ":x_" + split);
        slab_ = std::max<std::uint64_t>(1, slab_values / columns_);
        labels_ = column("y_" + split);
        if (info_.ids != IdKind::row_number) ids_ = column("id_" + split);
        describe(scaling);
        info_.has_targets = regression && labels_.has_value();
        info_.has_labels = !regression && labels_.has_value();
        info_.ids_ascend = info_.rows_at_most > 1 && ids_ && ids_ascend();
    }

    const SourceInfo& info() const override { return info_; }
    bool next(RawRecord& record) override {
        if (row_ == rows_) return false;
        if (row_ % slab_ == 0) turn_to(row_);
        const auto begin = now_.values.begin() + static_cast<std::ptrdiff_t>(row_ % slab_ * columns_);
        record.features.assign(begin, begin + static_cast<std::ptrdiff_t>(columns_));
        if (info_.has_targets) record.target = now_.labels[row_ % slab_];
        if (info_.has_labels) record.label = label();
        if (ids_) take_id(record);
        record.position = row_++;
        return true;
    }
    void rewind() override {
        coming_ = {};  // waits for it
        problems = {};
        row_ = 0;
    }

  private:
    struct Slab {
        std::vector<double> values, labels;
        IdColumn ids;
    };

    void take_id(RawRecord& record) {
        const std::size_t place = row_ % slab_;
        record.id = now_.ids.ids[place];
        const auto name = now_.ids.names.find(place), fault = now_.ids.faults.find(place);
        record.name = name == now_.ids.names.end() ? "" : name->second;
        record.flawed = fault != now_.ids.faults.end();
        if (record.flawed)
            problems.add("id", "row " + std::to_string(row_) + ": " + fault->second, id_hint, row_);
    }

    /// The rows from `first` on; those behind them are read and unpacked meanwhile.
    void turn_to(std::uint64_t first) {
        now_ = coming_.valid() ? coming_.get() : load(first);
        if (const std::uint64_t next = first + slab_; next < rows_)
            coming_ = std::async(std::launch::async, [this, next] { return load(next); });
    }

    std::optional<hdf5::Dataset> column(const std::string& name) const {
        if (!file_.has(name)) return {};
        hdf5::Dataset found = file_.dataset(name);
        if (found.size() == rows_ && found.shape()[0] == rows_) return found;
        throw Error(ExitCode::input,
                    "has " + std::to_string(found.size()) + " values, the features have " +
                        std::to_string(rows_) + " rows",
                    "there must be one for each row", file_.path() + ":" + name);
    }

    void describe(std::optional<Scaling> scaling) {
        if (info_.feature_names.size() != columns_) info_.feature_names = numbered_names(columns_);
        info_.bytes = features_.type() == hdf5::Type::uint8;
        info_.wide = features_.type() != hdf5::Type::float32 && !info_.bytes;
        info_.scaling = scaling_of(file_, scaling);
        if (info_.bytes) info_.known_ranges.assign(columns_, Range{0, uint8_divisor});
        if (file_.has_attribute("image_shape"))
            info_.image_shape = file_.read_int64s_attribute("image_shape");
        info_.id_note = "the file's own ids";
    }

    Slab load(std::uint64_t first) const {
        const std::uint64_t count = std::min(slab_, rows_ - first);
        hdf5::Shape offset(features_.shape().size(), 0), extent = features_.shape();
        offset[0] = first;
        extent[0] = count;
        Slab slab;
        slab.values.resize(count * columns_);
        features_.read(offset, extent, slab.values.data());
        if (labels_) read_column(*labels_, first, count, slab.labels);
        if (ids_) slab.ids = read_ids(*ids_, first, count);
        return slab;
    }

    static void read_column(const hdf5::Dataset& from, std::uint64_t first, std::uint64_t count,
                            std::vector<double>& into) {
        hdf5::Shape offset(from.shape().size(), 0), extent = from.shape();
        offset[0] = first;
        extent[0] = count;
        into.resize(count);
        from.read(offset, extent, into.data());
    }

    bool ids_ascend() const {
        std::uint64_t last = 0;
        for (std::uint64_t first = 0; first < rows_; first += slab_values) {
            const std::vector<std::uint64_t> ids =
                read_ids(*ids_, first, std::min(slab_values, rows_ - first)).ids;
            if (ids.front() < last || !std::is_sorted(ids.begin(), ids.end())) return false;
            last = ids.back();
        }
        return true;
    }

    std::int64_t label() const {
        const double value = now_.labels[row_ % slab_];
        if (value == std::floor(value) && std::abs(value) < 0x1p53) return static_cast<std::int64_t>(value);
        throw Error(
            ExitCode::input,
            "row " + std::to_string(row_) + " has label " + std::to_string(value) + ", not an integer",
            "labels are class indices 0, 1, 2, …; --regression learns numbers", info_.path);
    }

    hdf5::File file_;
    hdf5::Dataset features_;
    std::optional<hdf5::Dataset> labels_, ids_;
    SourceInfo info_;
    std::uint64_t rows_ = 0, columns_ = 0, slab_ = 0, row_ = 0;
    Slab now_;
    std::future<Slab> coming_;  // is waited for before the file closes
};

}  // namespace

std::unique_ptr<RecordSource> open_hdf5_split(const std::string& path, const std::string& split,
                                              std::optional<Scaling> scaling, bool regression) {
    return std::make_unique<Hdf5Source>(path, split, scaling, regression);
}

std::vector<std::string> hdf5_splits(const std::string& path) {
    std::vector<std::string> splits;
    for (const std::string& name : hdf5::File::open_read(path).names()) {
        if (name.size() > 2 && name.starts_with("x_")) splits.push_back(name.substr(2));
    }
    std::stable_partition(splits.begin(), splits.end(),
                          [](const std::string& split) { return split == "train"; });
    return splits;
}

}  // namespace holdfast
