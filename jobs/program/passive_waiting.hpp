#pragma once

namespace holdfast {

/// Threads that wait for one another shall sleep: by default they spin, and where another process wants the
/// cores, whoever is waited for gets none. The OpenMP runtime reads OMP_WAIT_POLICY before main() does, so
/// the program starts itself anew with it, once, unless the environment says already how to wait.
void wait_passively(char** arguments);

}  // namespace holdfast
