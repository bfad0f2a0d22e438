#include "dist/files/byte_stream.hpp"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "kernels/base/error.hpp"
#include "kernels/base/utf8.hpp"

namespace holdfast {
namespace {

constexpr const char* copy_again = "copy or download it again";

[[noreturn]] void truncated(const std::string& where, const std::string& what) {
    throw Error(ExitCode::input, "is truncated: it ends inside " + what, copy_again, where);
}

void require_regular_file(const std::string& path) {
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) {
        throw Error(ExitCode::input, std::string("cannot be opened: ") + std::strerror(errno),
                    "check the path", path);
    }
    if (!S_ISREG(status.st_mode))
        throw Error(ExitCode::input, "is not a regular file", "name a data file", path);
}

class GzipStream : public ByteStream {
  public:
    explicit GzipStream(std::string path) : path_(std::move(path)) {
        require_regular_file(path_);
        file_ = gzopen(path_.c_str(), "rb");
        if (!file_) {
            throw Error(ExitCode::input, std::string("cannot be opened: ") + std::strerror(errno),
                        "check its rights", path_);
        }
        gzbuffer(file_, 1 << 17);
    }
    ~GzipStream() override { gzclose(file_); }
    GzipStream(const GzipStream&) = delete;
    GzipStream& operator=(const GzipStream&) = delete;

    std::size_t read(void* into, std::size_t count) override {
        std::size_t done = 0;
        while (done < count) {
            const auto piece = static_cast<unsigned>(std::min<std::size_t>(count - done, 1 << 30));
            const int got = gzread(file_, static_cast<char*>(into) + done, piece);
            if (got <= 0) break;
            done += static_cast<std::size_t>(got);
        }
        if (done < count) require_good_end();
        return done;
    }
    void rewind() override {
        if (gzrewind(file_) != 0)
            throw Error(ExitCode::input, "cannot be read again", "copy it to a disk", path_);
    }
    std::string name() const override { return path_; }

  private:
    void require_good_end() {
        int number = Z_OK;
        const char* message = gzerror(file_, &number);
        if (number == Z_BUF_ERROR) truncated(path_, "its compressed data");
        if (number != Z_OK && number != Z_STREAM_END) {
            throw Error(ExitCode::input, std::string("is damaged: ") + message, copy_again, path_);
        }
    }

    std::string path_;
    gzFile file_ = nullptr;
};

template <class T>
T little_endian(const unsigned char* bytes) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) value = static_cast<T>(value << 8 | bytes[i]);
    return value;
}
std::uint16_t u16(const unsigned char* bytes) {
    return little_endian<std::uint16_t>(bytes);
}
std::uint32_t u32(const unsigned char* bytes) {
    return little_endian<std::uint32_t>(bytes);
}
std::uint64_t u64(const unsigned char* bytes) {
    return little_endian<std::uint64_t>(bytes);
}

std::vector<unsigned char> read_range(const std::string& path, std::uint64_t offset, std::uint64_t count) {
    std::ifstream file(path, std::ios::binary);
    std::vector<unsigned char> bytes(count);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    if (!file) truncated(path, "its table of members");
    return bytes;
}

std::uint64_t file_size(const std::string& path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

constexpr std::uint32_t end_signature = 0x06054b50, zip64_locator_signature = 0x07064b50,
                        zip64_end_signature = 0x06064b50, member_signature = 0x02014b50,
                        local_signature = 0x04034b50;
constexpr std::uint64_t end_size = 22, longest_comment = 65535, most_directory = std::uint64_t{1} << 28;

struct Directory {
    std::uint64_t count, size, offset;
};

/// The ZIP64 record, which stands before the plain one where sizes or offsets outgrow 32 bits.
Directory zip64_directory(const std::string& path, std::uint64_t end_offset, const Directory& plain) {
    if (end_offset < 20) return plain;
    const auto locator = read_range(path, end_offset - 20, 20);
    if (u32(locator.data()) != zip64_locator_signature) return plain;
    const auto record = read_range(path, u64(&locator[8]), 56);
    if (u32(record.data()) != zip64_end_signature) truncated(path, "its table of members");
    return {u64(&record[32]), u64(&record[40]), u64(&record[48])};
}

Directory find_directory(const std::string& path) {
    const std::uint64_t size = file_size(path), tail = std::min(size, end_size + longest_comment);
    const auto start =
        size == 0 ? std::vector<unsigned char>{} : read_range(path, 0, std::min<std::uint64_t>(size, 4));
    if (start.size() < 4 || (u32(start.data()) != local_signature && u32(start.data()) != end_signature)) {
        throw Error(ExitCode::input, "is not a ZIP archive (NPZ)", "write it with numpy.savez", path);
    }
    const auto bytes = read_range(path, size - tail, tail);
    for (std::size_t i = tail < end_size ? 0 : tail - end_size + 1; i-- > 0;) {
        if (u32(&bytes[i]) != end_signature) continue;
        const Directory plain{u16(&bytes[i + 10]), u32(&bytes[i + 12]), u32(&bytes[i + 16])};
        return zip64_directory(path, size - tail + i, plain);
    }
    truncated(path, "its members (the table at the end is missing)");
}

}  // namespace

