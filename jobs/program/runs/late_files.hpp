#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace holdfast {

/// Returns once `there` is true of what others have written into `folder`: a shared folder may show it late
/// on this host, as NFS does for up to a minute. Says on stderr what it waits for, `what`. Error (output):
/// it is not to be seen within `patience`.
void await_files(const std::string& folder, const std::function<bool()>& there, const std::string& what,
                 std::chrono::milliseconds patience = std::chrono::seconds(90));

}  // namespace holdfast
