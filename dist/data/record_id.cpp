#include "dist/data/record_id.hpp"

#include <sodium.h>

#include <bit>
#include <cstring>

#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

// The key: what is hashed, and a version. It is the same for every file: a person's records have one id
// wherever they come from.
constexpr std::size_t version_at = 24;
constexpr unsigned char version = 1;

void put(std::uint64_t value, unsigned char* bytes) {
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
}

template <std::size_t size>
std::uint64_t hash(const char (&purpose)[size], const unsigned char* bytes, std::size_t count) {
    static_assert(size - 1 <= version_at && version_at < crypto_generichash_KEYBYTES);
    unsigned char key[crypto_generichash_KEYBYTES] = {}, output[crypto_generichash_BYTES_MIN];
    std::memcpy(key, purpose, size - 1);
    key[version_at] = version;
    crypto_generichash(output, sizeof output, bytes, count, key, sizeof key);
    std::uint64_t id = 0;
    for (int i = 7; i >= 0; --i) id = id << 8 | output[i];
    return id;
}

std::uint64_t hash_of_content(std::span<const double> features, bool wide, std::uint64_t truth) {
    std::vector<unsigned char> bytes(8 * (features.size() + 1));
    for (std::size_t column = 0; column < features.size(); ++column) {
        const double stored =
            wide ? features[column] : static_cast<double>(static_cast<float>(features[column]));
        put(std::bit_cast<std::uint64_t>(stored == 0 ? 0.0 : stored), &bytes[8 * column]);
    }
    put(truth, &bytes[8 * features.size()]);
    return hash("holdfast record content", bytes.data(), bytes.size());
}

}  // namespace

std::uint64_t id_of_text(const std::string& text) {
    return hash("holdfast record id", reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

std::uint64_t id_of_cell(const std::string& text) {
    const bool canonical = text == "0" || (!text.empty() && text[0] >= '1' && text[0] <= '9');
    const auto value = number_of<std::uint64_t>(text);
    return canonical && value ? *value : id_of_text(text);
}

std::uint64_t id_of_content(std::span<const double> features, bool wide, std::int32_t label) {
    return hash_of_content(features, wide, static_cast<std::uint64_t>(label));
}

std::uint64_t id_of_content(std::span<const double> features, bool wide, double target) {
    return hash_of_content(features, wide, std::bit_cast<std::uint64_t>(target == 0 ? 0.0 : target));
}

}  // namespace holdfast
