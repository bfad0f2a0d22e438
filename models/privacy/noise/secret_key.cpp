#include "models/privacy/noise/secret_key.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/query_digest.hpp"

namespace holdfast {
namespace {

/// Of a file: the magic, whose last byte is the version; the key; BLAKE2b of both, which finds damage.
constexpr std::array<unsigned char, 8> magic = {'h', 'o', 'l', 'd', 'k', 'e', 'y', 1};
constexpr std::size_t checksum_size = 16, checksum_at = magic.size() + SecretKey::size;

/// The bytes of a key file.
struct Image {
    static constexpr std::size_t size = checksum_at + checksum_size;
    GuardedBytes memory = guarded_bytes(size);
    std::span<unsigned char, size> bytes{memory.get(), size};

    std::array<unsigned char, checksum_size> checksum() const {
        std::array<unsigned char, checksum_size> sum;
        crypto_generichash(sum.data(), sum.size(), bytes.data(), checksum_at, nullptr, 0);
        return sum;
    }
};

/// A key file opened for reading; closed when destroyed.
class KeyFile {
  public:
    explicit KeyFile(const std::string& path)
        : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (file_ < 0) {
            throw Error(ExitCode::input, std::string("the key cannot be opened: ") + std::strerror(errno),
                        "a run goes on with its own key alone, and was paid for under it: restore the file",
                        path);
        }
    }
    ~KeyFile() { ::close(file_); }
    KeyFile(const KeyFile&) = delete;
    KeyFile& operator=(const KeyFile&) = delete;

    void require_private() const {
        struct stat status {};
        if (::fstat(file_, &status) != 0 || !S_ISREG(status.st_mode))
            throw Error(ExitCode::input, "not a regular file", "name a key file of this program", path_);
        if ((status.st_mode & 077) != 0) {
            throw Error(ExitCode::input, "others may read or write this key",
                        "a key that others may have read protects nothing: start the run anew, or name "
                        "another key file",
                        path_);
        }
    }
    /// True if the file is exactly as long as `bytes`, which then hold it.
    bool read(std::span<unsigned char> bytes) const {
        std::size_t done = 0;
        unsigned char beyond = 0;
        for (;;) {
            const bool full = done == bytes.size();
            const ssize_t count =
                ::read(file_, full ? &beyond : bytes.data() + done, full ? 1 : bytes.size() - done);
            if (count < 0 && errno == EINTR) continue;
            if (count <= 0 || full) return count == 0 && full;
            done += static_cast<std::size_t>(count);
        }
    }

  private:
    const std::string& path_;
    int file_;
};

/// Some of the blocks that were given back, which nobody may read or write until they are given again: a
/// training of small models has thousands of keys, and to map, guard and lock pages for each takes longest.
class GivenBack {
  public:
    static GivenBack& all() {
        static auto* const blocks = new GivenBack;  // outlives every key
        return *blocks;
    }
    /// One of this size, or none.
    unsigned char* take(std::size_t size) {
        const std::lock_guard lock(mutex_);
        std::vector<unsigned char*>& of_size = blocks_[size];
        if (of_size.empty() || sodium_mprotect_readwrite(of_size.back()) != 0) return nullptr;
        unsigned char* const bytes = of_size.back();
        of_size.pop_back();
        return bytes;
    }
    /// False if there are enough, or it cannot be put out of reach.
    bool keep(unsigned char* bytes, std::size_t size) {
        const std::lock_guard lock(mutex_);
        std::vector<unsigned char*>& of_size = blocks_[size];
        if (of_size.size() >= most || sodium_mprotect_noaccess(bytes) != 0) return false;
        of_size.push_back(bytes);
        return true;
    }

  private:
    static constexpr std::size_t most = 16;
    std::mutex mutex_;
    std::map<std::size_t, std::vector<unsigned char*>> blocks_;
};

/// BLAKE2b under the key of (domain, length of purpose, purpose, context): no two triples give one message.
void keyed_hash(std::span<const unsigned char, SecretKey::size> key, std::string_view domain,
                std::string_view purpose, std::string_view context,
                std::span<unsigned char, SecretKey::size> result) {
    std::string message(domain);
    for (int shift = 0; shift < 64; shift += 8)
        message.push_back(static_cast<char>(static_cast<std::uint64_t>(purpose.size()) >> shift));
    message.append(purpose).append(context);
    crypto_generichash(result.data(), result.size(), reinterpret_cast<const unsigned char*>(message.data()),
                       message.size(), key.data(), key.size());
}

}  // namespace

void FreeGuarded::operator()(unsigned char* bytes) const {
    sodium_memzero(bytes, size);
    if (!GivenBack::all().keep(bytes, size)) sodium_free(bytes);
}

GuardedBytes guarded_bytes(std::size_t size) {
    start_sodium();
    leave_no_core_file();
    unsigned char* bytes = GivenBack::all().take(size);
    if (bytes == nullptr) bytes = static_cast<unsigned char*>(sodium_malloc(size));
    if (bytes == nullptr) throw std::bad_alloc();
    sodium_memzero(bytes, size);
    return {bytes, {size}};
}

void leave_no_core_file() {
    // Of a byte, not of none: a kernel that hands cores to a program takes a limit of 0 for none, and that of
    // 1 for a process that must not be dumped (core(5), fs/coredump.c). The memory of this process stays
    // readable to its own user's processes: ranks of one host pass each other messages so.
    const rlimit none{1, 1};
    ::setrlimit(RLIMIT_CORE, &none);
}

SecretKey SecretKey::fresh() {
    SecretKey key;
    randombytes_buf(key.bytes_.get(), size);
    return key;
}

SecretKey SecretKey::known_to_all(std::uint64_t seed) {
    return SecretKey().derived("known to all", std::to_string(seed));
}

SecretKey SecretKey::read(const std::string& path) {
    const KeyFile file(path);
    file.require_private();
    Image image;
    const bool complete = file.read(image.bytes);
    const auto sum = image.checksum();
    if (!complete || !std::equal(magic.begin(), magic.end(), image.bytes.begin()) ||
        !std::equal(sum.begin(), sum.end(), image.bytes.begin() + checksum_at)) {
        throw Error(ExitCode::input, "not a key of this program, or a damaged one",
                    "restore the file, start the run anew, or name another key file", path);
    }
    SecretKey key;
    std::copy_n(image.bytes.begin() + magic.size(), size, key.bytes_.get());
    return key;
}

void SecretKey::write_new(const std::string& path) const {
    Image image;
    std::copy(magic.begin(), magic.end(), image.bytes.begin());
    std::copy_n(bytes_.get(), size, image.bytes.begin() + magic.size());
    const auto sum = image.checksum();
    std::copy(sum.begin(), sum.end(), image.bytes.begin() + checksum_at);
    if (!write_file_unless_there(path, std::as_bytes(image.bytes), private_mode)) {
        throw Error(ExitCode::output, "there is a file already, and a key is never replaced",
                    "name another folder, or resume the run whose key this is", path);
    }
}

SecretKey SecretKey::derived(std::string_view purpose, std::string_view context) const {
    SecretKey key;
    keyed_hash(bytes(), "holdfast derived key", purpose, context, key.writable());
    return key;
}

std::string SecretKey::token(std::string_view context) const {
    std::array<unsigned char, size> hash;
    keyed_hash(bytes(), "holdfast key token", "", context, hash);
    return hex_of(hash);
}

void destroy_key_file(const std::string& path) {
    wipe_file(path);
}

}  // namespace holdfast
