#include "dist/data/import_idx.hpp"

#include <optional>

#include "dist/files/byte_stream.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::uint64_t most_row_bytes = std::uint64_t{1} << 24;  // 16 MB: no image is larger

/// The rows of one IDX file: 0, 0, type, axes; then the axes' sizes and the values, big endian.
class IdxReader {
  public:
    explicit IdxReader(const std::string& path) : bytes_(open_bytes(path)) {
        read_header();
        if (shape_[0] == 0)
            throw Error(ExitCode::input, "has no rows", "a dataset needs at least one record", path);
        row_bytes_ = 1;
        for (std::size_t axis = 1; axis < shape_.size(); ++axis) {
            if (shape_[axis] == 0 || row_bytes_ > most_row_bytes / shape_[axis]) {
                throw Error(ExitCode::input, "has a damaged header", "download it again", path);
            }
            row_bytes_ *= shape_[axis];
        }
        row_.resize(row_bytes_);
    }

    const std::vector<std::uint64_t>& shape() const { return shape_; }
    std::uint64_t row_bytes() const { return row_bytes_; }
    std::string name() const { return bytes_->name(); }

    const std::vector<unsigned char>& next(std::uint64_t row) {
        bytes_->read_exactly(row_.data(), row_.size(), "row " + std::to_string(row));
        return row_;
    }
    void rewind() {
        bytes_->rewind();
        read_header();
    }

  private:
    void read_header() {
        unsigned char magic[4];
        if (bytes_->read(magic, 4) != 4 || magic[0] != 0 || magic[1] != 0 || magic[3] == 0) {
            throw Error(ExitCode::input, "is not an IDX file (wrong magic number)",
                        "name another --format, or download it again", name());
        }
        if (magic[2] != 0x08) {
            throw Error(ExitCode::input,
                        "holds values of IDX type " + std::to_string(magic[2]) + ", not unsigned bytes (8)",
                        "only IDX files of unsigned bytes are read", name());
        }
        shape_.assign(magic[3], 0);
        for (std::uint64_t& size : shape_) {
            unsigned char bytes[4];
            bytes_->read_exactly(bytes, 4, "its header");
            for (const unsigned char byte : bytes) size = size << 8 | byte;
        }
    }

    std::unique_ptr<ByteStream> bytes_;
    std::vector<std::uint64_t> shape_;
    std::uint64_t row_bytes_ = 0;
    std::vector<unsigned char> row_;
};

class IdxSource : public RecordSource {
  public:
    IdxSource(const std::string& features, const std::string& labels) : features_(features) {
        if (!labels.empty()) open_labels(labels);
        info_.path = features;
        info_.has_labels = labels_.has_value();
        info_.bytes = true;
        info_.known_ranges.assign(features_.row_bytes(), Range{0, uint8_divisor});
        for (std::uint64_t i = 0; i < features_.row_bytes(); ++i)
            info_.feature_names.push_back("p" + std::to_string(i));
        const auto& shape = features_.shape();
        if (shape.size() == 3) {
            info_.image_shape = {1, static_cast<std::int64_t>(shape[1]), static_cast<std::int64_t>(shape[2])};
        }
    }

    const SourceInfo& info() const override { return info_; }
    bool next(RawRecord& record) override {
        if (row_ == features_.shape()[0]) return false;
        const auto& bytes = features_.next(row_);
        record.features.assign(bytes.begin(), bytes.end());
        if (labels_) record.label = labels_->next(row_)[0];
        record.position = row_++;
        return true;
    }
    void rewind() override {
        features_.rewind();
        if (labels_) labels_->rewind();
        row_ = 0;
    }

  private:
    void open_labels(const std::string& path) {
        labels_.emplace(path);
        if (labels_->shape().size() == 1 && labels_->shape()[0] == features_.shape()[0]) return;
        throw Error(ExitCode::input,
                    "has " + std::to_string(labels_->shape()[0]) + " rows of " +
                        std::to_string(labels_->row_bytes()) + " bytes, the features have " +
                        std::to_string(features_.shape()[0]) + " rows",
                    "name the label file that belongs to the images", path);
    }

    IdxReader features_;
    std::optional<IdxReader> labels_;
    SourceInfo info_;
    std::uint64_t row_ = 0;
};

}  // namespace

std::unique_ptr<RecordSource> open_idx(const std::string& features, const std::string& labels) {
    return std::make_unique<IdxSource>(features, labels);
}

}  // namespace holdfast
