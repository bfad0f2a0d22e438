#include "dist/files/hdf5_probe.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "kernels/base/error.hpp"

namespace holdfast::hdf5 {
namespace {

constexpr rlim_t most_seconds = 20;
constexpr int deepest_group = 3;  // readers ask for "group/name"; hard links can form a cycle

/// Bytes of all values in memory; 0: more than are read here, or not a size.
std::uint64_t value_bytes(hid_t space, hid_t type) {
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    const std::size_t width = H5Tget_size(type);
    const bool fits =
        count > 0 && width > 0 && static_cast<std::uint64_t>(count) <= probed_value_bytes / width;
    return fits ? static_cast<std::uint64_t>(count) * width : 0;
}

/// Text stays as it is stored; numbers become those of this machine.
hid_t memory_type(hid_t type) {
    return H5Tget_class(type) == H5T_STRING ? H5Tcopy(type) : H5Tget_native_type(type, H5T_DIR_ASCEND);
}

void read_attribute(hid_t attribute) {
    const hid_t space = H5Aget_space(attribute), type = memory_type(H5Aget_type(attribute));
    std::vector<char> values(value_bytes(space, type));
    if (values.empty() || H5Aread(attribute, type, values.data()) < 0 || H5Tis_variable_str(type) <= 0)
        return;
    volatile std::size_t length = 0;  // so that the compiler keeps the reading
    for (std::size_t at = 0; at + sizeof(char*) <= values.size(); at += sizeof(char*)) {
        char* text = nullptr;
        std::memcpy(&text, &values[at], sizeof text);
        if (text != nullptr) length = length + std::strlen(text);
    }
}

void read_attributes(hid_t object) {
    H5O_info_t info;
    if (H5Oget_info2(object, &info, H5O_INFO_NUM_ATTRS) < 0) return;
    for (hsize_t i = 0; i < info.num_attrs; ++i) {
        const hid_t attribute =
            H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute >= 0) read_attribute(attribute);
    }
}

void read_dataset(hid_t dataset) {
    const hid_t space = H5Dget_space(dataset), type = memory_type(H5Dget_type(dataset));
    const hid_t creation = H5Dget_create_plist(dataset);
    H5Dget_storage_size(dataset);
    hsize_t chunks = 0;
    if (H5Pget_layout(creation) == H5D_CHUNKED) H5Dget_num_chunks(dataset, space, &chunks);
    const bool elsewhere = H5Pget_external_count(creation) != 0 || H5Pget_layout(creation) == H5D_VIRTUAL;
    std::vector<char> values(elsewhere ? 0 : value_bytes(space, type));
    if (!values.empty()) H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

herr_t read_link(hid_t group, const char* name, const H5L_info_t* link, void* depth);

void read_group(hid_t group, int depth) {
    if (depth < deepest_group) H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, read_link, &depth);
}

/// Continues after a link that HDF5 refuses: a reader may ask for the next one.
herr_t read_link(hid_t group, const char* name, const H5L_info_t* link, void* depth) {
    H5Lexists(group, name, H5P_DEFAULT);
    if (link->type != H5L_TYPE_HARD) return 0;
    const hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0) return 0;
    read_attributes(object);
    if (H5Iget_type(object) == H5I_DATASET) read_dataset(object);
    if (H5Iget_type(object) == H5I_GROUP) read_group(object, *static_cast<const int*>(depth) + 1);
    return 0;
}

/// Opened identifiers go with the process.
[[noreturn]] void read_and_exit(const char* path, int done) {
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGXCPU}) std::signal(signal, SIG_DFL);
    const rlimit no_core{0, 0}, processor{most_seconds, most_seconds};
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &processor);
    if (const int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_file_locking(access, false, true);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file >= 0) {
        const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
        read_attributes(root);
        read_group(root, 0);
    }
    _exit(::write(done, "", 1) == 1 ? 0 : 1);
}

/// The child's end, as far as it is known: a parent that ignores SIGCHLD learns nothing.
std::string ending(pid_t child) {
    int status = 0;
    while (::waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return "";
    }
    return WIFSIGNALED(status) ? std::string(" (") + strsignal(WTERMSIG(status)) + ")" : "";
}

}  // namespace

void probe_in_child(const std::string& path) {
    int ends[2];
    const auto refuse = [&](const char* call) {
        return Error(
            ExitCode::input,
            std::string("cannot be checked by a child process: ") + call + ": " + std::strerror(errno),
            "free processes, descriptors or memory", path);
    };
    if (::pipe2(ends, O_CLOEXEC) != 0) throw refuse("pipe");
    const pid_t child = ::fork();
    if (child == 0) read_and_exit(path.c_str(), ends[1]);
    const int reason = errno;
    ::close(ends[1]);
    char done = 0;
    ssize_t got = 0;
    while (child > 0 && (got = ::read(ends[0], &done, 1)) < 0 && errno == EINTR) {
    }
    ::close(ends[0]);
    if (child < 0) {
        errno = reason;
        throw refuse("fork");
    }
    const std::string how = ending(child);
    if (got == 1) return;
    throw Error(ExitCode::input, "is damaged: HDF5 crashes when it reads the file" + how,
                "copy or make it again", path);
}

}  // namespace holdfast::hdf5
