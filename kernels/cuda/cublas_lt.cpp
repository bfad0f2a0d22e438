#include "kernels/cuda/cublas_lt.hpp"

#include <cublasLt.h>

#include <string>

#include "kernels/base/error.hpp"
#include "kernels/base/loaded_library.hpp"

namespace holdfast::device {
namespace {

std::string library_name() {
    return "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
}

[[noreturn]] void unusable(const std::string& what) {
    throw Error(ExitCode::usage, "backend \"cuda\" in fixed precision multiplies by cuBLASLt: " + what,
                "install CUDA's cuBLAS, or use --set run.backend=cpu: the bits are the same", "run.backend");
}

void check(cublasStatus_t status, const char* operation) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(ExitCode::internal,
                std::string(operation) + " answers " + std::to_string(static_cast<int>(status)),
                "see nvidia-smi and dmesg; --set run.backend=cpu gives the same bytes", "cuBLASLt");
}

/// A pointer into the library; Error (usage) if it has none of this name.
template <typename Function>
Function* required(const LoadedLibrary& library, const char* symbol) {
    if (!library.found()) unusable(library_name() + " is not installed");
    auto* const found = library.function<Function>(symbol);
    if (found == nullptr) unusable(library_name() + " has no " + symbol);
    return found;
}

}  // namespace

// A name, which takes no parentheses. NOLINTNEXTLINE(bugprone-macro-parentheses)
#define HOLDFAST_CUBLAS_LT(name) decltype(::name)* name = required<decltype(::name)>(loaded, #name)
struct CublasLt::Library {
    LoadedLibrary loaded{library_name(), HOLDFAST_CUBLAS_FOLDER};
    HOLDFAST_CUBLAS_LT(cublasLtCreate);
    HOLDFAST_CUBLAS_LT(cublasLtDestroy);
    HOLDFAST_CUBLAS_LT(cublasLtMatmul);
    HOLDFAST_CUBLAS_LT(cublasLtMatmulDescCreate);
    HOLDFAST_CUBLAS_LT(cublasLtMatmulDescDestroy);
    HOLDFAST_CUBLAS_LT(cublasLtMatmulDescSetAttribute);
    HOLDFAST_CUBLAS_LT(cublasLtMatrixLayoutCreate);
    HOLDFAST_CUBLAS_LT(cublasLtMatrixLayoutDestroy);
    HOLDFAST_CUBLAS_LT(cublasLtMatrixLayoutSetAttribute);
    cublasLtHandle_t handle = nullptr;

    Library() {
        const cublasStatus_t status = cublasLtCreate(&handle);
        if (status != CUBLAS_STATUS_SUCCESS)
            unusable("cublasLtCreate answers " + std::to_string(static_cast<int>(status)));
    }
    // Nothing could be done about a failure of the release.
    ~Library() { static_cast<void>(cublasLtDestroy(handle)); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    /// int8 in, int32 out and in between; the first operand transposed.
    class Operation {
      public:
        explicit Operation(const Library& library) : library_(library) {
            check(library.cublasLtMatmulDescCreate(&description_, CUBLAS_COMPUTE_32I, CUDA_R_32I),
                  "cublasLtMatmulDescCreate");
            const cublasOperation_t transposed = CUBLAS_OP_T;
            check(library.cublasLtMatmulDescSetAttribute(description_, CUBLASLT_MATMUL_DESC_TRANSA,
                                                         &transposed, sizeof transposed),
                  "cublasLtMatmulDescSetAttribute");
        }
        ~Operation() { static_cast<void>(library_.cublasLtMatmulDescDestroy(description_)); }
        Operation(const Operation&) = delete;
        Operation& operator=(const Operation&) = delete;
        cublasLtMatmulDesc_t get() const { return description_; }

      private:
        const Library& library_;
        cublasLtMatmulDesc_t description_ = nullptr;
    };

    /// By columns, `rows` of them long, at every level.
    class Layout {
      public:
        Layout(const Library& library, cudaDataType type, int rows, int columns, std::size_t stride,
               int levels, std::size_t level_stride)
            : library_(library) {
            check(library.cublasLtMatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                                     static_cast<std::uint64_t>(columns),
                                                     static_cast<std::int64_t>(stride)),
                  "cublasLtMatrixLayoutCreate");
            const std::int32_t count = levels;
            const auto offset = static_cast<std::int64_t>(level_stride);
            set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
            set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset);
        }
        ~Layout() { static_cast<void>(library_.cublasLtMatrixLayoutDestroy(layout_)); }
        Layout(const Layout&) = delete;
        Layout& operator=(const Layout&) = delete;
        cublasLtMatrixLayout_t get() const { return layout_; }

      private:
        void set(cublasLtMatrixLayoutAttribute_t attribute, const void* value, std::size_t bytes) const {
            check(library_.cublasLtMatrixLayoutSetAttribute(layout_, attribute, value, bytes),
                  "cublasLtMatrixLayoutSetAttribute");
        }

        const Library& library_;
        cublasLtMatrixLayout_t layout_ = nullptr;
    };
};
#undef HOLDFAST_CUBLAS_LT

CublasLt::CublasLt() : library_(std::make_unique<const Library>()) {}
CublasLt::~CublasLt() = default;
CublasLt::CublasLt(CublasLt&&) noexcept = default;

// Its matrices run along columns: c^T [columns, rows] = (b^T)^T a^T, both operands along the depth, which is
// the form that its integer units take.
void CublasLt::multiply(const IntegerProduct& product, void* stream) const {
    const Library& library = *library_;
    const auto& [a, b, c, rows, columns, depth, levels, stride, a_level, b_level, c_level] = product;
    const Library::Operation operation(library);
    const Library::Layout of_b(library, CUDA_R_8I, depth, columns, stride, levels, b_level),
        of_a(library, CUDA_R_8I, depth, rows, stride, levels, a_level),
        of_c(library, CUDA_R_32I, columns, rows, static_cast<std::size_t>(columns), levels, c_level);
    const std::int32_t one = 1, zero = 0;
    // Without an algorithm it picks one, that needs no memory.
    check(library.cublasLtMatmul(library.handle, operation.get(), &one, b, of_b.get(), a, of_a.get(), &zero,
                                 c, of_c.get(), c, of_c.get(), nullptr, nullptr, 0,
                                 static_cast<cudaStream_t>(stream)),
          "cublasLtMatmul of int8");
}

}  // namespace holdfast::device
