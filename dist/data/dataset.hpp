#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dist/data/public_facts.hpp"
#include "dist/files/seal.hpp"
#include "kernels/ops/engine.hpp"

namespace holdfast {

/// Features [rows, columns], kept in the precision of their file.
class FeatureMatrix {
  public:
    FeatureMatrix() = default;
    FeatureMatrix(std::size_t columns, bool wide) : columns_(columns), wide_(wide) {}

    std::size_t rows() const {
        return columns_ == 0 ? 0 : (wide_ ? wide_values_.size() : values_.size()) / columns_;
    }
    std::size_t columns() const { return columns_; }
    bool wide() const { return wide_; }  ///< double rather than float
    double at(std::size_t row, std::size_t column) const {
        const std::size_t index = row * columns_ + column;
        return wide_ ? wide_values_[index] : static_cast<double>(values_[index]);
    }
    void reserve(std::size_t rows);  ///< memory for so many
    /// Appends a row of `columns()` values.
    void append(const double* row);
    void append_row_of(const FeatureMatrix& other, std::size_t row);

    std::vector<float>& values() { return values_; }             ///< used unless wide()
    std::vector<double>& wide_values() { return wide_values_; }  ///< used if wide()
    const std::vector<float>& values() const { return values_; }
    const std::vector<double>& wide_values() const { return wide_values_; }

  private:
    std::size_t columns_ = 0;
    bool wide_ = false;
    std::vector<float> values_;
    std::vector<double> wide_values_;
};

/// Records in memory: row i of every member belongs to the same record.
struct Records {
    FeatureMatrix features;            ///< [n, d]
    std::vector<std::int32_t> labels;  ///< [n], class index; empty for queries without labels
    std::vector<std::uint64_t> ids;    ///< [n], unique but for weights, independent of row order
    std::vector<std::uint64_t> rows;   ///< [n], row in the file it came from
    std::vector<double> targets =
        {};  ///< [n], numbers, of a dataset for regression; else empty, as are labels there
    /// [n], what each row counts by (kernels/ops/row_weight.hpp); empty: 1.
    std::vector<double> weights = {};
    /// [n, classes], of labels that were drawn under privacy: evidence for each class; empty: they were not.
    std::vector<std::uint8_t> evidence = {};
    /// Persons have several rows, which have one id, stand side by side, and weigh row_weight() each.
    bool rows_of_persons = false;

