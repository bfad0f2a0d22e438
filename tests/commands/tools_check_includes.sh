#!/usr/bin/env bash
# tools/check_includes catches each kind of violation, at its line, and nothing else.
set -euo pipefail
check=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/tools/check_includes
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

fresh_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{dist/comm,dist/files,models/privacy,jobs,tests/unit,tools}
    mkdir -p "$tree"/kernels/{base,ops,reference,cpu,cuda}
}
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect_broken PLACE RULE FILE <content: this file breaks this rule at this place, and no other.
expect_broken() {
    fresh_tree
    mkdir -p "$(dirname "$tree/$3")"
    cat >"$tree/$3"
    local output status=0
    output=$("$check" "$tree" 2>/dev/null) || status=$?
    [[ $status == 1 ]] || fail "$3: exit status $status"
    [[ $output == "$1: $2: "* && $(wc -l <<<"$output") == 1 ]] || fail "$3: expected '$1: $2', got '$output'"
}
# expect_clean FILE <content
expect_clean() {
    fresh_tree
    mkdir -p "$(dirname "$tree/$1")"
    cat >"$tree/$1"
    local output
    output=$("$check" "$tree" 2>&1) || fail "$1: $output"
}

breaks_direction() { printf '#pragma once\n#include "%s"\n' "$2" | expect_broken "$1:2" direction "$1"; }
breaks_direction kernels/base/a.hpp kernels/ops/b.hpp
breaks_direction kernels/ops/a.hpp kernels/cpu/b.hpp
breaks_direction kernels/cpu/a.cpp kernels/reference/b.hpp
breaks_direction kernels/cuda/a.cu kernels/cpu/b.hpp
breaks_direction kernels/reference/a.cpp dist/comm/communicator.hpp
breaks_direction kernels/cpu/a.cpp kernels/backends.hpp
breaks_direction kernels/a.cpp dist/comm/communicator.hpp
breaks_direction dist/comm/a.cpp models/privacy/b.hpp
breaks_direction models/privacy/a.hpp jobs/program/job.hpp
breaks_direction jobs/a.cpp tests/support/b.hpp

breaks_room() { printf '#pragma once\n#include "%s"\n' "$2" | expect_broken "$1:2" room "$1"; }
breaks_room jobs/answers/a.cpp jobs/training/b.hpp
breaks_room jobs/program/a.cpp jobs/data/b.hpp
breaks_room jobs/answers/access.cpp jobs/answers/release/b.hpp
breaks_room jobs/answers/access/a.cpp jobs/answers/release/b.hpp
printf '#include "jobs/answers/release/b.hpp"\n#include "jobs/answers/c.hpp"\n#include "jobs/program/d.hpp"\n' | expect_clean jobs/answers/release.cpp

has_foreign_owner() { printf '\n\n#include <%s>\n' "$2" | expect_broken "$1:3" owner "$1"; }
has_foreign_owner jobs/a.cpp mpi.h
has_foreign_owner dist/files/a.cpp nccl.h
has_foreign_owner dist/comm/a.cpp hdf5.h
has_foreign_owner models/a.hpp H5Cpp.h
has_foreign_owner kernels/cpu/a.cpp cuda_runtime.h
has_foreign_owner dist/comm/mpi.cpp cublas_v2.h
has_foreign_owner models/a.cpp cblas.h
has_foreign_owner jobs/a.cpp hwy/highway.h
has_foreign_owner jobs/a.cpp sodium.h
has_foreign_owner dist/files/a.cpp sqlite3.h
has_foreign_owner models/a.cpp CLI/CLI.hpp
has_foreign_owner models/privacy/a.cpp random

expect_broken dist/comm/a.cpp:1 path dist/comm/a.cpp <<<'#include "communicator.hpp"'

# Two types of one name, of which the linker would know one; a declaration is none.
fresh_tree
printf '#pragma once\nclass Persons final : public Base {\n};\n' >"$tree/jobs/a.hpp"
printf 'class Persons;\n' >"$tree/jobs/b.hpp"
printf '\nstruct Persons {\n};\n' >"$tree/models/c.hpp"
cp "$tree/models/c.hpp" "$tree/tests/unit/d.hpp"
output=$("$check" "$tree" 2>/dev/null) && fail "two types of one name"
[[ $output == 'models/c.hpp:2: one type: Persons '* && $(wc -l <<<"$output") == 1 ]] || fail "two types of one name: got '$output'"

expect_broken jobs/a.cpp:3 condition jobs/a.cpp <<'END'
namespace holdfast {
int ranks() {
#ifdef HOLDFAST_MPI
    return 2;
#endif
}
}
END
expect_broken models/a.hpp:5 condition models/a.hpp <<'END'
template <typename Value, class Other = std::vector<Value>>
struct Box : Base<Value> {
    const char* text = "}}}}";  // }}}}
    Value width() const { /* }} */ if (true) { char brace = '}'; }
    #if 1
    }
};
END
expect_broken extras/a.txt:1 'top level' extras/a.txt <<<'words'
head -c 300001 /dev/zero | expect_broken 'tools/data.bin:1' size tools/data.bin

expect_clean jobs/a.cpp <<'END'
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include "models/privacy/b.hpp"
#include "kernels/base/error.hpp"
namespace holdfast {
constexpr const char* style = R"css(
:root {{{
#if
)css";
constexpr int thousand = 1'000;
enum class Kind : int { one };
extern "C" {
#ifdef SOMETHING
int plain();
#endif
}
struct Box {
#if 1
    int width() const { return thousand; }
#endif
};
}
END
expect_clean tests/unit/a_test.cpp <<'END'
#include <mpi.h>
#include <hdf5.h>
#include "jobs/program/job.hpp"
END
expect_clean kernels/backends.cpp <<<'#include "kernels/cpu/cpu.hpp"'
expect_clean kernels/cuda/a.cu <<<'#include <cublas_v2.h>'
expect_clean dist/comm/nccl.cpp <<<'#include <cuda_runtime.h>'
expect_clean kernels/cpu/a.cpp <<<'#include "hwy/foreach_target.h"'

# In a repository: what git ignores is no business of the house.
fresh_tree
git -C "$tree" init --quiet
echo '/build*/' >"$tree/.gitignore"
mkdir "$tree/build"
echo '#include <mpi.h>' >"$tree/build/a.cpp"
"$check" "$tree" 2>/dev/null || fail "a file ignored by git was checked"
echo '#include <mpi.h>' >"$tree/jobs/a.cpp"
! "$check" "$tree" >/dev/null 2>&1 || fail "a file not yet added to git was not checked"

((failures == 0)) && echo "all violations caught"
