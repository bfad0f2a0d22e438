#include "jobs/program/transport.hpp"

#include <gtest/gtest.h>

#include "dist/comm/nccl.hpp"
#include "jobs/program/configuration.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

TransportGround two_gpus() {
    return {.built = true, .backend = "cuda", .a_device_each = true, .devices = true, .ranks = 2};
}

TEST(Transport, AutoTakesNcclOnlyForSeveralRanksWithAGpuEach) {
    EXPECT_TRUE(chooses_nccl("auto", two_gpus()));
    for (const auto& change : std::vector<void (*)(TransportGround&)>{
             [](TransportGround& ground) { ground.built = false; },
             [](TransportGround& ground) { ground.backend = "cpu"; },
             [](TransportGround& ground) { ground.a_device_each = false; },
             [](TransportGround& ground) { ground.a_device_each = ground.devices = false; },
             [](TransportGround& ground) { ground.ranks = 1; }}) {
        TransportGround ground = two_gpus();
        change(ground);
        EXPECT_FALSE(chooses_nccl("auto", ground));
    }
}

TEST(Transport, WhatIsAskedForIsUsed) {
    EXPECT_FALSE(chooses_nccl("mpi", two_gpus()));
    EXPECT_TRUE(chooses_nccl("nccl", two_gpus()));
    TransportGround alone = two_gpus();
    alone.ranks = 1;
    EXPECT_TRUE(chooses_nccl("nccl", alone));
}

TEST(Transport, NcclWhereItCannotBeIsRefusedWithTheRemedy) {
    const auto refusal = [](void (*change)(TransportGround&)) -> std::string {
        TransportGround ground = two_gpus();
        change(ground);
        try {
            chooses_nccl("nccl", ground);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::usage);
            EXPECT_EQ(error.where(), "run.transport");
            EXPECT_FALSE(error.hint().empty());
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(
        refusal([](TransportGround& ground) { ground.built = false; }),
        "run.transport: \"nccl\" cannot be had: this program is built without it (use mpi, or build where "
        "nccl.h and CUDA are (HOLDFAST_CUDA=ON))");
    EXPECT_EQ(
        refusal([](TransportGround& ground) { ground.backend = "cpu"; }),
        "run.transport: \"nccl\" cannot be had: the backend is cpu, which sums in host memory (use mpi, or "
        "set run.backend=cuda)");
    EXPECT_EQ(refusal([](TransportGround& ground) { ground.a_device_each = ground.devices = false; }),
              "run.transport: \"nccl\" cannot be had: a rank has no GPU (use mpi, or see holdfast doctor)");
    EXPECT_EQ(
        refusal([](TransportGround& ground) { ground.a_device_each = false; }),
        "run.transport: \"nccl\" cannot be had: two ranks share a GPU (start no more ranks than GPUs, or use "
        "mpi)");
}

TEST(BlockCommunicatorOfACpuRun, IsTheGroupItselfOrRefused) {
    const auto world = make_serial_communicator();
    for (const char* transport : {"auto", "mpi"}) {
        const BlockCommunicator sums(*world, *world, {transport, "cpu"});
        EXPECT_EQ(&sums.group(), world.get());
    }
    EXPECT_THROW(BlockCommunicator(*world, *world, {"nccl", "cpu"}), Error);
    EXPECT_EQ(choose_device("cpu", *world), 0);  // asks for no GPU
}

TEST(TransportSettings, AreHowAndNotWhat) {
    const Configuration plain = read_configuration("", {});
    const Configuration changed =
        read_configuration("", {"run.transport=mpi", "run.stall_seconds=5", "run.backend=cpu"});
    EXPECT_EQ(plain.run.transport, "auto");
    EXPECT_EQ(changed.run.transport, "mpi");
    EXPECT_EQ(plain.run.stall_seconds, default_stall_seconds);
    EXPECT_EQ(changed.run.stall_seconds, 5);
    EXPECT_EQ(deciding_settings(plain.settings), deciding_settings(changed.settings));
    EXPECT_THROW(read_configuration("", {"run.transport=pigeon"}), Error);
    EXPECT_THROW(read_configuration("", {"run.stall_seconds=-1"}), Error);
}

}  // namespace
}  // namespace holdfast