    std::size_t size() const { return ids.size(); }
    std::size_t evidence_classes() const { return evidence.empty() ? 0 : evidence.size() / size(); }
    void reserve(std::size_t records);  ///< memory for so many, but for their labels
    /// None of these, of as many columns.
    Records none() const;
    /// One more, with all that the others have of it; they have as many columns.
    void append_row_of(const Records& other, std::size_t row);
    /// For an engine; these records must stay where they are.
    RecordSet view(bool selectable = false) const {
        return {.features = features.wide() ? nullptr : features.values().data(),
                .wide_features = features.wide() ? features.wide_values().data() : nullptr,
                .labels = labels.empty() ? nullptr : labels.data(),
                .count = size(),
                .selectable = selectable,
                .targets = targets.empty() ? nullptr : targets.data(),
                .weights = weights.empty() ? nullptr : weights.data(),
                .rows_of_persons = rows_of_persons};
    }
};

/// The records as a regression learns them: every target, or where there are none every label as a number, in
/// the public range, and one beyond it (a NaN is beyond) as its nearest end. No labels remain.
Records with_targets(Records records, FeatureRange range);

/// How many persons the rows `indices`, ascending, are of: of a person all or none are among them.
std::int64_t persons_among(const Records& records, std::span<const std::uint32_t> indices);

/// Gives the rows of persons their weights; how many persons there are. Error (input, at `path`): rows of an
/// id that do not stand side by side, or more of them than `rows_at_most`.
std::uint64_t weigh_persons(Records& records, std::uint64_t rows_at_most, const std::string& path);

/// Gives every record the weight of its label; none: none. Error (input): a label beyond them.
void weigh_by_class(Records& records, const std::vector<double>& weights);

/// How many values the public range clamps.
std::uint64_t values_outside(const FeatureMatrix& features, FeatureRange range);

/// What a dataset file says of itself. Its range is that of the features read: of uint8, [0, 255 / divisor].
struct DatasetInfo : PublicFacts {
    std::string path;
    std::string split;  ///< "train", "test", …: datasets x_SPLIT, y_SPLIT, id_SPLIT
    std::uint64_t rows = 0;
    std::size_t features = 0;
    bool wide = false;  ///< features stored as double
    bool has_labels = false;
    std::size_t evidence_classes = 0;       ///< of e_SPLIT; 0: its labels were not drawn under privacy
    bool has_targets = false;               ///< y_SPLIT holds numbers in place of labels: a regression
    std::vector<std::string> splits;        ///< all splits of the file, sorted
    std::vector<std::int64_t> image_shape;  ///< channels, height, width; empty unless the records are images
    double divisor = 1;                     ///< what stored features are divided by: a public constant
};

/// uint8 features (images) are divided by this public constant when read, unless the file's attribute
/// `divisor` names another one (1 for indicators); either way their scaling is Scaling::public_constants.
inline constexpr double uint8_divisor = 255;

/// "FILE" or "FILE:SPLIT" -> the two parts; `default_split` where none is named.
std::pair<std::string, std::string> split_dataset_name(const std::string& name,
                                                       const std::string& default_split);

/// The splits of a dataset file, sorted. Errors: as DatasetReader; a file without any.
std::vector<std::string> dataset_splits(const std::string& path);

/// Opens one split of an HDF5 dataset for reading by hyperslab. Layout: x_SPLIT [n, d] float32, float64 or
/// uint8, y_SPLIT [n] integers (labels) or floating (targets), id_SPLIT [n] uint64 (optional),
/// e_SPLIT [n, classes] uint8 (optional, evidence for each class, of labels that were drawn), attributes
/// `source`, `feature_names` (comma separated), `scaling` ("public", "private", "none", "measured"; absent:
/// unknown), `ids` ("given", "content", "row number"), `unit` ("row", "person"), `rows_at_most`,
/// `expected_records`, `population`, `feature_range` and `target_range` (low, high), `image_shape` (channels,
/// height, width), `divisor`. Errors (ExitCode::input), each naming the file and the remedy: missing, not
/// HDF5, truncated, no such split (lists those there are), shapes that disagree, zero rows, zero features, an
/// attribute with a value it cannot have. No feature is held to the range here: who uses it does that.
class DatasetReader {
  public:
    /// `share`: of the check of a sealed file, where ranks open it together.
    explicit DatasetReader(const std::string& name, const std::string& default_split = "train",
                           SealShare share = {});
    ~DatasetReader();
    DatasetReader(DatasetReader&&) noexcept;
    DatasetReader& operator=(DatasetReader&&) noexcept;

    const DatasetInfo& info() const { return info_; }
    /// Rows [first, first + count). Errors: NaN or infinite features or targets, negative labels: names row
    /// and column.
    Records read(std::uint64_t first, std::uint64_t count) const;
    /// As read(), but features may be NaN or infinite: for looking at what is wrong with a file.
    Records read_unchecked(std::uint64_t first, std::uint64_t count) const;
    /// Only the ids (row numbers where the file has none), without touching the features.
    std::vector<std::uint64_t> read_ids(std::uint64_t first, std::uint64_t count) const;
    Records read_all() const { return read(0, info_.rows); }
    /// read() of all rows in their order, a slab at a time. The next one is read and unpacked by another
    /// thread while `use` has this one: it calls HDF5, which is for one thread at a time, for no file at all.
    void visit(const std::function<void(const Records& slab)>& use) const;

  private:
    struct File;
    std::unique_ptr<File> file_;
    DatasetInfo info_;
};

/// Writes a dataset file split by split, streamed in slabs. Nothing appears under `path` before commit(): a
/// temporary name in the same folder, fsync, rename; the destructor of an uncommitted writer removes it.
/// Errors (ExitCode::output): unwritable folder, full disk.
class DatasetWriter {
  public:
    /// `deflate` 1 to 9: splits are compressed of which the first rows take less than half the room so.
    explicit DatasetWriter(const std::string& path, int deflate = 0);
    ~DatasetWriter();
    DatasetWriter(const DatasetWriter&) = delete;
    DatasetWriter& operator=(const DatasetWriter&) = delete;

    void begin_split(const std::string& split, std::size_t features, bool wide);
    void append(const Records& records);                            ///< to the split begun last
    void append(const std::string& split, const Records& records);  ///< to any split begun
    void set_attribute(const std::string& name, const std::string& text);
    void set_image_shape(const std::vector<std::int64_t>& channels_height_width);
    void set_facts(const PublicFacts& facts);
    void set_names(const PrivateNames& names);
    void commit();

  private:
    struct File;
    std::unique_ptr<File> file_;
};

}  // namespace holdfast
