// holdfast completion, holdfast man: what an installation gives to shells and to man, of the same
// declarations as --help.
//   source <(holdfast completion bash)
//   holdfast man | man -l -

#include "jobs/help/commands.hpp"
#include "jobs/job.hpp"

namespace holdfast {
namespace {

constexpr const char* hidden = "";  // group: not in the list of commands

}  // namespace

Run declare_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    app.group(hidden);
    app.add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
    return [shell, &app](const Context& context) {
        const CLI::App& program = *app.get_parent();
        const std::string script = *shell == "zsh" ? zsh_completion(program) : bash_completion(program);
        context.print({{"shell", *shell}, {"script", script}}, script);
    };
}

Run declare_man(CLI::App& app) {
    app.group(hidden);
    return [&app](const Context& context) {
        const CLI::App& program = *app.get_parent();
        const std::string page = man_page(program, program.get_footer());
        context.print({{"page", page}}, page);
    };
}

}  // namespace holdfast
