#include <algorithm>
#include <iterator>

#include "jobs/program/help/commands.hpp"
#include "jobs/program/next_command.hpp"
#include "jobs/program/option_table.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

/// The names of a command's options and subcommands, and the choices of its positionals.
std::string words_table(const std::vector<CommandWords>& commands) {
    std::string cases;
    for (const CommandWords& command : commands) {
        std::vector<std::string> words = command.subcommands;
        for (const OptionWords& option : command.options) {
            std::copy_if(option.names.begin(), option.names.end(), std::back_inserter(words),
                         [](const std::string& name) { return name.starts_with("-"); });
            if (option.positional) words.insert(words.end(), option.choices.begin(), option.choices.end());
        }
        cases += "        " + shell_quoted(command.path) + ") printf '%s\\n' " + joined(words, " ") + " ;;\n";
    }
    return "_holdfast_words() { # COMMAND: what may stand there, a word a line\n    case $1 in\n" + cases +
           "    esac\n}\n";
}

/// 0 and the choices, a word a line (none: files), of an option that takes a value; 1 of a flag.
std::string values_table(const std::vector<CommandWords>& commands) {
    std::string cases;
    for (const CommandWords& command : commands) {
        for (const OptionWords& option : command.options) {
            if (!option.takes_value || !option.names.back().starts_with("-")) continue;
            std::string does = option.choices.empty() ? ":" : "printf '%s\\n' " + joined(option.choices, " ");
            if (option.names.back() == "--set") does = "_holdfast_settings";
            std::vector<std::string> patterns;
            for (const std::string& name : option.names)
                patterns.push_back(shell_quoted(command.path + " " + name));
            cases += "        " + joined(patterns, " | ") + ") " + does + " ;;\n";
        }
    }
    return "_holdfast_values() { # \"COMMAND OPTION\": its choices, none where it takes any value or a file\n"
           "    case $1 in\n" +
           cases + "        *) return 1 ;; # a flag\n    esac\n}\n";
}

std::string settings_table() {
    std::string keys;
    for (const Option& option : option_table()) keys += " \\\n        " + option.key + "=";
    return "_holdfast_settings() {\n    printf '%s\\n'" + keys + "\n}\n";
}

std::string commands_table(const std::vector<CommandWords>& commands) {
    std::vector<std::string> paths;
    for (const CommandWords& command : commands)
        if (!command.path.empty()) paths.push_back(shell_quoted(command.path));
    return "_holdfast_is_command() {\n    case $1 in " + joined(paths, " | ") +
           ") ;; *) return 1 ;; esac\n}\n";
}

std::string tables(const CLI::App& program) {
    const std::vector<CommandWords> commands = commands_of(program, {});
    return words_table(commands) + values_table(commands) + settings_table() + commands_table(commands);
}

/// In both shells: the command that the words before the one to complete name, in `command`.
constexpr const char* find_command = R"(
_holdfast_command() { # WORDS…: sets holdfast_command to the command among them
    local word
    holdfast_command=
    for word in "$@"; do
        if _holdfast_is_command "${holdfast_command:+$holdfast_command }$word"; then
            holdfast_command=${holdfast_command:+$holdfast_command }$word
        fi
    done
}
)";

constexpr const char* bash_driver = R"(
_holdfast() {
    local holdfast_command current=$2 before=$3 candidates=()
    # = and : divide words for bash, not for holdfast: what is behind them is a value of any kind.
    [[ $current == '=' || $before == '=' || $before == ':' ]] && return
    _holdfast_command "${COMP_WORDS[@]:1:COMP_CWORD-1}"
    if mapfile -t candidates < <(_holdfast_values "$holdfast_command $before" || echo -); [[ ${candidates[0]} == - ]]; then
        mapfile -t candidates < <(_holdfast_words "$holdfast_command")
    fi
    mapfile -t COMPREPLY < <(compgen -W "${candidates[*]}" -- "$current")
    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace
    return 0
}
complete -o default -F _holdfast holdfast
)";

constexpr const char* zsh_driver = R"(
_holdfast() {
    local holdfast_command candidates
    local before=${words[CURRENT - 1]}
    _holdfast_command "${(@)words[2,CURRENT - 1]}"
    if candidates=$(_holdfast_values "$holdfast_command $before"); then
        [[ -n $candidates ]] || { _files; return; }
    else
        candidates=$(_holdfast_words "$holdfast_command")
    fi
    if [[ $candidates == *= ]]; then
        compadd -S '' -- ${(f)candidates}
    else
        compadd -- ${(f)candidates} || _files
    fi
}
# Found on fpath, this file is the function; sourced, it says what the function completes.
if [[ ${funcstack[1]} == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
)";

constexpr const char* origin =
    " of holdfast, made by `holdfast completion`: run that again rather than edit this.\n";

}  // namespace

std::string bash_completion(const CLI::App& program) {
    return std::string("# Completion for bash") + origin + tables(program) + find_command + bash_driver;
}

std::string zsh_completion(const CLI::App& program) {
    return std::string("#compdef holdfast\n# Completion for zsh") + origin + tables(program) + find_command +
           zsh_driver;
}

}  // namespace holdfast
