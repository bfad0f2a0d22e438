#include "jobs/program/output_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "dist/files/hdf5.hpp"
#include "dist/files/seal.hpp"
#include "jobs/program/page/html.hpp"
#include "kernels/base/error.hpp"
#include "models/privacy/ledger/layout.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

bool is_same_file(const std::string& one, const std::string& other) {
    std::error_code missing;
    return fs::equivalent(one, other, missing);
}

std::string first_bytes(const std::string& path, std::size_t count) {
    std::string bytes(count, '\0');
    std::ifstream stream(path, std::ios::binary);
    stream.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(stream.gcount()));
    return bytes;
}

bool is_dataset(const std::string& path) {
    if (!has_seal(path)) return false;
    try {
        const std::vector<std::string> names = hdf5::File::open_sealed(path).names();
        return std::any_of(names.begin(), names.end(),
                           [](const std::string& name) { return name.starts_with("x_"); });
    } catch (const Error&) {  // damaged: of no known kind
        return false;
    }
}

/// The headers of predict and certify.
bool is_table_of_answers(const std::string& path) {
    std::string line = first_bytes(path, 4096);
    line.resize(std::min(line.size(), line.find('\n')));
    const std::string after_first = line.substr(std::min(line.size(), line.find(',')));
    return line == "row,label,radius" || line.starts_with("label,logit_0") || after_first == ",prediction" ||
           after_first == ",class" || after_first.starts_with(",class,probability of ") ||
           after_first.starts_with(",class,\"probability of ");
}

bool is_of_kind(const std::string& path, OutputKind kind) {
    switch (kind) {
        case OutputKind::page:
            return first_bytes(path, 512).find(html::generator) != std::string::npos;
        case OutputKind::table:
            return is_table_of_answers(path);
        case OutputKind::dataset:
            return is_dataset(path);
        case OutputKind::edited:
        case OutputKind::kept:
            break;
    }
    return false;
}

std::string file_text(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// Does a run lie here, or its beginning? Other programs write files called manifest.json, without a seal.
bool is_run_folder(const fs::path& folder) {
    std::error_code ignored;
    return fs::exists(folder / "fingerprint", ignored) ||
           file_text(folder / "manifest.json").find("\"seal\": \"") != std::string::npos;
}

/// The run folder of the file, or "". Runs keep files in folders of theirs too.
std::string run_folder_around(const std::string& path) {
    constexpr int deepest = 3;
    std::error_code ignored;
    fs::path folder = fs::weakly_canonical(fs::absolute(path, ignored), ignored).parent_path();
    for (int depth = 0; depth < deepest && folder.has_relative_path(); ++depth) {
        if (is_run_folder(folder)) return folder.string();
        folder = folder.parent_path();
    }
    return "";
}

[[noreturn]] void refuse(const OutputFile& output, const std::string& what, const std::string& remedy) {
    throw Error(ExitCode::usage, output.option + " would replace " + what, remedy, output.path);
}

void require_no_input(const OutputFile& output, const std::vector<InputFile>& inputs) {
    for (const InputFile& input : inputs) {
        if (is_same_file(output.path, input.path))
            refuse(output, input.path + ", which " + input.option + " reads", "name another file");
    }
}

void require_safe(const OutputFile& output, const std::vector<InputFile>& inputs, bool force) {
    std::error_code missing;
    if (output.path == "-" || !fs::exists(output.path, missing) || fs::is_directory(output.path, missing))
        return;
    require_no_input(output, inputs);
    if (!fs::is_regular_file(output.path, missing))
        refuse(output, "what is no regular file", "name a file, or redirect stdout");
    if (is_ledger_file(output.path)) refuse(output, "a privacy ledger", "name another file");
    if (output.kind == OutputKind::kept) return;
    const bool same_kind = is_of_kind(output.path, output.kind);
    const std::string run = run_folder_around(output.path);
    if (!run.empty() && !(same_kind && output.kind == OutputKind::page))
        refuse(output, "a file of the run " + run, "name a file outside the run folder");
    if (force || same_kind || fs::file_size(output.path, missing) == 0) return;
    refuse(output, "an existing file of another kind", "name another file, or give --force");
}

}  // namespace

std::vector<InputFile> named_files(const std::string& option, const std::string& value) {
    std::vector<InputFile> files;
    const auto add = [&](const std::string& path) {
        std::error_code missing;
        if (fs::is_regular_file(path, missing)) files.push_back({option, path});
    };
    add(value);
    add(value.substr(0, value.rfind(':')));
    add(value.substr(value.find('=') + 1));
    if (files.empty() || !files.front().path.ends_with(".toml")) return files;
    const std::string text = file_text(files.front().path);
    for (const char quote : {'"', '\''}) {  // between any two: a comment may hold one alone
        for (std::size_t begin = text.find(quote); begin != std::string::npos;) {
            const std::size_t end = text.find(quote, begin + 1);
            if (end != std::string::npos) add(text.substr(begin + 1, end - begin - 1));
            begin = end;
        }
    }
    return files;
}

void require_safe_outputs(const std::vector<OutputFile>& outputs, const std::vector<InputFile>& inputs,
                          bool force) {
    const auto place = [](const OutputFile& output) {
        std::error_code ignored;
        return fs::weakly_canonical(fs::absolute(output.path, ignored), ignored);
    };
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (place(outputs[i]) == place(outputs[j]))
                refuse(outputs[i], "what " + outputs[j].option + " writes", "name two files");
        }
        require_safe(outputs[i], inputs, force);
    }
}

}  // namespace holdfast
