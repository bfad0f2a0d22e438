#include "dist/files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int number) {
    const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
    const bool folder = number == ENOENT || number == EACCES || number == EROFS || number == ENOTDIR;
    throw Error(ExitCode::output, what + ": " + std::strerror(number),
                full     ? "free some space or name another folder; nothing was left behind"
                : folder ? "name a folder that exists and that you may write to"
                         : "nothing was left behind",
                path);
}

std::filesystem::path folder_of(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    return folder.empty() ? "." : folder;
}

/// Removes a file that a process has left which ended while it wrote: whoever still writes holds it locked.
/// False: somebody does, or it cannot be told.
bool removed_left_behind(const std::string& temporary) {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open()) return errno == ENOENT;
    if (file.lock(0, 0) != Descriptor::Lock::held) return false;
    // Under its name it is nobody's but ours now; else its writer has just put it in place.
    return !file.is_at(temporary.c_str()) || ::unlink(temporary.c_str()) == 0;
}

std::string temporary_name(const std::string& path, int attempt) {
    const std::string name = std::filesystem::path(path).filename().string();
    return folder_of(path) / ("." + name + "." + std::to_string(attempt) + ".partial");
}

/// Creates a file beside `path`, locked, under the first name that nobody uses. The names are counted, so
/// that whoever writes next comes past what was left behind.
std::pair<std::string, Descriptor> create_temporary(const std::string& path, unsigned mode) {
    for (int attempt = 0;;) {
        const std::string candidate = temporary_name(path, attempt);
        Descriptor file(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (!file.is_open()) {
            if (errno != EEXIST) fail(path, "cannot be written", errno);
            if (!removed_left_behind(candidate)) ++attempt;
            continue;
        }
        // Between the two calls somebody may have taken it for left behind.
        if (file.lock(0, 0) == Descriptor::Lock::busy || !file.is_at(candidate.c_str())) continue;
        for (int next = attempt + 1;; ++next) {
            const std::string other = temporary_name(path, next);
            if (::access(other.c_str(), F_OK) != 0 || !removed_left_behind(other)) break;
        }
        return {candidate, std::move(file)};
    }
}

void sync_folder(const std::string& path) {
    Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool synced = folder.is_open() && ::fsync(folder.number()) == 0;
    // Some file systems do not sync folders and say so; the file itself is safe there.
    if (!synced && errno != EINVAL && errno != ENOTSUP && errno != EACCES)
        fail(path, "folder not synced", errno);
}

void write_all(const Descriptor& file, const std::string& path, std::span<const std::byte> bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t written = ::write(file.number(), bytes.data() + done, bytes.size() - done);
        if (written < 0 && errno != EINTR) fail(path, "cannot be written", errno);
        if (written > 0) done += static_cast<std::size_t>(written);
    }
}

}  // namespace

AtomicPath::AtomicPath(std::string path, unsigned mode) : path_(std::move(path)) {
    if (path_.empty()) throw Error(ExitCode::output, "no file name given", "name the file to write");
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) {
        throw Error(ExitCode::output, "is a folder, not a file", "name a file inside it", path_);
    }
    std::tie(temporary_, file_) = create_temporary(path_, mode);
}

AtomicPath::~AtomicPath() {
    if (pending_) ::unlink(temporary_.c_str());
}

void AtomicPath::write(std::span<const std::byte> bytes) {
    write_all(file_, path_, bytes);
}

void AtomicPath::sync() const {
    if (::fsync(file_.number()) != 0) fail(path_, "could not be written out", errno);
}

void AtomicPath::commit() {
    sync();
    if (std::rename(temporary_.c_str(), path_.c_str()) != 0)
        fail(path_, "could not be renamed into place", errno);
    pending_ = false;
    sync_folder(path_);
}

void AtomicPath::commit_as(const std::string& path) {
    path_ = path;
    commit();
}

bool AtomicPath::commit_unless_there() {
    sync();
    if (::link(temporary_.c_str(), path_.c_str()) != 0) {
        if (errno == EEXIST) return false;
        // A file system without hard links.
        if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS)
            fail(path_, "could not be put in place", errno);
        std::error_code ignored;
        if (std::filesystem::exists(path_, ignored)) return false;
        commit();
        return true;
    }
    sync_folder(path_);
    return true;
}

void write_file_atomically(const std::string& path, std::span<const std::byte> bytes, unsigned mode) {
    AtomicPath guard(path, mode);
    guard.write(bytes);
    guard.commit();
}

bool write_file_unless_there(const std::string& path, std::span<const std::byte> bytes, unsigned mode) {
    AtomicPath guard(path, mode);
    guard.write(bytes);
    return guard.commit_unless_there();
}

void write_file_atomically(const std::string& path, std::string_view text, unsigned mode) {
    write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())), mode);
}

void wipe_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.is_open() && errno == ENOENT) return;
    struct stat status {};
    if (!file.is_open() || ::fstat(file.number(), &status) != 0) fail(path, "cannot be wiped", errno);
    if (!S_ISREG(status.st_mode)) fail(path, "cannot be wiped, it is not a regular file", EINVAL);
    write_all(file, path, std::vector<std::byte>(static_cast<std::size_t>(status.st_size)));
    if (::fsync(file.number()) != 0) fail(path, "could not be written out", errno);
    if (::unlink(path.c_str()) != 0) fail(path, "cannot be removed", errno);
    sync_folder(path);
}

}  // namespace holdfast
