#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {

/// Bytes read in order from a file or from a member of an archive.
/// Errors (ExitCode::input): a compressed stream that is damaged or ends too early, a failing disk.
class ByteStream {
  public:
    virtual ~ByteStream() = default;
    /// Up to `count` bytes; fewer only at the end.
    virtual std::size_t read(void* into, std::size_t count) = 0;
    virtual void rewind() = 0;
    virtual std::string name() const = 0;  ///< for messages: "FILE" or "FILE:MEMBER"

    /// Exactly `count` bytes. Errors: the stream is truncated (says what was being read).
    void read_exactly(void* into, std::size_t count, const std::string& what);
};

/// A file, plain or compressed by gzip. Errors: missing, unreadable, not a regular file.
std::unique_ptr<ByteStream> open_bytes(const std::string& path);

/// A small text file. Errors (input): it cannot be read, or a line is not UTF-8.
std::string read_text_file(const std::string& path);

/// The members of a ZIP archive, stored or deflated, ZIP64 too (what numpy.savez writes); nothing encrypted
/// or split. Errors: not a ZIP archive, truncated, damaged (checksum), another compression.
class ZipArchive {
  public:
    explicit ZipArchive(std::string path);

    std::vector<std::string> names() const;
    bool has(const std::string& name) const { return find(name) != nullptr; }
    std::unique_ptr<ByteStream> open(const std::string& name) const;

  private:
    struct Member {
        std::string name;
        std::uint16_t method = 0;
        std::uint32_t checksum = 0;
        std::uint64_t packed_size = 0, size = 0, header_offset = 0;
    };
    class MemberStream;
    const Member* find(const std::string& name) const;
    static Member parse_member(const unsigned char* record, std::size_t left, const std::string& path);

    std::string path_;
    std::vector<Member> members_;
};

}  // namespace holdfast
