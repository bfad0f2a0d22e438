#include "models/certify/boxes_certificate.hpp"

#include <memory>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/boxes/one_step.hpp"
#include "models/certify/claims.hpp"
#include "models/certify/linear_distances.hpp"
#include "models/certify/relaxation.hpp"

namespace holdfast {
namespace {

class BoxesCertificate final : public Certificate {
  public:
    BoxesCertificate(const RunFolder& run, const RunManifest& manifest, const Settings& settings,
                     std::string backend)
        : settings_(settings),
          facts_(facts_of(manifest)),
          features_(settings.feature_map(manifest.dataset.features, manifest.dataset.range)),
          network_(settings.network.make(features_)),
          levels_(settings.certificate.level_values()),
          backend_(std::move(backend)),
          boxes_(run, manifest.digest) {
        // A distance counted over other boxes than the manifest's would be no certificate.
        if (boxes_.members() != static_cast<std::size_t>(settings.ensemble.members) ||
            boxes_.levels() != settings.kept_levels() || boxes_.parameters() != network_.parameters())
            throw Error(ExitCode::input, "holds other members, levels or parameters than manifest.json says",
                        "the folder was changed since it was written: train again", run.file("boxes.h5"));
    }

    const std::vector<std::int64_t>& levels() const override { return levels_; }
    bool nested() const override { return settings_.certificate.product.exact(); }

    void set_input_radius(double radius, Norm norm) override {
        if (norm != Norm::linf)
            throw Error(ExitCode::usage, "over boxes queries move feature by feature", "give --norm linf",
                        "--norm");
        if (!features_.is_identity())
            throw Error(ExitCode::usage, "queries that move are bounded through no map of features",
                        "train with features.map = \"none\" and features.norm_limit = 0", "--input-radius");
        if (!nested())
            throw Error(ExitCode::usage, "midpoint-radius products bound no query that moves",
                        "train with certificate.product = \"exact\"", "--input-radius");
        input_radius_ = radius;
    }

    bool moves_queries() const override { return input_radius_ > 0; }

    // A relaxation of one level speaks for all below it, which needs that its box holds theirs.
    bool relaxes() const override {
        return input_radius_ == 0 && Relaxation::sharpens(network_) &&
               settings_.training.normalise == Normalise::expected;
    }

    Certificates distances(std::size_t member, const Records& queries, Asker asker,
                           int device) const override {
        const auto backend = backend_on(device);
        const LevelLoader load = boxes_of(member);
        Certificates found = certify(network_, *backend, queries, levels_.size(), load, search_for(asker),
                                     [&](std::size_t) { return input_radius_; });
        if (asker != Asker::relaxed || !relaxes()) return found;
        return sharpened(network_, settings_.training.precision, queries, levels_.size(), load,
                         std::move(found));
    }

    std::vector<Certificates> distances_of(std::size_t first, std::size_t last, const Records& queries,
                                           Asker asker, int device) const override {
        if (!at_once(asker)) return Certificate::distances_of(first, last, queries, asker, device);
        std::vector<LevelLoader> members;
        for (std::size_t member = first; member < last; ++member) members.push_back(boxes_of(member));
        const MemberLoader load = [&](std::size_t i, std::size_t level, auto& lower, auto& upper) {
            members[i](level, lower, upper);
        };
        return certify_linear(network_, *backend_on(device), queries, last - first, levels_.size(), load);
    }

    bool output_bounds(
        std::size_t member, const Records& queries, int device,
        const std::function<void(std::size_t level, const OutputBounds&)>& visit) const override {
        const auto backend = backend_on(device);
        const OutputBounder bounder(network_, *backend, queries);
        const LevelLoader load = boxes_of(member);
        std::vector<std::int64_t> lower, upper;
        for (std::size_t level = 0; level < levels_.size(); ++level) {
            load(level, lower, upper);
            visit(level, bounder.over(lower, upper));
        }
        return true;
    }

    RecordClaim claim() const override { return certificate_claim(settings_, facts_); }
    RecordClaim release_claim() const override { return holdfast::release_claim(settings_, facts_); }

  private:
    std::shared_ptr<const Backend> backend_on(int device) const {
        // Where it was trained on GPUs, there may be none here: the bits are the same.
        const bool anywhere = !nested() || backend_ == "cuda";
        // A device bounds no query that moves.
        const std::string wanted = input_radius_ > 0 ? "cpu" : anywhere ? "auto" : backend_;
        return make_backend(nested() ? backend_for(network_.shape(), wanted) : wanted,
                            settings_.training.arithmetic(), settings_.certificate.product, device);
    }
    /// Are there levels without a box in the file, made of those that have one?
    bool follow() const { return boxes_.levels().size() < levels_.size(); }
    LevelLoader boxes_of(std::size_t member) const {
        if (!follow())
            return [this, member](std::size_t level, auto& lower, auto& upper) {
                boxes_.read(member, level, lower, upper);
            };
        std::vector<std::int64_t> point, lower, upper;
        boxes_.read(member, 0, point, upper);
        boxes_.read(member, 1, lower, upper);
        const auto boxes = std::make_shared<const OneStepBoxes>(std::move(point), lower, upper);
        return [this, boxes](std::size_t level, auto& least, auto& greatest) {
            boxes->at(levels_[level], least, greatest);
        };
    }
    /// Each level costs a pass over the queries for all members, a search some passes for each of them.
    bool at_once(Asker asker) const {
        return network_.layers().size() == 1 && input_radius_ == 0 &&
               ((asker == Asker::release && !follow()) ||
                levels_.size() <= static_cast<std::size_t>(boxes_.members()));
    }
    LevelSearch search_for(Asker asker) const {
        if (asker == Asker::release) return follow() ? LevelSearch::each_apart : LevelSearch::exhaustive;
        return nested() ? LevelSearch::bisection : LevelSearch::ascending;
    }

    Settings settings_;
    DataFacts facts_;
    FeatureMap features_;
    Network network_;
    double input_radius_ = 0;
    std::vector<std::int64_t> levels_;
    std::string backend_;
    BoxesReader boxes_;
};

}  // namespace

std::unique_ptr<Certificate> open_boxes(const RunFolder& run, const RunManifest& manifest,
                                        const Settings& settings, const std::string& backend) {
    return std::make_unique<BoxesCertificate>(run, manifest, settings, backend);
}

}  // namespace holdfast
