// holdfast SUBCOMMAND [options], the same under mpirun: parses, runs one job, turns errors into exit codes.

#include <fcntl.h>
#include <malloc.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <climits>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "dist/comm/mpi.hpp"
#include "dist/files/hdf5_version.hpp"
#include "jobs/program/build_info.hpp"
#include "jobs/program/host_memory.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/passive_waiting.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/floating_point.hpp"
#include "kernels/base/nearest_name.hpp"
#include "kernels/base/utf8.hpp"
#include "models/privacy/ledger/query_digest.hpp"

namespace holdfast {
namespace {

constexpr Job jobs[] = {
    {"Data", "synth", "Generate a dataset: blobs, halfmoons, tabular, images or surface", declare_synth},
    {"Data", "import", "Make a dataset of a CSV, NPZ, NPY, IDX or HDF5 file", declare_import},
    {"Data", "schema", "What the columns of a CSV table mean, as a file to be filled in", declare_schema},
    {"Data", "measure",
     "For the data owner: the number of records and the ranges of columns, under privacy, charged to a "
     "ledger",
     declare_measure},
    {"Data", "inspect", "Describe a dataset: shapes, ranges, balance, duplicates", declare_inspect},
    {"Training", "train", "Train a model: with boxes, with noise, or convex", declare_train},
    {"Training", "tune",
     "The best of a few settings of training with noise, chosen under privacy, charged to a ledger",
     declare_tune},
    {"Training", "pretrain", "Train a public model, stopped where it is best on held out public records",
     declare_pretrain},
    {"Training", "fleet",
     "Train a network and, for every record, the one that it would be without that record", declare_fleet},
    {"Training", "plan", "What a training takes on so many ranks: layout, memory, predicted time",
     declare_plan},
    {"Training", "watch", "How far a training is: steps, time left, throughput, widths of its boxes",
     declare_watch},
    {"Answers", "account",
     "For the data owner: the privacy budget of a population, and the datasets it covers", declare_account},
    {"Answers", "certify", "How many records, or how far a query, may change before an answer does",
     declare_certify},
    {"Answers", "evaluate", "For the data owner: accuracy, certified fractions, expected private accuracy",
     declare_evaluate},
    {"Answers", "release", "Answer queries under differential privacy, charged to a ledger", declare_release},
    {"Answers", "access",
     "Answer queries by a leave-one-out fleet under differential privacy, charged to a ledger",
     declare_access},
    {"Answers", "publish", "A model that anyone may have, of a noisy or convex run", declare_publish},
    {"Answers", "predict", "Answer queries with a published model", declare_predict},
    {"Answers", "validate",
     "How good a published model is on persons held out, under privacy, charged to their account",
     declare_validate},
    {"Answers", "student",
     "A model that anyone may have, trained on public queries and the labels released for them",
     declare_student},
    {"Answers", "statement",
     "What was released about a population, and the guarantee: for compliance, from a ledger",
     declare_statement},
    {"Forgetting", "unlearn",
     "A run without the records of some ids, and which answers that leaves as they are", declare_unlearn},
    {"Forgetting", "verify", "Check a finished run: files, boxes, claims, and single steps of its training",
     declare_verify},
    {"Study", "advise", "Settings for a private table, by trials on public records", declare_advise},
    {"Study", "idp", "Above which confidence no single record decides the label, of a leave-one-out fleet",
     declare_idp},
    {"Study", "influence",
     "For the data owner: what every record of a leave-one-out fleet changed in every prediction",
     declare_influence},
    {"Study", "risk",
     "For the data owner: attacks on a trained run, beside what is proved; stays with the owner",
     declare_risk},
    {"Study", "report", "One self-contained HTML page about a run", declare_report},
    {"Study", "explain", "What each column adds to the answers of a published model, as a table and pictures",
     declare_explain},
    {"Study", "bench", "Measure a training step beside its plain counterpart", declare_bench},
    {"Study", "doctor", "What this machine has, and what is wrong with it", declare_doctor},
    {"Program", "completion", "What bash or zsh sources to complete commands and options",
     declare_completion},
    {"Program", "man", "The page of the manual", declare_man},
};

constexpr const char* exit_codes =
    "Exit codes: 0 success, 2 usage or configuration, 3 unusable input, 4 output not written, 5 this "
    "machine's arithmetic is not what the proofs assume, "
    "6 privacy budget refused, 7 interrupted after a checkpoint, 8 communication lost, 9 internal, 10 out of "
    "memory, 128 + n ended by signal n (SIGTERM and SIGUSR1 while train, fleet or unlearn trains: 7).";

/// Error (usage): the first word is neither an option nor a command, or there is none.
void require_command(const char* word) {
    if (word == nullptr) throw Error(ExitCode::usage, "no command", "holdfast --help lists them");
    if (word[0] == '-') return;
    std::vector<std::string> names;
    for (const Job& job : jobs) {
        if (job.name == std::string_view(word)) return;
        names.push_back(job.name);
    }
    const std::string near = nearest_name(word, names);
    throw Error(ExitCode::usage, "no command \"" + std::string(word) + "\"",
                near.empty() ? "holdfast --help lists them" : "did you mean " + near + "?");
}

/// A message of the log, whose names come from files of others.
class PrintableMessage : public spdlog::custom_flag_formatter {
  public:
    void format(const spdlog::details::log_msg& message, const std::tm&,
                spdlog::memory_buf_t& into) override {
        const std::string text = printable(std::string_view(message.payload.data(), message.payload.size()));
        into.append(text.data(), text.data() + text.size());
    }
    std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
        return std::make_unique<PrintableMessage>();
    }
};

int run(int argc, char** argv, const MpiSession& session) {
    const Communicator& world = session.world();
    require_command(argv[1]);
    CLI::App app{"Holdfast trains a model on private records and proves what one record could have changed.",
                 "holdfast"};
    app.require_subcommand(1);
    app.footer(exit_codes);
    app.failure_message([](const CLI::App* program, const CLI::Error& error) {
        const auto parsed = program->get_subcommands();
        return printable(std::string("holdfast: ") + error.what() + " (holdfast " +
                         (parsed.empty() ? "" : parsed.front()->get_name() + " ") +
                         "--help says what there is)\n");
    });
    Context context{world, std::make_shared<spdlog::logger>(
                               "holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>())};
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<PrintableMessage>('*').set_pattern("%*");
    context.log->set_formatter(std::move(formatter));
    app.add_flag("--json", context.json, "Of --version: one JSON object");  // before it: read in this order
    app.set_version_flag(
        "--version",
        [&] {
            const BuildInfo build = build_info();
            return context.json ? build.to_json().dump() : build.text();
        },
        "What this program was built of: commit, compiler, MPI, CUDA, HDF5, options");
    std::vector<std::pair<Command, Run>> runs;
    for (const Job& job : jobs) {
        CLI::App* subcommand = app.add_subcommand(job.name, job.summary)->group(job.room);
        subcommand->add_flag("--json", context.json, "Print one JSON object on stdout");
        subcommand->add_flag("--quiet", context.quiet, "No log, no progress");
        subcommand->footer(exit_codes);
        const Command command(*subcommand);
        runs.emplace_back(command, job.declare(command));
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const bool asked =
            error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);  // --help, --version
        if (world.is_root()) {
            errno = 0;
            app.exit(error);
            context.flush_stdout();
        }
        return static_cast<int>(asked ? ExitCode::success : ExitCode::usage);
    }
    if (context.quiet || !world.is_root()) context.log->set_level(spdlog::level::off);
    for (const auto& [command, job] : runs) {
        if (!command.given()) continue;
        if (command.app().get_name() != "doctor") require_sound_arithmetic();  // the doctor says all it finds
        context.charges = command.app().get_option_no_throw("--ledger") != nullptr;
        if (world.is_root()) command.check_outputs();
        job(context);
        context.flush_stdout();
    }
    return 0;
}

}  // namespace

}  // namespace holdfast

