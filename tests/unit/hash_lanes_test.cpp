#include "kernels/cpu/hash_lanes.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "dist/data/record_id.hpp"
#include "dist/files/digest.hpp"

namespace holdfast::hash_lanes_test {
namespace {

using cpu::HashLanes;

/// Each message's digest, its first `before` bytes added block by block.
std::vector<std::string> side_by_side(const std::vector<std::string>& texts, std::size_t digest_bytes,
                                      std::size_t before = 0) {
    HashLanes::Messages parts{};
    for (std::size_t lane = 0; lane < HashLanes::lanes; ++lane)
        parts[lane] = reinterpret_cast<const unsigned char*>(texts[lane].data());
    HashLanes hash(digest_bytes);
    const std::size_t blocks = before / HashLanes::block_bytes * HashLanes::block_bytes;
    hash.add(parts, blocks);
    for (const unsigned char*& part : parts) part += blocks;
    std::vector<unsigned char> digests(HashLanes::lanes * digest_bytes);
    hash.finish(parts, texts.front().size() - blocks, digests.data());
    std::vector<std::string> all;
    for (std::size_t lane = 0; lane < HashLanes::lanes; ++lane)
        all.push_back(hex_of({digests.data() + lane * digest_bytes, digest_bytes}));
    return all;
}

TEST(HashLanes, HaveTheDigestsOfEachMessageAlone) {
    std::mt19937_64 engine(1);
    for (const std::size_t size : {0, 1, 7, 127, 128, 129, 255, 256, 257, 640, 1000, 1504}) {
        std::vector<std::string> texts(HashLanes::lanes, std::string(size, '\0'));
        for (std::string& text : texts)
            for (char& letter : text) letter = static_cast<char>(engine());
        for (std::size_t before = 0; before < size; before += 200) {
            const std::vector<std::string> found = side_by_side(texts, 32, before);
            for (std::size_t lane = 0; lane < HashLanes::lanes; ++lane)
                EXPECT_EQ(found[lane], StreamDigest::of(texts[lane])) << size << " bytes, lane " << lane;
        }
        if (size == 0) {
            EXPECT_EQ(side_by_side(texts, 32).back(), StreamDigest::of(""));
        }
    }
}

TEST(HashLanes, HaveTheDigestOfTheStandard) {
    const std::vector<std::string> found =
        side_by_side(std::vector<std::string>(HashLanes::lanes, "abc"), 64);
    for (const std::string& digest : found)
        EXPECT_EQ(digest,
                  "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                  "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
}

TEST(HashLanes, GiveRecordsTheIdsThatEachHasAlone) {
    std::mt19937_64 engine(2);
    std::uniform_real_distribution<double> uniform(-2, 2);
    for (const std::size_t width : {1, 15, 16, 188}) {
        for (const std::size_t count : {1, 7, 8, 9, 24, 25}) {
            std::vector<double> features(count * width), targets(count);
            for (double& value : features) value = engine() % 5 == 0 ? -0.0 : uniform(engine);
            for (double& value : targets) value = engine() % 2 == 0 ? 0 : uniform(engine);
            std::vector<std::uint64_t> ids(count);
            ids_of_contents(features, targets, ids);
            for (std::size_t i = 0; i < count; ++i) {
                const std::span<const double> row(&features[i * width], width);
                EXPECT_EQ(ids[i], id_of_content(row, true, targets[i]));
                if (targets[i] == 0) {
                    EXPECT_EQ(ids[i], id_of_content(row, true, std::int32_t{0}));
                }
            }
        }
    }
}

}  // namespace
}  // namespace holdfast::hash_lanes_test
