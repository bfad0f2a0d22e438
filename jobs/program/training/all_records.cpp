#include "jobs/program/training/all_records.hpp"

#include "dist/layout/distribute.hpp"

namespace holdfast {

AllRecords read_all_records(const DatasetReader& reader, const Settings& settings) {
    const auto alone = make_serial_communicator();
    const ProcessGrid grid(*alone, "auto", 1, 1);
    Distributed all = distribute(reader, grid, *alone,
                                 {1,
                                  {0},
                                  static_cast<std::size_t>(settings.network.classes),
                                  static_cast<std::uint64_t>(settings.training.seed)});
    return {std::move(all.held.front().records), all.all.hex(*alone)};
}

}  // namespace holdfast
