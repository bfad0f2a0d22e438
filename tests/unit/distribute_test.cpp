#include "dist/layout/distribute.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kernels/base/error.hpp"
#include "tests/support/quiet_communicator.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

/// One rank of a world of `size` on `hosts` machines, alone in its process: among the ranks of its machine,
/// exchange() notes what it sends and hands out what the others have noted. Every rank runs twice: first to
/// note, then to receive. Rounds are numbered in order. Over the whole world nothing can be sent.
class RecordedWorld final : public QuietCommunicator {
  public:
    using Rounds = std::vector<std::map<int, std::vector<std::vector<std::byte>>>>;  // [round][from][to]
    RecordedWorld(int rank, int size, int hosts, Rounds& rounds, bool replay)
        : rank_(rank), size_(size), hosts_(hosts), rounds_(rounds), replay_(replay) {}

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::vector<int> machines() const override {
        std::vector<int> machines;
        for (int rank = 0; rank < size_; ++rank) machines.push_back(rank % hosts_);
        return machines;
    }
    std::vector<std::vector<std::byte>> exchange(
        const std::vector<std::vector<std::byte>>& outgoing) const override {
        EXPECT_EQ(hosts_, 1) << "records go to other machines";
        const std::size_t round = round_++;
        std::vector<std::vector<std::byte>> incoming(static_cast<std::size_t>(size_));
        if (rounds_.size() <= round) rounds_.resize(round + 1);
        if (!replay_) rounds_[round][rank_] = outgoing;
        if (!replay_) return incoming;
        for (int from = 0; from < size_; ++from)
            incoming[static_cast<std::size_t>(from)] =
                rounds_[round].at(from).at(static_cast<std::size_t>(rank_));
        return incoming;
    }
    std::unique_ptr<Communicator> split(int) const override {
        const int machine = rank_ % hosts_;
        return std::make_unique<RecordedWorld>(rank_ / hosts_, (size_ - machine + hosts_ - 1) / hosts_, 1,
                                               rounds_, replay_);
    }

  private:
    int rank_, size_, hosts_;
    Rounds& rounds_;
    bool replay_;
    mutable std::size_t round_ = 0;
};

struct DistributeTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("data.h5");
    static constexpr std::size_t members = 5, levels = 4, classes = 3;

    Records make(std::size_t rows, bool wide) const {
        Records records{FeatureMatrix(2, wide), {}, {}, {}};
        for (std::size_t i = 0; i < rows; ++i) {
            const double row[] = {static_cast<double>(i), 0.5};
            records.features.append(row);
            records.labels.push_back(static_cast<std::int32_t>(i % classes));
            records.ids.push_back(1000003 * i + 17);
        }
        return records;
    }
    void write(const Records& records) const {
        DatasetWriter writer(path);
        writer.begin_split("train", 2, records.features.wide());
        writer.append(records);
        writer.commit();
    }
    static Sharing sharing() { return {members, {0, 1, 2, 3, 4}, classes, 42}; }
    /// What every rank of a grid holds.
    std::vector<std::vector<MemberRecords>> everywhere(int ranks, const std::string& grid,
                                                       int hosts = 1) const {
        std::vector<RecordedWorld::Rounds> rounds(hosts);
        std::vector<std::vector<MemberRecords>> held;
        for (const bool replay : {false, true}) {
            held.clear();
            for (int rank = 0; rank < ranks; ++rank) {
                const RecordedWorld world(rank, ranks, hosts, rounds[rank % hosts], replay);
                const ProcessGrid place(world, grid, members, levels);
                held.push_back(distribute(DatasetReader(path), place, world, sharing()).held);
            }
        }
        return held;
    }
    std::string message() const {
        const auto world = make_serial_communicator();
        try {
            distribute(DatasetReader(path), ProcessGrid(*world, "auto", members, levels), *world, sharing());
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::input);
            return error.what();
        }
        return "";
    }
};

TEST_F(DistributeTest, OnlyTheMembersThatAreTrainedGetRecordsAndEveryRecordIsInTheDigest) {
    write(make(257, false));
    const auto world = make_serial_communicator();
    const Distributed whole =
        distribute(DatasetReader(path), ProcessGrid(*world, "auto", members, levels), *world, sharing());
    const Distributed part = distribute(DatasetReader(path), ProcessGrid(*world, "auto", members, levels, 3),
                                        *world, {members, {1, 4}, classes, 42});
    ASSERT_EQ(part.held.size(), 2U);
    for (const MemberRecords& held : part.held) {
        EXPECT_GT(held.records.size(), 0U);
        EXPECT_EQ(held.records.ids, whole.held[held.member].records.ids);
    }
    EXPECT_EQ(part.held[1].member, 4U);
    EXPECT_EQ(part.all.hex(*world), whole.all.hex(*world));
    EXPECT_NE(whole.all.hex(*world), RecordDigest().hex(*world));
    const Distributed none = distribute(DatasetReader(path), ProcessGrid(*world, "1x1x1", members, levels, 5),
                                        *world, {members, {}, classes, 42});
    EXPECT_TRUE(none.held.empty());
    EXPECT_EQ(none.all.hex(*world), whole.all.hex(*world));
}

