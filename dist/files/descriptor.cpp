#include "dist/files/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace holdfast {
namespace {

/// Locks of the open file, not of the process: two descriptors of one process hold each other back, and
/// closing one frees none of another's.
Descriptor::Lock locked(int descriptor, int command, short type, std::int64_t first, std::int64_t count) {
    struct flock range {};
    range.l_type = type;
    range.l_whence = SEEK_SET;
    range.l_start = first;
    range.l_len = count;
    int status = 0;
    do {
        status = ::fcntl(descriptor, command, &range);
    } while (status != 0 && errno == EINTR);
    if (status == 0) return Descriptor::Lock::held;
    return errno == EAGAIN || errno == EACCES ? Descriptor::Lock::busy : Descriptor::Lock::unsupported;
}

}  // namespace

Descriptor::~Descriptor() {
    if (number_ >= 0) ::close(number_);
}

Descriptor::Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
}

Descriptor::Lock Descriptor::lock(std::int64_t first, std::int64_t count) const {
    return locked(number_, F_OFD_SETLK, F_WRLCK, first, count);
}

Descriptor::Lock Descriptor::wait_for_lock(std::int64_t first, std::int64_t count) const {
    return locked(number_, F_OFD_SETLKW, F_WRLCK, first, count);
}

void Descriptor::unlock(std::int64_t first, std::int64_t count) const {
    locked(number_, F_OFD_SETLK, F_UNLCK, first, count);
}

bool Descriptor::is_at(const char* path) const {
    struct stat here {
    }, there{};
    return ::fstat(number_, &here) == 0 && ::lstat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

}  // namespace holdfast
