#include "dist/runs/progress_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "dist/files/atomic_file.hpp"

namespace holdfast {
namespace {

double seconds_since_1970() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ProgressLog::ProgressLog(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path folder = fs::path(path).parent_path();
    if (fs::create_directory(folder, ignored)) fs::permissions(folder, fs::perms::owner_all, ignored);
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, private_mode);
}

ProgressLog::~ProgressLog() {
    if (file_ >= 0) ::close(file_);
}

void ProgressLog::event(const std::string& name, nlohmann::json line) {
    if (file_ < 0) return;
    line["event"] = name;
    line["time"] = seconds_since_1970();
    const std::string text = line.dump() + "\n";
    static_cast<void>(!::write(file_, text.data(), text.size()));  // who watches sees the one before
    last_ = Clock::now();
}

bool ProgressLog::due() const {
    if (file_ < 0) return false;
    const Clock::time_point now = Clock::now();
    return now - last_ >= std::max<Clock::duration>(std::chrono::seconds(1), (now - start_) / 500);
}

}  // namespace holdfast
