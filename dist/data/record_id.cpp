#include "dist/data/record_id.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>

#include "kernels/base/number_of.hpp"
#include "kernels/cpu/hash_lanes.hpp"

namespace holdfast {
namespace {

// The key: what is hashed, and a version. It is the same for every file: a person's records have one id
// wherever they come from.
constexpr std::size_t version_at = 24;
constexpr unsigned char version = 1;

void put(std::uint64_t value, unsigned char* bytes) {
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
}

using Key = std::array<unsigned char, crypto_generichash_KEYBYTES>;

template <std::size_t size>
constexpr Key key_of(const char (&purpose)[size]) {
    static_assert(size - 1 <= version_at && version_at < crypto_generichash_KEYBYTES);
    Key key{};
    for (std::size_t i = 0; i + 1 < size; ++i) key[i] = static_cast<unsigned char>(purpose[i]);
    key[version_at] = version;
    return key;
}

constexpr Key content_key = key_of("holdfast record content");

std::uint64_t id_in(const unsigned char* digest) {
    std::uint64_t id = 0;
    for (int i = 7; i >= 0; --i) id = id << 8 | digest[i];
    return id;
}

std::uint64_t hash(const Key& key, const unsigned char* bytes, std::size_t count) {
    unsigned char output[crypto_generichash_BYTES_MIN];
    crypto_generichash(output, sizeof output, bytes, count, key.data(), key.size());
    return id_in(output);
}

/// 8 bytes each; the two zeros are one.
void put_number(double value, unsigned char* bytes) {
    put(std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value), bytes);
}

std::uint64_t hash_of_content(std::span<const double> features, bool wide, std::uint64_t truth) {
    std::vector<unsigned char> bytes(8 * (features.size() + 1));
    for (std::size_t column = 0; column < features.size(); ++column) {
        const double stored =
            wide ? features[column] : static_cast<double>(static_cast<float>(features[column]));
        put_number(stored, &bytes[8 * column]);
    }
    put(truth, &bytes[8 * features.size()]);
    return hash(content_key, bytes.data(), bytes.size());
}

}  // namespace

std::uint64_t id_of_text(const std::string& text) {
    return hash(key_of("holdfast record id"), reinterpret_cast<const unsigned char*>(text.data()),
                text.size());
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

void ids_of_contents(std::span<const double> features, std::span<const double> targets,
                     std::span<std::uint64_t> ids) {
    constexpr std::size_t lanes = cpu::HashLanes::lanes, digest_bytes = crypto_generichash_BYTES_MIN;
    static_assert(contents_together == lanes);
    const std::size_t width = features.size() / std::max<std::size_t>(1, ids.size()), bytes = 8 * (width + 1);
    std::vector<unsigned char> messages(lanes * bytes), digests(lanes * digest_bytes);
    for (std::size_t first = 0; first < ids.size(); first += lanes) {
        const std::size_t count = std::min(lanes, ids.size() - first);
        cpu::HashLanes::Messages parts{};
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            unsigned char* const message = &messages[lane * bytes];
            const std::size_t row = first + std::min(lane, count - 1);
            for (std::size_t column = 0; column < width; ++column)
                put_number(features[row * width + column], message + 8 * column);
            put_number(targets[row], message + 8 * width);
            parts[lane] = message;
        }
        cpu::HashLanes(digest_bytes, content_key).finish(parts, bytes, digests.data());
        for (std::size_t lane = 0; lane < count; ++lane)
            ids[first + lane] = id_in(&digests[lane * digest_bytes]);
    }
}

}  // namespace holdfast
