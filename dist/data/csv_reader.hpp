#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dist/files/byte_stream.hpp"

namespace holdfast {

/// How the bytes of a text file are read, by the names of --encoding.
inline const std::vector<std::string> text_encodings{"utf-8", "latin-1", "cp1252", "utf-16"};

/// The rows of a CSV file as text in UTF-8 (RFC 4180), one at a time; blank lines are skipped. A mark of
/// UTF-8 or UTF-16 at the start of the file decides over the encoding, and a first line sep=; over the
/// delimiter. Errors (ExitCode::input), each naming the line: text that is not of the encoding, unterminated
/// quote, text behind a closing quote, a row above 64 MiB.
class CsvReader {
  public:
    CsvReader(const std::string& path, char delimiter, const std::string& encoding = "utf-8");

    char delimiter() const { return delimiter_; }     ///< that of the file, once a row was read
    bool next(std::vector<std::string>& cells);       ///< false at the end
    std::uint64_t line() const { return row_line_; }  ///< on which the row read last begins, from 1
    void rewind();

  private:
    int get();  ///< the next character, or -1
    int peek();
    bool fill();
    void begin();
    void take_separator_line();
    void require_utf8(const std::vector<std::string>& cells) const;
    void read_quoted(std::string& cell);
    int read_cell(std::string& cell);  ///< returns the character that ended it

    std::unique_ptr<ByteStream> bytes_;
    char delimiter_;
    std::vector<char> buffer_;
    std::size_t at_ = 0, filled_ = 0, row_bytes_ = 0;
    std::uint64_t line_ = 1, row_line_ = 1;
};

}  // namespace holdfast
