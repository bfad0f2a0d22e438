#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/error.hpp"

namespace holdfast {

/// Runs `action` in a child process; its exit status, or that of the Error it throws, comes from wait_for.
template <typename Action>
pid_t fork_child(Action action) {
    const pid_t child = fork();
    if (child == 0) {
        int status = 99;
        try {
            status = action();
        } catch (const Error& error) {
            status = static_cast<int>(error.code());
        }
        _exit(status);
    }
    return child;
}

/// Negative: the signal it ended by.
inline int wait_for(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace holdfast
