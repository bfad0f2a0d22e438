#include "models/privacy/routes/distance_shares.hpp"

#include <map>

namespace holdfast {

std::vector<DistanceShare> distance_shares(const EvidenceTable& evidence, std::size_t model) {
    struct Count {
        std::int64_t all = 0, right = 0;
    };
    std::map<std::int64_t, Count> counts;
    for (std::size_t q = 0; q < evidence.queries(); ++q) {
        const Evidence& query = evidence.of(model, q);
        Count& count = counts[query.distance];
        ++count.all;
        count.right += query.label == evidence.truth(q);
    }
    std::vector<DistanceShare> shares;
    const auto queries = static_cast<double>(evidence.queries());
    for (const auto& [distance, count] : counts)
        shares.push_back(
            {distance, static_cast<double>(count.all) / queries, static_cast<double>(count.right) / queries});
    return shares;
}

}  // namespace holdfast
