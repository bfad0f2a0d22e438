#include "dist/store/record_id.hpp"

#include <sodium.h>

#include <bit>
#include <cstring>

namespace holdfast {
namespace {

constexpr std::size_t seed_at = 24;  // of the key's bytes; before it stands what is hashed

void put(std::uint64_t value, unsigned char* bytes) {
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
}

template <std::size_t size>
std::uint64_t hash(const char (&purpose)[size], std::uint64_t seed, const unsigned char* bytes,
                   std::size_t count) {
    static_assert(size - 1 <= seed_at && seed_at + 8 == crypto_generichash_KEYBYTES);
    unsigned char key[crypto_generichash_KEYBYTES] = {}, output[crypto_generichash_BYTES_MIN];
    std::memcpy(key, purpose, size - 1);
    put(seed, key + seed_at);
    crypto_generichash(output, sizeof output, bytes, count, key, sizeof key);
    std::uint64_t id = 0;
    for (int i = 7; i >= 0; --i) id = id << 8 | output[i];
    return id;
}

}  // namespace

std::uint64_t id_of_text(const std::string& text, std::uint64_t seed) {
    return hash("holdfast record id", seed, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

std::uint64_t id_of_content(std::span<const double> features, bool wide, std::int32_t label,
                            std::uint64_t seed) {
    std::vector<unsigned char> bytes(8 * (features.size() + 1));
    for (std::size_t column = 0; column < features.size(); ++column) {
        const double stored =
            wide ? features[column] : static_cast<double>(static_cast<float>(features[column]));
        put(std::bit_cast<std::uint64_t>(stored == 0 ? 0.0 : stored), &bytes[8 * column]);
    }
    put(static_cast<std::uint64_t>(label), &bytes[8 * features.size()]);
    return hash("holdfast record content", seed, bytes.data(), bytes.size());
}

}  // namespace holdfast
