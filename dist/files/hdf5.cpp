#include "dist/files/hdf5.hpp"

#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include "dist/files/hdf5_probe.hpp"
#include "dist/files/hdf5_version.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/text.hpp"

namespace holdfast::hdf5 {
namespace {

static_assert(std::is_same_v<hid_t, std::int64_t>, "Handle keeps identifiers as std::int64_t");
static_assert(std::is_same_v<hsize_t, unsigned long long> && sizeof(hsize_t) == sizeof(std::uint64_t));

/// HDF5 is for one thread at a time: held by what one of them may call while another reads or writes rows.
std::recursive_mutex& library() {
    static std::recursive_mutex mutex;
    return mutex;
}

/// The deepest message on HDF5's error stack, and whether the file ended too early.
struct Diagnosis {
    std::string text;
    bool truncated = false;
};

herr_t collect(unsigned, const H5E_error2_t* error, void* into) {
    auto& diagnosis = *static_cast<Diagnosis*>(into);
    if (diagnosis.text.empty() && error->desc) diagnosis.text = error->desc;
    diagnosis.truncated |= error->min_num == H5E_TRUNCATED;
    return 0;
}

Diagnosis diagnose() {
    Diagnosis diagnosis;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &diagnosis);
    // The drivers' messages carry the time, the descriptor and the address; only the system's reason is of
    // use.
    const std::string marker = "error message = '";
    if (const auto begin = diagnosis.text.find(marker); begin != std::string::npos) {
        const auto end = diagnosis.text.find('\'', begin + marker.size());
        diagnosis.text = diagnosis.text.substr(begin + marker.size(), end - begin - marker.size());
    }
    return diagnosis;
}

[[noreturn]] void fail_reading(const std::string& where, const std::string& what) {
    const Diagnosis diagnosis = diagnose();
    throw Error(ExitCode::input, what + (diagnosis.text.empty() ? "" : ": " + diagnosis.text),
                diagnosis.truncated ? "the file is truncated: copy or make it again"
                                    : "the file may be damaged: make it again",
                where);
}

[[noreturn]] void fail_writing(const std::string& where, const std::string& what) {
    const std::string reason = diagnose().text;
    throw Error(ExitCode::output, what + (reason.empty() ? "" : ": " + reason),
                "check the free space and the rights of the folder", where);
}

Handle property_list(hid_t kind) {
    const hid_t id = H5Pcreate(kind);
    ensure(id >= 0, "HDF5 makes a property list");
    return Handle(id, H5Pclose);
}

/// Without locks: nothing is written under a name that others read, and some parallel file systems have none.
Handle access_properties() {
    Handle list = property_list(H5P_FILE_ACCESS);
    ensure(H5Pset_file_locking(list.id(), false, true) >= 0, "HDF5 accepts access without locks");
    ensure(H5Pset_fclose_degree(list.id(), H5F_CLOSE_STRONG) >= 0, "HDF5 closes what a file still has open");
    return list;
}

struct StoredAs {
    const char* name;
    hid_t memory;
    hid_t file;  ///< little endian, whatever the machine: the same bytes everywhere
};

/// In the order of Type. Its macros start HDF5: it must be prepared first.
StoredAs stored_as(Type type) {
    const StoredAs all[] = {
        {"int8", H5T_NATIVE_INT8, H5T_STD_I8LE},       {"uint8", H5T_NATIVE_UINT8, H5T_STD_U8LE},
        {"int16", H5T_NATIVE_INT16, H5T_STD_I16LE},    {"uint16", H5T_NATIVE_UINT16, H5T_STD_U16LE},
        {"int32", H5T_NATIVE_INT32, H5T_STD_I32LE},    {"uint32", H5T_NATIVE_UINT32, H5T_STD_U32LE},
        {"int64", H5T_NATIVE_INT64, H5T_STD_I64LE},    {"uint64", H5T_NATIVE_UINT64, H5T_STD_U64LE},
        {"float32", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE}, {"float64", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE}};
    ensure(type != Type::other, "a type that is read and written");
    return all[static_cast<std::size_t>(type)];
}

Type integer_type(std::size_t bytes, bool is_signed) {
    switch (bytes) {
        case 1:
            return is_signed ? Type::int8 : Type::uint8;
        case 2:
            return is_signed ? Type::int16 : Type::uint16;
        case 4:
            return is_signed ? Type::int32 : Type::uint32;
        case 8:
            return is_signed ? Type::int64 : Type::uint64;
        default:
            return Type::other;
    }
}

Type stored_type(hid_t type) {
    const std::size_t bytes = H5Tget_size(type);
    if (H5Tget_class(type) == H5T_INTEGER) return integer_type(bytes, H5Tget_sign(type) == H5T_SGN_2);
    if (H5Tget_class(type) != H5T_FLOAT) return Type::other;
    return bytes == 4 ? Type::float32 : bytes == 8 ? Type::float64 : Type::other;
}

Shape extent(hid_t space) {
    const int rank = H5Sget_simple_extent_ndims(space);
    std::vector<hsize_t> dimensions(std::max(rank, 0));
    if (rank > 0) H5Sget_simple_extent_dims(space, dimensions.data(), nullptr);
    return Shape(dimensions.begin(), dimensions.end());
}

std::vector<hsize_t> dimensions(const Shape& shape) {
    return {shape.begin(), shape.end()};
}

Handle simple_space(const Shape& shape) {
    const auto sizes = dimensions(shape);
    const hid_t id = sizes.empty() ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    ensure(id >= 0, "HDF5 makes a dataspace");
    return Handle(id, H5Sclose);
}

/// Throws unless every link on the way to `name` is a hard one: the others may lead out of the file.
void require_inside(hid_t file, const std::string& path, const std::string& name) {
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
        const std::string part = name.substr(0, end);
        H5L_info_t link;
        if (H5Lget_info(file, part.c_str(), &link, H5P_DEFAULT) < 0)
            fail_reading(path, "has no '" + part + "'");
        if (link.type != H5L_TYPE_HARD) {
            throw Error(ExitCode::input,
                        "'" + part + "' is a link, perhaps to another file, and is not followed",
                        "store the data itself in the file (h5repack --merge or h5copy)", path);
        }
        if (end == std::string::npos) return;
    }
}

