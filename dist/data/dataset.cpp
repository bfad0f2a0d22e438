#include "dist/data/dataset.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "dist/data/record_id.hpp"
#include "dist/data/width.hpp"
#include "dist/files/atomic_file.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"
#include "kernels/ops/row_weight.hpp"

namespace holdfast {
namespace {

/// Chunks of about this many bytes: many of them fit HDF5's chunk cache, so slabs need not align with chunks,
/// and a dataset of a few rows stays small.
constexpr std::uint64_t chunk_bytes = 64 * 1024;

constexpr std::size_t packed_to_see = std::size_t{1} << 20;  // bytes that tell whether packing pays

constexpr double largest_byte = 255;

/// More values than this no file holds; below it no product of rows, features and bytes overflows.
constexpr std::uint64_t most_values = std::uint64_t{1} << 50;

std::string shape_text(const hdf5::Shape& shape) {
    return "[" + joined(shape, ", ", [](std::uint64_t size) { return std::to_string(size); }) + "]";
}

std::vector<std::string> splits_of(const hdf5::File& file) {
    std::vector<std::string> splits;
    for (const std::string& name : file.names()) {
        if (name.size() > 2 && name.starts_with("x_")) splits.push_back(name.substr(2));
    }
    return splits;
}

Scaling scaling_of(const hdf5::File& file, bool bytes) {
    if (!file.has_attribute("scaling")) return bytes ? Scaling::public_constants : Scaling::unknown;
    const std::string text = file.read_text_attribute("scaling");
    if (const std::optional<Scaling> scaling = scaling_named(text)) return *scaling;
    throw Error(ExitCode::input, "attribute 'scaling' is '" + text + "'",
                "it must be 'public', 'private', 'measured' or 'none', or be absent", file.path());
}

double divisor_of(const hdf5::File& file) {
    if (!file.has_attribute("divisor")) return uint8_divisor;
    const double divisor = file.read_double_attribute("divisor");
    if (std::isfinite(divisor) && divisor > 0 && std::isfinite(static_cast<float>(largest_byte / divisor)))
        return divisor;
    throw Error(ExitCode::input, "attribute 'divisor' is not a positive number",
                "255 for images, 1 for indicators", file.path());
}

void require_features(const hdf5::Dataset& x, const std::string& where) {
    if (x.shape().size() != 2) {
        throw Error(ExitCode::input, "has shape " + shape_text(x.shape()) + " instead of [rows, features]",
                    "flatten each record into one row", where);
    }
    if (x.shape()[0] == 0)
        throw Error(ExitCode::input, "has no rows", "a dataset needs at least one record", where);
    if (x.shape()[1] == 0)
        throw Error(ExitCode::input, "has no features", "a record needs at least one", where);
    if (x.shape()[0] > most_values / x.shape()[1]) {
        throw Error(ExitCode::input,
                    "claims shape " + shape_text(x.shape()) + ", more than any machine holds",
                    "the file is damaged: make it again", where);
    }
    require_width(x.shape()[1], where);
    const hdf5::Type type = x.type();
    if (type != hdf5::Type::float32 && type != hdf5::Type::float64 && type != hdf5::Type::uint8) {
        throw Error(ExitCode::input,
                    std::string("holds ") + hdf5::name_of(type) + ", not float32, float64 or uint8",
                    "`holdfast import` converts it", where);
    }
}

/// `what` is "labels" or "ids": one number a row of x, of labels an integer.
void require_one_each(const hdf5::Dataset& values, std::uint64_t rows, const std::string& what,
                      const std::string& where) {
    if (values.shape() != hdf5::Shape{rows}) {
        throw Error(ExitCode::input,
                    "has shape " + shape_text(values.shape()) + ", the features have " +
                        std::to_string(rows) + " rows",
                    "there must be one of the " + what + " for each row", where);
    }
    const bool of_ids = what == "ids" && hdf5::is_floating(values.type());
    if (!hdf5::is_integer(values.type()) && !of_ids) {
        throw Error(ExitCode::input, what + " are " + hdf5::name_of(values.type()) + ", not integers",
                    what == "labels" ? "store class indices 0, 1, 2, …" : "store uint64 ids", where);
    }
}

void require_numbers(const hdf5::Dataset& targets, std::uint64_t rows, const std::string& where) {
    if (targets.shape() == hdf5::Shape{rows}) return;
    throw Error(
        ExitCode::input,
        "has shape " + shape_text(targets.shape()) + ", the features have " + std::to_string(rows) + " rows",
        "there must be one target for each row", where);
}

void require_evidence(const hdf5::Dataset& evidence, std::uint64_t rows, const std::string& where) {
    const hdf5::Shape& shape = evidence.shape();
    if (shape.size() == 2 && shape[0] == rows && shape[1] > 1 && evidence.type() == hdf5::Type::uint8) return;
    throw Error(ExitCode::input,
                "has shape " + shape_text(shape) + " of " + hdf5::name_of(evidence.type()) +
                    ", the features have " + std::to_string(rows) + " rows",
                "there must be a uint8 for each row and class", where);
}

std::int32_t class_index(std::int64_t label, std::uint64_t row, const std::string& where) {
    if (label >= 0 && label <= std::numeric_limits<std::int32_t>::max())
        return static_cast<std::int32_t>(label);
    throw Error(ExitCode::input, "row " + std::to_string(row) + " has label " + std::to_string(label),
                "labels are class indices 0, 1, 2, …", where);
}

/// The first NaN or infinity of `values` [rows, columns], if any.
template <class T>
std::optional<std::size_t> first_not_finite(const std::vector<T>& values) {
    const auto found =
        std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
    if (found == values.end()) return {};
    return static_cast<std::size_t>(found - values.begin());
}

}  // namespace

void FeatureMatrix::reserve(std::size_t rows) {
    if (wide_) {
        wide_values_.reserve(rows * columns_);
    } else {
        values_.reserve(rows * columns_);
    }
}

void FeatureMatrix::append(const double* row) {
    if (wide_) {
        wide_values_.insert(wide_values_.end(), row, row + columns_);
        return;
    }
    const std::size_t end = values_.size();
    values_.resize(end + columns_);
    std::transform(row, row + columns_, values_.begin() + static_cast<std::ptrdiff_t>(end),
                   [](double value) { return static_cast<float>(value); });
}

void FeatureMatrix::append_row_of(const FeatureMatrix& other, std::size_t row) {
    ensure(other.columns_ == columns_ && other.wide_ == wide_, "rows move between matrices of one kind");
    const auto copy = [&](const auto& from, auto& to) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * columns_);
        to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(columns_));
    };
    wide_ ? copy(other.wide_values_, wide_values_) : copy(other.values_, values_);
}

