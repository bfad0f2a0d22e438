#pragma once

#include <gtest/gtest.h>

#include "dist/comm/mpi.hpp"
#include "dist/files/hdf5_version.hpp"

namespace holdfast {

/// The ranks that mpirun gave; set once by run_on_ranks, before any test.
inline const Communicator* world = nullptr;

/// The main of a test program that runs under mpirun: every rank runs every test.
inline int run_on_ranks(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    MpiSession session(argc, argv, start_hdf5);
    world = &session.world();
    return RUN_ALL_TESTS();
}

}  // namespace holdfast
