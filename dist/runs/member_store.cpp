#include "dist/runs/member_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/runs/lease.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {

namespace fs = std::filesystem;

namespace {

// A file: members_magic, Digest of whose it is, length of the fingerprint, fingerprint; then member after
// member: Head, values in order of level, metrics, Digest of all of that and of whose it is; at the end where
// each Head lies.
constexpr std::string_view members_magic = "HOLDFAST-MEMBERS-1\n";
using Digest = std::array<char, 64>;  ///< hex

struct Head {
    std::uint64_t member = 0, levels = 0, parameters = 0, metrics_bytes = 0;
};

struct Range {
    std::size_t first = 0, last = 0;
};

std::string name_of(const Range& range) {
    return printed("members-%05zu-%05zu", range.first, range.last);
}

/// Of a file of members, by its name.
bool is_members(const std::string& name, Range& range) {
    if (std::sscanf(name.c_str(), "members-%zu-%zu", &range.first, &range.last) != 2) return false;
    return name == name_of(range) && range.first <= range.last && range.last - range.first < (1U << 24);
}

/// Calls use(path, range) for every file of members.
template <typename Use>
void for_each_file(const std::string& run, Use use) {
    std::error_code status;
    for (fs::directory_iterator entry(run + "/members", status), end; !status && entry != end;
         entry.increment(status)) {
        Range range;
        if (is_members(entry->path().filename(), range)) use(entry->path().string(), range);
    }
}

Digest digest_of(StreamDigest& digest, const std::string& fingerprint) {
    const std::uint64_t length = fingerprint.size();
    digest.add(std::as_bytes(std::span(fingerprint)));
    digest.add_values(std::span<const std::uint64_t>(&length, 1));
    const std::string text = digest.hex();
    Digest hex{};
    std::copy(text.begin(), text.end(), hex.begin());
    return hex;
}

Error damaged(const std::string& path, const std::string& what) {
    return Error(ExitCode::input, "damaged or truncated members: " + what,
                 "delete it and go on with --resume: its members are trained again", path);
}

}  // namespace

/// Members that are finished and wait for their file.
struct MemberStore::Group {
    Group(const std::string& name, const std::string& fingerprint)
        : path(name, private_mode), descriptor(::open(path.temporary().c_str(), O_WRONLY | O_CLOEXEC)) {
        StreamDigest digest;
        const Digest whose = digest_of(digest, fingerprint);
        const std::uint64_t length = fingerprint.size();
        put(members_magic.data(), members_magic.size());
        put(whose.data(), whose.size());
        put(&length, sizeof length);
        put(fingerprint.data(), fingerprint.size());
        committed = end;
    }
    ~Group() {
        if (descriptor >= 0) ::close(descriptor);
    }
    Group(const Group&) = delete;
    Group& operator=(const Group&) = delete;

    void put(const void* from, std::size_t count) {
        put_at(from, count, end);
        end += count;
    }
    void put_at(const void* from, std::size_t count, std::uint64_t at) const {
        for (const auto* next = static_cast<const char*>(from); count > 0;) {
            const ssize_t written = ::pwrite(descriptor, next, count, static_cast<off_t>(at));
            if (written < 0 && errno == EINTR) continue;
            if (written <= 0) fail();
            next += written, at += static_cast<std::uint64_t>(written);
            count -= static_cast<std::size_t>(written);
        }
    }
    [[noreturn]] void fail() const {
        throw Error(ExitCode::output, std::string("cannot be written: ") + std::strerror(errno),
                    "free some space and go on with --resume", path.path());
    }
    /// A file of what is committed, and of nothing that was begun after it.
    void appear() {
        if (::ftruncate(descriptor, static_cast<off_t>(committed)) != 0) fail();
        put_at(heads.data(), heads.size() * sizeof(std::uint64_t), committed);
        if (::close(std::exchange(descriptor, -1)) != 0) fail();
        const std::string name = name_of({first, first + heads.size() - 1});
        path.commit_as((fs::path(path.path()).parent_path() / name).string());
    }

    AtomicPath path;
    int descriptor;
    std::uint64_t end = 0, committed = 0;
    std::vector<std::uint64_t> heads;  ///< of the members, from the first on
    std::size_t first = 0;
    std::chrono::steady_clock::time_point since{};  ///< the first of them was finished
};

