#include "jobs/program/id_list.hpp"

#include <filesystem>
#include <fstream>

#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

IdList IdList::read(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream || std::filesystem::is_directory(path))
        throw Error(ExitCode::input, "cannot be read", "name a file of ids, one a line", path);
    IdList list{path, {}, {}};
    std::string line;
    for (std::uint64_t number = 1; std::getline(stream, line); ++number) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.empty()) continue;
        list.ids.push_back(id_of_cell(line));
        list.lines.push_back(number);
    }
    if (list.ids.empty())
        throw Error(ExitCode::input, "names no record",
                    "give one id a line, as the table's column of ids has it", path);
    return list;
}

}  // namespace holdfast
