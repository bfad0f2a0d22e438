#include "dist/data/csv_reader.hpp"

#include <string_view>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

constexpr std::size_t buffer_bytes = 1 << 17, longest_row = 64 << 20;
constexpr int end_of_file = -1;
constexpr std::string_view parquet_magic = "PAR1";

std::string in_quotes(const std::string& word) {
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return text + "'";
}

/// As a shell takes it: values, digits and missing cells as they are, columns by their names.
std::string parquet_remedy(const std::string& path) {
    const std::string csv = (path.ends_with(".parquet") ? path.substr(0, path.size() - 8) : path) + ".csv";
    return "python3 -c 'import sys, pyarrow.csv as c, pyarrow.parquet as p; "
           "c.write_csv(p.read_table(sys.argv[1]), sys.argv[2])' " +
           in_quotes(path) + " " + in_quotes(csv) + "  makes a CSV file of it, where pip install pyarrow was";
}

}  // namespace

CsvReader::CsvReader(const std::string& path, char delimiter)
    : bytes_(open_bytes(path)), delimiter_(delimiter), buffer_(buffer_bytes) {}

void CsvReader::rewind() {
    bytes_->rewind();
    at_ = filled_ = 0;
    line_ = row_line_ = 1;
}

bool CsvReader::fill() {
    filled_ = bytes_->read(buffer_.data(), buffer_.size());
    at_ = 0;
    return filled_ > 0;
}

int CsvReader::peek() {
    if (at_ == filled_ && !fill()) return end_of_file;
    return static_cast<unsigned char>(buffer_[at_]);
}

int CsvReader::get() {
    const int character = peek();
    if (character == end_of_file) return end_of_file;
    ++at_;
    if (++row_bytes_ > longest_row) {
        throw Error(ExitCode::input,
                    "the row beginning on line " + std::to_string(row_line_) + " is longer than 64 MiB",
                    "look there for a quote that is never closed", bytes_->name());
    }
    if (character == '\n') ++line_;
    return character;
}

/// Behind the opening quote, up to and with the closing one; a doubled quote stands for one.
void CsvReader::read_quoted(std::string& cell) {
    const std::uint64_t opened = line_;
    for (int character = get(); character != end_of_file; character = get()) {
        if (character != '"') {
            cell.push_back(static_cast<char>(character));
        } else if (peek() == '"') {
            cell.push_back(static_cast<char>(get()));
        } else {
            return;
        }
    }
    throw Error(ExitCode::input, "the quote opened on line " + std::to_string(opened) + " is never closed",
                "close it, or double a quote that belongs to the text", bytes_->name());
}

int CsvReader::read_cell(std::string& cell) {
    cell.clear();
    const bool quoted = peek() == '"';
    if (quoted) {
        get();
        read_quoted(cell);
    }
    for (;;) {
        int character = get();
        if (character == '\r' && peek() == '\n') character = get();
        if (character == end_of_file || character == '\n' ||
            character == static_cast<unsigned char>(delimiter_)) {
            return character;
        }
        if (quoted) {
            throw Error(ExitCode::input, "line " + std::to_string(line_) + ": text behind a closing quote",
                        "quote the whole cell and double the quotes inside it", bytes_->name());
        }
        cell.push_back(static_cast<char>(character));
    }
}

/// UTF-8's mark, which spreadsheets write at the start of a file. Error (input): it is no text.
void CsvReader::begin() {
    if (!fill()) return;
    const std::string_view start(buffer_.data(), filled_);
    if (start.starts_with(parquet_magic))
        throw Error(ExitCode::input, "is a Parquet file, which is read by way of CSV",
                    parquet_remedy(bytes_->name()), bytes_->name());
    if (start.starts_with("\xef\xbb\xbf")) at_ = 3;
}

bool CsvReader::next(std::vector<std::string>& cells) {
    if (filled_ == 0) begin();
    for (;;) {
        cells.clear();
        row_line_ = line_;
        row_bytes_ = 0;
        if (peek() == end_of_file) return false;
        int ended_by;
        do {
            cells.emplace_back();
            ended_by = read_cell(cells.back());
        } while (ended_by == static_cast<unsigned char>(delimiter_));
        const bool blank = cells.size() == 1 && cells[0].empty();
        if (!blank) return true;
    }
}

}  // namespace holdfast