Records Records::none() const {
    Records records{FeatureMatrix(features.columns(), features.wide()), {}, {}, {}};
    records.rows_of_persons = rows_of_persons;
    return records;
}

void Records::append_row_of(const Records& other, std::size_t row) {
    features.append_row_of(other.features, row);
    if (!other.labels.empty()) labels.push_back(other.labels[row]);
    ids.push_back(other.ids[row]);
    rows.push_back(other.rows[row]);
    if (!other.targets.empty()) targets.push_back(other.targets[row]);
    if (!other.weights.empty()) weights.push_back(other.weights[row]);
    const std::size_t classes = other.evidence_classes();
    for (std::size_t c = 0; c < classes; ++c) evidence.push_back(other.evidence[row * classes + c]);
}

void Records::reserve(std::size_t records) {
    features.reserve(records);
    ids.reserve(records);
    rows.reserve(records);
}

Records with_targets(Records records, FeatureRange range) {
    if (records.targets.empty()) records.targets.assign(records.labels.begin(), records.labels.end());
    records.labels.clear();
    for (double& target : records.targets)
        target = target >= range.low ? std::min(target, range.high) : range.low;
    return records;
}

std::int64_t persons_among(const Records& records, std::span<const std::uint32_t> indices) {
    if (records.weights.empty()) return static_cast<std::int64_t>(indices.size());
    std::int64_t persons = 0;
    for (std::size_t i = 0; i < indices.size(); ++i)
        persons += i == 0 || records.ids[indices[i]] != records.ids[indices[i - 1]];
    return persons;
}