void ByteStream::read_exactly(void* into, std::size_t count, const std::string& what) {
    if (read(into, count) != count) truncated(name(), what);
}

std::string read_text_file(const std::string& path) {
    constexpr const char* remedy = "restore it from a copy, or make it again";
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw Error(ExitCode::input, "cannot be read", remedy, path);
    std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    if (is_utf8(text)) return text;
    std::size_t number = 1, begin = 0, end = text.find('\n');
    while (is_utf8(std::string_view(text).substr(begin, end - begin))) {
        ++number;
        begin = end + 1;
        end = text.find('\n', begin);
    }
    throw Error(ExitCode::input, "line " + std::to_string(number) + " is not UTF-8 text", remedy, path);
}

std::unique_ptr<ByteStream> open_bytes(const std::string& path) {
    return std::make_unique<GzipStream>(path);
}

/// One member, inflated as it is read; its checksum is compared when its end is reached.
class ZipArchive::MemberStream : public ByteStream {
  public:
    MemberStream(std::string path, const Member& member)
        : path_(std::move(path)), member_(member), file_(path_, std::ios::binary), packed_(1 << 16) {
        start();
    }
    ~MemberStream() override { stop(); }
    MemberStream(const MemberStream&) = delete;
    MemberStream& operator=(const MemberStream&) = delete;

    std::size_t read(void* into, std::size_t count) override {
        const std::size_t wanted =
            static_cast<std::size_t>(std::min<std::uint64_t>(count, member_.size - done_));
        auto* bytes = static_cast<unsigned char*>(into);
        for (std::size_t got = 0; got < wanted;) {
            const auto piece = static_cast<unsigned>(std::min<std::size_t>(wanted - got, 1 << 30));
            const std::size_t made =
                member_.method == 0 ? copy(bytes + got, piece) : inflate_into(bytes + got, piece);
            checksum_ =
                static_cast<std::uint32_t>(crc32(checksum_, bytes + got, static_cast<unsigned>(made)));
            got += made;
        }
        done_ += wanted;
        if (done_ == member_.size && checksum_ != member_.checksum) {
            throw Error(ExitCode::input, "is damaged: its checksum differs", copy_again, name());
        }
        return wanted;
    }
    void rewind() override {
        stop();
        start();
    }
    std::string name() const override { return path_ + ":" + member_.name; }

