#include "jobs/program/id_list.hpp"

#include "dist/data/csv_reader.hpp"
#include "dist/data/import_csv.hpp"
#include "dist/data/record_id.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {

IdList IdList::read(const std::string& path) {
    CsvReader lines(path, '\0');  // which no text has: a line is a cell
    IdList list{path, {}, {}};
    std::vector<std::string> cells;
    while (lines.next(cells)) {
        if (trimmed_cell(cells[0]).empty()) continue;
        const ReadId found = read_id(cells[0]);
        if (!found.fault.empty())
            throw Error(ExitCode::input, "line " + std::to_string(lines.line()) + ": " + found.fault, id_hint,
                        path);
        list.ids.push_back(found.id);
        list.lines.push_back(lines.line());
    }
    if (list.ids.empty())
        throw Error(ExitCode::input, "names no record",
                    "give one id a line, as the table's column of ids has it", path);
    return list;
}

}  // namespace holdfast