MemberStore::MemberStore(RunFolder run, std::string fingerprint, double seconds)
    : run_(std::move(run)),
      fingerprint_(std::move(fingerprint)),
      seconds_(seconds),
      group_(std::make_shared<std::unique_ptr<Group>>()) {}

std::string MemberStore::file(std::size_t member) const {
    std::string found;
    for_each_file(run_.path(), [&](const std::string& path, const Range& range) {
        if (range.first <= member && member <= range.last && (found.empty() || path < found)) found = path;
    });
    if (!found.empty()) return found;
    throw Error(ExitCode::input, "member " + std::to_string(member) + " is not there",
                "go on with --resume: it is trained", run_.file("members"));
}

CheckpointFolder MemberStore::checkpoints(std::size_t member) const {
    return {run_.file("checkpoints/" + std::to_string(member)), fingerprint_};
}

std::string MemberStore::progress_file(std::size_t member) const {
    return run_.file(printed("progress/member-%05zu.jsonl", member));
}

bool MemberStore::waiting() const {
    return *group_ && !(*group_)->heads.empty();
}

bool MemberStore::due() const {
    return waiting() &&
           std::chrono::steady_clock::now() - (*group_)->since >= std::chrono::duration<double>(seconds_);
}

void MemberStore::sync() const {
    const std::unique_ptr<Group> group = std::move(*group_);
    if (group && !group->heads.empty()) group->appear();
}

void MemberStore::make_folder() const {
    std::error_code status;
    fs::create_directories(run_.file("members"), status);
    if (status)
        throw Error(ExitCode::output, "cannot be made: " + status.message(),
                    "check permissions and free space", run_.file("members"));
    fs::permissions(run_.file("members"), fs::perms::owner_all, status);
}

void MemberStore::remove_all() const {
    std::error_code ignored;
    for (const char* folder : {"members", "checkpoints", "progress"})
        fs::remove_all(run_.file(folder), ignored);
    fs::remove(run_.file(Lease::file_name), ignored);
}

void MemberStore::remove_if_empty() const {
    group_->reset();  // what could not be written
    std::error_code ignored;
    for (const char* folder : {"members", "checkpoints"}) fs::remove(run_.file(folder), ignored);
    fs::remove_all(run_.file("progress"), ignored);  // of nothing that was kept
    fs::directory_iterator entry(run_.path(), ignored);
    constexpr std::array nothing_kept{"fingerprint", "provenance.jsonl", Lease::file_name};
    const auto others = std::count_if(entry, fs::directory_iterator(), [&](const fs::directory_entry& each) {
        return std::find(nothing_kept.begin(), nothing_kept.end(), each.path().filename()) ==
               nothing_kept.end();
    });
    if (ignored || others > 0) return;
    for (const char* file : nothing_kept) fs::remove(run_.file(file), ignored);
}

std::vector<std::size_t> MemberStore::finished(const std::string& run) {
    std::vector<std::size_t> found;
    for_each_file(run, [&](const std::string&, const Range& range) {
        for (std::size_t member = range.first; member <= range.last; ++member) found.push_back(member);
    });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());  // two jobs may have trained one
    return found;
}

struct MemberWriter::Record {
    MemberStore store;
    MemberStore::Group& group;
    Head head;
    StreamDigest digest;
};

MemberWriter::MemberWriter(const MemberStore& store, std::size_t member, std::size_t levels,
                           std::size_t parameters) {
    std::unique_ptr<MemberStore::Group>& group = *store.group_;
    if (group && (group->heads.empty() || group->first + group->heads.size() != member)) store.sync();
    if (!group) {
        store.make_folder();
        const std::string path = store.run_.file(printed("members/members-%05zu", member));
        group = std::make_unique<MemberStore::Group>(path, store.fingerprint());
        group->first = member;
    }
    group->end = group->committed;  // over one that was begun and never committed
    record_.reset(new Record{store, *group, {member, levels, parameters, 0}, {}});
    group->put(&record_->head, sizeof(Head));  // its last field comes with commit()
}
MemberWriter::~MemberWriter() = default;

void MemberWriter::write(const std::vector<std::int64_t>& lower, const std::vector<std::int64_t>& upper) {
    for (const std::vector<std::int64_t>* values : {&lower, &upper}) {
        ensure(values->size() == record_->head.parameters, "a box has every parameter");
        record_->group.put(values->data(), values->size() * sizeof(std::int64_t));
        record_->digest.add_values(std::span<const std::int64_t>(*values));
    }
}

