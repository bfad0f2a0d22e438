#include "jobs/program/command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

namespace holdfast {

Argument Argument::required() const {
    option_->required();
    return *this;
}

Argument Argument::show_default() const {
    option_->capture_default_str();
    return *this;
}

Argument Argument::one_of(const std::vector<std::string>& values) const {
    option_->check(CLI::IsMember(values));
    return *this;
}

Argument Argument::positive() const {
    option_->check(CLI::PositiveNumber);
    return *this;
}

template <typename T>
Argument Argument::within(T least, T most) const {
    option_->check(CLI::Range(least, most));
    return *this;
}
template Argument Argument::within(std::int64_t, std::int64_t) const;
template Argument Argument::within(std::uint64_t, std::uint64_t) const;
template Argument Argument::within(double, double) const;

Argument Argument::separated_by(char delimiter) const {
    option_->delimiter(delimiter);
    return *this;
}

Argument Argument::one_at_a_time() const {
    option_->allow_extra_args(false);
    return *this;
}

Argument Argument::needs(const Argument& other) const {
    option_->needs(other.option_);
    return *this;
}

Argument Argument::excludes(const Argument& other) const {
    option_->excludes(other.option_);
    return *this;
}

template <typename T>
Argument Command::add_option(const std::string& names, T& variable, const std::string& help) const {
    return Argument(*app_->add_option(names, variable, help));
}

#define HOLDFAST_OPTION_OF(T)                                                                               \
    template Argument Command::add_option(const std::string&, T&, const std::string&) const;                \
    template Argument Command::add_option(const std::string&, std::optional<T>&, const std::string&) const; \
    template Argument Command::add_option(const std::string&, std::vector<T>&, const std::string&) const;
HOLDFAST_OPTION_OF(std::string)
HOLDFAST_OPTION_OF(std::int32_t)
HOLDFAST_OPTION_OF(std::int64_t)
HOLDFAST_OPTION_OF(std::uint64_t)
HOLDFAST_OPTION_OF(double)
#undef HOLDFAST_OPTION_OF

Argument Command::add_flag(const std::string& names, bool& variable, const std::string& help) const {
    return Argument(*app_->add_flag(names, variable, help));
}

Argument Command::add_output(const std::string& name, std::string& path, OutputKind kind,
                             const std::string& help) const {
    CLI::Option* const option = app_->add_option(name, path, help);
    outputs_->options.emplace_back(option, kind);
    if (kind != OutputKind::kept && app_->get_option_no_throw("--force") == nullptr)
        app_->add_flag("--force", outputs_->force, "Replace an existing file of another kind");
    return Argument(*option);
}

void Command::check_outputs() const {
    std::vector<OutputFile> outputs;
    std::vector<InputFile> inputs;
    std::vector<const CLI::App*> apps{app_};
    for (const CLI::App* group : app_->get_subcommands()) apps.push_back(group);
    for (const CLI::App* app : apps) {
        for (const CLI::Option* option : app->get_options()) {
            const auto output = std::find_if(outputs_->options.begin(), outputs_->options.end(),
                                             [&](const auto& one) { return one.first == option; });
            for (const std::string& value : option->results()) {
                if (output != outputs_->options.end()) {
                    outputs.push_back({option->get_name(), value, output->second});
                    continue;
                }
                const std::vector<InputFile> named = named_files(option->get_name(), value);
                inputs.insert(inputs.end(), named.begin(), named.end());
            }
        }
    }
    if (!outputs.empty()) require_safe_outputs(outputs, inputs, outputs_->force);
}

Argument Command::option(const std::string& name) const {
    return Argument(*app_->get_option(name));
}

Command Command::add_command(const std::string& name, const std::string& summary) const {
    return {*app_->add_subcommand(name, summary), outputs_};
}

void Command::inherit_options() const {
    app_->fallthrough();
}

void Command::require_command() const {
    app_->require_subcommand(1);
}

bool Command::given() const {
    return app_->parsed();
}

void Command::add_footer(const std::string& text) const {
    app_->footer(text + app_->get_footer());
}

void Command::hide() const {
    app_->group("");
}

}  // namespace holdfast
