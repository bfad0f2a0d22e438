#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/data/record_id.hpp"
#include "dist/files/byte_stream.hpp"

namespace holdfast {

/// The rows of one NPY array in order. Errors as open_npy.
class NpyReader {
  public:
    explicit NpyReader(std::unique_ptr<ByteStream> bytes);

    const std::vector<std::uint64_t>& shape() const { return shape_; }
    std::uint64_t rows() const { return shape_[0]; }
    std::uint64_t columns() const { return columns_; }  ///< the other axes, flattened
    const std::string& type() const { return type_; }   ///< "f4", "f8", "i4", "i8", "u1", "u8"
    std::string name() const { return bytes_->name(); }

    void next_row(std::vector<double>& values);  ///< [columns]
    std::int64_t next_integer();                 ///< of a one-dimensional array; an error if it is no integer
    ReadId next_id();                            ///< of such an array, of integers or floats
    void rewind();

  private:
    void read_header();
    void parse_header(const std::string& header);
    const unsigned char* next_bytes();

    std::unique_ptr<ByteStream> bytes_;
    std::vector<std::uint64_t> shape_;
    std::uint64_t columns_ = 1, row_ = 0;
    std::string type_;
    std::size_t width_ = 0;
    std::vector<unsigned char> buffer_;
};

}  // namespace holdfast
