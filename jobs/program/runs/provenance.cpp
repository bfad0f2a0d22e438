#include "jobs/program/runs/provenance.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dist/files/atomic_file.hpp"
#include "jobs/program/build_info.hpp"
#include "jobs/program/date.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/cpu/simd_target.hpp"

namespace holdfast {
namespace {

/// At the end of a file that several jobs write to; a line is written at once.
bool append(const std::string& path, const std::string& line) {
    const int file =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, private_mode);
    if (file < 0) return false;
    const bool written =
        ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(file) == 0;
    return ::close(file) == 0 && written;
}

}  // namespace

nlohmann::json machines_of(const Communicator& world) {
    nlohmann::json machines;
    const auto count = [&](const char* what, const std::vector<std::string>& names) {
        std::map<std::string, int> ranks;
        for (const std::string& name : names) ++ranks[name];
        machines[what] = ranks;
    };
    count("hosts", host_names(world));
    count("instruction_sets", gathered_text(world, simd_target()));
    return machines;
}

void record_provenance(const RunFolder& run, const nlohmann::json& machines, const nlohmann::json& how) {
    using namespace std::chrono;
    nlohmann::json line = build_info().to_json();
    line["started"] = time_of(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
    line.update(machines);
    line.update(how);
    const std::string path = run.file("provenance.jsonl");
    if (!append(path, line.dump() + "\n"))
        throw Error(ExitCode::output, "cannot be written", "check permissions and free space", path);
}

}  // namespace holdfast
