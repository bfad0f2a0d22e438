#include "jobs/program/next_command.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "dist/data/dataset.hpp"

namespace holdfast {

std::string shell_quoted(const std::string& word) {
    std::string text = "'";
    for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return text + "'";
}

std::string shell_word(const std::string& word) {
    constexpr const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    return word.empty() || word.find_first_not_of(plain) != std::string::npos ? shell_quoted(word) : word;
}

std::string called_program() {
    std::ifstream words("/proc/self/cmdline", std::ios::binary);
    std::string program;
    std::getline(words, program, '\0');
    return program.empty() ? "holdfast" : shell_word(program);
}

std::string next_command(const std::vector<std::string>& words) {
    std::string line = "Next: " + called_program();
    for (const std::string& word : words) line += " " + shell_word(word);
    return line + "\n";
}

std::string test_split(const std::string& name) {
    const std::string file = split_dataset_name(name, "train").first;
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return "";
    const std::vector<std::string> splits = dataset_splits(file);
    return std::find(splits.begin(), splits.end(), "test") != splits.end() ? file + ":test" : "";
}

std::string beside_dataset(const std::string& name, const std::string& ending) {
    const std::filesystem::path file = split_dataset_name(name, "train").first;
    return (file.parent_path() / file.stem()).string() + ending;
}

}  // namespace holdfast