std::uint64_t weigh_persons(Records& records, std::uint64_t rows_at_most, const std::string& path) {
    const auto refuse = [&](std::uint64_t id, const std::string& what) {
        throw Error(ExitCode::input, "id " + std::to_string(id) + " " + what,
                    "import the table again: holdfast import --person", path);
    };
    std::vector<std::uint64_t> persons;
    records.weights.clear();
    records.rows_of_persons = true;
    for (std::size_t first = 0, last = 0; first < records.size(); first = last) {
        const std::uint64_t id = records.ids[first];
        while (last < records.size() && records.ids[last] == id) ++last;
        if (last - first > rows_at_most)
            refuse(id, "has more rows than the " + std::to_string(rows_at_most) +
                           " that the file states for a person");
        records.weights.resize(last, row_weight(last - first));
        persons.push_back(id);
    }
    std::sort(persons.begin(), persons.end());
    const auto twice = std::adjacent_find(persons.begin(), persons.end());
    if (twice != persons.end()) refuse(*twice, "has rows that do not stand side by side");
    return persons.size();
}

void weigh_by_class(Records& records, const std::vector<double>& weights) {
    if (weights.empty()) return;
    records.weights.clear();
    for (const std::int32_t label : records.labels) {
        if (label < 0 || static_cast<std::size_t>(label) >= weights.size())
            throw Error(ExitCode::input,
                        "a record has the label " + std::to_string(label) + ", which has no weight",
                        "state the weights of all classes", "training.class_weights");
        records.weights.push_back(weights[static_cast<std::size_t>(label)]);
    }
}

std::uint64_t values_outside(const FeatureMatrix& features, FeatureRange range) {
    const InputTransform transform{.range = range};
    const auto count = [&](const auto& values) {
        return static_cast<std::uint64_t>(std::count_if(
            values.begin(), values.end(), [&](double value) { return transform.clamps(value); }));
    };
    return features.wide() ? count(features.wide_values()) : count(features.values());
}

std::pair<std::string, std::string> split_dataset_name(const std::string& name,
                                                       const std::string& default_split) {
    const std::size_t colon = name.rfind(':');
    struct stat status;
    const bool is_file = ::stat(name.c_str(), &status) == 0;  // a file name may itself contain a colon
    if (is_file || colon == std::string::npos || name.find('/', colon) != std::string::npos)
        return {name, default_split};
    if (colon == 0 || colon + 1 == name.size()) {
        throw Error(ExitCode::usage, "'" + name + "' names no file or no split", "write FILE or FILE:SPLIT",
                    name);
    }
    return {name.substr(0, colon), name.substr(colon + 1)};
}

std::vector<std::string> dataset_splits(const std::string& path) {
    std::vector<std::string> splits = splits_of(hdf5::File::open_read(path));
    if (!splits.empty()) return splits;
    throw Error(ExitCode::input, "holds no split (no dataset x_train or x_SPLIT)",
                "`holdfast import` makes a dataset of other files", path);
}

struct DatasetReader::File {
    hdf5::File file;
    hdf5::Dataset features;
    std::optional<hdf5::Dataset> labels, targets, ids, evidence;
};

