#include "jobs/program/runs/run_settings.hpp"
#include "models/settings/option.hpp"

namespace holdfast {

std::vector<BasicOption<RunSettings>> run_options() {
    using S = RunSettings;
    return {
        text("backend", "auto | cpu | cuda | reference", &S::backend, {"auto", "cpu", "cuda", "reference"}),
        integer("threads", "threads a rank; 0: OMP_NUM_THREADS or all cores", &S::threads, 0, 4096),
        text("grid", "ranks as MEMBERSxLEVELSxBLOCKS, or auto", &S::grid),
        text("transport",
             "what adds a step's sums: auto | mpi (host memory) | nccl (GPU memory, one rank a GPU); "
             "auto: nccl where there are several such ranks",
             &S::transport, {"auto", "mpi", "nccl"}),
        real("stall_seconds",
             "give up, with exit code 8, once no rank got any further for so many seconds: a host or a link "
             "is lost; a slow job goes on; on the command line also the limit for the start of MPI; 0: never",
             &S::stall_seconds, at_least(0, 1e9)),
        integer("checkpoint_steps", "checkpoint every so many steps; 0: by time only", &S::checkpoint_steps,
                0),
        real("checkpoint_seconds", "checkpoint after so many seconds; 0: never by time",
             &S::checkpoint_seconds, at_least(0, 1e9))};
}

}  // namespace holdfast