  private:
    void start() {
        const auto header = read_range(path_, member_.header_offset, 30);
        if (u32(header.data()) != local_signature) {
            throw Error(ExitCode::input, "is damaged: no member where the table says", copy_again, name());
        }
        file_.clear();
        file_.seekg(
            static_cast<std::streamoff>(member_.header_offset + 30 + u16(&header[26]) + u16(&header[28])));
        left_ = member_.packed_size;
        done_ = 0;
        checksum_ = 0;
        if (member_.method == 0) return;
        stream_ = z_stream{};
        ensure(inflateInit2(&stream_, -MAX_WBITS) == Z_OK, "zlib starts");
        inflating_ = true;
    }
    void stop() {
        if (std::exchange(inflating_, false)) inflateEnd(&stream_);
    }
    std::size_t copy(unsigned char* into, unsigned count) {
        const auto piece = static_cast<std::streamsize>(std::min<std::uint64_t>(count, left_));
        if (piece == 0 || !file_.read(reinterpret_cast<char*>(into), piece)) truncated(name(), "its data");
        left_ -= static_cast<std::uint64_t>(piece);
        return static_cast<std::size_t>(piece);
    }
    void refill() {
        const auto piece = static_cast<std::streamsize>(std::min<std::uint64_t>(packed_.size(), left_));
        if (!file_.read(reinterpret_cast<char*>(packed_.data()), piece)) truncated(name(), "its data");
        left_ -= static_cast<std::uint64_t>(piece);
        stream_.next_in = packed_.data();
        stream_.avail_in = static_cast<unsigned>(piece);
    }
    std::size_t inflate_into(unsigned char* into, unsigned count) {
        stream_.next_out = into;
        stream_.avail_out = count;
        while (stream_.avail_out == count) {
            if (stream_.avail_in == 0 && left_ > 0) refill();
            const int code = inflate(&stream_, Z_NO_FLUSH);
            const bool exhausted = stream_.avail_in == 0 && left_ == 0;  // zlib may still hold output
            if (stream_.avail_out == count && (code == Z_STREAM_END || (code == Z_BUF_ERROR && exhausted))) {
                truncated(name(), "its data");
            }
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
                throw Error(ExitCode::input, "is damaged: it does not inflate", copy_again, name());
            }
        }
        return count - stream_.avail_out;
    }

    std::string path_;
    Member member_;
    std::ifstream file_;
    std::vector<unsigned char> packed_;
    z_stream stream_{};
    bool inflating_ = false;
    std::uint64_t left_ = 0, done_ = 0;
    std::uint32_t checksum_ = 0;
};

ZipArchive::Member ZipArchive::parse_member(const unsigned char* record, std::size_t left,
                                            const std::string& path) {
    const std::size_t name_size = u16(record + 28), extra_size = u16(record + 30);
    if (46 + name_size + extra_size > left) truncated(path, "its table of members");
    Member member{std::string(reinterpret_cast<const char*>(record + 46), name_size),
                  u16(record + 10),
                  u32(record + 16),
                  u32(record + 20),
                  u32(record + 24),
                  u32(record + 42)};
    const unsigned char* extra = record + 46 + name_size;
    for (std::size_t at = 0; at + 4 <= extra_size;) {
        const std::size_t size = u16(extra + at + 2);
        if (at + 4 + size > extra_size) break;
        if (u16(extra + at) == 1) {  // ZIP64: those of the three that are all ones, in this order
            std::size_t field = at + 4;
            for (std::uint64_t* value : {&member.size, &member.packed_size, &member.header_offset}) {
                if (*value != 0xffffffff || field + 8 > at + 4 + size) continue;
                *value = u64(extra + field);
                field += 8;
            }
        }
        at += 4 + size;
    }
    if ((u16(record + 8) & 1) != 0) {
        throw Error(ExitCode::input, "member is encrypted", "write it with numpy.savez",
                    path + ":" + member.name);
    }
    if (member.method != 0 && member.method != 8) {
        throw Error(ExitCode::input, "member is neither stored nor deflated",
                    "write it with numpy.savez_compressed", path + ":" + member.name);
    }
    return member;
}

ZipArchive::ZipArchive(std::string path) : path_(std::move(path)) {
    require_regular_file(path_);
    const Directory directory = find_directory(path_);
    if (directory.size > most_directory) truncated(path_, "its table of members");
    const auto bytes = read_range(path_, directory.offset, directory.size);
    for (std::size_t at = 0; members_.size() < directory.count;) {
        if (at + 46 > bytes.size() || u32(&bytes[at]) != member_signature)
            truncated(path_, "its table of members");
        members_.push_back(parse_member(&bytes[at], bytes.size() - at, path_));
        at += 46 + u16(&bytes[at + 28]) + u16(&bytes[at + 30]) + u16(&bytes[at + 32]);
    }
}

std::vector<std::string> ZipArchive::names() const {
    std::vector<std::string> names;
    for (const Member& member : members_) names.push_back(member.name);
    return names;
}

const ZipArchive::Member* ZipArchive::find(const std::string& name) const {
    const auto found =
        std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.name == name; });
    return found == members_.end() ? nullptr : &*found;
}

std::unique_ptr<ByteStream> ZipArchive::open(const std::string& name) const {
    const Member* member = find(name);
    if (!member) throw Error(ExitCode::input, "has no member '" + name + "'", "check the name", path_);
    return std::make_unique<MemberStream>(path_, *member);
}

}  // namespace holdfast