DatasetReader::DatasetReader(const std::string& name, const std::string& default_split, SealShare share) {
    std::tie(info_.path, info_.split) = split_dataset_name(name, default_split);
    hdf5::File file = hdf5::File::open_read(info_.path, share);
    info_.splits = splits_of(file);
    const std::string x_name = "x_" + info_.split, y_name = "y_" + info_.split, id_name = "id_" + info_.split;
    if (!file.has(x_name)) {
        throw Error(ExitCode::input, "has no split '" + info_.split + "' (no dataset " + x_name + ")",
                    info_.splits.empty() ? "`holdfast import` makes a dataset of other files"
                                         : "its splits: " + joined(info_.splits),
                    info_.path);
    }
    hdf5::Dataset features = file.dataset(x_name);
    require_features(features, info_.path + ":" + x_name);
    info_.rows = features.shape()[0];
    info_.features = features.shape()[1];
    info_.wide = features.type() == hdf5::Type::float64;
    const bool bytes = features.type() == hdf5::Type::uint8;
    static_cast<PublicFacts&>(info_) = read_facts(file, info_.split);
    info_.scaling = scaling_of(file, bytes);
    if (bytes) info_.divisor = divisor_of(file);
    if (bytes && !file.has_attribute("feature_range")) info_.range = {0, largest_byte / info_.divisor};
    if (file.has_attribute("image_shape")) info_.image_shape = file.read_int64s_attribute("image_shape");
    std::optional<hdf5::Dataset> labels, targets, ids, evidence;
    if (file.has(y_name)) {
        hdf5::Dataset values = file.dataset(y_name);
        const bool numbers = values.type() == hdf5::Type::float32 || values.type() == hdf5::Type::float64;
        if (numbers) {
            require_numbers(values, info_.rows, info_.path + ":" + y_name);
        } else {
            require_one_each(values, info_.rows, "labels", info_.path + ":" + y_name);
        }
        (numbers ? targets : labels) = std::move(values);
    }
    if (file.has(id_name)) {
        ids = file.dataset(id_name);
        require_one_each(*ids, info_.rows, "ids", info_.path + ":" + id_name);
    }
    if (file.has("e_" + info_.split)) {
        evidence = file.dataset("e_" + info_.split);
        require_evidence(*evidence, info_.rows, info_.path + ":e_" + info_.split);
        info_.evidence_classes = evidence->shape()[1];
    }
    info_.has_labels = labels.has_value();
    info_.has_targets = targets.has_value();
    file_ = std::make_unique<File>(File{std::move(file), std::move(features), std::move(labels),
                                        std::move(targets), std::move(ids), std::move(evidence)});
}

DatasetReader::~DatasetReader() = default;
DatasetReader::DatasetReader(DatasetReader&&) noexcept = default;
DatasetReader& DatasetReader::operator=(DatasetReader&&) noexcept = default;

std::vector<std::uint64_t> DatasetReader::read_ids(std::uint64_t first, std::uint64_t count) const {
    ensure(first <= info_.rows && count <= info_.rows - first, "rows read lie in the dataset");
    if (!file_->ids) {
        std::vector<std::uint64_t> rows(count);
        std::iota(rows.begin(), rows.end(), first);
        return rows;
    }
    IdColumn column = holdfast::read_ids(*file_->ids, first, count);
    if (column.faults.empty()) return std::move(column.ids);
    const auto& [place, fault] = *column.faults.begin();
    throw Error(ExitCode::input, "row " + std::to_string(first + place) + ": " + fault, id_hint,
                info_.path + ":id_" + info_.split);
}

Records DatasetReader::read_unchecked(std::uint64_t first, std::uint64_t count) const {
    Records records;
    records.ids = read_ids(first, count);
    records.rows.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) records.rows[i] = first + i;

    records.features = FeatureMatrix(info_.features, info_.wide);
    const hdf5::Shape offset{first, 0}, extent{count, info_.features};
    if (info_.wide) {
        records.features.wide_values().resize(count * info_.features);
        file_->features.read(offset, extent, records.features.wide_values().data());
    } else {
        records.features.values().resize(count * info_.features);
        file_->features.read(offset, extent, records.features.values().data());  // uint8 to float is exact
    }
    if (file_->features.type() == hdf5::Type::uint8) {
        for (float& value : records.features.values()) value = static_cast<float>(value / info_.divisor);
    }

    if (file_->targets) {
        records.targets.resize(count);
        file_->targets->read({first}, {count}, records.targets.data());
    }
    if (file_->evidence) {
        records.evidence.resize(count * info_.evidence_classes);
        file_->evidence->read({first, 0}, {count, info_.evidence_classes}, records.evidence.data());
    }
    if (!file_->labels) return records;
    std::vector<std::int64_t> labels(count);
    file_->labels->read({first}, {count}, labels.data());
    for (std::uint64_t i = 0; i < count; ++i) {
        records.labels.push_back(class_index(labels[i], first + i, info_.path + ":y_" + info_.split));
    }
    return records;
}

