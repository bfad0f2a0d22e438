#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dist/files/seal.hpp"

/// HDF5 files without its C handles: what dist/files needs and no more. <hdf5.h> stays in hdf5.cpp.
/// Serial access only (no MPI-IO). A file is never asked to open another one: soft, external and user-defined
/// links, external storage, virtual datasets and dynamically loaded filters are refused. Errors name the
/// file, what could not be done, and the remedy: ExitCode::input where reading fails, ExitCode::output where
/// writing fails. No file says when it was written: the same values make the same bytes.
namespace holdfast::hdf5 {

/// An HDF5 identifier; closes it when destroyed.
class Handle {
  public:
    using Close = int (*)(std::int64_t);

    Handle() = default;
    Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
    Handle(Handle&& other) noexcept
        : id_(std::exchange(other.id_, -1)), close_(std::exchange(other.close_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        std::swap(close_, other.close_);
        return *this;
    }
    ~Handle() { (void)close(); }

    std::int64_t id() const { return id_; }
    /// Closes now; false if HDF5 reports a failure (a full disk shows here at the latest).
    [[nodiscard]] bool close();

  private:
    std::int64_t id_ = -1;
    Close close_ = nullptr;
};

/// Element types, in the file and in memory. `other`: stored as something this program does not read.
enum class Type { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, other };

template <class T>
struct TypeOf;
template <>
struct TypeOf<std::int8_t> {
    static constexpr Type value = Type::int8;
};
template <>
struct TypeOf<std::uint8_t> {
    static constexpr Type value = Type::uint8;
};
template <>
struct TypeOf<std::int32_t> {
    static constexpr Type value = Type::int32;
};
template <>
struct TypeOf<std::int64_t> {
    static constexpr Type value = Type::int64;
};
template <>
struct TypeOf<std::uint64_t> {
    static constexpr Type value = Type::uint64;
};
template <>
struct TypeOf<float> {
    static constexpr Type value = Type::float32;
};
template <>
struct TypeOf<double> {
    static constexpr Type value = Type::float64;
};

const char* name_of(Type type);  ///< "int64", "float32", …
bool is_integer(Type type);
bool is_floating(Type type);
bool is_signed(Type type);  ///< signed integers

/// Extents, offsets and counts, slowest axis first: [members, levels, parameters].
using Shape = std::vector<std::uint64_t>;

/// Attribute of a file that is sealed whoever may write such files; without it none is asked of it.
inline constexpr const char* sealed_attribute = "sealed";

/// How a dataset lies in the file. Chunks are needed for deflate (0 to 9) and for growing along the first
/// axis.
struct Storage {
    Shape chunk = {};         ///< empty: contiguous
    int deflate = 0;          ///< 0: not compressed
    bool extendible = false;  ///< the first axis may grow by resize()
};

/// A dataset of any rank from 1 up. Values are converted by HDF5 between memory and file types, so a reader
/// asks for the type it wants; conversion saturates, so check type() where that matters.
class Dataset {
  public:
    const std::string& name() const { return name_; }
    const Shape& shape() const { return shape_; }
    Type type() const { return type_; }  ///< as stored

    /// The slab [offset, offset + count) from or to `values`, contiguous in row-major order.
    template <class T>
    void read(const Shape& offset, const Shape& count, T* values) const {
        read_slab(offset, count, TypeOf<T>::value, values);
    }
    template <class T>
    void write(const Shape& offset, const Shape& count, const T* values) {
        write_slab(offset, count, TypeOf<T>::value, values);
    }
    /// Everything, for datasets known to be small.
    template <class T>
    std::vector<T> read_all() const {
        std::vector<T> values(size());
        read(Shape(shape_.size(), 0), shape_, values.data());
        return values;
    }

    std::uint64_t size() const;             ///< number of elements
    void resize(std::uint64_t first_axis);  ///< extendible datasets only
    void close();                           ///< flushes; throws where the disk is full

  private:
    friend class File;
    Dataset(std::string path, std::string name, Handle handle);
    void read_slab(const Shape& offset, const Shape& count, Type type, void* values) const;
    void write_slab(const Shape& offset, const Shape& count, Type type, const void* values);
    Handle select(const Shape& offset, const Shape& count) const;
    std::string where() const { return path_ + ":" + name_; }

    std::string path_, name_;
    Handle handle_;
    Shape shape_;
    Type type_ = Type::other;
};

/// An open file. One that is only declared holds none until another is moved into it.
class File {
  public:
    File() = default;
    /// Truncates; keeps the mode of a file that is there. Messages call it `shown`, where that is not empty.
    static File create(const std::string& path, const std::string& shown = "");
    /// From wherever it comes. Where it has a seal, or states that it had one, the seal must hold.
    /// Errors: missing, unreadable, not HDF5, truncated, damaged.
    static File open_read(const std::string& path, SealShare share = {});
    /// One that this program alone writes, and seals. What is changed in place while it is being read goes
    /// unnoticed.
    static File open_sealed(const std::string& path, SealShare share = {});
    static File open_update(const std::string& path);  ///< to read and write datasets that are there

    const std::string& path() const { return path_; }

    bool has(const std::string& name) const;  ///< a dataset or group under this name ("group/name" too)
    std::vector<std::string> names() const;   ///< of what lies in the root group, sorted
    Dataset dataset(const std::string& name) const;
    /// `name` may be "group/name": the groups are made as needed.
    Dataset create_dataset(const std::string& name, Type type, const Shape& shape,
                           const Storage& storage = {});

    /// Attributes of the root group. Writing replaces one that is there. Reading a missing one, or one of
    /// another type, is an error naming it.
    bool has_attribute(const std::string& name) const;
    void write_attribute(const std::string& name, const std::string& value);
    void write_attribute(const std::string& name, const char* value) {
        write_attribute(name, std::string(value));
    }
    void write_attribute(const std::string& name, std::int64_t value);
    void write_attribute(const std::string& name, double value);
    std::string read_text_attribute(const std::string& name) const;  ///< arrays of text: joined by commas
    std::int64_t read_int64_attribute(const std::string& name) const;
    double read_double_attribute(const std::string& name) const;
    /// Integer attributes of several values (`image_shape`).
    std::vector<std::int64_t> read_int64s_attribute(const std::string& name) const;
    void write_attribute(const std::string& name, const std::vector<std::int64_t>& values);
    /// Numbers, of which there must be `count` (`feature_range`).
    std::vector<double> read_doubles_attribute(const std::string& name, std::uint64_t count) const;
    void write_attribute(const std::string& name, const std::vector<double>& values);

    void close();  ///< flushes; throws where the disk is full. Datasets must be closed or gone before.

  private:
    File(std::string path, Handle handle) : path_(std::move(path)), handle_(std::move(handle)) {}
    Handle open_attribute(const std::string& name) const;
    void write_values(const std::string& name, Type type, const Shape& shape, const void* values);

    std::string path_;
    Handle handle_;
};

}  // namespace holdfast::hdf5