void MemberWriter::commit(const std::string& metrics) {
    auto& [store, group, head, digest] = *record_;
    head.metrics_bytes = metrics.size();
    group.put(metrics.data(), metrics.size());
    digest.add(std::as_bytes(std::span(metrics)));
    digest.add_values(std::span<const Head>(&head, 1));
    const Digest sum = digest_of(digest, store.fingerprint());
    group.put(sum.data(), sum.size());
    group.put_at(&head, sizeof head, group.committed);
    if (group.heads.empty()) group.since = std::chrono::steady_clock::now();
    group.heads.push_back(group.committed);
    group.committed = group.end;
    if (store.due()) store.sync();
}

struct MemberReader::File {
    std::string path;
    std::ifstream stream;
    std::string fingerprint;
    std::uint64_t bytes;  ///< of the file
    Head head{};
    StreamDigest digest{};

    void read(void* into, std::uint64_t count) {
        if (!stream.read(static_cast<char*>(into), static_cast<std::streamsize>(count)))
            throw damaged(path, "it ends too early");
    }
    /// How many bytes there are behind what was read.
    std::uint64_t left() { return bytes - static_cast<std::uint64_t>(stream.tellg()); }
    void check_whose() {
        std::string start(members_magic.size(), '\0');
        read(start.data(), start.size());
        Digest whose{};
        std::uint64_t length = 0;
        read(whose.data(), whose.size());
        read(&length, sizeof length);
        if (start != members_magic || length > left()) throw damaged(path, "it begins otherwise");
        std::string found(length, '\0');
        read(found.data(), length);
        StreamDigest digest_of_name;
        if (digest_of(digest_of_name, found) != whose) throw damaged(path, "it begins otherwise");
        if (found != fingerprint)
            throw Error(ExitCode::usage, "these members belong to another configuration or dataset",
                        "delete it, or train into a new folder", path);
    }
    /// Goes to the member's values.
    void find(std::uint64_t member, std::uint64_t levels, std::uint64_t parameters) {
        Range range;
        ensure(is_members(fs::path(path).filename(), range) && member <= range.last, "a file of members");
        const std::uint64_t behind = (range.last - member + 1) * sizeof(std::uint64_t);
        std::uint64_t at = 0;
        if (behind > bytes) throw damaged(path, "it ends too early");
        stream.seekg(static_cast<std::streamoff>(bytes - behind));
        read(&at, sizeof at);
        if (at > bytes) throw damaged(path, "a member lies behind its end");
        stream.seekg(static_cast<std::streamoff>(at));
        read(&head, sizeof head);
        if (head.member != member || head.levels != levels || head.parameters != parameters ||
            head.metrics_bytes > left())
            throw damaged(path, "its boxes have unexpected shapes");
    }
};

MemberReader::MemberReader(const MemberStore& store, std::size_t member, std::size_t levels,
                           std::size_t parameters) {
    const std::string path = store.file(member);
    std::error_code gone;  // by another job that has joined all members
    const std::uintmax_t bytes = fs::file_size(path, gone);
    std::ifstream stream(path, std::ios::binary);
    if (gone || !stream) throw damaged(path, "it cannot be read");
    file_.reset(new File{path, std::move(stream), store.fingerprint(), bytes});
    file_->check_whose();
    file_->find(member, levels, parameters);
}
MemberReader::~MemberReader() = default;

void MemberReader::read(std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper) {
    for (std::vector<std::int64_t>* values : {&lower, &upper}) {
        values->resize(file_->head.parameters);
        file_->read(values->data(), values->size() * sizeof(std::int64_t));
        file_->digest.add_values(std::span<const std::int64_t>(*values));
    }
}

std::string MemberReader::finish() {
    std::string metrics(file_->head.metrics_bytes, '\0');
    file_->read(metrics.data(), metrics.size());
    file_->digest.add(std::as_bytes(std::span(metrics)));
    file_->digest.add_values(std::span<const Head>(&file_->head, 1));
    Digest stated{};
    file_->read(stated.data(), stated.size());
    if (digest_of(file_->digest, file_->fingerprint) != stated)
        throw damaged(file_->path, "its checksum is another");
    return metrics;
}

}  // namespace holdfast
