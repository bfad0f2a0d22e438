#include "models/fleet/fleet_file.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "dist/files/atomic_file.hpp"
#include "dist/files/digest.hpp"
#include "dist/files/hdf5.hpp"
#include "dist/runs/lease.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast {

namespace fs = std::filesystem;

namespace {

constexpr const char* file_name = "fleet.h5";
/// Below it every parameter has no more bits than a double.
constexpr double largest_exact = 0x1p53 * parameter_unit;

/// Of a stored value, which is a whole number of units: of 24 or 53 bits, or rounded from one to them.
template <typename Real>
std::int64_t units_of(Real value) {
    return static_cast<std::int64_t>(static_cast<double>(value) / parameter_unit);
}

/// Calls use(Real{}) for the type of the precision.
template <typename Use>
auto as_real(Precision precision, Use use) {
    return precision == Precision::single_precision ? use(float{}) : use(double{});
}

hdf5::Type type_of(Precision precision) {
    return precision == Precision::single_precision ? hdf5::Type::float32 : hdf5::Type::float64;
}

/// Of the networks as they are stored, and of whose they are.
std::string digest_of_part(StreamDigest& digest, const std::string& fingerprint, std::size_t part) {
    const std::uint64_t whose[] = {part, fingerprint.size()};
    digest.add(std::as_bytes(std::span(fingerprint)));
    digest.add_values(std::span<const std::uint64_t>(whose));
    return digest.hex();
}

/// The digest of a fleet begins with what it is of.
void begin(StreamDigest& digest, const FleetShape& shape, const std::vector<std::uint64_t>& left_out) {
    const std::uint64_t sizes[] = {shape.precision == Precision::single_precision, shape.networks,
                                   shape.parameters};
    digest.add_values(std::span<const std::uint64_t>(sizes));
    digest.add_values(std::span<const std::uint64_t>(left_out));
}

Error damaged(const std::string& path, const std::string& what) {
    return Error(ExitCode::input, "a damaged fleet: " + what, "restore it, or train the fleet again", path);
}

/// The networks of a part, as they are stored. Errors: as hdf5::File's; (input) damaged; (usage) of another
/// configuration.
template <typename Real>
std::vector<Real> read_part(const std::string& path, const std::string& fingerprint, std::size_t part,
                            const hdf5::Shape& shape) {
    const hdf5::File file = hdf5::File::open_read(path);
    if (file.read_text_attribute("fingerprint") != fingerprint)
        throw Error(ExitCode::usage, "these networks are of another configuration or dataset",
                    "give those the run was started with, or train into a new folder", path);
    const hdf5::Dataset networks = file.dataset("networks");
    if (networks.shape() != shape || networks.type() != hdf5::TypeOf<Real>::value)
        throw damaged(path, "its networks have an unexpected shape");
    std::vector<Real> values = networks.read_all<Real>();
    StreamDigest digest;
    digest.add_values(std::span<const Real>(values));
    if (digest_of_part(digest, fingerprint, part) != file.read_text_attribute("digest"))
        throw damaged(path, "its checksum is another");
    return values;
}

}  // namespace

std::int64_t stored_units(Precision precision, std::int64_t units) {
    return as_real(precision, [&]<typename Real>(Real) { return units_of(parameter_value<Real>(units)); });
}

FleetParts::FleetParts(RunFolder run, std::string fingerprint, FleetShape shape)
    : run_(std::move(run)), fingerprint_(std::move(fingerprint)), shape_(shape) {
    ensure(shape.networks > 0 && shape.parameters > 0, "a fleet has networks");
}

std::size_t FleetParts::size(std::size_t part) const {
    return std::min(part_size, shape_.networks - first(part));
}

std::string FleetParts::file(std::size_t part) const {
    return run_.file(printed("parts/part-%05zu.h5", part));
}

void FleetParts::make_folder() const {
    std::error_code status;
    const std::string folder = run_.file("parts");
    fs::create_directories(folder, status);
    if (status)
        throw Error(ExitCode::output, "cannot be made: " + status.message(),
                    "check permissions and free space", folder);
    fs::permissions(folder, fs::perms::owner_all, status);
}

bool FleetParts::all_there() const {
    std::error_code ignored;
    for (std::size_t part = 0; part < count(); ++part)
        if (!fs::exists(file(part), ignored)) return false;
    return true;
}

bool FleetParts::finished(std::size_t part) const {
    std::error_code ignored;
    if (!fs::exists(file(part), ignored)) return false;
    try {
        as_real(shape_.precision, [&]<typename Real>(Real) {
            return read_part<Real>(file(part), fingerprint_, part, {size(part), shape_.parameters}).size();
        });
        return true;
    } catch (const Error& error) {
        if (error.code() != ExitCode::input) throw;
        return false;
    }
}

void FleetParts::write(std::size_t part, std::span<const std::int64_t> parameters) const {
    ensure(parameters.size() == size(part) * shape_.parameters, "all networks of a part");
    AtomicPath guard(file(part), private_mode);
    hdf5::File written = hdf5::File::create(guard.temporary(), guard.path());
    StreamDigest digest;
    as_real(shape_.precision, [&]<typename Real>(Real) {
        std::vector<Real> values(parameters.size());
        std::transform(parameters.begin(), parameters.end(), values.begin(), parameter_value<Real>);
        const hdf5::Shape shape{size(part), shape_.parameters};
        hdf5::Dataset networks = written.create_dataset("networks", type_of(shape_.precision), shape);
        networks.write({0, 0}, shape, values.data());
        networks.close();
        digest.add_values(std::span<const Real>(values));
    });
    written.write_attribute("fingerprint", fingerprint_);
    written.write_attribute("digest", digest_of_part(digest, fingerprint_, part));
    written.close();
    guard.commit();
}

