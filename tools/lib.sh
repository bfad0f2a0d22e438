# Shared by the scripts of this folder (sourced, never run): words on the screen and the packages of Debian 12.

export LC_ALL=C # printf and awk write 1.5e-06 in every locale of the user

# What building the program takes.
build_packages=(
    build-essential g++ cmake ninja-build pkg-config git ca-certificates
    libopenmpi-dev openmpi-bin libhdf5-openmpi-dev libboost-serialization-dev libopenblas-serial-dev libhwy-dev
    libsodium-dev libsqlite3-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libspdlog-dev
    librandom123-dev libmpfr-dev libgmp-dev zlib1g-dev
    file # cpack finds the libraries of a package by it
)
# What building the tests and microbenchmarks, the checks and the tests of tools/test take besides. Without chromium, of
# 400 MB, tests/commands/first_screen.sh is skipped.
check_packages=(libgtest-dev libgmock-dev libbenchmark-dev z3 clang-format clang-tidy python3-numpy python3-h5py python3-venv locales
    slurm-wlm munge coinor-cbc iproute2
    coq libcoq-flocq libcoq-interval)

say() { printf '%s\n' "$*" >&2; }

# With the seconds since the script began.
heading() { printf '\n== %s (%d s)\n' "$*" "$SECONDS" >&2; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# The comment block at the top of a script is its --help.
print_help() { awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$1"; }

# The value of one field of a one-line JSON object.
field() { sed -n "s/.*\"$2\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$1"; }

# Two jobs at least, as many as there are cores at most, whatever number of threads a program is told to use.
job_count() {
    local cores
    cores=$(OMP_NUM_THREADS='' nproc)
    echo $((cores > 2 ? cores : 2))
}

# load_factor: how many processes share a core, at least 1; a wait or a timeout is multiplied by it.
load_factor() {
    local load
    read -r load _ </proc/loadavg 2>/dev/null || load=0
    load=$((1 + ${load%%.*} / $(nproc)))
    echo "$load"
}

# What to build the kernels for where one instruction set will do (HOLDFAST_SIMD).
one_simd() { if grep -qw avx2 /proc/cpuinfo; then echo AVX2; else echo ALL; fi; }

# Configures build/ for the program alone, if nothing did before: what tests take may be missing.
configure_program() {
    [[ -f $root/build/build.ninja ]] || cmake -S "$root" --preset release -DHOLDFAST_TESTS=OFF -DHOLDFAST_BENCHMARKS=OFF
}

# Builds the program build/NAME of $root, unless it is there.
build_tool() {
    [[ ! -x $root/build/$1 ]] || return 0
    say "Building build/$1, once"
    configure_program >/dev/null && cmake --build "$root/build" --target "$1" >/dev/null
}

# Prints those of its arguments that dpkg does not hold as installed.
missing_packages() {
    local installed
    # dpkg-query fails when it has never heard of one of the names; what it prints still stands.
    installed=$(dpkg-query --show --showformat='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
    local package
    for package in "$@"; do
        grep -qx "$package installed" <<<"$installed" || echo "$package"
    done
}

# Installs what is missing of its arguments; calls apt only if something is.
install_packages() {
    command -v dpkg-query >/dev/null ||
        die "this is not Debian (no dpkg-query): install the equivalents of: $*"
    local missing
    mapfile -t missing < <(missing_packages "$@")
    if ((${#missing[@]} == 0)); then
        say "All $# Debian packages needed are installed."
        return
    fi
    say "Installing ${#missing[@]} of $# Debian packages: ${missing[*]}"
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "neither root nor sudo here; ask an administrator to run: apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -qq ||
        die "apt-get update failed: check the network, or install by hand: apt-get install ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${missing[@]}" >&2 </dev/null ||
        die "apt-get install failed; see its message above"
}

# More ranks than cores, root and containers are all welcome; one thread a rank.
prepare_mpi() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
    export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_btl_vader_single_copy_mechanism=none
}
