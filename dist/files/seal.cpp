#include "dist/files/seal.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cpu/hash_lanes.hpp"

namespace holdfast {
namespace {

using Digest = std::array<unsigned char, 32>;

constexpr std::string_view magic = "HOLDFAST-SEAL-1\n", json_begin = ",\n \"seal\": \"", json_end = "\"\n}\n";
constexpr std::uint64_t block_bytes = std::uint64_t{4} << 20, piece_bytes = 32 << 10;
constexpr const char* remedy = "restore it from a copy, or make it again";

/// The last bytes of a sealed file, as they lie there.
struct Foot {
    std::array<char, magic.size()> name{};
    std::uint64_t bytes = 0;  ///< before the digests
    Digest digest{};
};
static_assert(sizeof(Foot) == 56, "no gaps between its fields");

std::uint64_t blocks_of(std::uint64_t bytes) {
    return bytes / block_bytes + (bytes % block_bytes != 0);
}

/// Closes it when destroyed.
struct Opened {
    explicit Opened(int opened) : number(opened) {}
    ~Opened() {
        if (number >= 0) ::close(number);
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;
    int number;
};

bool read_exactly(int file, void* into, std::uint64_t count, std::uint64_t at) {
    for (auto* to = static_cast<char*>(into); count > 0;) {
        const ssize_t got = ::pread(file, to, count, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        to += got, at += static_cast<std::uint64_t>(got), count -= static_cast<std::uint64_t>(got);
    }
    return true;
}

std::uint64_t size_of(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? static_cast<std::uint64_t>(status.st_size)
                                                                  : 0;
}

/// False: it cannot be read to the end of the block.
bool digest_block(int file, std::uint64_t bytes, std::uint64_t block, Digest& digest) {
    std::vector<unsigned char> piece(piece_bytes);
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, digest.size());
    const std::uint64_t end = std::min(bytes, (block + 1) * block_bytes);
    for (std::uint64_t at = block * block_bytes; at < end; at += piece_bytes) {
        const std::uint64_t count = std::min(piece_bytes, end - at);
        if (!read_exactly(file, piece.data(), count, at)) return false;
        crypto_generichash_update(&state, piece.data(), count);
    }
    crypto_generichash_final(&state, digest.data(), digest.size());
    return true;
}

/// As many whole blocks as are hashed side by side. False: some cannot be read.
bool digest_whole_blocks(int file, const std::uint64_t* blocks, Digest* digests) {
    constexpr std::size_t lanes = cpu::HashLanes::lanes;
    std::vector<unsigned char> pieces(lanes * piece_bytes);
    cpu::HashLanes::Messages parts{};
    for (std::size_t lane = 0; lane < lanes; ++lane) parts[lane] = pieces.data() + lane * piece_bytes;
    cpu::HashLanes hash(sizeof(Digest));
    for (std::uint64_t at = 0; at < block_bytes; at += piece_bytes) {
        for (std::size_t lane = 0; lane < lanes; ++lane)
            if (!read_exactly(file, pieces.data() + lane * piece_bytes, piece_bytes,
                              blocks[lane] * block_bytes + at))
                return false;
        if (at + piece_bytes < block_bytes) hash.add(parts, piece_bytes);
    }
    static_assert(sizeof(Digest) == 32, "digests lie side by side");
    hash.finish(parts, piece_bytes, digests->data());
    return true;
}

/// Of every `step`-th block from the first on. Called with each block, its digest, and whether it could be
/// read, by several threads.
template <typename Use>
void for_each_digest(int file, std::uint64_t bytes, std::size_t first, std::size_t step, Use use) {
    constexpr std::size_t lanes = cpu::HashLanes::lanes;
    std::vector<std::uint64_t> all;
    for (std::size_t block = first; block < blocks_of(bytes); block += step) all.push_back(block);
#pragma omp parallel for schedule(dynamic) if (all.size() > 1)
    for (std::size_t group = 0; group < all.size(); group += lanes) {
        const std::size_t count = std::min(lanes, all.size() - group);
        std::array<Digest, lanes> digests;
        const bool whole = count == lanes && (all[group + lanes - 1] + 1) * block_bytes <= bytes;
        const bool together = whole && digest_whole_blocks(file, &all[group], digests.data());
        for (std::size_t i = 0; i < count; ++i) {
            const bool read = together || digest_block(file, bytes, all[group + i], digests[i]);
            use(all[group + i], digests[i], read);
        }
    }
}

Digest digest_of(const std::vector<Digest>& blocks, const Foot& foot) {
    Digest digest{};
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, digest.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(blocks.data()),
                              blocks.size() * sizeof(Digest));
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&foot), offsetof(Foot, digest));
    crypto_generichash_final(&state, digest.data(), digest.size());
    return digest;
}

Error unusable(const std::string& path, const std::string& what) {
    return {ExitCode::input, what, remedy, path};
}

Error unsealed(const std::string& path) {
    return unusable(path,
                    "does not end with a seal: it is cut off or overwritten, another program changed it, or "
                    "it is of a time before files had seals");
}