TEST_F(DistributeTest, EveryRecordIsOnceInEachLevelGroupOfItsMember) {
    for (const bool wide : {false, true}) {
        const Records all = make(257, wide);
        write(all);
        for (const auto& [ranks, grid, hosts] : {std::tuple{1, "auto", 1},
                                                 {2, "auto", 1},
                                                 {2, "auto", 2},
                                                 {5, "auto", 2},
                                                 {7, "auto", 3},
                                                 {6, "3x2x1", 1},
                                                 {4, "1x1x4", 2},
                                                 {8, "2x2x2", 3},
                                                 {4, "1x4x1", 4}}) {
            std::map<std::uint64_t, std::multiset<std::size_t>> members_of;  // id -> members that hold it
            std::size_t copies = 0;
            for (const auto& rank : everywhere(ranks, grid, hosts)) {
                for (const MemberRecords& held : rank) {
                    for (std::size_t i = 0; i < held.records.size(); ++i) {
                        const std::size_t row = held.records.rows[i];
                        ASSERT_LT(row, all.size());
                        EXPECT_EQ(held.records.ids[i], all.ids[row]);
                        EXPECT_EQ(held.records.labels[i], all.labels[row]);
                        EXPECT_EQ(held.records.features.at(i, 0), static_cast<double>(row));
                        EXPECT_EQ(held.records.features.wide(), wide);
                        members_of[held.records.ids[i]].insert(held.member);
                        ++copies;
                    }
                }
            }
            const std::size_t groups =
                std::string(grid) == "auto" ? 1 : static_cast<std::size_t>(grid[2] - '0');
            EXPECT_EQ(members_of.size(), all.size()) << grid;
            EXPECT_EQ(copies, groups * all.size()) << grid << " on " << ranks;
            for (const auto& [id, found] : members_of) {
                EXPECT_EQ(found.size(), groups) << id;
                EXPECT_EQ(std::set<std::size_t>(found.begin(), found.end()).size(), 1U)
                    << "in two members: " << id;
            }
        }
    }
}

TEST_F(DistributeTest, ARecordsMemberIsItsOwnWhateverTheOthers) {
    Records all = make(60, false);
    write(all);
    const auto before = everywhere(1, "auto")[0];
    std::reverse(all.ids.begin(), all.ids.end());  // other rows for the same ids, and one record more
    const double row[] = {1, 2};
    all.features.append(row);
    all.labels.push_back(0);
    all.ids.push_back(5);
    write(all);
    const auto after = everywhere(1, "auto")[0];
    for (std::size_t m = 0; m < members; ++m) {
        std::set<std::uint64_t> was(before[m].records.ids.begin(), before[m].records.ids.end()),
            is(after[m].records.ids.begin(), after[m].records.ids.end());
        is.erase(5);
        EXPECT_EQ(was, is) << "member " << m;
    }
}

TEST_F(DistributeTest, OneIdTwiceIsAnErrorThatNamesBothRows) {
    Records all = make(40, false);
    all.ids[31] = all.ids[4];
    write(all);
    EXPECT_NE(message().find("rows 4 and 31 have the same id " + std::to_string(all.ids[4])),
              std::string::npos)
        << message();
    EXPECT_THROW(everywhere(3, "1x1x3"), Error);  // found across ranks too: equal ids meet on one rank
}

TEST_F(DistributeTest, LabelsOutOfRangeNameTheRow) {
    Records all = make(40, false);
    all.labels[33] = classes;
    write(all);
    EXPECT_NE(message().find("row 33 has label 3, but there are 3 classes (set network.classes"),
              std::string::npos)
        << message();
}

TEST_F(DistributeTest, DataWithoutLabelsCannotBeTrainedOn) {
    Records all = make(10, false);
    all.labels.clear();
    write(all);
    EXPECT_NE(message().find("no labels y_train"), std::string::npos) << message();
}

TEST_F(DistributeTest, OneRecordLeavesTheOtherMembersEmpty) {
    write(make(1, false));
    std::size_t total = 0;
    for (const auto& rank : everywhere(4, "auto")) {
        for (const MemberRecords& held : rank) total += held.records.size();
    }
    EXPECT_EQ(total, 1U);
}

TEST_F(DistributeTest, TheDigestIsOfTheSetOfRecordsNotOfTheirOrder) {
    const auto world = make_serial_communicator();
    const auto digest = [&](const Records& records) {
        RecordDigest sum;
        sum.add(records);
        return sum.hex(*world);
    };
    Records records = make(20, true);
    for (std::size_t i = 0; i < records.size(); ++i) records.rows.push_back(i);
    const std::string whole = digest(records);
    EXPECT_EQ(whole.size(), 64U);
    RecordDigest parts;
    for (std::size_t i = records.size(); i-- > 0;) {
        Records single{FeatureMatrix(2, true), {records.labels[i]}, {records.ids[i]}, {0}};
        single.features.append_row_of(records.features, i);
        parts.add(single);
    }
    EXPECT_EQ(parts.hex(*world), whole);
    Records other = records;
    other.labels[3] ^= 1;
    EXPECT_NE(digest(other), whole);
    other = records;
    other.ids[3] += 1;
    EXPECT_NE(digest(other), whole);
    other = records;
    other.features.wide_values()[7] += 1e-15;
    EXPECT_NE(digest(other), whole);
    RecordDigest twice;  // a sum, not an exclusive or: the same record twice does not vanish
    twice.add(records);
    twice.add(records);
    EXPECT_NE(twice.hex(*world), RecordDigest().hex(*world));
}

}  // namespace
}  // namespace holdfast
