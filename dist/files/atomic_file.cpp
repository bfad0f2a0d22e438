#include "dist/files/atomic_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
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

/// A file descriptor; closes it when destroyed.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }
    bool close() { return ::close(std::exchange(number_, -1)) == 0; }  // false: a delayed write failed

  private:
    int number_;
};

std::filesystem::path folder_of(const std::string& path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    return folder.empty() ? "." : folder;
}

/// Creates a file beside `path` under a name nobody uses.
std::string create_temporary(const std::string& path, unsigned mode) {
    const std::string name = std::filesystem::path(path).filename().string();
    for (int attempt = 0;; ++attempt) {
        const std::string suffix = std::to_string(::getpid()) + "-" + std::to_string(attempt);
        const std::string candidate = folder_of(path) / ("." + name + "." + suffix + ".partial");
        Descriptor file(::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
        if (file.number() >= 0) return candidate;
        if (errno != EEXIST) fail(path, "cannot be written", errno);
    }
}

void sync_file(const std::string& path, const std::string& temporary) {
    Descriptor file(::open(temporary.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0 || ::fsync(file.number()) != 0) fail(path, "could not be written out", errno);
}

void sync_folder(const std::string& path) {
    Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool synced = folder.number() >= 0 && ::fsync(folder.number()) == 0;
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

void write_all(const std::string& path, const std::string& temporary, std::span<const std::byte> bytes) {
    Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.number() < 0) fail(path, "cannot be written", errno);
    write_all(file, path, bytes);
    if (!file.close()) fail(path, "cannot be written", errno);
}

}  // namespace

AtomicPath::AtomicPath(std::string path, unsigned mode) : path_(std::move(path)) {
    if (path_.empty()) throw Error(ExitCode::output, "no file name given", "name the file to write");
    std::error_code ignored;
    if (std::filesystem::is_directory(path_, ignored)) {
        throw Error(ExitCode::output, "is a folder, not a file", "name a file inside it", path_);
    }
    temporary_ = create_temporary(path_, mode);
}

AtomicPath::~AtomicPath() {
    if (pending_) ::unlink(temporary_.c_str());
}

void AtomicPath::commit() {
    sync_file(path_, temporary_);
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
    sync_file(path_, temporary_);
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
    write_all(path, guard.temporary(), bytes);
    guard.commit();
}

bool write_file_unless_there(const std::string& path, std::span<const std::byte> bytes, unsigned mode) {
    AtomicPath guard(path, mode);
    write_all(path, guard.temporary(), bytes);
    return guard.commit_unless_there();
}

void write_file_atomically(const std::string& path, std::string_view text, unsigned mode) {
    write_file_atomically(path, std::as_bytes(std::span(text.data(), text.size())), mode);
}

void wipe_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (file.number() < 0 && errno == ENOENT) return;
    struct stat status {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0) fail(path, "cannot be wiped", errno);
    if (!S_ISREG(status.st_mode)) fail(path, "cannot be wiped, it is not a regular file", EINVAL);
    write_all(file, path, std::vector<std::byte>(static_cast<std::size_t>(status.st_size)));
    if (::fsync(file.number()) != 0) fail(path, "could not be written out", errno);
    if (::unlink(path.c_str()) != 0) fail(path, "cannot be removed", errno);
    sync_folder(path);
}

}  // namespace holdfast
