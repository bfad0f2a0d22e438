#!/usr/bin/env bash
# install.sh HOLDFAST: what cmake --install leaves works where the sources are not: the program, and the libraries found
# by a project that knows find_package(Holdfast) alone and has no compiler of CUDA.
set -uo pipefail
build=$(dirname "$(realpath "$1")")
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$(dirname "$0")/../support/script.sh"

cmake --install "$build" --prefix "$scratch/prefix" > install.log 2>&1 || { cat install.log; exit 1; }
version=$(sed -n 's/^project(holdfast VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ "$(prefix/bin/holdfast --version | head -n 1)" = "holdfast $version" ] || fail "the installed program is $(prefix/bin/holdfast --version)"
! grep -rlF "$root" prefix/lib* > found.txt || ! grep '\.cmake$' found.txt || fail "the files above name the sources' folder"

prefix/bin/holdfast-submit --help > said.txt 2>&1 && grep -q 'JOB.toml' said.txt || fail "holdfast-submit: $(cat said.txt)"
[ -f prefix/share/holdfast/configs/quickstart.toml ] || fail "no configurations"

# Libraries are found where they were when it was linked; pages link to each other as in the sources.
runpath() { readelf -d "$1" | sed -n 's/.*\(runpath\|rpath\): \[\(.*\)\]/\2/p'; }
for file in "$holdfast" prefix/bin/holdfast; do
    readelf -lW "$file" | grep -q GNU_RELRO && readelf -dW "$file" | grep -q 'NOW' || fail "$file lacks full RELRO (-z relro -z now)"
    readelf -hW "$file" | grep -q 'Type: *DYN' || fail "$file is no position-independent executable"
    ! readelf -lW "$file" | grep -q 'GNU_STACK.* RWE ' || fail "$file has an executable stack"
done
# An empty or relative element is the working folder, from which a stranger's library would be loaded. A library has no RUNPATH.
for file in $(find "$build" "$scratch/prefix" -maxdepth 2 -type f -perm -u+x ! -path '*/CMakeFiles/*'); do
    [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
    case ":$(runpath "$file"):" in
        ::) ;;
        *::* | *:[!/\$]*) fail "$file loads libraries from the working folder: RUNPATH is $(runpath "$file")" ;;
    esac
    looked=$((${looked:-0} + 1))
done
((${looked:-0} >= 2)) || fail "no program was looked at"
[ "$(runpath prefix/bin/holdfast)" = "$(runpath "$holdfast")" ] || fail "RPATH is $(runpath prefix/bin/holdfast), of the build $(runpath "$holdfast")"
! ldd prefix/bin/holdfast | grep 'not found' || fail "libraries are not found"
pages=prefix/share/doc/holdfast
[ -f $pages/models/mathematics.md ] || fail "no pages: $(ls prefix/share/doc)"
for page in $pages/README.md $pages/*/README.md; do
    for link in $(grep -o '](\([a-z/]*README\|[a-z/]*\.md\)[^)]*)' "$page" | sed 's/](\([^)#]*\).*/\1/'); do
        [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link"
    done
done
# The Python package finds the program beside it.
env -u HOLDFAST_PROGRAM PYTHONPATH=$scratch/prefix/lib/python3/dist-packages python3 -B -c 'from holdfast import driver; print(driver.program())' > said.txt 2>&1
grep -qx "$scratch/prefix/bin/holdfast" said.txt || grep -q "No module named .\(numpy\|h5py\)" said.txt || fail "Python: $(cat said.txt)"
# The program is configured where nothing of the tests is installed.
cmake -S "$root" -B bare -DCMAKE_BUILD_TYPE=Release -DHOLDFAST_TESTS=OFF -DHOLDFAST_BENCHMARKS=OFF -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON -DHOLDFAST_CUDA=OFF > bare.log 2>&1 || fail "configured with the packages of tests alone: $(tail -5 bare.log)"

# What man and shells look for.
cmp -s prefix/share/man/man1/holdfast.1 <(prefix/bin/holdfast man) || fail "no page of the manual: $(ls -R prefix/share)"
cmp -s prefix/share/bash-completion/completions/holdfast <(prefix/bin/holdfast completion bash) || fail "no completion for bash"
cmp -s prefix/share/zsh/site-functions/_holdfast <(prefix/bin/holdfast completion zsh) || fail "no completion for zsh"

# The module file, read by an interpreter that writes down what it is told.
module=prefix/share/modulefiles/holdfast/$version
grep -qF "set prefix \"$scratch/prefix\"" "$module" && ! grep -qE '@[A-Z_]+@|%prefix%' "$module" || fail "the module file: $(cat "$module")"
if command -v tclsh > /dev/null; then
    cat > read.tcl << 'END'
foreach word {module-whatis conflict prepend-path setenv set-alias} { proc $word {args} "puts \"$word \[join \$args\]\"" }
source [lindex $argv 0]
END
    tclsh read.tcl "$module" > module.txt 2>&1 || fail "the module file: $(cat module.txt)"
    for path in "PATH $scratch/prefix/bin" "MANPATH $scratch/prefix/share/man"; do
        grep -qxF "prepend-path $path" module.txt && [ -d "${path#* }" ] || fail "the module lacks $path: $(cat module.txt)"
    done
fi

# The recipes of Spack and Apptainer name options and folders that there are; neither tool is needed to see that.
python3 - "$root" << 'END' || fail "a recipe names what is not there"
import ast, os, re, sys

root = sys.argv[1]
recipe = open(f"{root}/tools/package/spack/packages/holdfast/package.py").read()
image = open(f"{root}/tools/package/holdfast.def").read()
lists = "".join(open(f"{root}/{name}").read() for name in ("CMakeLists.txt", "jobs/CMakeLists.txt"))
version = re.search(r"project\(holdfast VERSION ([0-9.]+)", lists)[1]
calls = [node for node in ast.walk(ast.parse(recipe)) if isinstance(node, ast.Call)]
named = lambda name: [call.args[0].value for call in calls if getattr(call.func, "id", "") == name and call.args]
assert named("version") == [version] and recipe.count(version) == 3, named("version")
assert len(named("depends_on")) == len(set(named("depends_on"))) > 15, named("depends_on")
for option in re.findall(r"HOLDFAST_[A-Z]+", recipe + image):
    assert re.search(rf"(set|option)\({option} ", lists), option
sections = re.findall(r"(?m)^%([a-z]+)", image)
assert sections == ["arguments", "files", "post", "test", "environment", "runscript", "labels"], sections
files = re.search(r"(?ms)^%files\n(.*?)^%", image)[1].split()[::2]
assert all(os.path.exists(f"{root}/{name}") for name in files), files
for folder in re.findall(r"add_subdirectory\(([a-z]+)\)", open(f"{root}/CMakeLists.txt").read()):
    assert folder in files or folder == "tests", folder
END

# Experiments are submitted from there, and run the program beside.
printf 'folder = "study"\ndata = "blobs.h5"\nepsilon = [1.0]\n' > job.toml
prefix/bin/holdfast synth blobs --records 100 --test 10 --out blobs.h5 --quiet > /dev/null || fail "the installed program makes no data"
prefix/share/holdfast/slurm/submit job.toml --dry-run > submit.txt 2>&1 && bash -n study/slurm/train.sbatch &&
    grep -qx "holdfast=$scratch/prefix/bin/holdfast" study/slurm/train.sbatch || fail "submit of a prefix: $(cat submit.txt study/slurm/train.sbatch)"

cat > CMakeLists.txt << 'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
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

command -v tclsh > /dev/null || echo "the module file was not run: there is no tclsh here"
((failures == 0)) && echo "installed, found and used"
