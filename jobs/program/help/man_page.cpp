#include <cctype>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/program/help/commands.hpp"
#include "jobs/program/option_table.hpp"
#include "kernels/base/text.hpp"
#include "kernels/base/version.hpp"

namespace holdfast {
namespace {

/// Text as roff prints it: no escapes, no requests, hyphens that can be searched for and copied.
std::string escaped(const std::string& text) {
    std::string roff;
    bool line_begins = true;
    for (const char c : text) {
        if (line_begins && (c == '.' || c == '\'')) roff += "\\&";
        line_begins = c == '\n';
        if (c == '\\')
            roff += "\\e";
        else if (c == '-')
            roff += "\\-";
        else
            roff += c;
    }
    return roff;
}

/// Paragraphs of prose; lines that begin with a blank are tables and stay as they are.
std::string paragraphs(const std::string& text) {
    std::string roff;
    bool table = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty()) continue;
        const bool in_table = line.front() == ' ';
        if (in_table != table) roff += in_table ? ".PP\n.nf\n" : ".fi\n";
        if (!in_table) roff += ".PP\n";
        table = in_table;
        roff += escaped(line) + "\n";
    }
    return roff + (table ? ".fi\n" : "");
}

std::string upper(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string value_text(const OptionWords& option) {
    if (!option.takes_value || option.positional) return "";
    const std::string text = joined(option.choices, "|");
    return text.empty() ? " \\fIVALUE\\fR" : " \\fI" + escaped(text) + "\\fR";
}

/// Of an option, or of a positional.
std::string name_text(const std::string& name) {
    return name.starts_with("-") ? "\\fB" + escaped(name) + "\\fR" : "\\fI" + escaped(upper(name)) + "\\fR";
}

std::string option_text(const OptionWords& option) {
    std::string help = option.help;
    if (option.required) help += " (required)";
    if (option.positional && !option.choices.empty()) {
        help += ":";
        for (const std::string& choice : option.choices) help += " " + choice;
    }
    return ".TP\n" + joined(option.names, ", ", name_text) + value_text(option) + "\n" + escaped(help) + "\n";
}

std::string synopsis_of(const CommandWords& command) {
    std::string line = "\\fBholdfast";
    if (!command.path.empty()) line += " " + escaped(command.path);
    line += "\\fR";
    for (const OptionWords& option : command.options) {
        if (option.positional) line += " " + name_text(option.names.front());
        if (!option.positional && option.required)
            line += " \\fB" + escaped(option.names.back()) + "\\fR" + value_text(option);
    }
    return line + " [\\fIoptions\\fR]";
}

std::string command_text(const CommandWords& command) {
    std::string text = ".SS \"" + escaped(command.path) + "\"\n" + escaped(command.summary) + ".\n.PP\n" +
                       synopsis_of(command) + "\n";
    for (const OptionWords& option : command.options) text += option_text(option);
    return text + paragraphs(command.footer);
}

std::string settings_text() {
    std::string text =
        ".SH SETTINGS\nOf the configuration file, [section] key = value, and of "
        "\\fB\\-\\-set\\fR section.key=value.\n";
    const nlohmann::json defaults = to_json(Configuration{});
    for (const Option& option : option_table())
        text += ".TP\n\\fB" + escaped(option.key) + "\\fR\n" + escaped(option.help) + " (default " +
                escaped(defaults[option.key].dump()) + ")\n";
    return text;
}

}  // namespace

std::string man_page(const CLI::App& program, const std::string& exit_codes) {
    const std::vector<CommandWords> commands = commands_of(program, {options_help(), exit_codes});
    std::string text = std::string(".TH HOLDFAST 1 \"\" \"holdfast ") + escaped(version()) +
                       "\" \"User Commands\"\n.SH NAME\nholdfast \\- train on private records and prove what "
                       "one record could have changed\n.SH SYNOPSIS\n\\fBholdfast\\fR \\fICOMMAND\\fR "
                       "[\\fIoptions\\fR]\n.br\n\\fBmpirun \\-n\\fR \\fIP\\fR \\fBholdfast\\fR "
                       "\\fICOMMAND\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n" +
                       escaped(program.get_description()) + "\n";
    for (const OptionWords& option : commands.front().options) text += option_text(option);
    text += ".SH COMMANDS\n";
    for (std::size_t i = 1; i < commands.size(); ++i) text += command_text(commands[i]);
    return text + settings_text() + ".SH EXIT STATUS\n" + paragraphs(exit_codes).substr(4);
}

}  // namespace holdfast
