#pragma once

#include <memory>

#include "kernels/cuda/integer_product.hpp"

namespace holdfast::device {

/// cuBLASLt, loaded when it is asked for, so that the program starts where it is not installed.
class CublasLt {
  public:
    /// For the device that is current. Error (usage): it is not installed or does not work here.
    CublasLt();
    ~CublasLt();
    CublasLt(CublasLt&&) noexcept;
    CublasLt& operator=(CublasLt&&) = delete;

    /// In the order of `stream`, a cudaStream_t. Error (internal): cuBLASLt refuses it.
    void multiply(const IntegerProduct& product, void* stream) const;

  private:
    struct Library;
    std::unique_ptr<const Library> library_;
};

}  // namespace holdfast::device
