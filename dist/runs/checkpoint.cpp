#include "dist/runs/checkpoint.hpp"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/number_of.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using Payload = CheckpointFolder::Payload;
using Checksum = std::array<unsigned char, 32>;

constexpr std::string_view magic = "HOLDFAST-CHECKPOINT-4\n";
constexpr const char* list_name = "files";  // "CHECKSUM NAME" a line
constexpr std::size_t kept = 2;

Checksum checksum_of(const std::string& fingerprint, std::span<const std::byte> payload) {
    Checksum sum{};
    crypto_generichash_state state;
    crypto_generichash_init(&state, nullptr, 0, sum.size());
    const std::uint64_t length = fingerprint.size();  // or bytes could pass from one to the other unnoticed
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&length), sizeof length);
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(fingerprint.data()),
                              fingerprint.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(payload.data()), payload.size());
    crypto_generichash_final(&state, sum.data(), sum.size());
    return sum;
}

Payload bytes_of(const std::string& text) {
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return {first, first + text.size()};
}

std::string text_of(const Payload& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// magic, checksum, length of the fingerprint, fingerprint, payload.
Payload sealed(const std::string& fingerprint, const Payload& payload) {
    Payload file;
    const auto put = [&](const void* from, std::size_t bytes) {
        const auto* first = static_cast<const std::byte*>(from);
        file.insert(file.end(), first, first + bytes);
    };
    const Checksum sum = checksum_of(fingerprint, payload);
    const std::uint64_t length = fingerprint.size();
    put(magic.data(), magic.size());
    put(sum.data(), sum.size());
    put(&length, sizeof length);
    put(fingerprint.data(), fingerprint.size());
    put(payload.data(), payload.size());
    return file;
}

Payload opened(const fs::path& path, const std::string& fingerprint) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream)
        throw Error(ExitCode::input, "a file of a checkpoint that is missing or cannot be read",
                    "it is not used", path.string());
    const std::string file((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const std::size_t header = magic.size() + sizeof(Checksum) + sizeof(std::uint64_t);
    const auto damaged = [&] {
        return Error(ExitCode::input, "a damaged or truncated checkpoint", "it is not used", path.string());
    };
    if (file.size() < header || file.compare(0, magic.size(), magic) != 0) throw damaged();
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + magic.size() + sizeof(Checksum), sizeof length);
    if (length > file.size() - header) throw damaged();
    const std::string found = file.substr(header, length);
    const auto* first = reinterpret_cast<const std::byte*>(file.data()) + header + length;
    Payload payload(first, first + (file.size() - header - length));
    const Checksum sum = checksum_of(found, payload);
    if (std::memcmp(sum.data(), file.data() + magic.size(), sum.size()) != 0) throw damaged();
    if (found != fingerprint) {
        throw Error(ExitCode::usage, "this checkpoint belongs to another configuration or dataset",
                    "resume with the configuration and data it was written with, or train into a new folder",
                    path.string());
    }
    return payload;
}

void sync_folder(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

void check(const std::error_code& status, const std::string& what, const std::string& path) {
    if (status)
        throw Error(ExitCode::output, what + ": " + status.message(), "check permissions and free space",
                    path);
}

}  // namespace

std::string CheckpointFolder::folder(std::uint64_t number) const {
    return path_ + "/" + std::to_string(number);
}

std::vector<std::uint64_t> CheckpointFolder::numbers() const {
    std::vector<std::uint64_t> found;
    std::error_code status;
    for (fs::directory_iterator entry(path_, status), last; !status && entry != last;
         entry.increment(status)) {
        const auto number = number_of<std::uint64_t>(entry->path().filename().string());
        if (number) found.push_back(*number);
    }
    std::sort(found.begin(), found.end());
    return found;
}

void CheckpointFolder::save(const Files& files, const Communicator& world) const {
    const std::string writing = path_ + "/.writing";
    std::error_code status;
    if (world.is_root()) {
        fs::remove_all(writing, status);  // of a run that was killed while it wrote
        fs::create_directories(writing, status);
        check(status, "cannot make the checkpoint", writing);
        fs::permissions(path_, fs::perms::owner_all, status);
    }
    world.barrier();
    std::string list;
    for (const auto& [name, payload] : files)
        list += hex_of(checksum_of(fingerprint_, payload)) + " " + name + "\n";
    const std::vector<Payload> lists = world.all_gather(bytes_of(list));
    try {
        for (const auto& [name, payload] : files)
            write_file_atomically(writing + "/" + name, sealed(fingerprint_, payload), private_mode);
        Payload all;
        for (const Payload& part : lists) all.insert(all.end(), part.begin(), part.end());
        if (world.is_root())
            write_file_atomically(writing + "/" + list_name, sealed(fingerprint_, all), private_mode);
    } catch (const Error&) {
        fs::remove_all(writing, status);
        fs::remove(path_, status);  // only if no checkpoint is in it
        throw;
    }
    world.barrier();
    if (world.is_root()) {
        const std::vector<std::uint64_t> before = numbers();
        fs::rename(writing, folder(before.empty() ? 1 : before.back() + 1), status);
        check(status, "cannot complete the checkpoint", writing);
        sync_folder(path_);
        for (std::size_t i = 0; i + kept <= before.size(); ++i) fs::remove_all(folder(before[i]), status);
    }
    world.barrier();
}

CheckpointFolder::Files CheckpointFolder::load(std::uint64_t number) const {
    Files files;
    const fs::path place = folder(number);
    std::istringstream list(text_of(opened(place / list_name, fingerprint_)));
    for (std::string sum, name; list >> sum >> name;) {
        files.emplace_back(name, opened(place / name, fingerprint_));
        if (hex_of(checksum_of(fingerprint_, files.back().second)) != sum)
            throw Error(ExitCode::input, "a file of another checkpoint", "it is not used", place / name);
    }
    return files;
}

std::vector<Payload> CheckpointFolder::load_latest(const PassedOver& passed_over) const {
    std::vector<Payload> payloads;
    for (auto& [name, payload] : load_latest_files(passed_over)) payloads.push_back(std::move(payload));
    return payloads;
}

CheckpointFolder::Files CheckpointFolder::load_latest_files(const PassedOver& passed_over) const {
    const std::vector<std::uint64_t> found = numbers();
    for (std::size_t i = found.size(); i-- > 0;) {
        try {
            return load(found[i]);
        } catch (const Error& error) {
            if (error.code() == ExitCode::usage) throw;  // of another run
            if (i == 0)
                throw Error(
                    error.code(), error.message() + ", and none before it is sound",
                    "restore one from a copy, delete them all to train from the beginning, or train into "
                    "a new folder",
                    error.where());
            passed_over(error);
        }
    }
    return {};
}

void CheckpointFolder::remove_all() const {
    std::error_code status;
    fs::remove_all(path_, status);
}

}  // namespace holdfast
