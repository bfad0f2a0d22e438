#include "dist/data/csv_reader.hpp"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

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

std::string workbook_remedy(const std::string& path) {
    return "save it as CSV UTF-8 in the spreadsheet; or python3 -c 'import sys, pandas; "
           "pandas.read_excel(sys.argv[1]).to_csv(sys.argv[2], index=False)' " +
           in_quotes(path) + " " + in_quotes(path + ".csv") +
           "  writes a CSV file, where pip install pandas openpyxl was";
}

std::string encoding_remedy(const std::string& path) {
    return "import, schema and predict read it with --encoding cp1252, latin-1 or utf-16; or iconv -f "
           "WINDOWS-1252 -t UTF-8 " +
           in_quotes(path) + " > utf8.csv  writes it in UTF-8";
}

/// Text of another encoding, as UTF-8.
class DecodedStream : public ByteStream {
  public:
    DecodedStream(std::unique_ptr<ByteStream> bytes, const char* encoding)
        : bytes_(std::move(bytes)), encoding_(encoding), converter_(iconv_open("UTF-8", encoding)) {
        if (converter_ == reinterpret_cast<iconv_t>(-1))
            throw Error(ExitCode::input,
                        std::string("is of the encoding ") + encoding +
                            ", which this machine's C "
                            "library does not convert",
                        "write it in UTF-8, or install the library's gconv modules", bytes_->name());
    }
    ~DecodedStream() override { iconv_close(converter_); }
    DecodedStream(const DecodedStream&) = delete;
    DecodedStream& operator=(const DecodedStream&) = delete;

    std::size_t read(void* into, std::size_t count) override {
        while (ready_.size() < count && convert()) {
        }
        const std::size_t given = std::min(count, ready_.size());
        ready_.copy(static_cast<char*>(into), given);
        ready_.erase(0, given);
        return given;
    }
    void rewind() override {
        bytes_->rewind();
        iconv(converter_, nullptr, nullptr, nullptr, nullptr);
        ready_.clear();
        raw_.clear();
        line_ = 1;
    }
    std::string name() const override { return bytes_->name(); }

  private:
    /// One piece more; false at the end.
    bool convert() {
        const std::size_t rest = raw_.size();
        raw_.resize(rest + buffer_bytes);
        const std::size_t got = bytes_->read(raw_.data() + rest, buffer_bytes);
        raw_.resize(rest + got);
        if (raw_.empty()) return false;
        std::string text(4 * raw_.size(), '\0');  // no character takes more
        char *from = raw_.data(), *to = text.data();
        std::size_t left = raw_.size(), room = text.size();
        const bool whole = iconv(converter_, &from, &left, &to, &room) != static_cast<std::size_t>(-1);
        const bool ends_early = !whole && errno == EINVAL && got == 0;
        text.resize(text.size() - room);
        line_ += static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
        if ((!whole && errno != EINVAL) || ends_early)
            throw Error(ExitCode::input,
                        std::string("is not ") + encoding_ + ": line " + std::to_string(line_),
                        "--encoding names another encoding of the file", name());
        raw_.erase(0, raw_.size() - left);
        ready_ += text;
        return true;
    }

    std::unique_ptr<ByteStream> bytes_;
    std::string encoding_;
    iconv_t converter_;
    std::string raw_, ready_;
    std::uint64_t line_ = 1;
};

std::unique_ptr<ByteStream> open_text(const std::string& path, const std::string& encoding) {
    std::unique_ptr<ByteStream> bytes = open_bytes(path);
    std::string start(3, '\0');
    start.resize(bytes->read(start.data(), start.size()));
    bytes->rewind();
    const char* name = encoding == "latin-1" ? "ISO-8859-1" : encoding == "cp1252" ? "WINDOWS-1252" : nullptr;
    if (encoding == "utf-16") name = start.starts_with('\0') ? "UTF-16BE" : "UTF-16LE";
    if (start.starts_with("\xff\xfe") || start.starts_with("\xfe\xff")) name = "UTF-16";
    if (name == nullptr || start == "\xef\xbb\xbf") return bytes;
    return std::make_unique<DecodedStream>(std::move(bytes), name);
}

}  // namespace

CsvReader::CsvReader(const std::string& path, char delimiter, const std::string& encoding)
    : bytes_(open_text(path, encoding)), delimiter_(delimiter), buffer_(buffer_bytes) {}

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

/// Skips the mark of UTF-8, which spreadsheets write at the start of a file. Error (input): it is no text.
void CsvReader::begin() {
    if (!fill()) return;
    const std::string_view start(buffer_.data(), filled_);
    if (start.starts_with(parquet_magic))
        throw Error(ExitCode::input, "is a Parquet file, which is read by way of CSV",
                    parquet_remedy(bytes_->name()), bytes_->name());
    if (start.starts_with("PK\x03\x04") || start.starts_with("\xd0\xcf\x11\xe0"))
        throw Error(ExitCode::input, "is a workbook of a spreadsheet or another archive, and no text",
                    workbook_remedy(bytes_->name()), bytes_->name());
    if (start.substr(0, 4096).find('\0') != std::string_view::npos)
        throw Error(ExitCode::input, "is not UTF-8: line 1 has bytes of value 0, as UTF-16 has",
                    encoding_remedy(bytes_->name()), bytes_->name());
    if (start.starts_with("\xef\xbb\xbf")) at_ = 3;
    take_separator_line();
}

/// Spreadsheets name the delimiter in a first line sep=;
void CsvReader::take_separator_line() {
    std::string_view line(buffer_.data() + at_, filled_ - at_);
    line = line.substr(0, line.find('\n'));
    const std::size_t read = line.size() + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() != 5 || !line.starts_with("sep=") || at_ + read > filled_) return;
    delimiter_ = line.back();
    at_ += read;
    ++line_;
}

void CsvReader::require_utf8(const std::vector<std::string>& cells) const {
    const auto wrong = std::ranges::find_if_not(cells, is_utf8);
    if (wrong == cells.end()) return;
    throw Error(ExitCode::input,
                "is not UTF-8: line " + std::to_string(row_line_) + ", cell " +
                    std::to_string(wrong - cells.begin() + 1),
                encoding_remedy(bytes_->name()), bytes_->name());
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
        if (blank) continue;
        require_utf8(cells);
        return true;
    }
}

}  // namespace holdfast
