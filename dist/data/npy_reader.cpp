#include "dist/data/npy_reader.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

static_assert(std::endian::native == std::endian::little, "NPY values are copied as they lie in the file");
constexpr std::uint64_t most_npy_values = std::uint64_t{1} << 50;
constexpr std::uint32_t longest_header = 1 << 20;

template <class T>
T load(const unsigned char* bytes) {
    T value;
    std::memcpy(&value, bytes, sizeof value);
    return value;
}

double as_double(const std::string& type, const unsigned char* bytes) {
    if (type == "f4") return load<float>(bytes);
    if (type == "f8") return load<double>(bytes);
    if (type == "i4") return load<std::int32_t>(bytes);
    if (type == "i8") return static_cast<double>(load<std::int64_t>(bytes));
    if (type == "u8") return static_cast<double>(load<std::uint64_t>(bytes));
    return *bytes;
}

/// What stands behind 'key': in the header, which is a Python dictionary written by NumPy.
std::string field(const std::string& header, const std::string& key, const std::string& where) {
    const auto at = header.find("'" + key + "'");
    const auto colon = at == std::string::npos ? at : header.find(':', at);
    if (colon == std::string::npos) {
        throw Error(ExitCode::input, "has no '" + key + "' in its header", "write it with numpy.save", where);
    }
    const auto begin = header.find_first_not_of(' ', colon + 1);
    const bool tuple = begin != std::string::npos && header[begin] == '(';
    const auto end = begin == std::string::npos ? begin
                     : tuple                    ? header.find(')', begin)
                                                : header.find_first_of(",}", begin);
    return end == std::string::npos ? "" : header.substr(begin, end - begin);
}

std::vector<std::uint64_t> parse_shape(const std::string& text, const std::string& where) {
    std::vector<std::uint64_t> shape;
    for (const char *at = text.data(), *end = at + text.size(); at < end;) {
        if (*at == '(' || *at == ',' || *at == ' ') {
            ++at;
            continue;
        }
        std::uint64_t size = 0;
        const auto [next, error] = std::from_chars(at, end, size);
        if (error != std::errc())
            throw Error(ExitCode::input, "has a damaged shape", "write it with numpy.save", where);
        shape.push_back(size);
        at = next;
    }
    return shape;
}

std::uint64_t product(const std::vector<std::uint64_t>& sizes, const std::string& where) {
    std::uint64_t total = 1;
    for (const std::uint64_t size : sizes) {
        if (size != 0 && total > most_npy_values / size) {
            throw Error(ExitCode::input, "claims more values than any machine holds",
                        "write it with numpy.save", where);
        }
        total *= size;
    }
    return total;
}

}  // namespace

NpyReader::NpyReader(std::unique_ptr<ByteStream> bytes) : bytes_(std::move(bytes)) {
    read_header();
    if (shape_.empty() || product(shape_, name()) == 0) {
        throw Error(ExitCode::input, "has no rows", "a dataset needs at least one record", name());
    }
    columns_ = product({shape_.begin() + 1, shape_.end()}, name());
    if (product({columns_, width_}, name()) > (std::uint64_t{1} << 32)) {
        throw Error(ExitCode::input, "has rows of more than 4 GiB", "write it with numpy.save", name());
    }
    buffer_.resize(columns_ * width_);
}

void NpyReader::read_header() {
    unsigned char start[8] = {};
    const std::size_t got = bytes_->read(start, sizeof start);
    if (got < 6 || std::memcmp(start, "\x93NUMPY", 6) != 0) {
        throw Error(ExitCode::input, "is not an NPY array", "write it with numpy.save", name());
    }
    if (got < 8)
        throw Error(ExitCode::input, "is truncated: it ends inside its header", "write it again", name());
    if (start[6] < 1 || start[6] > 3) {
        throw Error(ExitCode::input, "has NPY format version " + std::to_string(start[6]),
                    "versions 1, 2 and 3 are read", name());
    }
    unsigned char size[4] = {};
    bytes_->read_exactly(size, start[6] == 1 ? 2 : 4, "its header");
    const std::uint32_t length = load<std::uint32_t>(size);
    if (length > longest_header)
        throw Error(ExitCode::input, "has a damaged header", "write it with numpy.save", name());
    std::string header(length, '\0');
    bytes_->read_exactly(header.data(), length, "its header");
    parse_header(header);
}

void NpyReader::parse_header(const std::string& header) {
    const std::string order = field(header, "fortran_order", name()), type = field(header, "descr", name());
    shape_ = parse_shape(field(header, "shape", name()), name());
    if (order != "False" && shape_.size() > 1) {
        throw Error(ExitCode::input, "is in Fortran order",
                    "write it with numpy.save(file, numpy.ascontiguousarray(x))", name());
    }
    for (const char* known : {"<f4", "<f8", "<i4", "<i8", "|u1", "<u8"}) {
        if (type == "'" + std::string(known) + "'") type_ = known + 1;
    }
    if (type_.empty()) {
        throw Error(ExitCode::input,
                    "holds values of type " + type + ", not little-endian f4, f8, i4, i8 or u1",
                    "convert it, for example x.astype('<f4')", name());
    }
    width_ = static_cast<std::size_t>(type_[1] - '0');
}

const unsigned char* NpyReader::next_bytes() {
    bytes_->read_exactly(buffer_.data(), buffer_.size(), "row " + std::to_string(row_));
    ++row_;
    return buffer_.data();
}

void NpyReader::next_row(std::vector<double>& values) {
    const unsigned char* bytes = next_bytes();
    values.resize(columns_);
    for (std::uint64_t column = 0; column < columns_; ++column)
        values[column] = as_double(type_, bytes + column * width_);
}

std::int64_t NpyReader::next_integer() {
    const unsigned char* bytes = next_bytes();
    if (type_ == "i8") return load<std::int64_t>(bytes);
    const double value = as_double(type_, bytes);
    if (value == std::floor(value) && std::abs(value) < 0x1p53) return static_cast<std::int64_t>(value);
    throw Error(ExitCode::input, "row " + std::to_string(row_ - 1) + " is not an integer",
                "labels are class indices 0, 1, 2, …", name());
}

ReadId NpyReader::next_id() {
    const unsigned char* bytes = next_bytes();
    if (type_ == "u8") return {load<std::uint64_t>(bytes)};
    if (type_ == "i8") return read_id(load<std::int64_t>(bytes));
    return read_id(as_double(type_, bytes), type_ == "f4" ? 0x1p24 : 0x1p53);
}

void NpyReader::rewind() {
    bytes_->rewind();
    row_ = 0;
    read_header();
}

}  // namespace holdfast
