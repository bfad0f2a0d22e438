#include "dist/runs/run_folder.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/files/atomic_file.hpp"
#include "dist/files/byte_stream.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/files/seal.hpp"
#include "dist/runs/lease.hpp"
#include "kernels/base/arithmetic.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

namespace fs = std::filesystem;

void RunFolder::require_new(const std::string& path) {
    std::error_code status;
    if (fs::exists(path, status) && (!fs::is_directory(path, status) || !fs::is_empty(path, status)))
        throw Error(ExitCode::output, "exists already and is not an empty folder",
                    "choose another --out, or --resume an interrupted run", path);
}

RunFolder RunFolder::create(const std::string& path, bool resume) {
    if (!resume) require_new(path);
    std::error_code status;
    fs::create_directories(path, status);
    if (status)
        throw Error(ExitCode::output, "cannot make the run folder: " + status.message(),
                    "check the path and its permissions", path);
    fs::permissions(path, fs::perms::owner_all, status);
    return RunFolder(path);
}

RunFolder RunFolder::open(const std::string& path) {
    RunFolder run(path);
    std::error_code status;
    if (!fs::is_directory(path, status))
        throw Error(ExitCode::input, "no such run folder", "name the --out folder of holdfast train or fleet",
                    path);
    if (!run.finished()) {
        throw Error(ExitCode::input, "no finished run (manifest.json is missing)",
                    "let holdfast train finish, with --resume if it was interrupted", path);
    }
    return run;
}

bool RunFolder::claim(const std::string& fingerprint) const {
    const std::string name = file("fingerprint");
    std::error_code status;
    for (fs::directory_iterator entry(path_, status), end;
         !status && entry != end && !fs::exists(name, status); entry.increment(status)) {
        const std::string entry_name = entry->path().filename().string();
        if (entry_name.starts_with(".") || entry_name == Lease::file_name) continue;  // of another task
        throw Error(ExitCode::output, "holds files, but no run that this program can go on with",
                    "train into a new folder", path_);
    }
    AtomicPath guard(name, private_mode);
    if (!(std::ofstream(guard.temporary()) << fingerprint << std::flush))
        throw Error(ExitCode::output, "cannot be written", "free some space or name another folder", name);
    if (guard.commit_unless_there()) return true;
    if (read_text_file(name) != fingerprint)
        throw Error(ExitCode::usage, "the folder holds a run of another configuration, dataset or program",
                    "give those it was started with, or train into a new folder", path_);
    return false;
}

bool RunFolder::has(const std::string& name) const {
    std::error_code ignored;
    return fs::exists(file(name), ignored);
}

nlohmann::json RunFolder::read_json(const std::string& name) const {
    // Of what a parser says of a malformed text nothing is passed on: it quotes bytes that are no text.
    nlohmann::json object = nlohmann::json::parse(read_sealed_json(file(name)), nullptr, false);
    if (!object.is_object())
        throw Error(ExitCode::input, "malformed JSON, or not one JSON object",
                    "the file was changed since it was written: restore it from a copy", file(name));
    object.erase("seal");
    return object;
}

std::string RunFolder::read_text(const std::string& name, const std::string& digest) const {
    std::string text = read_text_file(file(name));
    if (!digest.empty() && StreamDigest::of(text) != digest)
        throw Error(ExitCode::input, "is damaged: another text than was written",
                    "restore it from a copy, or make it again", file(name));
    return text;
}

void RunFolder::write_json(const std::string& name, const nlohmann::json& value) const {
    write_text(name, sealed_json(value.dump(1) + "\n"));
}

void RunFolder::write_text(const std::string& name, const std::string& text) const {
    write_file_atomically(file(name), std::string_view(text), private_mode);
}

struct BoxesWriter::File {
    File(const std::string& name, std::uint64_t members, std::uint64_t levels, std::uint64_t parameter_count)
        : path(name, private_mode),
          file(hdf5::File::create(path.temporary(), path.path())),
          lower(file.create_dataset("lower", hdf5::Type::int64, {members, levels, parameter_count})),
          upper(file.create_dataset("upper", hdf5::Type::int64, {members, levels, parameter_count})),
          parameters(parameter_count) {}

    AtomicPath path;
    hdf5::File file;
    hdf5::Dataset lower, upper;
    StreamDigest digest;
    std::uint64_t parameters;
};

BoxesWriter::BoxesWriter(const RunFolder& run, std::size_t members, const std::vector<std::int64_t>& levels,
                         std::size_t parameters)
    : file_(std::make_unique<File>(run.file("boxes.h5"), members, levels.size(), parameters)) {
    hdf5::Dataset list = file_->file.create_dataset("levels", hdf5::Type::int64, {levels.size()});
    list.write({0}, {levels.size()}, levels.data());
    list.close();
    file_->file.write_attribute("unit", parameter_unit);
}
BoxesWriter::~BoxesWriter() = default;

void BoxesWriter::write(std::size_t member, std::size_t level, const std::vector<std::int64_t>& lower,
                        const std::vector<std::int64_t>& upper) {
    const hdf5::Shape offset{member, level, 0}, count{1, 1, file_->parameters};
    file_->lower.write(offset, count, lower.data());
    file_->upper.write(offset, count, upper.data());
    file_->digest.add_values(std::span(lower));
    file_->digest.add_values(std::span(upper));
}

std::string BoxesWriter::commit() {
    file_->lower.close();
    file_->upper.close();
    const std::string digest = file_->digest.hex();
    file_->file.write_attribute("digest", digest);
    file_->file.close();
    add_seal(file_->path.temporary(), file_->path.path());
    file_->path.commit();
    return digest;
}

struct BoxesReader::File {
    hdf5::File file;
    hdf5::Dataset lower, upper;
};

BoxesReader::BoxesReader(const RunFolder& run, const std::string& digest) {
    auto file = hdf5::File::open_sealed(run.file("boxes.h5"));
    if (!digest.empty() && file.read_text_attribute("digest") != digest)
        throw Error(ExitCode::input, "holds other parameters than manifest.json says",
                    "the folder was changed since it was written: train again", run.file("boxes.h5"));
    hdf5::Dataset lower = file.dataset("lower"), upper = file.dataset("upper");
    levels_ = file.dataset("levels").read_all<std::int64_t>();
    if (lower.shape().size() != 3 || lower.shape() != upper.shape() || lower.shape()[1] != levels_.size()) {
        throw Error(ExitCode::input, "the boxes have unexpected shapes", "train again", run.file("boxes.h5"));
    }
    members_ = lower.shape()[0];
    parameters_ = lower.shape()[2];
    file_.reset(new File{std::move(file), std::move(lower), std::move(upper)});
}
BoxesReader::~BoxesReader() = default;
BoxesReader::BoxesReader(BoxesReader&&) noexcept = default;
BoxesReader& BoxesReader::operator=(BoxesReader&&) noexcept = default;

void BoxesReader::read(std::size_t member, std::size_t level, std::vector<std::int64_t>& lower,
                       std::vector<std::int64_t>& upper) const {
    lower.resize(parameters_);
    upper.resize(parameters_);
    const hdf5::Shape offset{member, level, 0}, count{1, 1, parameters_};
    file_->lower.read(offset, count, lower.data());
    file_->upper.read(offset, count, upper.data());
}

}  // namespace holdfast
