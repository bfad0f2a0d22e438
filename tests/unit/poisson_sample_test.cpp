#include "models/noisy/poisson_sample.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/base/error.hpp"
#include "models/privacy/noise/secret_stream.hpp"
#include "tests/support/privacy_tester.hpp"
#include "tests/support/secret_keys.hpp"

namespace holdfast {
namespace {

using Indices = std::vector<std::uint32_t>;

Indices taken(PoissonSample& sample, std::int64_t step) {
    const auto indices = sample.of_step(step);
    return {indices.begin(), indices.end()};
}

/// From the definition: one word of a stream for each record.
Indices taken_by_definition(const SecretKey& key, std::uint64_t threshold,
                            const std::vector<std::uint64_t>& ids, std::int64_t step) {
    Indices indices;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        SecretStream stream(key, ids[i], static_cast<std::uint32_t>(step / 16));
        std::uint32_t word = 0;
        for (std::int64_t s = 0; s <= step % 16; ++s)
            stream.fill(std::as_writable_bytes(std::span(&word, 1)));
        if (word < threshold) indices.push_back(static_cast<std::uint32_t>(i));
    }
    return indices;
}

std::vector<std::uint64_t> ids_from(std::uint64_t first, std::size_t count) {
    std::vector<std::uint64_t> ids(count);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}

TEST(PoissonSample, TakesARecordWhoseWordLiesBelowTheThreshold) {
    const SecretKey key = test::known_key(1);
    const std::vector<std::uint64_t> ids = ids_from(std::uint64_t{1} << 63, 300);
    for (const std::uint64_t threshold :
         {std::uint64_t{1} << 31, std::uint64_t{1} << 28, PoissonSample::everybody - 1}) {
        PoissonSample sample(key, threshold, ids);
        for (const std::int64_t step : {0, 1, 15, 16, 17, 5, 1000000, 3})  // forwards and backwards
            EXPECT_EQ(taken(sample, step), taken_by_definition(key, threshold, ids, step)) << step;
    }
}

TEST(PoissonSample, AtTheThresholdsAboveAndBelowAWordTheRecordComesAndGoes) {
    const SecretKey key = test::known_key(2);
    const std::vector<std::uint64_t> one = {77};
    std::uint32_t word = 0;
    SecretStream(key, 77, 0).fill(std::as_writable_bytes(std::span(&word, 1)));
    EXPECT_TRUE(PoissonSample(key, word, one).of_step(0).empty());
    EXPECT_EQ(PoissonSample(key, std::uint64_t{word} + 1, one).of_step(0).size(), 1U);
}

TEST(PoissonSample, IsTheSameForARecordWhoeverElseIsThere) {
    const SecretKey key = test::known_key(3);
    std::vector<std::uint64_t> ids = ids_from(1000, 500);
    PoissonSample whole(key, std::uint64_t{1} << 30, ids);
    std::vector<std::uint64_t> some;
    for (std::size_t i = 0; i < ids.size(); i += 3) some.insert(some.begin(), ids[i]);
    PoissonSample part(key, std::uint64_t{1} << 30, some);
    for (std::int64_t step = 0; step < 40; ++step) {
        const Indices of_whole = taken(whole, step);
        Indices expected;
        for (std::size_t i = 0; i < some.size(); ++i) {
            const auto index = static_cast<std::uint32_t>(some[i] - 1000);
            if (std::binary_search(of_whole.begin(), of_whole.end(), index))
                expected.push_back(static_cast<std::uint32_t>(i));
        }
        EXPECT_EQ(taken(part, step), expected);
    }
}

TEST(PoissonSample, IsTheSameOnAnyNumberOfThreads) {
    const SecretKey key = test::known_key(4);
    const std::vector<std::uint64_t> ids = ids_from(0, 20000);
    std::map<int, std::vector<Indices>> by_threads;
    const int before = omp_get_max_threads();
    for (const int threads : {1, 2, 3}) {
        omp_set_num_threads(threads);
        PoissonSample sample(key, std::uint64_t{1} << 27, ids);
        for (std::int64_t step = 10; step < 20; ++step) by_threads[threads].push_back(taken(sample, step));
    }
    omp_set_num_threads(before);
    EXPECT_EQ(by_threads[1], by_threads[2]);
    EXPECT_EQ(by_threads[1], by_threads[3]);
}

TEST(PoissonSample, AtTheEndsTakesEverybodyOrNobody) {
    const SecretKey key = test::known_key(5);
    const std::vector<std::uint64_t> ids = ids_from(5, 4), none;
    PoissonSample all(key, PoissonSample::everybody, ids), nobody(key, 0, ids), empty(key, 1 << 30, none);
    for (const std::int64_t step : {0, 100}) {
        EXPECT_EQ(taken(all, step), (Indices{0, 1, 2, 3}));
        EXPECT_TRUE(taken(nobody, step).empty());
        EXPECT_TRUE(taken(empty, step).empty());
    }
    EXPECT_THROW(PoissonSample(key, PoissonSample::everybody + 1, ids), Error);
    EXPECT_THROW(all.of_step(-1), Error);
    EXPECT_THROW(all.of_step(std::int64_t{1} << 36), Error);
}

/// Chernoff tests at 1e-12 each, of a fixed key: single records, pairs of steps and pairs of records.
TEST(PoissonSample, FrequenciesArePoissonSampling) {
    const SecretKey key = test::known_key(6);
    constexpr int records = 2000, steps = 400, pairs = records * steps / 2;
    const std::vector<std::uint64_t> ids = ids_from(0, records);
    const double q = 0.25, log_level = std::log(1e-12);
    PoissonSample sample(key, std::uint64_t{1} << 30, ids);
    double all = 0, again = 0, beside = 0;
    std::vector<char> before(records, 0);
    for (int step = 0; step < steps; ++step) {
        std::vector<char> now(records, 0);
        for (const std::uint32_t i : sample.of_step(step)) now[i] = 1;
        for (std::size_t i = 0; i < records; ++i) {
            all += now[i];
            if (step % 2 == 1) again += now[i] & before[i];
            if (i % 2 == 1) beside += now[i] & now[i - 1];
        }
        before = now;
    }
    EXPECT_GT(test::log_false_alarm(all, records * steps, q), log_level);
    EXPECT_LT(test::log_false_alarm(all, records * steps, q + 0.005),
              log_level);  // the test sees half a percent
    EXPECT_GT(test::log_false_alarm(again, pairs, q * q), log_level);
    EXPECT_GT(test::log_false_alarm(beside, pairs, q * q), log_level);
}

}  // namespace
}  // namespace holdfast