/// Throws if the dataset keeps its values in other files.
void require_own_storage(hid_t dataset, const std::string& where) {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    if (creation.id() < 0) fail_reading(where, "cannot be opened");
    if (H5Pget_external_count(creation.id()) != 0 || H5Pget_layout(creation.id()) == H5D_VIRTUAL) {
        throw Error(ExitCode::input, "keeps its values in other files, which are not opened",
                    "store the data itself in the file (h5repack)", where);
    }
}

std::uint64_t product(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// No compression of HDF5's own makes values smaller than that: zlib's limit.
constexpr double most_deflated = 1032;

/// Of chunks that cover the shape, of which some may lie in the file.
bool all_chunks_held(hid_t dataset, hid_t creation, hid_t space, const Shape& shape) {
    std::vector<hsize_t> chunk(shape.size());
    if (H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) < 0) return false;
    double needed = 1;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        needed *= std::ceil(static_cast<double>(shape[axis]) / static_cast<double>(chunk[axis]));
    hsize_t held = 0;
    return H5Dget_num_chunks(dataset, space, &held) >= 0 && static_cast<double>(held) >= needed;
}

/// Throws if the file does not hold what the dataset's shape claims: values that were never written, or more
/// of them than any compression makes of so few bytes. A few kilobytes could else ask for any memory.
void require_held(hid_t dataset, const std::string& where) {
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose), space(H5Dget_space(dataset), H5Sclose),
        type(H5Dget_type(dataset), H5Tclose);
    if (creation.id() < 0 || space.id() < 0 || type.id() < 0) fail_reading(where, "cannot be opened");
    const Shape shape = extent(space.id());
    double claimed = static_cast<double>(H5Tget_size(type.id()));
    for (const std::uint64_t size : shape) claimed *= static_cast<double>(size);
    if (claimed == 0) return;
    const bool chunked = H5Pget_layout(creation.id()) == H5D_CHUNKED;
    const auto stored = static_cast<double>(H5Dget_storage_size(dataset));
    if (claimed <= (chunked ? most_deflated : 1) * stored &&
        (!chunked || all_chunks_held(dataset, creation.id(), space.id(), shape)))
        return;
    const std::string text = joined(shape, ", ", [](std::uint64_t size) { return std::to_string(size); });
    throw Error(ExitCode::input, "claims shape [" + text + "], of which the file holds only a part",
                "write every value, compressed by gzip at the most (h5repack -f GZIP=6)", where);
}

