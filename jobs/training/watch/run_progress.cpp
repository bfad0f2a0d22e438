#include "jobs/training/watch/run_progress.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "dist/runs/manifest.hpp"
#include "dist/runs/member_store.hpp"
#include "jobs/program/ranks.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Lines of a file that is being written: one that is not whole, or not ours, is left out.
std::vector<json> whole_lines(const fs::path& path) {
    std::vector<json> lines;
    std::ifstream stream(path);
    for (std::string line; std::getline(stream, line);) {
        json object = json::parse(line, nullptr, false);
        if (object.is_object()) lines.push_back(std::move(object));
    }
    return lines;
}

template <typename Value>
Value field(const json& line, const char* name, Value otherwise) {
    const auto found = line.find(name);
    if (found == line.end() || (found->is_string() != json(otherwise).is_string()) ||
        (found->is_number() != json(otherwise).is_number()))
        return otherwise;
    return found->get<Value>();
}

MemberView member_of(const std::vector<json>& lines) {
    MemberView view;
    for (const json& line : lines) {
        const std::string event = field<std::string>(line, "event", "");
        view.last = std::max(view.last, field(line, "time", 0.0));
        view.stopped = event == "stop";
        if (event == "start") {
            view.member = field(line, "member", view.member);
            view.members = field(line, "members", view.members);
            view.first_step = view.step = field(line, "step", std::int64_t{0});
            view.steps = field(line, "steps", view.steps);
            view.began = field(line, "time", 0.0);
            view.host = field<std::string>(line, "host", "");
            view.process = field(line, "process", std::int64_t{0});
            view.ranks = field(line, "ranks", 1);
        } else if (event == "step") {  // steps count from 0
            view.step = field(line, "step", view.step - 1) + 1;
            view.metrics = line;
        } else if (event == "stop") {
            view.step = field(line, "step", view.step);
        }
    }
    return view;
}

/// Of this machine; of another nobody here can tell.
bool process_gone(const MemberView& view) {
    return view.process > 0 && view.host == host_name() && ::kill(static_cast<pid_t>(view.process), 0) != 0 &&
           errno == ESRCH;
}

RunState state_of(const MemberView& view, double now) {
    if (view.stopped) return RunState::stopped;
    if (process_gone(view)) return RunState::interrupted;
    const double a_step = view.rate() > 0 ? 1 / view.rate() : 0;
    const double between_lines = std::max(a_step, (view.last - view.began) / 500);
    return view.last > view.began && now - view.last > 30 + 10 * between_lines ? RunState::silent
                                                                               : RunState::running;
}

/// A run moves as long as one of its members does.
RunState state_of(const std::vector<MemberView>& training, double now) {
    std::set<RunState> states;
    for (const MemberView& view : training) states.insert(state_of(view, now));
    for (const RunState state :
         {RunState::running, RunState::silent, RunState::interrupted, RunState::stopped})
        if (states.contains(state)) return state;
    return RunState::hidden;
}

double newest_checkpoint_age(const fs::path& folder) {
    double age = -1;
    std::error_code gone;  // members finish while this looks
    for (fs::recursive_directory_iterator entry(folder / "checkpoints", gone), end; !gone && entry != end;
         entry.increment(gone)) {
        std::error_code ignored;
        const auto written = fs::last_write_time(entry->path(), ignored);
        if (ignored || entry.depth() != 1) continue;
        const double seconds =
            std::chrono::duration<double>(fs::file_time_type::clock::now() - written).count();
        age = age < 0 ? seconds : std::min(age, seconds);
    }
    return age;
}

void add_training(RunView& run, double now) {
    const std::vector<std::size_t> finished = MemberStore::finished(run.folder);
    run.finished_members = finished.size();
    std::error_code gone;
    double last = 0;
    for (fs::directory_iterator entry(run.folder + "/progress", gone), end; !gone && entry != end;
         entry.increment(gone)) {
        const MemberView view = member_of(whole_lines(entry->path()));
        if (view.members == 0) continue;  // its first line is being written
        run.members = view.members;
        run.steps = view.steps;
        if (view.last >= last && !view.metrics.is_null()) run.metrics = view.metrics;
        last = std::max(last, view.last);
        if (!std::binary_search(finished.begin(), finished.end(), view.member)) run.training.push_back(view);
    }
    std::sort(run.training.begin(), run.training.end(),
              [](const MemberView& a, const MemberView& b) { return a.member < b.member; });
    run.checkpoint_age = newest_checkpoint_age(run.folder);
    run.state = state_of(run.training, now);
}

RunView finished_view(const std::string& folder) {
    const RunManifest manifest = RunManifest::read(RunFolder::open(folder));
    RunView run;
    run.state = RunState::finished;
    run.folder = folder;
    run.kind = manifest.kind;
    run.members = run.finished_members = manifest.members;
    run.steps = static_cast<std::int64_t>(manifest.steps);
    const std::vector<json> lines = whole_lines(folder + "/metrics.jsonl");
    if (!lines.empty()) run.metrics = lines.back();
    return run;
}

