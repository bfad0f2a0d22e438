#pragma once

#include <gtest/gtest.h>

#include "kernels/base/error.hpp"

namespace holdfast {

/// What `action` throws: it must, with a hint.
template <typename Action>
Error error_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_FALSE(error.hint().empty()) << error.what();
        return error;
    }
    ADD_FAILURE() << "no Error thrown";
    return Error(ExitCode::success, "");
}

}  // namespace holdfast
