#include "dist/sum/selection_merge.hpp"

#include <cstring>

#include "kernels/base/threads.hpp"

namespace holdfast {
namespace {

struct Slice {
    std::size_t first, last;  // entries
};

Slice slice_of(std::size_t entries, int rank, int ranks) {
    const auto part = static_cast<std::size_t>(rank), parts = static_cast<std::size_t>(ranks);
    return {entries * part / parts, entries * (part + 1) / parts};
}

/// Each entry's size, then its values, as int64.
std::vector<std::byte> packed(Selection& selection, Slice slice) {
    std::vector<std::int64_t> words;
    for (std::size_t entry = slice.first; entry < slice.last; ++entry) {
        const auto values = selection.values(entry);
        words.push_back(static_cast<std::int64_t>(values.size()));
        words.insert(words.end(), values.begin(), values.end());
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
    return {bytes, bytes + words.size() * sizeof(std::int64_t)};
}

void insert_all(const std::vector<std::byte>& bytes, Slice slice, Selection& selection) {
    std::vector<std::int64_t> words(bytes.size() / sizeof(std::int64_t));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    std::size_t at = 0;
    for (std::size_t entry = slice.first; entry < slice.last; ++entry) {
        const auto count = static_cast<std::size_t>(words[at++]);
        for (std::size_t i = 0; i < count; ++i) selection.insert(entry, words[at++]);
    }
}

/// The slice of this rank then holds the selection of all ranks.
void merge_slice(Selection& selection, Slice mine, const Communicator& ranks) {
    std::vector<std::vector<std::byte>> outgoing(static_cast<std::size_t>(ranks.size()));
    for (int rank = 0; rank < ranks.size(); ++rank) {
        if (rank != ranks.rank())
            outgoing[static_cast<std::size_t>(rank)] =
                packed(selection, slice_of(selection.entries(), rank, ranks.size()));
    }
    const auto incoming = ranks.exchange(outgoing);
    for (int rank = 0; rank < ranks.size(); ++rank) {
        if (rank != ranks.rank()) insert_all(incoming[static_cast<std::size_t>(rank)], mine, selection);
    }
}

}  // namespace

std::vector<std::int64_t> sum_of_least(Selection& selection, std::int64_t (*term)(std::int64_t),
                                       const Communicator& ranks) {
    const Slice mine = slice_of(selection.entries(), ranks.rank(), ranks.size());
    if (ranks.size() > 1) merge_slice(selection, mine, ranks);
    std::vector<std::int64_t> sums(selection.entries(), 0);
    const auto values = static_cast<double>((mine.last - mine.first) * selection.count());
    constexpr double work_of_a_value = 8;  // in multiply-adds
    const int threads = threads_for(work_of_a_value * values);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::size_t entry = mine.first; entry < mine.last; ++entry) {
        for (const std::int64_t value : selection.values(entry)) sums[entry] += term(value);
    }
    if (ranks.size() > 1) ranks.sum(sums);
    return sums;
}

}  // namespace holdfast
