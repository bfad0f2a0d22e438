#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace holdfast {

/// Zeroed memory for secrets: never swapped where the limit of locked memory allows it, in no core file,
/// wiped and out of reach once it is given back. It lies between pages that nobody may touch.
struct FreeGuarded {
    std::size_t size = 0;
    void operator()(unsigned char* bytes) const;
};
using GuardedBytes = std::unique_ptr<unsigned char[], FreeGuarded>;
GuardedBytes guarded_bytes(std::size_t size);  ///< Error (internal) where libsodium cannot start

/// From now on this process leaves no core file: what a secret was computed with passes through other memory
/// too. Of every process that has a key or a ledger.
void leave_no_core_file();

/// 32 secret bytes on which all noise of a run rests: whoever knows them can subtract the noise from what was
/// published. In guarded memory. Move-only; what was moved from has none.
class SecretKey {
  public:
    static constexpr std::size_t size = 32;

    /// From libsodium's random bytes. Error (internal) where it cannot start.
    static SecretKey fresh();
    /// The same for everybody who names the seed: it hides nothing, and is for trials on public records
    /// alone.
    static SecretKey known_to_all(std::uint64_t seed);
    /// Of write_new. Error (input): the file is missing, cannot be read, others may read or write it, or it
    /// is damaged.
    static SecretKey read(const std::string& path);

    SecretKey(SecretKey&& other) noexcept = default;
    SecretKey& operator=(SecretKey&& other) noexcept = default;

    /// A file of mode 0600 that outlasts a crash once this returns. Error (output): `path` is there already
    /// (it stays as it is), or cannot be written.
    void write_new(const std::string& path) const;

    /// A key of its own for every pair (purpose, context), by BLAKE2b under this key: as good as independent
    /// fresh keys to whoever does not know this one.
    SecretKey derived(std::string_view purpose, std::string_view context) const;
    /// 64 hexadecimal digits that name this key and `context` in public: the same function with a purpose of
    /// its own, so that they tell nothing of the key, nor of any derived one.
    std::string token(std::string_view context) const;

    /// For the keyed functions of this folder alone.
    std::span<const unsigned char, size> bytes() const {
        return std::span<const unsigned char, size>(bytes_.get(), size);
    }

  private:
    SecretKey() : bytes_(guarded_bytes(size)) {}
    std::span<unsigned char, size> writable() { return std::span<unsigned char, size>(bytes_.get(), size); }
    GuardedBytes bytes_;
};

/// The file of a key is overwritten, removed, its folder synced; nothing happens where there is none. (A file
/// system that keeps old blocks, as snapshots do, may keep the key: models/privacy/mathematics.md, noise
/// keys.) Error (output) where it cannot be removed.
void destroy_key_file(const std::string& path);

}  // namespace holdfast
