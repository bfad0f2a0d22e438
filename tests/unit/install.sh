#!/usr/bin/env bash
# install.sh HOLDFAST: what cmake --install leaves works where the sources are not: the program, and the libraries found
# by a project that knows find_package(Holdfast) alone and has no compiler of CUDA.
set -uo pipefail
build=$(dirname "$(realpath "$1")")
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"

cmake --install "$build" --prefix "$scratch/prefix" > install.log 2>&1 || { cat install.log; exit 1; }
version=$(sed -n 's/^project(holdfast VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ "$(prefix/bin/holdfast --version)" = "holdfast $version" ] || fail "the installed program is $(prefix/bin/holdfast --version)"
! grep -rlF "$root" prefix/lib* > found.txt || ! grep '\.cmake$' found.txt || fail "the files above name the sources' folder"

# Experiments are submitted from there, and run the program beside.
printf 'folder = "study"\ndata = "blobs.h5"\n' > job.toml
prefix/share/holdfast/slurm/submit job.toml --dry-run > submit.txt 2>&1 && bash -n study/slurm/train.sbatch &&
    grep -qx "holdfast=$scratch/prefix/bin/holdfast" study/slurm/train.sbatch || fail "submit of a prefix: $(cat submit.txt study/slurm/train.sbatch)"

cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(Holdfast REQUIRED)
message(STATUS "found ${Holdfast_VERSION}")
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE Holdfast::nets)
END
# A network of 3 inputs and 4 hidden units: its first parameters are a public function of the seed, the same everywhere.
cat > consumer.cpp << 'END'
#include <iostream>

#include "kernels/backends.hpp"
#include "kernels/base/version.hpp"
#include "models/nets/network.hpp"

int main() {
    const holdfast::Network network(3, {4}, 2, holdfast::Loss::binary_cross_entropy);
    std::int64_t sum = 0;
    for (const std::int64_t parameter : network.initial_parameters(7, 0)) sum += parameter;
    std::cout << holdfast::version() << ' ' << holdfast::make_backend("cpu")->name() << ' ' << network.parameters() << ' '
              << sum << '\n';
}
END
cmake -S . -B built -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/prefix" > built.log 2>&1 &&
    cmake --build built >> built.log 2>&1 || fail "the consumer is not built: $(head -c 2000 built.log)"
grep -q "found $version" built.log || fail "find_package finds another version: $(cat built.log)"
[ "$(built/consumer)" = "$version cpu 21 420018400850993" ] || fail "the consumer computes $(built/consumer)"

((failures == 0)) && echo "installed, found and used"