void require_hdf5_file(const std::string& path) {
    start_hdf5();
    struct stat status;
    if (::stat(path.c_str(), &status) != 0) {
        throw Error(ExitCode::input, std::string("cannot be opened: ") + std::strerror(errno),
                    "check the path", path);
    }
    if (!S_ISREG(status.st_mode))
        throw Error(ExitCode::input, "is not a regular file", "name an HDF5 file", path);
    if (status.st_size == 0) throw Error(ExitCode::input, "is empty", "name an HDF5 file", path);
    if (::access(path.c_str(), R_OK) != 0) {
        throw Error(ExitCode::input, std::string("cannot be read: ") + std::strerror(errno),
                    "check its rights", path);
    }
    if (H5Fis_hdf5(path.c_str()) <= 0) {
        throw Error(ExitCode::input, "is not an HDF5 file",
                    "CSV, NPY, NPZ and IDX files become datasets by `holdfast import`", path);
    }
}

Handle open_file(const std::string& path, unsigned flags) {
    require_hdf5_file(path);
    const Handle access =
        access_properties();  // closed only after the diagnosis: every call clears HDF5's errors
    const hid_t id = H5Fopen(path.c_str(), flags, access.id());
    if (id >= 0) return Handle(id, H5Fclose);
    const Diagnosis diagnosis = diagnose();
    if (!diagnosis.truncated) fail_reading(path, "cannot be opened");
    throw Error(ExitCode::input, "is truncated: " + diagnosis.text, "copy or make it again", path);
}

Handle creation_properties(const Shape& shape, const Storage& storage) {
    Handle list = property_list(H5P_DATASET_CREATE);
    ensure(H5Pset_obj_track_times(list.id(), false) >= 0, "HDF5 leaves out when a dataset was made");
    if (storage.chunk.empty()) return list;
    ensure(storage.chunk.size() == shape.size(), "a chunk has the rank of its dataset");
    const auto chunk = dimensions(storage.chunk);
    bool accepted = H5Pset_chunk(list.id(), static_cast<int>(chunk.size()), chunk.data()) >= 0;
    if (storage.deflate > 0) {
        accepted = accepted && H5Pset_shuffle(list.id()) >= 0;
        accepted = accepted && H5Pset_deflate(list.id(), static_cast<unsigned>(storage.deflate)) >= 0;
    }
    accepted = accepted && H5Pset_fletcher32(list.id()) >= 0;  // a damaged chunk is noticed when read
    ensure(accepted, "HDF5 accepts the storage asked for");
    return list;
}

Handle variable_text_type() {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    ensure(type.id() >= 0 && H5Tset_size(type.id(), H5T_VARIABLE) >= 0 &&
               H5Tset_cset(type.id(), H5T_CSET_UTF8) >= 0,
           "HDF5 has text of variable length");
    return type;
}

std::vector<std::string> read_variable_text(hid_t attribute, hid_t type, hid_t space, std::uint64_t count,
                                            bool& good) {
    std::vector<char*> pointers(count, nullptr);
    good = H5Aread(attribute, type, pointers.data()) >= 0;
    std::vector<std::string> parts;
    for (const char* pointer : pointers) parts.emplace_back(pointer ? pointer : "");
    if (good) H5Dvlen_reclaim(type, space, H5P_DEFAULT, pointers.data());
    return parts;
}

std::vector<std::string> read_fixed_text(hid_t attribute, hid_t type, std::uint64_t count, bool& good) {
    const std::size_t width = H5Tget_size(type);
    std::string bytes(width * count, '\0');
    good = H5Aread(attribute, type, bytes.data()) >= 0;
    std::vector<std::string> parts;
    for (std::uint64_t i = 0; i < count; ++i) parts.emplace_back(bytes.substr(i * width, width).c_str());
    for (std::string& part : parts)
        part.erase(part.find_last_not_of(' ') + 1);  // space-padded, as Fortran writes
    return parts;
}

}  // namespace

