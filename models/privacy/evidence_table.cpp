#include "models/privacy/evidence_table.hpp"

#include <numeric>

namespace holdfast {

EvidenceTable::EvidenceTable(int classes, std::span<const std::int32_t> truth)
    : classes_(classes), truth_(truth) {}

void EvidenceTable::add_model(const std::vector<Evidence>& evidence) {
    Words words;
    const auto key = [&](std::size_t q) {
        const Evidence& of = evidence[q];
        words.assign({of.label, of.distance, of.sparse_distance});
        words.insert(words.end(), of.class_distances.begin(), of.class_distances.end());
        words.insert(words.end(), of.votes.begin(), of.votes.end());
        return std::span<const std::int64_t>(words);
    };
    add_model(key, [&](std::size_t q) { return evidence[q]; });
}

std::int64_t EvidenceTable::farthest() const {
    std::int64_t most = 0;
    for (const Evidence& evidence : distinct_) {
        most = std::max(most, evidence.distance);
        for (const std::int64_t distance : evidence.class_distances) most = std::max(most, distance - 1);
    }
    return most;
}

double EvidenceTable::mean(const std::vector<std::vector<double>>& laws) const {
    const auto classes = static_cast<std::size_t>(classes_);
    std::vector<double> values(distinct_.size() * classes);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = laws[i / classes][i % classes];
    std::vector<double> means(cells_.size());
#pragma omp parallel for if (cells_.size() > 1)
    for (std::size_t model = 0; model < cells_.size(); ++model) {
        double sum = 0;
        for (const std::uint32_t cell : cells_[model]) sum += values[cell];
        means[model] = sum / static_cast<double>(truth_.size());
    }
    return std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(cells_.size());
}

}  // namespace holdfast
