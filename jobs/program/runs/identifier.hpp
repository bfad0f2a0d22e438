#pragma once

#include "dist/layout/distribute.hpp"
#include "jobs/program/runs/dataset_identity.hpp"

namespace holdfast {

/// The identity of records as they come, in the order of their file.
class Identifier {
  public:
    void add(const Records& records);
    /// Of the file that states these facts of them. Once.
    DatasetIdentity identity(const PublicFacts& facts);

  private:
    RecordDigest digest_;
    DatasetIdentity found_;
};

}  // namespace holdfast
