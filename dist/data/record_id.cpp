#include "dist/data/record_id.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "dist/data/import_csv.hpp"
#include "dist/files/hdf5.hpp"
#include "kernels/base/number_of.hpp"
#include "kernels/base/text.hpp"
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

/// Words that programs write for a missing id, beside those of every missing cell.
constexpr const char* missing_ids[] = {"none", "nil",    "<na>", "nat",       "n.a.",   "#n/a",
                                       "#na",  "(null)", "\\n",  "undefined", "missing"};

bool is_missing_id(const std::string& cell) {
    std::string lower = cell;
    for (char& letter : lower) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    const bool marks = lower.find_first_not_of("-.?*") == std::string::npos;
    return marks || is_missing_cell(cell) || std::ranges::find(missing_ids, lower) != std::end(missing_ids);
}

/// Does a program write a float number so? It has a point, or an exponent with its sign, and no leading
/// zeros.
bool is_written_as_float(std::string_view cell) {
    if (cell.starts_with('-')) cell.remove_prefix(1);
    const auto skip_digits = [&] {
        const std::size_t digits = std::min(cell.find_first_not_of("0123456789"), cell.size());
        cell.remove_prefix(digits);
        return digits;
    };
    const bool leading_zero = cell.starts_with('0');
    const std::size_t whole = skip_digits();
    if (whole == 0 || (leading_zero && whole > 1)) return false;
    const bool point = cell.starts_with('.');
    if (point) {
        cell.remove_prefix(1);
        skip_digits();
    }
    if (cell.empty()) return point;
    if (cell.size() < 3 || (cell[0] != 'e' && cell[0] != 'E') || (cell[1] != '+' && cell[1] != '-'))
        return false;
    cell.remove_prefix(2);
    return skip_digits() > 0 && cell.empty();
}

bool is_infinite(std::string cell) {
    for (char& letter : cell) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (cell.starts_with('-') || cell.starts_with('+')) cell.erase(0, 1);
    return cell == "inf" || cell == "infinity";
}

template <class T>
std::vector<T> read_slab(const hdf5::Dataset& from, std::uint64_t first, std::uint64_t count) {
    hdf5::Shape offset(from.shape().size(), 0), extent = from.shape();
    offset[0] = first;
    extent[0] = count;
    std::vector<T> values(count);
    from.read(offset, extent, values.data());
    return values;
}

template <class Values, class Read>
IdColumn column_by(const Values& values, Read read) {
    IdColumn column;
    column.ids.reserve(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        ReadId found = read(values[i]);
        column.ids.push_back(found.id);
        if (!found.name.empty()) column.names[i] = std::move(found.name);
        if (!found.fault.empty()) column.faults[i] = std::move(found.fault);
    }
    return column;
}

}  // namespace

std::uint64_t id_of_text(const std::string& text) {
    return hash(key_of("holdfast record id"), reinterpret_cast<const unsigned char*>(text.data()),
                text.size());
}

ReadId read_id(const std::string& cell) {
    const std::string name = trimmed_cell(cell);
    if (is_missing_id(name)) return {.fault = "the id '" + name + "' is a missing cell"};
    if (is_infinite(name)) return {.fault = "the id '" + name + "' is no whole number"};
    if (is_written_as_float(name)) {
        ReadId found = read_id(number_of<double>(name).value_or(HUGE_VAL));
        if (!found.fault.empty())
            found.fault = "the id '" + name + "'" + found.fault.substr(found.fault.find(" is "));
        found.name = name;
        return found;
    }
    const bool canonical = name == "0" || (name[0] >= '1' && name[0] <= '9');
    const auto value = number_of<std::uint64_t>(name);
    return {canonical && value ? *value : id_of_text(name), name};
}

ReadId read_id(double value, double exact_below) {
    const std::string shown = "the id " + printed("%.17g", value);
    if (std::isnan(value)) return {.fault = shown + " is a missing cell"};
    if (value != std::floor(value) || std::isinf(value)) return {.fault = shown + " is no whole number"};
    if (std::abs(value) >= exact_below)
        return {.fault = shown + " is a float number that several whole numbers are rounded to"};
    return read_id(static_cast<std::int64_t>(value));
}

ReadId read_id(std::int64_t value) {
    if (value >= 0) return {static_cast<std::uint64_t>(value)};
    const std::string name = std::to_string(value);
    return {id_of_text(name), name};
}

IdColumn read_ids(const hdf5::Dataset& from, std::uint64_t first, std::uint64_t count) {
    if (hdf5::is_floating(from.type())) {
        const double exact_below = from.type() == hdf5::Type::float32 ? 0x1p24 : 0x1p53;
        return column_by(read_slab<double>(from, first, count),
                         [&](double value) { return read_id(value, exact_below); });
    }
    if (hdf5::is_signed(from.type()))
        return column_by(read_slab<std::int64_t>(from, first, count),
                         [](std::int64_t value) { return read_id(value); });
    return {read_slab<std::uint64_t>(from, first, count), {}, {}};
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
