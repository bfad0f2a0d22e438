#include "dist/sum/selection_merge.hpp"

#include <cstring>

namespace holdfast {
namespace {

/// [entry sizes as int64, then the values of each entry].
std::vector<std::byte> packed(Selection& selection) {
    std::vector<std::int64_t> words;
    for (std::size_t entry = 0; entry < selection.entries(); ++entry) {
        const auto values = selection.values(entry);
        words.push_back(static_cast<std::int64_t>(values.size()));
        words.insert(words.end(), values.begin(), values.end());
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    return {bytes, bytes + words.size() * sizeof(std::int64_t)};
}

void insert_all(const std::vector<std::byte>& bytes, Selection& selection) {
    std::vector<std::int64_t> words(bytes.size() / sizeof(std::int64_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    std::size_t at = 0;
    for (std::size_t entry = 0; entry < selection.entries(); ++entry) {
        const auto count = static_cast<std::size_t>(words[at++]);
        for (std::size_t i = 0; i < count; ++i) selection.insert(entry, words[at++]);
    }
}

}  // namespace

void merge_across_ranks(Selection& selection, const Communicator& ranks) {
    if (ranks.size() == 1) return;
    const int rank = ranks.rank();
    for (int distance = 1; distance < ranks.size(); distance *= 2) {
        if (rank % (2 * distance) == distance) {
            ranks.send(packed(selection), rank - distance);
            break;
        }
        if (rank + distance < ranks.size()) insert_all(ranks.receive(rank + distance), selection);
    }
    std::vector<std::byte> merged = rank == 0 ? packed(selection) : std::vector<std::byte>();
    ranks.broadcast(merged, 0);
    if (rank == 0) return;
    selection = Selection(selection.entries(), selection.count());
    insert_all(merged, selection);
}

}  // namespace holdfast
