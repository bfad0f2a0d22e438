#include "models/convex/convex_certificate.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernels/backends.hpp"
#include "kernels/base/error.hpp"
#include "models/convex/convex_claim.hpp"
#include "models/convex/convex_distances.hpp"
#include "models/convex/influences.hpp"

namespace holdfast {
namespace {

class ConvexCertificate final : public Certificate {
  public:
    ConvexCertificate(const RunFolder& run, const RunManifest& manifest, const Settings& settings,
                      std::string backend)
        : settings_(settings),
          facts_(facts_of(manifest)),
          features_(settings.feature_map(manifest.dataset.features, manifest.dataset.range)),
          network_(settings.network.make(features_)),
          distances_(network_, convex_radius(settings, features_, settings.certificate.relation)),
          levels_(removals() ? settings.certificate.level_values()
                             : std::vector<std::int64_t>(static_cast<std::size_t>(distances_.cap()) + 1)),
          backend_(std::move(backend)),
          points_(run, manifest.digest) {
        if (points_.members() != static_cast<std::size_t>(settings.ensemble.members) ||
            points_.levels() != settings.certificate.level_values() ||
            points_.parameters() != network_.parameters())
            throw Error(ExitCode::input, "holds other members, levels or parameters than manifest.json says",
                        "the folder was changed since it was written: train again", run.file("boxes.h5"));
        std::iota(levels_.begin(), levels_.end(), 0);
    }

    const std::vector<std::int64_t>& levels() const override { return levels_; }
    bool nested() const override { return true; }

    void set_input_radius(double radius, Norm norm) override {
        if (norm != Norm::l2)
            throw Error(ExitCode::usage, "of a convex run queries move in l2", "give --norm l2", "--norm");
        distances_.move_queries(radius, features_);
    }
    bool moves_queries() const override { return distances_.moves_queries(); }

    // Of queries that stay.
    bool learns_from_records() const override { return removals() && !moves_queries(); }
    std::size_t set_records(std::size_t member, const Records& records, std::size_t most) override {
        if (!learns_from_records() || !Influences::cover(settings_, network_, records)) return 0;
        influences_.resize(points_.members());
        influences_[member].emplace(settings_, features_, network_, records, point_of(member, 0).parameters,
                                    std::min(most, levels_.size() - 1));
        return influences_[member]->shown();
    }

    /// No release counts what the records alone prove.
    Certificates distances(std::size_t member, const Records& queries, Asker asker,
                           int device) const override {
        const Point point = point_of(member, device);
        if (!removals()) return distances_.of(*point.backend, point.parameters, queries);
        const bool known =
            asker != Asker::release && member < influences_.size() && influences_[member].has_value();
        return distances_.of_removals(*point.backend, point.parameters, point.radii, queries,
                                      known ? &*influences_[member] : nullptr);
    }
    std::optional<Certificates> means(std::size_t member, const Records& rows,
                                      std::span<const std::size_t> starts, int device) const override {
        const Point point = point_of(member, device);
        return distances_.of_means(*point.backend, point.parameters, point.radii, rows, starts);
    }

    RecordClaim claim() const override { return convex_claim(settings_, facts_); }
    RecordClaim release_claim() const override { return convex_release_claim(settings_, facts_); }

  private:
    /// What a member ended with; of removals how far each number of them may move it.
    struct Point {
        std::shared_ptr<const Backend> backend;
        std::vector<std::int64_t> parameters, radii;
    };
    Point point_of(std::size_t member, int device) const {
        // Where it was trained on GPUs, there may be none here: the bits are the same.
        Point point{make_backend(backend_ == "cuda" ? "auto" : backend_, Precision::double_precision,
                                 Product::exact, device),
                    {},
                    {}};
        std::vector<std::int64_t> lower, upper;
        points_.read(member, 0, point.parameters, upper);
        for (std::size_t level = 0; removals() && level < levels_.size(); ++level) {
            points_.read(member, level, lower, upper);
            point.radii.push_back(upper.front() - point.parameters.front());
        }
        return point;
    }
    bool removals() const { return settings_.certificate.relation == Relation::remove; }

    Settings settings_;
    DataFacts facts_;
    FeatureMap features_;
    Network network_;
    ConvexDistances distances_;
    std::vector<std::int64_t> levels_;
    std::string backend_;
    BoxesReader points_;
    std::vector<std::optional<Influences>> influences_;  ///< [members] of those whose records are known
};

}  // namespace

std::unique_ptr<Certificate> open_convex(const RunFolder& run, const RunManifest& manifest,
                                         const Settings& settings, const std::string& backend) {
    return std::make_unique<ConvexCertificate>(run, manifest, settings, backend);
}

}  // namespace holdfast
