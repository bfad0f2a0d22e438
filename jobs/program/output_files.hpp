#pragma once

#include <string>
#include <vector>

namespace holdfast {

/// What a command writes, which decides what existing files it replaces without --force.
enum class OutputKind {
    page,     ///< an HTML page: replaces a page of this program
    table,    ///< answers: replaces a table whose first line this program writes
    dataset,  ///< replaces a sealed dataset
    edited,   ///< a text that people edit: replaces nothing
    kept      ///< the command itself compares contents, and replaces nothing
};

struct OutputFile {
    std::string option, path;
    OutputKind kind;
};

struct InputFile {
    std::string option, path;
};

/// Every existing file that the value of an option names: a path, FILE:SPLIT, key=FILE, and each quoted path
/// of a TOML file.
std::vector<InputFile> named_files(const std::string& option, const std::string& value);

/// May the outputs appear under their names? Never over an input (the same inode counts, whatever its name),
/// a privacy ledger, a file of a run folder, another output, or what is no regular file; over another
/// existing file only with `force`, or where it is of the same kind, or empty. Error (usage).
void require_safe_outputs(const std::vector<OutputFile>& outputs, const std::vector<InputFile>& inputs,
                          bool force);

}  // namespace holdfast
