#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/files/byte_stream.hpp"

namespace holdfast {

/// The rows of a CSV file as text (RFC 4180), one at a time; blank lines are skipped.
/// Errors (ExitCode::input), each naming the line: unterminated quote, text behind a closing quote, a row
/// above 64 MiB.
class CsvReader {
  public:
    CsvReader(const std::string& path, char delimiter);

    bool next(std::vector<std::string>& cells);       ///< false at the end
    std::uint64_t line() const { return row_line_; }  ///< on which the row read last begins, from 1
    void rewind();

  private:
    int get();  ///< the next character, or -1
    int peek();
    bool fill();
    void begin();
    void read_quoted(std::string& cell);
    int read_cell(std::string& cell);  ///< returns the character that ended it

    std::unique_ptr<ByteStream> bytes_;
    char delimiter_;
    std::vector<char> buffer_;
    std::size_t at_ = 0, filled_ = 0, row_bytes_ = 0;
    std::uint64_t line_ = 1, row_line_ = 1;
};

}  // namespace holdfast
