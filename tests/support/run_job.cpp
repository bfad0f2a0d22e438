#include "tests/support/run_job.hpp"

#include <CLI/CLI.hpp>
#include <stdexcept>

namespace holdfast {

Run parsed_job(Run (*declare)(const Command&), const std::vector<std::string>& words) {
    const auto app = std::make_shared<CLI::App>();
    const Run job = declare(Command(*app));
    try {
        app->parse(std::vector<std::string>(words.rbegin(), words.rend()));
    } catch (const CLI::ParseError& error) {
        throw std::invalid_argument(error.what());
    }
    return [app, job](const Context& context) { job(context); };  // which may ask what was given
}

}  // namespace holdfast
