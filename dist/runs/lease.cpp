#include "dist/runs/lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "dist/files/atomic_file.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

/// Of the lines: behind the bytes of all members. Held while one is added, as two hosts may add at once.
constexpr std::int64_t lines_byte = std::int64_t{1} << 62;

[[noreturn]] void fail(const std::string& path, int number) {
    throw Error(ExitCode::output, std::string("cannot be written: ") + std::strerror(number),
                "check permissions and free space", path);
}

/// No run has more: a line that says so is damaged.
constexpr std::size_t most_members = std::size_t{1} << 24;

/// "held FIRST LAST TIME PROCESS HOST" or "finished FIRST LAST".
struct Line {
    std::string kind, time, process, host;
    std::size_t first = 0, last = 0;
};

/// What is no line is left out: they tell, and decide nothing but how long to wait.
std::vector<Line> lines_of(const Descriptor& file) {
    std::string text;
    std::array<char, 4096> some{};
    for (off_t at = 0;;) {
        const ssize_t count = ::pread(file.number(), some.data(), some.size(), at);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        text.append(some.data(), static_cast<std::size_t>(count));
        at += count;
    }
    std::vector<Line> lines;
    std::istringstream all(text);
    for (std::string words; std::getline(all, words);) {
        std::istringstream stream(words);
        Line line;
        if (!(stream >> line.kind >> line.first >> line.last) || line.last > most_members) continue;
        stream >> line.time >> line.process >> line.host;
        lines.push_back(line);
    }
    return lines;
}

std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text.data();
}

/// The last that took one of these members, of whose locks one is held.
Error taken(const Descriptor& file, const std::string& run, std::size_t first, std::size_t last) {
    Line holder;
    for (Line& line : lines_of(file)) {
        if (line.kind == "held" && line.first < last && first < line.last &&
            file.lock(static_cast<std::int64_t>(line.first),
                      static_cast<std::int64_t>(line.last - line.first)) == Descriptor::Lock::busy)
            holder = std::move(line);
    }
    std::string who = "another job trains into it";
    if (!holder.host.empty())
        who += ": process " + holder.process + " on " + holder.host + ", since " + holder.time;
    if (holder.last > 1)
        who += ", members " + std::to_string(holder.first) + " to " + std::to_string(holder.last - 1);
    return {ExitCode::usage, who, "let it end, or stop it there: what it has done is kept", run};
}

}  // namespace

Lease Lease::take(const RunFolder& run, std::size_t first, std::size_t last, const std::string& host,
                  std::chrono::milliseconds patience) {
    using Clock = std::chrono::steady_clock;
    const std::string path = run.file(file_name);
    const auto until = Clock::now() + patience;
    while (true) {
        Descriptor file(
            ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, private_mode));
        if (!file.is_open()) fail(path, errno);
        const Descriptor::Lock lock =
            file.lock(static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first));
        if (lock == Descriptor::Lock::busy) {
            if (Clock::now() >= until) throw taken(file, run.path(), first, last);
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            continue;
        }
        if (!file.is_at(path.c_str())) continue;  // removed meanwhile, with a run that was finished or failed
        Lease lease(path, std::move(file), first, last, lock == Descriptor::Lock::held);
        lease.append("held " + std::to_string(first) + " " + std::to_string(last) + " " + now() + " " +
                     std::to_string(::getpid()) + " " + host);
        return lease;
    }
}

std::set<std::size_t> Lease::finish() const {
    append("finished " + std::to_string(first_) + " " + std::to_string(last_));
    std::set<std::size_t> finished;
    for (const Line& line : lines_of(file_)) {
        for (std::size_t member = line.first; member < line.last; ++member) {
            if (line.kind == "finished")
                finished.insert(member);
            else
                finished.erase(member);  // it is trained again, or for the first time
        }
    }
    return finished;
}

void Lease::append(const std::string& line) const {
    const std::string text = line + "\n";
    file_.wait_for_lock(lines_byte, 1);
    const bool written =
        ::write(file_.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    const int why = errno;
    file_.unlock(lines_byte, 1);  // which hands what was written to the server
    if (!written) fail(path_, why);
}

}  // namespace holdfast
