#!/usr/bin/env bash
# licences.sh HOLDFAST: doctor --licences names all that the program is linked with: every package that CMake looks for and
# every shared library that the program itself asks for, each with a licence, and nothing that is no longer there.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
source "$root/tests/support/script.sh"

"$holdfast" doctor --licences > said.txt || fail "doctor --licences"
"$holdfast" doctor --licences --json > said.json || fail "doctor --licences --json"
LC_ALL=C readelf --dynamic "$holdfast" | sed -n 's/.*Shared library: \[\(.*\)\]/\1/p' > needed.txt
[ -s needed.txt ] || fail "readelf finds no library"
python3 - "$root" << 'END' || fail "the list is not what is linked: $(cat said.txt)"
import json, pathlib, re, sys
root = pathlib.Path(sys.argv[1])
libraries = json.load(open("said.json"))["libraries"]
lists = [root / "CMakeLists.txt", *(file for folder in ("kernels", "dist", "models", "jobs")
                                    for file in (root / folder).rglob("CMakeLists.txt"))]
asked = set(re.findall(r"(?:find_package|pkg_check_modules|pkg_search_module)\((\w+)", "".join(f.read_text() for f in lists)))
asked -= {"PkgConfig", "GTest"}  # what finds packages, and what the tests alone are linked with
named = {library["found_as"] for library in libraries} - {""}
gpu = {"CUDAToolkit"} - named  # not of this build
assert asked - gpu == named, (asked, named)
begins = [begin for library in libraries for begin in library["files"].split()]
needed = open("needed.txt").read().split()
unknown = [name for name in needed if not any(re.match(re.escape(begin) + r"(?!\w)|" + re.escape(begin) + r"(_|xx)", name) for begin in begins)]
assert not unknown, unknown
said = open("said.txt").read()
for library in libraries:
    assert library["licence"] and library["purpose"] and library["name"] in said and library["licence"] in said, library
assert sum(bool(library["version"]) for library in libraries) >= 15, libraries
END
((failures == 0)) && echo "$(wc -l < said.txt) libraries, $(wc -l < needed.txt) of them asked for by the program"
exit $((failures > 0))
