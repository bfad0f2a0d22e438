// holdfast completion, holdfast man: what an installation gives to shells and to man, of the same
// declarations as --help.
//   source <(holdfast completion bash)
//   holdfast man | man -l -

#include <nlohmann/json.hpp>

#include "jobs/program/help/commands.hpp"
#include "jobs/program/job.hpp"

namespace holdfast {
Run declare_completion(const Command& command) {
    auto shell = std::make_shared<std::string>();
    command.hide();
    command.add_option("shell", *shell, "bash or zsh").required().one_of({"bash", "zsh"});
    return [shell, command](const Context& context) {
        const CLI::App& program = *command.app().get_parent();
        const std::string script = *shell == "zsh" ? zsh_completion(program) : bash_completion(program);
        context.print({{"shell", *shell}, {"script", script}}, script);
    };
}

Run declare_man(const Command& command) {
    command.hide();
    return [command](const Context& context) {
        const CLI::App& program = *command.app().get_parent();
        const std::string page = man_page(program, program.get_footer());
        context.print({{"page", page}}, page);
    };
}

}  // namespace holdfast