std::string json_tail(std::string_view body) {
    return std::string(json_begin) + StreamDigest::of(std::string(body)) + std::string(json_end);
}

std::string text_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw Error(ExitCode::input, "cannot be read", "check the path and its rights", path);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

void add_seal(const std::string& path, const std::string& shown) {
    const auto fail = [&]() -> Error {
        const int reason = errno;
        return {ExitCode::output, std::string("cannot be sealed: ") + std::strerror(reason),
                "check the free space and the rights of the folder", shown};
    };
    const Opened file(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    if (file.number < 0) throw fail();
    Foot foot;
    std::copy(magic.begin(), magic.end(), foot.name.begin());
    foot.bytes = size_of(file.number);
    std::vector<Digest> blocks(blocks_of(foot.bytes));
    std::atomic<bool> good = true;
    for_each_digest(file.number, foot.bytes, 0, 1, [&](std::size_t block, const Digest& digest, bool read) {
        blocks[block] = digest;
        if (!read) good = false;
    });
    if (!good) throw fail();
    foot.digest = digest_of(blocks, foot);
    const auto write = [&](const void* from, std::size_t count) {
        for (const auto* at = static_cast<const char*>(from); count > 0;) {
            const ssize_t written = ::write(file.number, at, count);
            if (written < 0 && errno != EINTR) throw fail();
            if (written > 0) at += written, count -= static_cast<std::size_t>(written);
        }
    };
    write(blocks.data(), blocks.size() * sizeof(Digest));
    write(&foot, sizeof foot);
}

bool has_seal(const std::string& path) {
    const Opened file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    Foot foot;
    const std::uint64_t size = file.number < 0 ? 0 : size_of(file.number);
    return size >= sizeof foot && read_exactly(file.number, &foot, sizeof foot, size - sizeof foot) &&
           std::string_view(foot.name.data(), foot.name.size()) == magic;
}

SealedFile::SealedFile(const std::string& path, SealShare share)
    : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    Opened closes(descriptor_);  // where this constructor throws
    if (descriptor_ < 0)
        throw Error(ExitCode::input, std::string("cannot be opened: ") + std::strerror(errno),
                    "check the path and its rights", path);
    const std::uint64_t size = size_of(descriptor_);
    Foot foot;
    if (size < sizeof foot || !read_exactly(descriptor_, &foot, sizeof foot, size - sizeof foot) ||
        std::string_view(foot.name.data(), foot.name.size()) != magic)
        throw unsealed(path);
    const std::uint64_t blocks = foot.bytes <= size ? blocks_of(foot.bytes) : 0;
    if (foot.bytes > size || foot.bytes + blocks * sizeof(Digest) + sizeof foot != size)
        throw unusable(path, "is damaged: its seal is of another number of bytes");
    std::vector<Digest> stated(blocks);
    if (!read_exactly(descriptor_, stated.data(), blocks * sizeof(Digest), foot.bytes) ||
        digest_of(stated, foot) != foot.digest)
        throw unusable(path, "is damaged: its seal does not hold");
    const auto ranks = static_cast<std::size_t>(share.ranks), own = static_cast<std::size_t>(share.rank);
    std::atomic<std::size_t> first_bad = stated.size();
    for_each_digest(
        descriptor_, foot.bytes, own, ranks, [&](std::size_t block, const Digest& found, bool read) {
            if (read && found == stated[block]) return;
            for (std::size_t bad = first_bad; block < bad && !first_bad.compare_exchange_weak(bad, block);) {
            }
        });
    if (first_bad < stated.size())
        throw unusable(path, "is damaged: other bytes than were written, at " +
                                 std::to_string(first_bad * block_bytes) + " or behind");
    closes.number = -1;
}

SealedFile::~SealedFile() {
    ::close(descriptor_);
}

void SealedFile::require_same(int descriptor) const {
    struct stat here {
    }, there{};
    if (::fstat(descriptor_, &here) == 0 && ::fstat(descriptor, &there) == 0 && here.st_dev == there.st_dev &&
        here.st_ino == there.st_ino)
        return;
    throw Error(ExitCode::input, "was replaced while it was being opened", "start again", path_);
}

std::string sealed_json(const std::string& text) {
    std::string body = text.substr(0, text.rfind('}'));
    if (body.ends_with('\n')) body.pop_back();
    return body + json_tail(body);
}

std::string read_sealed_json(const std::string& path) {
    std::string text = text_of(path);
    const std::size_t tail = json_begin.size() + 2 * sizeof(Digest) + json_end.size();
    const std::string_view all = text;
    if (text.size() < tail || !all.substr(text.size() - tail).starts_with(json_begin)) throw unsealed(path);
    if (const std::string_view body = all.substr(0, text.size() - tail);
        json_tail(body) != all.substr(body.size()))
        throw unusable(path, "is damaged: its seal is of another text");
    return text;
}

}  // namespace holdfast
