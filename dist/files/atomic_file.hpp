#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "dist/files/descriptor.hpp"

namespace holdfast {

/// File modes: what is private stays so (models/privacy/mathematics.md, what may leave); the rest follows the
/// umask.
inline constexpr unsigned private_mode = 0600;
inline constexpr unsigned public_mode = 0644;

/// A file that appears under its name complete or not at all, written by whoever is given temporary().
/// The temporary file exists (empty, with `mode`) from construction on and lies in the same folder; commit()
/// syncs it, renames it over `path` and syncs the folder; without commit() the destructor removes it. It is
/// locked for as long, so that one which a killed process has left is known, and removed by whoever writes
/// `path` next. Errors (ExitCode::output): folder missing or unwritable, `path` is a folder, full disk.
class AtomicPath {
  public:
    explicit AtomicPath(std::string path, unsigned mode = private_mode);
    ~AtomicPath();
    AtomicPath(const AtomicPath&) = delete;
    AtomicPath& operator=(const AtomicPath&) = delete;

    const std::string& path() const { return path_; }
    const std::string& temporary() const { return temporary_; }
    void write(std::span<const std::byte> bytes);  ///< behind what is there
    void commit();
    /// The same, over another name in the folder.
    void commit_as(const std::string& path);
    /// The same, unless `path` is there already: false then, and it stays as it is. Of several writers at
    /// once, on one machine or on several, one gets true.
    bool commit_unless_there();

  private:
    void sync() const;

    std::string path_, temporary_;
    Descriptor file_;
    bool pending_ = true;
};

/// `bytes` under `path`, all or nothing. Errors as AtomicPath.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes,
                           unsigned mode = private_mode);
void write_file_atomically(const std::string& path, std::string_view text, unsigned mode = private_mode);
/// The same, unless `path` is there already: false then, and it stays as it is.
bool write_file_unless_there(const std::string& path, std::span<const std::byte> bytes,
                             unsigned mode = private_mode);

/// Zeros over the file, on the disk before it is removed, then its folder synced; nothing happens where there
/// is none. Error (output): not a regular file (a link is not followed), or it cannot be written or removed.
void wipe_file(const std::string& path);

}  // namespace holdfast
