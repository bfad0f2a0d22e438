#include "kernels/cuda/dgemm_rate.hpp"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/base/error.hpp"
#include "kernels/base/loaded_library.hpp"
#include "kernels/base/random.hpp"

namespace holdfast {
namespace {

constexpr int n = 8192;
constexpr std::size_t entries = static_cast<std::size_t>(n) * n;

[[noreturn]] void fail(const std::string& what) {
    throw Error(ExitCode::usage, "cannot measure the GPU's dgemm: " + what,
                "see holdfast doctor, or use --backend cpu", "--backend");
}
void check(cudaError_t status, const char* operation) {
    if (status != cudaSuccess) fail(std::string(operation) + ": " + cudaGetErrorString(status));
}
void check(cublasStatus_t status, const char* operation) {
    if (status != CUBLAS_STATUS_SUCCESS)
        fail(std::string(operation) + " answers " + std::to_string(static_cast<int>(status)));
}

/// cuBLAS of the version built against.
class Cublas {
  public:
    Cublas() {
        if (!library_.found()) fail(name() + " is not installed");
    }

    template <typename Function>
    Function* function(const char* symbol) const {
        auto* const found = library_.function<Function>(symbol);
        if (found == nullptr) fail(name() + " has no " + symbol);
        return found;
    }

  private:
    static std::string name() { return "libcublas.so." + std::to_string(CUBLAS_VER_MAJOR); }
    LoadedLibrary library_{name(), HOLDFAST_CUBLAS_FOLDER};
};

class Multiplier {
  public:
    Multiplier() {
        check(library_.function<decltype(cublasCreate_v2)>("cublasCreate_v2")(&handle_), "cublasCreate");
    }
    // Nothing could be done about a failure of the release.
    ~Multiplier() { static_cast<void>(destroy_(handle_)); }
    Multiplier(const Multiplier&) = delete;
    Multiplier& operator=(const Multiplier&) = delete;

    void multiply(const double* a, const double* b, double* c) const {
        const double one = 1, zero = 0;
        check(gemm_(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, b, n, &zero, c, n),
              "cublasDgemm");
    }

  private:
    Cublas library_;
    decltype(cublasDestroy_v2)* destroy_ = library_.function<decltype(cublasDestroy_v2)>("cublasDestroy_v2");
    decltype(cublasDgemm_v2)* gemm_ = library_.function<decltype(cublasDgemm_v2)>("cublasDgemm_v2");
    cublasHandle_t handle_ = nullptr;
};

class Matrix {
  public:
    Matrix() {
        check(cudaMalloc(reinterpret_cast<void**>(&values_), entries * sizeof(double)), "cudaMalloc");
    }
    ~Matrix() { static_cast<void>(cudaFree(values_)); }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
    double* get() const { return values_; }
    void fill(const std::vector<double>& from) const {
        check(cudaMemcpy(values_, from.data(), entries * sizeof(double), cudaMemcpyHostToDevice),
              "cudaMemcpy");
    }

  private:
    double* values_ = nullptr;
};

class Event {
  public:
    Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
    ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() const { check(cudaEventRecord(event_), "cudaEventRecord"); }
    double seconds_since(const Event& start) const {
        check(cudaEventSynchronize(event_), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "cudaEventElapsedTime");
        return static_cast<double>(milliseconds) / 1e3;
    }

  private:
    cudaEvent_t event_ = nullptr;
};

}  // namespace

double device_dgemm_rate() {
    const Multiplier blas;
    const Matrix a, b, c;
    std::vector<double> values(entries);
    const KeyedHash hash{11};
    for (std::size_t i = 0; i < entries; ++i) values[i] = hash.uniform(0, i) - 0.5;
    a.fill(values);
    b.fill(values);
    const Event start, end;
    double best = 0;
    for (int repeat = 0; repeat < 6; ++repeat) {
        start.record();
        blas.multiply(a.get(), b.get(), c.get());
        end.record();
        best = std::max(best, static_cast<double>(entries) * n / end.seconds_since(start));
    }
    return best;
}

}  // namespace holdfast
