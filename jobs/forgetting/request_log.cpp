#include "jobs/forgetting/request_log.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/files/digest.hpp"
#include "jobs/program/date.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using nlohmann::json;

const std::string no_entry(64, '0');

/// Of all fields but the digest itself; objects have their fields in one order.
std::string digest_of(json entry) {
    entry.erase("digest");
    return StreamDigest::of(entry.dump());
}

std::string text_of(const std::vector<json>& entries) {
    std::string text;
    for (const json& entry : entries) text += entry.dump() + "\n";
    return text;
}

std::string now() {
    using namespace std::chrono;
    return time_of(duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count());
}

bool is_list_of_texts(const json& entry, const char* name) {
    return entry.contains(name) && entry[name].is_array() &&
           std::all_of(entry[name].begin(), entry[name].end(),
                       [](const json& each) { return each.is_string(); });
}

/// What is wrong with an entry behind so many sound ones; empty: nothing.
std::string problem_of(const json& entry, const std::vector<json>& before) {
    if (!entry.is_object()) return "no entry";
    const std::string previous = before.empty() ? no_entry : before.back()["digest"].get<std::string>();
    if (entry.value("entry", json()) != before.size() + 1) return "its number is out of order";
    if (entry.value("previous", json()) != previous) return "it does not follow the entry before it";
    if (entry.value("digest", json()) != digest_of(entry)) return "its digest is another";
    const bool asked = entry.value("kind", json()) == "asked",
               open = !before.empty() && before.back()["kind"] == "asked";
    if (!asked && entry.value("kind", json()) != "done") return "neither asked nor done";
    if (asked == open) return asked ? "the request before it is not done" : "nothing is asked before it";
    if (asked && !is_list_of_texts(entry, "tokens")) return "it names no records";
    return "";
}

}  // namespace

RequestLog RequestLog::read(const RunFolder& run) {
    RequestLog log;
    if (!run.has(file_name)) return log;
    const std::string path = run.file(file_name);
    std::ifstream stream(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const auto damaged = [&](const std::string& problem) {
        return Error(ExitCode::input, "line " + std::to_string(log.entries_.size() + 1) + ": " + problem,
                     "the log was changed or damaged since it was written: restore it from a copy", path);
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string::npos) throw damaged("it is cut off");
        json entry = json::parse(text.substr(at, end - at), nullptr, false);
        const std::string problem = entry.is_discarded() ? "no JSON" : problem_of(entry, log.entries_);
        if (!problem.empty()) throw damaged(problem);
        log.entries_.push_back(std::move(entry));
        at = end + 1;
    }
    // Spaces or the order of fields could be changed and leave every digest as it is.
    if (text_of(log.entries_) != text) throw damaged("an entry before it is not as it was written");
    return log;
}

std::string RequestLog::head() const {
    return entries_.empty() ? no_entry : entries_.back()["digest"].get<std::string>();
}

const json* RequestLog::pending() const {
    return !entries_.empty() && entries_.back()["kind"] == "asked" ? &entries_.back() : nullptr;
}

std::vector<std::string> RequestLog::tokens() const {
    std::vector<std::string> all;
    for (const json& entry : entries_) {
        if (entry["kind"] != "asked") continue;
        for (const json& token : entry["tokens"]) all.push_back(token);
    }
    std::sort(all.begin(), all.end());
    return all;
}

void RequestLog::append(const RunFolder& run, json fields) {
    fields["entry"] = entries_.size() + 1;
    fields["time"] = now();
    fields["previous"] = head();
    fields["digest"] = digest_of(fields);
    const std::string problem = problem_of(fields, entries_);
    ensure(problem.empty(), "what is added to a log of requests can be read again");
    entries_.push_back(std::move(fields));
    run.write_text(file_name, text_of(entries_));
}

SecretKey request_key(const RunFolder& run, const RunFolder& before) {
    const std::string own = run.file(RequestLog::key_name);
    if (run.has(RequestLog::key_name)) return SecretKey::read(own);
    SecretKey key = before.has(RequestLog::key_name) ? SecretKey::read(before.file(RequestLog::key_name))
                                                     : SecretKey::fresh();
    key.write_new(own);
    return key;
}

std::vector<std::string> tokens_of(const SecretKey& key, const std::vector<std::uint64_t>& ids) {
    std::vector<std::string> tokens;
    for (const std::uint64_t id : ids) tokens.push_back(key.token("forgotten record " + std::to_string(id)));
    std::sort(tokens.begin(), tokens.end());
    return tokens;
}

}  // namespace holdfast
