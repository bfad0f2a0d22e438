#pragma once

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string_view>

namespace holdfast::fuzz {

/// How an attempt in a process of its own ended.
enum class Ending { finished, crashed, crashed_in_library };

inline constexpr int library_status = 86;

/// Ends the process: library_status if the code at fault is libhdf5's, else by the signal as it came.
inline void judge(int signal) {
    void* frames[64];
    const int depth = backtrace(frames, 64);
    bool below_handler = false;  // above are this function and, perhaps, a sanitizer
    for (int i = 0; i < depth; ++i) {
        Dl_info place{};
        if (dladdr(frames[i], &place) == 0 || place.dli_fname == nullptr) continue;
        const std::string_view object(place.dli_fname);
        if (!below_handler) {
            below_handler = object.find("libc.so") != std::string_view::npos;  // the return from a signal
            continue;
        }
        if (object.find("libhdf5") != std::string_view::npos) _exit(library_status);
        // Below the fault may lie the C library, zlib or the sanitizers: who called them decides.
        if (object.find("/lib/") == std::string_view::npos && object.find("vdso") == std::string_view::npos)
            break;
    }
    std::signal(signal, SIG_DFL);
    raise(signal);
}

/// Runs `action` in a child process, which ends with the status it returns; a child without an end is stopped
/// by SIGALRM after `seconds`. For readers on top of libhdf5 1.10: the library itself is not safe against
/// damaged files (it trusts sizes in its global heap, among others), and no caller can make it so. What
/// happens inside it is told apart from what happens here by the stack.
template <typename Action>
Ending isolated(Action action, unsigned seconds, int& status) {
    void* first[1];
    backtrace(first, 1);  // loads what it needs: a handler must not
    const pid_t child = fork();
    if (child == 0) {
        for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
            std::signal(signal, judge);
        alarm(seconds);
        _exit(action());
    }
    int raw = 0;
    if (child < 0 || waitpid(child, &raw, 0) != child) return Ending::crashed;
    if (!WIFEXITED(raw)) return Ending::crashed;
    status = WEXITSTATUS(raw);
    return status == library_status ? Ending::crashed_in_library : Ending::finished;
}

}  // namespace holdfast::fuzz