namespace holdfast {
namespace {

std::string memory_text() {
    const HostMemory here = host_memory();
    return "out of memory: this rank has " + size_text(resident_memory()) + ", its host " +
           size_text(here.left) + " left by " + here.said_by +
           " (what the data, the levels and the ranks take `holdfast plan` says, and train before its steps: "
           "give the larger of them to more machines, or start fewer ranks on one)";
}

/// The text, or as much of it as anybody reads, ended between two characters.
std::string shortened(const std::string& text, std::size_t most) {
    if (text.size() <= most) return text;
    std::size_t end = most;
    while (end > 0 && (text[end] & 0xc0) == 0x80) --end;
    return text.substr(0, end) + " … (" + std::to_string(text.size() - end) + " bytes more)";
}

/// What is printed of an error: less than 2 kB.
std::string shown(const Error& error) {
    constexpr std::size_t most = 1100, most_of_hint = 700, most_of_place = 120;
    if (std::string_view(error.what()).size() <= most) return error.what();
    return Error(error.code(), shortened(error.message(), most), shortened(error.hint(), most_of_hint),
                 shortened(error.where(), most_of_place))
        .what();
}

struct Ending {
    int code = 0;
    bool stopped = false;  ///< all of several ranks together, MPI ended as it should
    bool speaks = true;    ///< this rank's code is the job's
};

/// What the program does while MPI is there. A rank that fails ends all others.
Ending run_on_ranks(int argc, char** argv) {
    MpiSession session(argc, argv, start_hdf5);
    const Communicator& world = session.world();
    int code = 0;
    try {
        return {run(argc, argv, session)};
    } catch (const Error& error) {
        code = static_cast<int>(error.code());
        if (error.code() == ExitCode::interrupted) {  // on all ranks, with nothing left to send
            if (world.is_root()) std::cerr << printable("holdfast: " + shown(error) + "\n") << std::flush;
            return {code, world.size() > 1, world.is_root()};
        }
        session.fail(code, shown(error));
    } catch (const std::bad_alloc&) {
        code = static_cast<int>(ExitCode::memory);
        session.fail(code, memory_text());
    } catch (const std::exception& error) {
        code = static_cast<int>(ExitCode::internal);
        session.fail(code, std::string("unexpected: ") + error.what());
    }
    return {code};
}

/// A closed stdin, stdout or stderr stays unusable: no file opened later takes its number.
void fill_standard_streams() {
    for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
        if (::fcntl(number, F_GETFD) == -1) ::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
    using namespace holdfast;
    fill_standard_streams();
    wait_passively(argv);
    // A step's arrays come and go at the same sizes: keep their pages instead of having the kernel zero them
    // each time.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    Ending ending;
    try {
        start_sodium();  // which then hashes by the widest instructions there are
        ending = run_on_ranks(argc, argv);
    } catch (const Error& error) {  // MPI does not start
        std::cerr << printable("holdfast: " + shown(error) + "\n");
        return static_cast<int>(error.code());
    }
    if (!ending.stopped) return ending.code;
    // mpirun and srun kill what is left once a rank ends with another code than 0: rank 0 says it last.
    if (!ending.speaks) return 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    return ending.code;
}
