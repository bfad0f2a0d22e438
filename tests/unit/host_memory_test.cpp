// What memory a job may take: of the machine, of every control group it is in, of Slurm's allocation.

#include "jobs/program/host_memory.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

constexpr double mebibyte = 1 << 20;

struct HostMemoryTest : ::testing::Test {
    TemporaryFolder folder;
    std::string root = folder.file("root");

    void SetUp() override {
        for (const char* name : {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE"})
            unsetenv(name);
        write("/proc/meminfo", "MemTotal:  8192 kB\nMemFree:  100 kB\nMemAvailable:  4096 kB\n");
    }
    void TearDown() override { SetUp(); }
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
        std::ofstream(root + path) << text;
    }
    void group(const std::string& path, const std::string& limit, const std::string& used) const {
        write("/sys/fs/cgroup" + path + "/memory.max", limit + "\n");
        write("/sys/fs/cgroup" + path + "/memory.current", used + "\n");
    }
};

TEST_F(HostMemoryTest, IsWhatTheMachineHasAvailable) {
    const HostMemory memory = host_memory(root);
    EXPECT_EQ(memory.total, 8 * mebibyte);
    EXPECT_EQ(memory.left, 4 * mebibyte);
    EXPECT_EQ(memory.limit, 0);
    EXPECT_EQ(memory.said_by, "MemAvailable of /proc/meminfo");
    EXPECT_EQ(host_memory(folder.file("none")).left, 0);
}

TEST_F(HostMemoryTest, IsHeldByEveryGroupUpToTheRoot) {
    write("/proc/self/cgroup", "0::/job/step\n");
    group("/job/step", "max", "5");
    group("/job", "3145728", "1048576");
    HostMemory memory = host_memory(root);
    EXPECT_EQ(memory.left, 2 * mebibyte);
    EXPECT_EQ(memory.limit, 3 * mebibyte);
    EXPECT_NE(memory.said_by.find("control group"), std::string::npos);
    group("", "1048576", "2097152");  // of a container, more used than there may be
    memory = host_memory(root);
    EXPECT_EQ(memory.left, 0);
    EXPECT_EQ(memory.limit, mebibyte);
    group("", "1073741824", "0");
    group("/job", "1073741824", "0");
    EXPECT_EQ(host_memory(root).left, 4 * mebibyte) << "a limit beyond the machine's";
}

TEST_F(HostMemoryTest, IsHeldByGroupsOfTheFirstVersionToo) {
    write("/proc/self/cgroup", "12:cpu,cpuacct:/\n7:memory:/slurm/job\n1:name=systemd:/init\n");
    const std::string folder_of_groups = "/sys/fs/cgroup/memory";
    write(folder_of_groups + "/slurm/job/memory.limit_in_bytes", "9223372036854771712\n");
    write(folder_of_groups + "/slurm/job/memory.usage_in_bytes", "5\n");
    EXPECT_EQ(host_memory(root).limit, 0);
    write(folder_of_groups + "/slurm/memory.limit_in_bytes", "3145728\n");
    write(folder_of_groups + "/slurm/memory.usage_in_bytes", "1048576\n");
    const HostMemory memory = host_memory(root);
    EXPECT_EQ(memory.left, 2 * mebibyte);
    EXPECT_EQ(memory.limit, 3 * mebibyte);
    EXPECT_EQ(memory.said_by, "memory.limit_in_bytes of its control group");
    write("/proc/self/cgroup", "7:memory:/a/folder/that/its/container/does/not/see\n");
    write(folder_of_groups + "/memory.limit_in_bytes", "1048576\n");
    EXPECT_EQ(host_memory(root).left, mebibyte);
}

TEST_F(HostMemoryTest, IsHeldBySlurm) {
    setenv("SLURM_MEM_PER_NODE", "3", 1);
    EXPECT_EQ(host_memory(root).left, 3 * mebibyte);
    EXPECT_EQ(host_memory(root).said_by, "SLURM_MEM_PER_NODE");
    setenv("SLURM_MEM_PER_NODE", "0", 1);  // all of it
    EXPECT_EQ(host_memory(root).left, 4 * mebibyte);
    unsetenv("SLURM_MEM_PER_NODE");
    setenv("SLURM_MEM_PER_CPU", "1", 1);
    EXPECT_EQ(host_memory(root).left, 4 * mebibyte) << "of how many cores";
    setenv("SLURM_CPUS_ON_NODE", "2", 1);
    EXPECT_EQ(host_memory(root).left, 2 * mebibyte);
}

TEST(SizeText, HasTheUnitOfItsSize) {
    EXPECT_EQ(size_text(0), "0.0 B");
    EXPECT_EQ(size_text(1536), "1.5 KiB");
    EXPECT_EQ(size_text(13.5 * 1024 * mebibyte), "13.5 GiB");
    EXPECT_EQ(size_text(1e18), "909494.7 TiB");
}

}  // namespace
}  // namespace holdfast
