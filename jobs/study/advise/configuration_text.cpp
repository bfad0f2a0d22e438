#include "jobs/study/advise/configuration_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "jobs/program/option_table.hpp"

namespace holdfast {
namespace {

std::string commented(const std::string& text) {
    std::istringstream lines(text);
    std::string comments;
    for (std::string line; std::getline(lines, line);) comments += line.empty() ? "#\n" : "# " + line + "\n";
    return comments;
}

}  // namespace

std::string configuration_text(const Settings& settings, const std::string& head) {
    const Configuration asked{settings, {}}, usual;
    std::string text = commented(head), section;
    for (const Option& option : option_table()) {
        const nlohmann::json value = option.get(asked);
        const bool belongs = option.kinds.empty() || std::find(option.kinds.begin(), option.kinds.end(),
                                                               settings.training.kind) != option.kinds.end();
        if (value == option.get(usual) || !belongs) continue;
        const std::size_t dot = option.key.find('.');
        if (option.key.substr(0, dot) != section) {
            section = option.key.substr(0, dot);
            text += "\n[" + section + "]\n";
        }
        text += "# " + option.help + "\n" + option.key.substr(dot + 1) + " = " + value.dump() + "\n";
    }
    return text;
}

}  // namespace holdfast
