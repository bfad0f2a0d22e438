#pragma once

#include <zlib.h>

#include <cstring>

#include "dist/data/import_csv.hpp"
#include "dist/data/import_idx.hpp"
#include "dist/data/import_npy.hpp"
#include "tests/fuzz/target.hpp"

namespace holdfast::fuzz {

inline void read_all(RecordSource& source) {
    RawRecord record;
    while (source.next(record)) {
    }
    source.rewind();
    source.next(record);
}

class CsvTarget final : public Target {
  public:
    std::string file_name() const override { return "table.csv"; }
    std::vector<std::string> seeds() const override {
        return {"id,a,b,sex,y\n1,0.5,2,F,0\n2,,-3e5,M,1\nx7,NA,4,F,1\n",
                "id,a,b,sex,y\r\n\"1\",\"0.5\",\"2\",\"F\",\"0\"\r\n\r\n3,1,2,M,1\r\n",
                "\xef\xbb\xbf"
                "id,\"a\",b,sex,y\n\"a\"\"b\nc\",1,2,F,1"};
    }
    void read(const std::string& path) const override {
        CsvOptions options;
        options.label = "y";
        options.id = "id";
        options.categories["sex"] = {"F", "M"};
        read_all(*open_csv(path, options));
    }
};

inline std::string little_endian(std::uint64_t value, std::size_t width) {
    std::string bytes;
    for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> 8 * i);
    return bytes;
}
inline std::string big_endian(std::uint32_t value) {
    std::string bytes = little_endian(value, 4);
    return {bytes.rbegin(), bytes.rend()};
}

inline std::string npy(const std::string& type, const std::string& shape, const std::string& values) {
    std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    return std::string("\x93NUMPY\x01\x00", 8) + little_endian(header.size(), 2) + header + values;
}
inline std::string npy_features() {
    return npy("<f4", "(3, 2)", std::string(24, '\x3f'));
}
inline std::string npy_labels() {
    return npy("<i8", "(3,)", little_endian(0, 8) + little_endian(1, 8) + little_endian(2, 8));
}

class NpyTarget final : public Target {
  public:
    std::string file_name() const override { return "array.npy"; }
    std::vector<std::string> seeds() const override {
        return {npy_features(), npy("<f8", "(1, 2, 2)", std::string(32, '\0')),
                npy("|u1", "(5, 1)", "abcde")};
    }
    void read(const std::string& path) const override { read_all(*open_npy({path, ""}, {}, {})); }
};

/// A ZIP archive of stored members, as numpy.savez writes it.
inline std::string zip(const std::vector<std::pair<std::string, std::string>>& members) {
    std::string archive, directory;
    for (const auto& [name, bytes] : members) {
        const auto sum =
            crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size()));
        const std::string sizes =
            little_endian(sum, 4) + little_endian(bytes.size(), 4) + little_endian(bytes.size(), 4);
        const std::string common = little_endian(20, 2) + std::string(8, '\0') + sizes +
                                   little_endian(name.size(), 2) + std::string(2, '\0');
        directory += "PK\x01\x02" + little_endian(20, 2) + common + std::string(10, '\0') +
                     little_endian(archive.size(), 4) + name;
        archive += "PK\x03\x04" + common + name + bytes;
    }
    const std::string count = little_endian(members.size(), 2);
    return archive + directory + "PK\x05\x06" + std::string(4, '\0') + count + count +
           little_endian(directory.size(), 4) + little_endian(archive.size(), 4) + std::string(2, '\0');
}

class NpzTarget final : public Target {
  public:
    std::string file_name() const override { return "arrays.npz"; }
    std::vector<std::string> seeds() const override {
        return {zip({{"x_train.npy", npy_features()}, {"y_train.npy", npy_labels()}}),
                zip({{"x_train.npy", npy_features()}})};
    }
    void read(const std::string& path) const override {
        for (const std::string& split : npz_splits(path)) {
            const ArrayName labels =
                npz_has(path, "y_" + split) ? ArrayName{path, "y_" + split} : ArrayName{};
            read_all(*open_npy({path, "x_" + split}, labels, {}));
        }
    }
};

class IdxTarget final : public Target {
  public:
    std::string file_name() const override { return "images-idx3-ubyte"; }
    std::vector<std::string> seeds() const override {
        const std::string images =
            std::string("\0\0\x08\x03", 4) + big_endian(2) + big_endian(2) + big_endian(3) + "abcdefghijkl";
        return {images, std::string("\0\0\x08\x02", 4) + big_endian(3) + big_endian(2) + "abcdef",
                compressed(images)};
    }
    void read(const std::string& path) const override { read_all(*open_idx(path, "")); }

  private:
    static std::string compressed(const std::string& bytes) {
        z_stream stream{};
        deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);  // 16: with a gzip header
        std::string out(bytes.size() + 128, '\0'), in = bytes;
        stream.next_in = reinterpret_cast<Bytef*>(in.data());
        stream.avail_in = static_cast<uInt>(in.size());
        stream.next_out = reinterpret_cast<Bytef*>(out.data());
        stream.avail_out = static_cast<uInt>(out.size());
        deflate(&stream, Z_FINISH);
        out.resize(stream.total_out);
        deflateEnd(&stream);
        return out;
    }
};

}  // namespace holdfast::fuzz
