// holdfast synth blobs|halfmoons|tabular|images|surface: a generated dataset.
//
//   holdfast synth blobs --centre 1.25 --spread 0.35 --records 3000 --test 1000 --seed 1 --out blobs.h5
//   holdfast synth halfmoons --noise 0.1 --records 3000 --test 1000 --out moons.h5
//   holdfast synth images --side 12 --records 3000 --test 1000 --out images.h5
//   holdfast synth tabular --records 5500000 --features 188 --positives 0.26 --out default.h5
//   holdfast synth surface --records 3000 --test 1000 --noise 0.05 --out surface.h5      (a regression)

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "dist/data/generate.hpp"
#include "jobs/program/job.hpp"
#include "jobs/program/next_command.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

struct SynthOptions {
    std::string kind, out, population = synthetic_population;
    std::uint64_t records = 3000, test = 1000, seed = 1, rows_at_most = 1;
    BlobsOptions blobs;
    HalfmoonsOptions halfmoons;
    TabularOptions tabular;
    ImagesOptions images;
    SurfaceOptions surface;
    std::optional<std::size_t> features;
    std::optional<double> noise;
    int degree = 3;
};

std::unique_ptr<Generator> make_generator(SynthOptions options) {
    options.blobs.seed = options.halfmoons.seed = options.tabular.seed = options.images.seed =
        options.surface.seed = options.seed;
    options.tabular.features = options.features.value_or(options.tabular.features);
    options.surface.features = options.features.value_or(options.surface.features);
    options.halfmoons.noise = options.noise.value_or(options.halfmoons.noise);
    options.images.noise = options.noise.value_or(options.images.noise);
    options.surface.noise = options.noise.value_or(options.surface.noise);
    options.blobs.degree = options.halfmoons.degree = options.degree;
    if (options.kind == "blobs") return make_blobs(options.blobs);
    if (options.kind == "halfmoons") return make_halfmoons(options.halfmoons);
    if (options.kind == "images") return make_images(options.images);
    if (options.kind == "surface") return make_surface(options.surface);
    return make_tabular(options.tabular);
}

void run(const SynthOptions& options, const Context& context) {
    // 1. The generator: every record a pure function of (seed, row).
    const std::unique_ptr<Generator> generator = make_generator(options);

    // 2. Rank 0 writes the file, slab by slab; the others wait.
    if (context.world.is_root())
        write_generated(*generator, options.records, options.test, options.out, options.population,
                        options.rows_at_most);
    context.world.barrier();

    // 3. What was made.
    const std::size_t features = generator->feature_names().size();
    context.print({{"path", options.out},
                   {"description", generator->description()},
                   {"train", options.records},
                   {"test", options.test},
                   {"features", features},
                   {"scaling", name_of(Scaling::public_constants)},
                   {"population", options.population}},
                  options.out + ": " + std::to_string(options.records) + " train and " +
                      std::to_string(options.test) + " test records of " + std::to_string(features) +
                      " features" +
                      (options.rows_at_most > 1
                           ? ", of persons with up to " + std::to_string(options.rows_at_most) + " rows"
                           : "") +
                      "\n" + generator->description() + "\n" + next_command({"inspect", options.out}));
}

}  // namespace

Run declare_synth(const Command& command) {
    auto options = std::make_shared<SynthOptions>();
    command.add_option("kind", options->kind, "What to generate")
        .required()
        .one_of({"blobs", "halfmoons", "tabular", "images", "surface"});
    command.add_output("--out", options->out, OutputKind::dataset, "Dataset file to write (HDF5)").required();
    command.add_option("--records", options->records, "Training records").show_default();
    command.add_option("--test", options->test, "Test records; 0 for no test split").show_default();
    command
        .add_option(
            "--rows-at-most", options->rows_at_most,
            "Rows of a person: with more than 1, --records and --test are persons of up to so many rows, "
            "13 as in AMEX")
        .show_default();
    command.add_option("--seed", options->seed, "Public seed").show_default();
    command
        .add_option("--population", options->population,
                    "Whose privacy budget the records spend: letters, digits, '-', '_', '.'")
        .show_default();
    command.add_option("--centre", options->blobs.centre, "blobs: the clusters lie at +-(centre, centre)")
        .show_default();
    command.add_option("--spread", options->blobs.spread, "blobs: standard deviation of a cluster")
        .show_default();
    command.add_option(
        "--noise", options->noise,
        "Standard deviation of the noise: of halfmoons 0.1, of surface, a regression, 0.05; images: "
        "how far a pixel may be off, 0.1");
    command.add_option("--degree", options->degree, "blobs, halfmoons: powers of x1 and x2 up to this one")
        .show_default();
    command.add_option("--features", options->features, "Columns: of tabular 188, of surface 8");
    command.add_option("--side", options->images.side, "images: pixels a side").show_default();
    command.add_option("--positives", options->tabular.positives, "tabular: fraction of records labelled 1")
        .show_default();
    return [options](const Context& context) { run(*options, context); };
}

}  // namespace holdfast
