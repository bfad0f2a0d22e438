#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace holdfast {

/// What a man page and a shell's completion say of an option, as its declaration has it.
struct OptionWords {
    std::vector<std::string> names;    ///< "--out"; of a positional its name first, as "kind"
    std::string help;                  ///< with its default, where it shows one
    std::vector<std::string> choices;  ///< the values there are; empty: any, or a file
    bool takes_value = false, positional = false, required = false;
};

/// A command with its options: "" the program itself, "train", "bench step". Hidden ones are left out.
struct CommandWords {
    std::string path, summary;
    std::vector<std::string> subcommands;
    std::vector<OptionWords> options;  ///< those of the command above too, where it passes them on
    std::string footer;                ///< what --help ends with, but for `leave_out`
};

/// The program's tree of commands, depth first from itself on; `leave_out`: texts that footers lose.
std::vector<CommandWords> commands_of(const CLI::App& program, const std::vector<std::string>& leave_out);

/// The page of manual section 1, as man(7) has it; nothing in it depends on the machine or the day.
std::string man_page(const CLI::App& program, const std::string& exit_codes);

/// What bash or zsh sources to complete commands, options, values that are a choice, and keys of --set; files
/// anywhere else.
std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);

}  // namespace holdfast