bool Handle::close() {
    if (id_ < 0) return true;
    const std::lock_guard lock(library());
    return close_(std::exchange(id_, -1)) >= 0;
}

const char* name_of(Type type) {
    return type == Type::other ? "another type" : stored_as(type).name;
}

bool is_integer(Type type) {
    return !is_floating(type) && type != Type::other;
}
bool is_signed(Type type) {
    return type == Type::int8 || type == Type::int16 || type == Type::int32 || type == Type::int64;
}
bool is_floating(Type type) {
    return type == Type::float32 || type == Type::float64;
}

Dataset::Dataset(std::string path, std::string name, Handle handle)
    : path_(std::move(path)), name_(std::move(name)), handle_(std::move(handle)) {
    const Handle space(H5Dget_space(handle_.id()), H5Sclose);
    const Handle type(H5Dget_type(handle_.id()), H5Tclose);
    if (space.id() < 0 || type.id() < 0) fail_reading(where(), "cannot be opened");
    shape_ = extent(space.id());
    type_ = stored_type(type.id());
}

std::uint64_t Dataset::size() const {
    return product(shape_);
}

Handle Dataset::select(const Shape& offset, const Shape& count) const {
    ensure(offset.size() == shape_.size() && count.size() == shape_.size(),
           "a slab has the rank of its dataset");
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
        ensure(offset[axis] <= shape_[axis] && count[axis] <= shape_[axis] - offset[axis],
               "a slab lies in its dataset");
    }
    Handle space(H5Dget_space(handle_.id()), H5Sclose);
    const auto first = dimensions(offset), extents = dimensions(count);
    ensure(space.id() >= 0 && H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr,
                                                  extents.data(), nullptr) >= 0,
           "HDF5 selects a slab");
    return space;
}

void Dataset::read_slab(const Shape& offset, const Shape& count, Type type, void* values) const {
    if (product(count) == 0) return;
    const std::lock_guard lock(library());
    if (type_ == Type::other) {
        throw Error(ExitCode::input, "holds neither integers nor float32 or float64", "store numbers",
                    where());
    }
    const Handle selected = select(offset, count), memory = simple_space(count);
    if (H5Dread(handle_.id(), stored_as(type).memory, memory.id(), selected.id(), H5P_DEFAULT, values) < 0) {
        fail_reading(where(), "cannot be read");
    }
}

void Dataset::write_slab(const Shape& offset, const Shape& count, Type type, const void* values) {
    if (product(count) == 0) return;
    const std::lock_guard lock(library());
    const Handle selected = select(offset, count), memory = simple_space(count);
    if (H5Dwrite(handle_.id(), stored_as(type).memory, memory.id(), selected.id(), H5P_DEFAULT, values) < 0) {
        fail_writing(where(), "cannot be written");
    }
}

void Dataset::resize(std::uint64_t first_axis) {
    const std::lock_guard lock(library());
    Shape larger = shape_;
    larger.at(0) = first_axis;
    if (H5Dset_extent(handle_.id(), dimensions(larger).data()) < 0) fail_writing(where(), "cannot grow");
    shape_ = std::move(larger);
}

void Dataset::close() {
    if (!handle_.close()) fail_writing(where(), "could not be written out");
}

File File::create(const std::string& path, const std::string& shown) {
    start_hdf5();
    const std::string& name = shown.empty() ? path : shown;
    const Handle access = access_properties();
    const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id());
    if (id < 0) fail_writing(name, "cannot be created");
    return File(name, Handle(id, H5Fclose));
}