std::string FleetParts::join(const std::vector<std::uint64_t>& left_out) const {
    ensure(left_out.size() + 1 == shape_.networks, "a record for every network but N");
    AtomicPath guard(run_.file(file_name), private_mode);
    hdf5::File joined = hdf5::File::create(guard.temporary(), guard.path());
    hdf5::Dataset networks =
        joined.create_dataset("networks", type_of(shape_.precision), {shape_.networks, shape_.parameters});
    hdf5::Dataset ids = joined.create_dataset("left_out", hdf5::Type::uint64, {left_out.size()});
    ids.write({0}, {left_out.size()}, left_out.data());
    ids.close();
    StreamDigest digest;
    begin(digest, shape_, left_out);
    for (std::size_t part = 0; part < count(); ++part) {
        as_real(shape_.precision, [&]<typename Real>(Real) {
            const hdf5::Shape shape{size(part), shape_.parameters};
            const std::vector<Real> values = read_part<Real>(file(part), fingerprint_, part, shape);
            networks.write({first(part), 0}, shape, values.data());
            digest.add_values(std::span<const Real>(values));
        });
    }
    networks.close();
    joined.close();
    add_seal(guard.temporary(), guard.path());
    guard.commit();
    return digest.hex();
}

void FleetParts::remove_all() const {
    std::error_code ignored;
    fs::remove_all(run_.file("parts"), ignored);
    fs::remove(run_.file(Lease::file_name), ignored);
}

struct FleetReader::File {
    std::string path;
    hdf5::File file;
    hdf5::Dataset networks;
    FleetShape shape;

    /// Rows [first, first + count) as they are stored.
    template <typename Real>
    std::vector<Real> rows(std::size_t first, std::size_t count) const {
        std::vector<Real> values(count * shape.parameters);
        networks.read({first, 0}, {count, shape.parameters}, values.data());
        return values;
    }
    void read(std::size_t first, std::size_t count, std::span<std::int64_t> parameters) const {
        ensure(first + count <= shape.networks && parameters.size() == count * shape.parameters,
               "networks of the fleet");
        as_real(shape.precision, [&]<typename Real>(Real) {
            const std::vector<Real> values = rows<Real>(first, count);
            std::transform(values.begin(), values.end(), parameters.begin(), units_of<Real>);
        });
    }
    struct Seen {
        std::string digest;
        double largest = 0;  ///< of the parameters' absolute values
    };
    /// Of all that is there. Error (input): a parameter that no training makes.
    Seen look_through(const std::vector<std::uint64_t>& left_out) const {
        Seen seen;
        StreamDigest digest;
        begin(digest, shape, left_out);
        constexpr std::size_t some = FleetParts::part_size;
        for (std::size_t first = 0; first < shape.networks; first += some) {
            as_real(shape.precision, [&]<typename Real>(Real) {
                const std::vector<Real> values = rows<Real>(first, std::min(some, shape.networks - first));
                for (const Real value : values) {
                    const double size = std::abs(static_cast<double>(value));
                    if (!(size <= parameter_value(parameter_limit_units)))  // NaN fails too
                        throw damaged(path, "a parameter lies beyond the limit of parameters");
                    seen.largest = std::max(seen.largest, size);
                }
                digest.add_values(std::span<const Real>(values));
            });
        }
        seen.digest = digest.hex();
        return seen;
    }
};

FleetReader::FleetReader(const RunFolder& run, const RunManifest& manifest, const Settings& kept)
    : settings_(kept),
      features_(kept.feature_map(manifest.dataset.features, manifest.dataset.range)),
      network_(kept.network.make(features_)) {
    ensure(manifest.kind == "fleet", "a run of networks without a record each");
    const std::string path = run.file(file_name);
    hdf5::File file = hdf5::File::open_sealed(path);
    hdf5::Dataset networks = file.dataset("networks"), ids = file.dataset("left_out");
    const FleetShape shape{settings_.training.precision, manifest.members, network_.parameters()};
    const bool fits = networks.shape() == hdf5::Shape{shape.networks, shape.parameters} &&
                      networks.type() == type_of(shape.precision) && shape.networks > 0 &&
                      ids.shape() == hdf5::Shape{shape.networks - 1} && ids.type() == hdf5::Type::uint64;
    if (!fits) throw damaged(path, "its networks are not those that the manifest names");
    left_out_ = ids.read_all<std::uint64_t>();
    ids.close();
    file_.reset(new File{path, std::move(file), std::move(networks), shape});
    const File::Seen seen = file_->look_through(left_out_);
    if (seen.digest != manifest.digest) throw damaged(path, "its checksum is another");
    exact_ = shape.precision == Precision::double_precision && seen.largest < largest_exact;
}
FleetReader::~FleetReader() = default;
FleetReader::FleetReader(FleetReader&&) noexcept = default;
FleetReader& FleetReader::operator=(FleetReader&&) noexcept = default;

std::vector<std::int64_t> FleetReader::nominal() const {
    std::vector<std::int64_t> parameters(network_.parameters());
    file_->read(0, 1, parameters);
    return parameters;
}

void FleetReader::read(std::int64_t first, std::int64_t count, std::span<std::int64_t> parameters) const {
    ensure(first >= 0 && count >= 0, "networks of the fleet");
    file_->read(static_cast<std::size_t>(first) + 1, static_cast<std::size_t>(count), parameters);
}

}  // namespace holdfast
