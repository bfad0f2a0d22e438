# A Spack recipe. In a clone of the sources:
#   spack repo add tools/package/spack
#   spack dev-build holdfast@0.1.0
# spack install takes the sources from a mirror that has them (manual_download): they are public nowhere yet.

from spack.package import *


class Holdfast(CMakePackage, CudaPackage):
    """Trains a model on private records and proves what one person's presence could have changed: boxes of parameters,
    stable distances, labels and models under differential privacy; on one core, MPI ranks and GPUs with the same bytes."""

    manual_download = True
    url = "holdfast-0.1.0.tar.gz"

    version("0.1.0")

    variant("nccl", default=False, when="+cuda", description="Several GPUs add their sums by NCCL")
    variant("benchmarks", default=False, description="Build the micro-benchmarks")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type=("build", "link"))  # find_package(Holdfast) asks it too

    depends_on("mpi")
    depends_on("hdf5@1.10:+mpi+hl")
    depends_on("boost@1.74:+serialization")
    depends_on("openblas threads=none")  # its threads would compete with the ranks
    depends_on("highway@1.0.3:")
    depends_on("libsodium@1.0.18:")
    depends_on("sqlite@3.40:")
    depends_on("gmp+cxx")
    depends_on("mpfr")
    depends_on("zlib-api")
    depends_on("random123")
    depends_on("cli11@2.1:")
    depends_on("nlohmann-json@3.11:")
    depends_on("spdlog@1.10:")
    depends_on("tomlplusplus@3:")
    depends_on("nccl", when="+nccl")
    depends_on("googletest+gmock", type="test")
    depends_on("benchmark", when="+benchmarks")

    # Every bound relies on IEEE arithmetic with a rounding a time: 64 bit, and no compiler that contracts on its own.
    conflicts("target=x86:", msg="32 bit processors are not what the proofs assume")
    conflicts("%gcc@:11", msg="C++20 as of GCC 12")

    generator("ninja")

    def cmake_args(self):
        arguments = [
            self.define("HOLDFAST_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("HOLDFAST_TESTS", self.run_tests),
            self.define_from_variant("HOLDFAST_BENCHMARKS", "benchmarks"),
        ]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return arguments

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_machine(self):
        Executable(self.prefix.bin.holdfast)("doctor")
