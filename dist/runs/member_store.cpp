#include "dist/runs/member_store.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/runs/lease.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

namespace fs = std::filesystem;

namespace {

std::string name_of(std::size_t member, const char* ending = ".h5") {
    char name[48];
    std::snprintf(name, sizeof name, "member-%05zu%s", member, ending);
    return name;
}

/// Of the file: values in order of level, metrics, and whose they are.
std::string ended(StreamDigest& digest, const std::string& metrics, const std::string& fingerprint,
                  std::uint64_t member) {
    const std::uint64_t whose[] = {member, fingerprint.size()};
    digest.add(std::as_bytes(std::span(metrics)));
    digest.add(std::as_bytes(std::span(fingerprint)));
    digest.add_values(std::span<const std::uint64_t>(whose));
    return digest.hex();
}

Error damaged(const std::string& path, const std::string& what) {
    return Error(ExitCode::input, "a damaged or truncated member: " + what,
                 "delete it and go on with --resume: the member is trained again", path);
}

/// Whatever cannot be read of a member's file is damage to it.
template <typename Action>
auto reading(const std::string& path, Action action) {
    try {
        return action();
    } catch (const Error& error) {
        if (error.code() != ExitCode::input) throw;
        throw damaged(path, error.message());
    }
}

}  // namespace

std::string MemberStore::file(std::size_t member) const {
    return run_.file("members/" + name_of(member));
}

CheckpointFolder MemberStore::checkpoints(std::size_t member) const {
    return {run_.file("checkpoints/" + std::to_string(member)), fingerprint_};
}

std::string MemberStore::progress_file(std::size_t member) const {
    return run_.file("progress/" + name_of(member, ".jsonl"));
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
    std::error_code status;
    for (fs::directory_iterator entry(run + "/members", status), end; !status && entry != end;
         entry.increment(status)) {
        std::size_t member = 0;
        const std::string name = entry->path().filename();
        if (std::sscanf(name.c_str(), "member-%zu", &member) == 1 && name == name_of(member))
            found.push_back(member);
    }
    std::sort(found.begin(), found.end());
    return found;
}

struct MemberWriter::File {
    File(const std::string& name, std::uint64_t levels, std::uint64_t parameters)
        : path(name, private_mode),
          file(hdf5::File::create(path.temporary(), path.path())),
          lower(file.create_dataset("lower", hdf5::Type::int64, {levels, parameters})),
          upper(file.create_dataset("upper", hdf5::Type::int64, {levels, parameters})) {}

    AtomicPath path;
    hdf5::File file;
    hdf5::Dataset lower, upper;
    StreamDigest digest;
    std::string fingerprint;
    std::uint64_t member = 0, level = 0;
};

MemberWriter::MemberWriter(const MemberStore& store, std::size_t member, std::size_t levels,
                           std::size_t parameters) {
    store.make_folder();
    file_ = std::make_unique<File>(store.file(member), levels, parameters);
    file_->fingerprint = store.fingerprint();
    file_->member = member;
}
MemberWriter::~MemberWriter() = default;

void MemberWriter::write(const std::vector<std::int64_t>& lower, const std::vector<std::int64_t>& upper) {
    const hdf5::Shape offset{file_->level++, 0}, count{1, file_->lower.shape()[1]};
    file_->lower.write(offset, count, lower.data());
    file_->upper.write(offset, count, upper.data());
    file_->digest.add_values(std::span(lower));
    file_->digest.add_values(std::span(upper));
}

void MemberWriter::commit(const std::string& metrics) {
    hdf5::Dataset lines = file_->file.create_dataset("metrics", hdf5::Type::uint8, {metrics.size()});
    lines.write({0}, {metrics.size()}, reinterpret_cast<const std::uint8_t*>(metrics.data()));
    lines.close();
    file_->file.write_attribute("fingerprint", file_->fingerprint);
    file_->file.write_attribute("digest", ended(file_->digest, metrics, file_->fingerprint, file_->member));
    file_->lower.close();
    file_->upper.close();
    file_->file.close();
    file_->path.commit();
}

struct MemberReader::File {
    std::string path;
    hdf5::File file;
    hdf5::Dataset lower, upper;
    StreamDigest digest;
    std::string fingerprint;
    std::uint64_t member = 0, level = 0;
};

MemberReader::MemberReader(const MemberStore& store, std::size_t member, std::size_t levels,
                           std::size_t parameters) {
    const std::string path = store.file(member);
    file_ = reading(path, [&] {
        hdf5::File file = hdf5::File::open_read(path);
        const std::string fingerprint = file.read_text_attribute("fingerprint");
        if (fingerprint != store.fingerprint())
            throw Error(ExitCode::usage, "this member belongs to another configuration or dataset",
                        "delete it, or train into a new folder", path);
        hdf5::Dataset lower = file.dataset("lower"), upper = file.dataset("upper");
        const hdf5::Shape shape{levels, parameters};
        if (lower.shape() != shape || upper.shape() != shape)
            throw Error(ExitCode::input, "its boxes have unexpected shapes");
        return std::unique_ptr<File>(
            new File{path, std::move(file), std::move(lower), std::move(upper), {}, fingerprint, member, 0});
    });
}
MemberReader::~MemberReader() = default;

void MemberReader::read(std::vector<std::int64_t>& lower, std::vector<std::int64_t>& upper) {
    const hdf5::Shape offset{file_->level++, 0}, count{1, file_->lower.shape()[1]};
    lower.resize(count[1]);
    upper.resize(count[1]);
    reading(file_->path, [&] {
        file_->lower.read(offset, count, lower.data());
        file_->upper.read(offset, count, upper.data());
    });
    file_->digest.add_values(std::span<const std::int64_t>(lower));
    file_->digest.add_values(std::span<const std::int64_t>(upper));
}

std::string MemberReader::finish() {
    return reading(file_->path, [&] {
        const hdf5::Dataset lines = file_->file.dataset("metrics");
        std::error_code gone;  // by another job that has joined all members
        const std::uintmax_t bytes_there = fs::file_size(file_->path, gone);
        if (gone || lines.shape().size() != 1 || lines.size() > bytes_there)
            throw Error(ExitCode::input, "its metrics have an unexpected shape");
        const std::vector<std::uint8_t> bytes = lines.read_all<std::uint8_t>();
        const std::string metrics(bytes.begin(), bytes.end());
        if (ended(file_->digest, metrics, file_->fingerprint, file_->member) !=
            file_->file.read_text_attribute("digest"))
            throw Error(ExitCode::input, "its checksum is another");
        return metrics;
    });
}

}  // namespace holdfast