// The access flags are macros that start HDF5: it must be prepared before they are read.
File File::open_read(const std::string& path, SealShare share) {
    if (has_seal(path)) return open_sealed(path, share);
    require_hdf5_file(path);
    {
        const std::lock_guard lock(library());  // no other thread is inside HDF5 when the process is copied
        probe_in_child(path);
    }
    File file(path, open_file(path, H5F_ACC_RDONLY));
    if (!file.has_attribute(sealed_attribute)) return file;
    throw Error(ExitCode::input,
                "does not end with the seal that it had: it is cut off or overwritten, or another program "
                "changed it",
                std::string("make it again; who changed it on purpose takes its attribute '") +
                    sealed_attribute + "' away",
                path);
}
File File::open_sealed(const std::string& path, SealShare share) {
    require_hdf5_file(path);
    const SealedFile sealed(path, share);  // before HDF5 reads more than its first bytes
    File file(path, open_file(path, H5F_ACC_RDONLY));
    void* descriptor = nullptr;
    ensure(H5Fget_vfd_handle(file.handle_.id(), H5P_DEFAULT, &descriptor) >= 0 && descriptor != nullptr,
           "HDF5 reads files by a descriptor");
    sealed.require_same(*static_cast<const int*>(descriptor));
    return file;
}
File File::open_update(const std::string& path) {
    start_hdf5();
    return File(path, open_file(path, H5F_ACC_RDWR));
}

bool File::has(const std::string& name) const {
    for (std::size_t end = name.find('/', 1);; end = name.find('/', end + 1)) {
        if (H5Lexists(handle_.id(), name.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
        if (end == std::string::npos) return true;
    }
}

std::vector<std::string> File::names() const {
    std::vector<std::string> found;
    const auto add = [](hid_t, const char* name, const H5L_info_t*, void* into) -> herr_t {
        static_cast<std::vector<std::string>*>(into)->emplace_back(name);
        return 0;
    };
    if (H5Literate(handle_.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &found) < 0) {
        fail_reading(path_, "cannot be listed");
    }
    return found;
}

Dataset File::dataset(const std::string& name) const {
    require_inside(handle_.id(), path_, name);
    Handle handle(H5Dopen2(handle_.id(), name.c_str(), H5P_DEFAULT), H5Dclose);
    if (handle.id() < 0) fail_reading(path_ + ":" + name, "is not a dataset that can be opened");
    require_own_storage(handle.id(), path_ + ":" + name);
    unsigned intent = 0;
    if (H5Fget_intent(handle_.id(), &intent) >= 0 && intent == H5F_ACC_RDONLY)
        require_held(handle.id(), path_ + ":" + name);
    return Dataset(path_, name, std::move(handle));
}

Dataset File::create_dataset(const std::string& name, Type type, const Shape& shape, const Storage& storage) {
    const std::lock_guard lock(library());
    const Handle creation = creation_properties(shape, storage), links = property_list(H5P_LINK_CREATE);
    ensure(H5Pset_create_intermediate_group(links.id(), 1) >= 0, "HDF5 makes the groups on the way");
    auto sizes = dimensions(shape), most = sizes;
    if (storage.extendible) most.at(0) = H5S_UNLIMITED;
    const Handle space(H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), most.data()), H5Sclose);
    ensure(space.id() >= 0, "HDF5 makes a dataspace");
    Handle handle(H5Dcreate2(handle_.id(), name.c_str(), stored_as(type).file, space.id(), links.id(),
                             creation.id(), H5P_DEFAULT),
                  H5Dclose);
    if (handle.id() < 0) fail_writing(path_ + ":" + name, "cannot be created");
    return Dataset(path_, name, std::move(handle));
}

bool File::has_attribute(const std::string& name) const {
    return H5Aexists(handle_.id(), name.c_str()) > 0;
}

Handle File::open_attribute(const std::string& name) const {
    if (!has_attribute(name))
        throw Error(ExitCode::input, "has no attribute '" + name + "'", "make the file again", path_);
    Handle handle(H5Aopen(handle_.id(), name.c_str(), H5P_DEFAULT), H5Aclose);
    if (handle.id() < 0) fail_reading(path_, "attribute '" + name + "' cannot be opened");
    return handle;
}