Records DatasetReader::read(std::uint64_t first, std::uint64_t count) const {
    Records records = read_unchecked(first, count);
    if (const auto wrong = first_not_finite(records.targets)) {
        throw Error(ExitCode::input,
                    "row " + std::to_string(first + *wrong) + " has a target that is " +
                        (std::isnan(records.targets[*wrong]) ? "NaN" : "infinite"),
                    "targets must be finite numbers: drop the record", info_.path + ":y_" + info_.split);
    }
    const auto bad = info_.wide ? first_not_finite(records.features.wide_values())
                                : first_not_finite(records.features.values());
    if (!bad) return records;
    const std::size_t row = *bad / info_.features, column = *bad % info_.features;
    const bool named = info_.feature_names.size() == info_.features;
    throw Error(ExitCode::input,
                "row " + std::to_string(first + row) + ", column " + std::to_string(column) +
                    (named ? " (" + info_.feature_names[column] + ")" : "") + " is " +
                    (std::isnan(records.features.at(row, column)) ? "NaN" : "infinite"),
                "features must be finite numbers: drop the record or fill the value by a public rule",
                info_.path + ":x_" + info_.split);
}

void DatasetReader::visit(const std::function<void(const Records& slab)>& use) const {
    constexpr std::uint64_t slab_rows = 16384;
    const auto slab_from = [&](std::uint64_t first) {
        return read(first, std::min(slab_rows, info_.rows - first));
    };
    if (info_.rows == 0) return;
    Records slab = slab_from(0);
    for (std::uint64_t next = slab.size(); next < info_.rows; next += slab.size()) {
        std::future<Records> coming = std::async(std::launch::async, slab_from, next);
        use(slab);
        slab = coming.get();
    }
    use(slab);
}

namespace {

struct Split {
    std::size_t features = 0;
    bool wide = false;
    std::uint64_t rows = 0;
    std::optional<hdf5::Dataset> x, ids;            // once there are rows
    std::optional<hdf5::Dataset> truths, evidence;  // labels or targets; of labels that were drawn
    bool numbers = false;
};

/// Do values take less than half the room deflated, byte by byte of a value as the shuffle has them?
template <typename Real>
bool packs_to_half(std::span<const Real> values, int deflate) {
    values = values.first(std::min(values.size(), packed_to_see / sizeof(Real)));
    const auto* bytes = reinterpret_cast<const Bytef*>(values.data());
    std::vector<Bytef> planes(values.size_bytes());
    for (std::size_t i = 0; i < planes.size(); ++i)
        planes[i % sizeof(Real) * values.size() + i / sizeof(Real)] = bytes[i];
    uLongf packed = compressBound(planes.size());
    std::vector<Bytef> into(packed);
    return compress2(into.data(), &packed, planes.data(), planes.size(), deflate) == Z_OK &&
           packed < planes.size() / 2;
}
bool packs_to_half(const FeatureMatrix& features, int deflate) {
    if (features.wide()) return packs_to_half<double>(features.wide_values(), deflate);
    return packs_to_half<float>(features.values(), deflate);
}

hdf5::Storage rows_storage(std::uint64_t row_bytes, const hdf5::Shape& row, int deflate) {
    hdf5::Storage storage{{std::max<std::uint64_t>(1, chunk_bytes / row_bytes)}, deflate, true};
    storage.chunk.insert(storage.chunk.end(), row.begin(), row.end());
    return storage;
}

}  // namespace

struct DatasetWriter::File {
    AtomicPath guard;
    int deflate;
    hdf5::File file;
    std::map<std::string, Split> splits;  // datasets close before their file
    std::string last;
};

DatasetWriter::DatasetWriter(const std::string& path, int deflate) {
    // In two steps: the guard cannot move, and HDF5 truncates the file it has made.
    file_.reset(new File{AtomicPath(path), deflate, hdf5::File{}, {}, {}});
    file_->file = hdf5::File::create(file_->guard.temporary(), path);
}