std::string seconds_text(double seconds) {
    const auto whole = static_cast<long long>(seconds);
    if (whole < 120) return printed("%.0f s", seconds);
    if (whole < 7200) return printed("%lld min", whole / 60);
    return printed("%lld h %lld min", whole / 3600, whole / 60 % 60);
}

std::string digits_text(double value) {
    return printed("%.3g", value);
}

std::string widths_text(const json& metrics) {
    std::string line = "step " + std::to_string(field(metrics, "step", std::int64_t{0})) + " of member " +
                       std::to_string(field(metrics, "member", std::size_t{0})) + ": level " +
                       std::to_string(field(metrics, "level", std::int64_t{0})) + ", widths";
    const json layers = metrics.value("layer_width_mean", json::array());
    for (const json& width : layers)
        if (width.is_number()) line += " " + digits_text(width);
    return line + " (mean, layer by layer), largest " + digits_text(field(metrics, "width_max", 0.0)) + "\n";
}

std::string remark_of(RunState state) {
    switch (state) {
        case RunState::silent:
            return "no step for longer than ten of them take: look at the job";
        case RunState::stopped:
            return "stopped by a signal after a checkpoint: --resume goes on";
        case RunState::interrupted:
            return "its process is gone: --resume goes on from the last checkpoint";
        case RunState::hidden:
            return "says nothing yet: before its first step, or a kind that shows nothing on the way (noisy)";
        default:
            return "";
    }
}

}  // namespace

const char* name_of(RunState state) {
    constexpr std::array names{"finished", "running", "silent", "stopped", "interrupted", "hidden"};
    return names.at(static_cast<std::size_t>(state));
}

std::int64_t RunView::all_steps() const {
    return static_cast<std::int64_t>(members) * steps;
}

std::int64_t RunView::steps_done() const {
    std::int64_t done = static_cast<std::int64_t>(finished_members) * steps;
    for (const MemberView& view : training) done += view.step;
    return done;
}

double RunView::rate() const {
    double sum = 0;
    if (state != RunState::running) return sum;
    for (const MemberView& view : training)
        if (!view.stopped && !process_gone(view)) sum += view.rate();
    return sum;
}

double RunView::seconds_left() const {
    const double moving = rate();
    return moving > 0 ? static_cast<double>(all_steps() - steps_done()) / moving : -1;
}

json RunView::to_json() const {
    json list = json::array();
    for (const MemberView& view : training)
        list.push_back({{"member", view.member},
                        {"step", view.step},
                        {"steps", view.steps},
                        {"steps_per_second", view.rate()},
                        {"host", view.host},
                        {"ranks", view.ranks}});
    const auto unless_negative = [](double value) { return value < 0 ? json() : json(value); };
    return {{"run", folder},
            {"state", name_of(state)},
            {"members", members},
            {"finished_members", finished_members},
            {"steps", all_steps()},
            {"steps_done", steps_done()},
            {"steps_per_second", rate()},
            {"records_per_second", rate() * field(metrics, "records", 0.0)},
            {"seconds_left", unless_negative(seconds_left())},
            {"checkpoint_age", unless_negative(checkpoint_age)},
            {"training", list},
            {"metrics", metrics}};
}

std::string RunView::text() const {
    std::string text = folder + ": " + name_of(state);
    if (members > 0)
        text += ", " + std::to_string(steps_done()) + " of " + std::to_string(all_steps()) + " steps, " +
                std::to_string(finished_members) + " of " + std::to_string(members) + " members finished";
    if (const double left = seconds_left(); left >= 0)
        text += ", " + seconds_text(left) + " left, " + digits_text(rate()) + " steps/s, " +
                digits_text(rate() * field(metrics, "records", 0.0)) + " records/s";
    text += "\n";
    if (const std::string remark = remark_of(state); !remark.empty()) text += remark + "\n";
    for (const MemberView& view : training)
        text += "member " + std::to_string(view.member) + ": step " + std::to_string(view.step) + " of " +
                std::to_string(view.steps) + " on " + view.host + "\n";
    if (metrics.is_object()) text += widths_text(metrics);
    if (checkpoint_age >= 0) text += "last checkpoint " + seconds_text(checkpoint_age) + " ago\n";
    return text;
}

RunView look_at(const std::string& folder, double now) {
    const auto there = [&](const char* name) {
        std::error_code ignored;
        return fs::exists(folder + "/" + name, ignored);
    };
    if (there("manifest.json")) return finished_view(folder);
    if (!there("fingerprint"))
        throw Error(ExitCode::input, "no run of holdfast train", "name its --out folder", folder);
    RunView run;
    run.folder = folder;
    add_training(run, now);
    if (there("manifest.json")) return finished_view(folder);  // meanwhile
    return run;
}

}  // namespace holdfast