void File::write_attribute(const std::string& name, const std::string& value) {
    if (has_attribute(name)) H5Adelete(handle_.id(), name.c_str());
    const Handle type = variable_text_type(), space = simple_space({});
    const Handle handle(
        H5Acreate2(handle_.id(), name.c_str(), type.id(), space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    const char* text = value.c_str();
    if (handle.id() < 0 || H5Awrite(handle.id(), type.id(), &text) < 0) {
        fail_writing(path_, "attribute '" + name + "' cannot be written");
    }
}

void File::write_values(const std::string& name, Type type, const Shape& shape, const void* values) {
    if (has_attribute(name)) H5Adelete(handle_.id(), name.c_str());
    const Handle space = simple_space(shape);
    const Handle handle(
        H5Acreate2(handle_.id(), name.c_str(), stored_as(type).file, space.id(), H5P_DEFAULT, H5P_DEFAULT),
        H5Aclose);
    if (handle.id() < 0 || H5Awrite(handle.id(), stored_as(type).memory, values) < 0) {
        fail_writing(path_, "attribute '" + name + "' cannot be written");
    }
}

void File::write_attribute(const std::string& name, std::int64_t value) {
    write_values(name, Type::int64, {}, &value);
}
void File::write_attribute(const std::string& name, double value) {
    write_values(name, Type::float64, {}, &value);
}
void File::write_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
    write_values(name, Type::int64, {values.size()}, values.data());
}
void File::write_attribute(const std::string& name, const std::vector<double>& values) {
    write_values(name, Type::float64, {values.size()}, values.data());
}

std::string File::read_text_attribute(const std::string& name) const {
    const Handle handle = open_attribute(name);
    const Handle type(H5Aget_type(handle.id()), H5Tclose), space(H5Aget_space(handle.id()), H5Sclose);
    if (type.id() < 0 || space.id() < 0) fail_reading(path_, "attribute '" + name + "' cannot be read");
    if (H5Tget_class(type.id()) != H5T_STRING) {
        throw Error(ExitCode::input, "attribute '" + name + "' is not text", "store it as a string", path_);
    }
    const std::uint64_t count = product(extent(space.id()));
    bool good = false;
    const auto parts = H5Tis_variable_str(type.id()) > 0
                           ? read_variable_text(handle.id(), type.id(), space.id(), count, good)
                           : read_fixed_text(handle.id(), type.id(), count, good);
    if (!good) fail_reading(path_, "attribute '" + name + "' cannot be read");
    return joined(parts, ",");
}

std::vector<std::int64_t> File::read_int64s_attribute(const std::string& name) const {
    const Handle handle = open_attribute(name);
    const Handle type(H5Aget_type(handle.id()), H5Tclose), space(H5Aget_space(handle.id()), H5Sclose);
    if (type.id() < 0 || space.id() < 0) fail_reading(path_, "attribute '" + name + "' cannot be read");
    // An enumeration: how h5py stores a truth value.
    if (H5Tget_class(type.id()) != H5T_INTEGER && H5Tget_class(type.id()) != H5T_ENUM) {
        throw Error(ExitCode::input, "attribute '" + name + "' is not an integer", "store integers", path_);
    }
    std::vector<std::int64_t> values(product(extent(space.id())));
    if (H5Aread(handle.id(), H5T_NATIVE_INT64, values.data()) < 0) {
        fail_reading(path_, "attribute '" + name + "' cannot be read");
    }
    return values;
}

std::int64_t File::read_int64_attribute(const std::string& name) const {
    const auto values = read_int64s_attribute(name);
    if (values.size() == 1) return values[0];
    throw Error(ExitCode::input, "attribute '" + name + "' is not one integer", "store one value", path_);
}

double File::read_double_attribute(const std::string& name) const {
    return read_doubles_attribute(name, 1)[0];
}

std::vector<double> File::read_doubles_attribute(const std::string& name, std::uint64_t count) const {
    const Handle handle = open_attribute(name);
    const Handle type(H5Aget_type(handle.id()), H5Tclose), space(H5Aget_space(handle.id()), H5Sclose);
    const bool number =
        type.id() >= 0 && (H5Tget_class(type.id()) == H5T_FLOAT || H5Tget_class(type.id()) == H5T_INTEGER);
    if (!number || space.id() < 0 || product(extent(space.id())) != count) {
        const std::string wanted = count == 1 ? "one number" : std::to_string(count) + " numbers";
        throw Error(ExitCode::input, "attribute '" + name + "' is not " + wanted, "store " + wanted, path_);
    }
    std::vector<double> values(count);
    if (H5Aread(handle.id(), H5T_NATIVE_DOUBLE, values.data()) < 0)
        fail_reading(path_, "attribute '" + name + "' cannot be read");
    return values;
}

void File::close() {
    if (!handle_.close()) fail_writing(path_, "could not be written out");
}

}  // namespace holdfast::hdf5