DatasetWriter::~DatasetWriter() = default;

void DatasetWriter::begin_split(const std::string& split, std::size_t features, bool wide) {
    ensure(!split.empty() && features > 0 && !file_->splits.contains(split),
           "a split has a new name and features");
    file_->splits.emplace(split, Split{features, wide, 0, {}, {}, {}, {}, false});
    file_->last = split;
}

void DatasetWriter::append(const Records& records) {
    append(file_->last, records);
}

void DatasetWriter::append(const std::string& name, const Records& records) {
    ensure(file_->splits.contains(name), "begin_split comes before append");
    Split& split = file_->splits.at(name);
    const FeatureMatrix& features = records.features;
    const std::uint64_t count = records.size();
    if (count == 0) return;
    ensure(features.columns() == split.features && features.wide() == split.wide && features.rows() == count,
           "appended features have the kind of their split");
    const bool numbers = !records.targets.empty(), known = numbers || !records.labels.empty();
    ensure(!known || (numbers ? records.targets.size() : records.labels.size()) == count,
           "one label or target a record");
    if (split.rows == 0) {
        hdf5::File& file = file_->file;
        const int deflate =
            file_->deflate > 0 && packs_to_half(features, file_->deflate) ? file_->deflate : 0;
        const std::uint64_t width = split.wide ? 8 : 4;
        split.x = file.create_dataset("x_" + name, split.wide ? hdf5::Type::float64 : hdf5::Type::float32,
                                      {0, split.features},
                                      rows_storage(width * split.features, {split.features}, deflate));
        split.ids = file.create_dataset("id_" + name, hdf5::Type::uint64, {0}, rows_storage(8, {}, deflate));
        split.numbers = numbers;
        if (known)
            split.truths = file.create_dataset("y_" + name, numbers ? hdf5::Type::float64 : hdf5::Type::int32,
                                               {0}, rows_storage(numbers ? 8 : 4, {}, deflate));
    }
    ensure(split.truths.has_value() == known && split.numbers == numbers,
           "all records of a split have labels, all have targets, or none has either");

    const hdf5::Shape here{split.rows, 0}, slab{count, split.features};
    split.rows += count;
    split.x->resize(split.rows);
    split.wide ? split.x->write(here, slab, features.wide_values().data())
               : split.x->write(here, slab, features.values().data());
    split.ids->resize(split.rows);
    split.ids->write({here[0]}, {count}, records.ids.data());
    if (const std::size_t classes = records.evidence_classes(); classes > 0) {
        if (!split.evidence)
            split.evidence = file_->file.create_dataset("e_" + name, hdf5::Type::uint8, {0, classes},
                                                        rows_storage(classes, {classes}, file_->deflate));
        split.evidence->resize(split.rows);
        split.evidence->write({here[0], 0}, {count, classes}, records.evidence.data());
    }
    if (!known) return;
    split.truths->resize(split.rows);
    numbers ? split.truths->write({here[0]}, {count}, records.targets.data())
            : split.truths->write({here[0]}, {count}, records.labels.data());
}

void DatasetWriter::set_facts(const PublicFacts& facts) {
    write_facts(file_->file, facts);
}

void DatasetWriter::set_names(const PrivateNames& names) {
    write_names(file_->file, names);
}

void DatasetWriter::set_attribute(const std::string& name, const std::string& text) {
    file_->file.write_attribute(name, text);
}

void DatasetWriter::set_image_shape(const std::vector<std::int64_t>& channels_height_width) {
    file_->file.write_attribute("image_shape", channels_height_width);
}

void DatasetWriter::commit() {
    for (auto& [name, split] : file_->splits) {
        for (std::optional<hdf5::Dataset>* dataset : {&split.x, &split.ids, &split.truths, &split.evidence})
            if (*dataset) (*dataset)->close();
    }
    file_->file.write_attribute(hdf5::sealed_attribute, std::int64_t{1});
    file_->file.close();
    add_seal(file_->guard.temporary(), file_->guard.path());
    file_->guard.commit();
}

}  // namespace holdfast
