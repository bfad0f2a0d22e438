#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobs/program/output_files.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace holdfast {

/// An option of a command as it is being declared; copies mean the same option. A wrong value is a usage
/// error that names the option.
class Argument {
  public:
    explicit Argument(CLI::Option& option) : option_(&option) {}
    Argument required() const;
    Argument show_default() const;  ///< in --help: what the variable holds now
    Argument one_of(const std::vector<std::string>& values) const;
    Argument positive() const;
    template <typename T>  ///< std::int64_t, std::uint64_t or double
    Argument within(T least, T most) const;
    Argument separated_by(char delimiter) const;  ///< several values in one word
    Argument one_at_a_time() const;               ///< a value at each mention: what follows it is not another
    Argument needs(const Argument& other) const;
    Argument excludes(const Argument& other) const;

  private:
    CLI::Option* option_;
};

/// A command of the command line while its options are declared. The one file that reads the command line
/// (command.cpp) knows the library behind it, which takes the compiler long.
class Command {
  public:
    explicit Command(CLI::App& app) : app_(&app), outputs_(std::make_shared<Outputs>()) {}
    /// names: "--out", or "out" for a positional one. The variable must outlive the parsing and holds the
    /// default. T: std::string, std::int32_t, std::int64_t, std::uint64_t, double, std::optional or
    /// std::vector of these.
    template <typename T>
    Argument add_option(const std::string& names, T& variable, const std::string& help) const;
    /// An option that names a file to write. A command with several kinds of them declares --force once.
    Argument add_output(const std::string& name, std::string& path, OutputKind kind,
                        const std::string& help) const;
    Argument add_flag(const std::string& names, bool& variable, const std::string& help) const;
    Argument option(const std::string& name) const;  ///< declared before

    /// Of a command that is a group of commands; options of the group go on to it where `inherits`.
    Command add_command(const std::string& name, const std::string& summary) const;
    void inherit_options() const;                    ///< of the command above
    void require_command() const;                    ///< one of the group's
    bool given() const;                              ///< once the line is parsed
    void add_footer(const std::string& text) const;  ///< before what --help ends with
    void hide() const;                               ///< from the list of commands

    /// Once the line is parsed: may its outputs be written? Error as require_safe_outputs.
    void check_outputs() const;

    CLI::App& app() const { return *app_; }  ///< for what describes a program: help, completion

  private:
    struct Outputs {
        std::vector<std::pair<CLI::Option*, OutputKind>> options;
        bool force = false;
    };
    Command(CLI::App& app, std::shared_ptr<Outputs> outputs) : app_(&app), outputs_(std::move(outputs)) {}

    CLI::App* app_;
    std::shared_ptr<Outputs> outputs_;
};

}  // namespace holdfast
