#include "models/noisy/noisy_certificate.hpp"

#include "kernels/base/error.hpp"
#include "models/certify/boxes_certificate.hpp"
#include "models/noisy/noisy_claim.hpp"

namespace holdfast {
namespace {

class NoisyCertificate final : public Certificate {
  public:
    NoisyCertificate(std::unique_ptr<Certificate> point, RecordClaim claim)
        : point_(std::move(point)), claim_(std::move(claim)) {}

    const std::vector<std::int64_t>& levels() const override { return point_->levels(); }
    bool nested() const override { return point_->nested(); }
    Certificates distances(std::size_t member, const Records& queries, Asker asker,
                           int device) const override {
        return point_->distances(member, queries, asker, device);
    }
    std::vector<Certificates> distances_of(std::size_t first, std::size_t last, const Records& queries,
                                           Asker asker, int device) const override {
        return point_->distances_of(first, last, queries, asker, device);
    }
    bool by_answers() const override { return false; }
    RecordClaim claim() const override { return claim_; }
    RecordClaim release_claim() const override {
        throw Error(ExitCode::usage, "labels of a noisy run are not released one by one",
                    "publish its parameters, and every answer is free: holdfast publish");
    }

  private:
    std::unique_ptr<Certificate> point_;
    RecordClaim claim_;
};

}  // namespace

std::unique_ptr<Certificate> open_noisy(const RunFolder& run, const RunManifest& manifest,
                                        const Settings& settings, const std::string& backend) {
    return std::make_unique<NoisyCertificate>(open_boxes(run, manifest, settings, backend),
                                              noisy_claim(settings, facts_of(manifest)));
}

}  // namespace holdfast
