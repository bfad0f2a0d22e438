#include "jobs/program/help/commands.hpp"

#include <sstream>

namespace holdfast {
namespace {

/// "TEXT:{a,b}", as the check of a choice describes it: a and b.
std::vector<std::string> choices_of(const CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::size_t open = type.find('{'), close = type.rfind('}');
    std::vector<std::string> choices;
    if (open == std::string::npos || close == std::string::npos || close < open) return choices;
    std::istringstream list(type.substr(open + 1, close - open - 1));
    for (std::string choice; std::getline(list, choice, ',');) choices.push_back(choice);
    return choices;
}

OptionWords words_of(const CLI::Option& option) {
    OptionWords words;
    words.positional = option.get_positional();
    if (words.positional) words.names.push_back(option.get_name(true));
    for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
    words.help = option.get_description();
    if (!option.get_default_str().empty()) words.help += " (default " + option.get_default_str() + ")";
    words.choices = choices_of(option);
    words.takes_value = option.get_items_expected_max() > 0;
    words.required = option.get_required();
    return words;
}

void add_options(const CLI::App& app, std::vector<OptionWords>& options) {
    for (const CLI::Option* option : app.get_options()) options.push_back(words_of(*option));
}

std::string without(std::string text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) {
        const std::size_t at = part.empty() ? std::string::npos : text.find(part);
        if (at != std::string::npos) text.erase(at, part.size());
    }
    return text;
}

void add_command(const CLI::App& app, const std::string& path, const std::vector<std::string>& leave_out,
                 std::vector<CommandWords>& commands) {
    CommandWords words{path, app.get_description(), {}, {}, without(app.get_footer(), leave_out)};
    add_options(app, words.options);
    const bool passed_on = app.get_fallthrough() && app.get_parent() != nullptr;
    if (passed_on) add_options(*app.get_parent(), words.options);
    const auto shown =
        app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
    for (const CLI::App* command : shown) words.subcommands.push_back(command->get_name());
    commands.push_back(words);
    for (const CLI::App* command : shown)
        add_command(*command, path + (path.empty() ? "" : " ") + command->get_name(), leave_out, commands);
}

}  // namespace

std::vector<CommandWords> commands_of(const CLI::App& program, const std::vector<std::string>& leave_out) {
    std::vector<CommandWords> commands;
    add_command(program, "", leave_out, commands);
    return commands;
}

}  // namespace holdfast
