#pragma once

#include <filesystem>
#include <fstream>

#include "dist/data/dataset.hpp"
#include "dist/data/import_hdf5.hpp"
#include "dist/runs/checkpoint.hpp"
#include "dist/runs/member_store.hpp"
#include "jobs/program/configuration.hpp"
#include "jobs/program/runs/finished_run.hpp"
#include "models/boxes/state.hpp"
#include "models/nets/model_file.hpp"
#include "tests/fuzz/imports.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast::fuzz {

inline std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

class DatasetTarget final : public Target {
  public:
    std::string file_name() const override { return "data.h5"; }
    bool uses_hdf5() const override { return true; }
    std::vector<std::string> seeds() const override { return {dataset(false), dataset(true)}; }
    /// Sealed as it comes, or the seal alone would be tried.
    void read(const std::string& path) const override {
        add_seal(path, path);
        const DatasetReader reader(path);
        constexpr std::uint64_t most = 1 << 16;  // what a file claims beyond this takes memory, not thought
        if (reader.info().features < most)
            reader.read(0, std::min(reader.info().rows, most / reader.info().features));
        for (const std::string& split : hdf5_splits(path)) {
            const std::unique_ptr<RecordSource> source = open_hdf5_split(path, split);
            if (source->info().feature_names.size() < 64) read_some(*source);
        }
    }

  private:
    static void read_some(RecordSource& source) {
        RawRecord record;
        for (int rows = 0; rows < 1000 && source.next(record); ++rows) {
        }
    }
    static std::string dataset(bool wide) {
        const TemporaryFolder folder;
        Records records{FeatureMatrix(2, wide), {0, 1, 1}, {7, 8, 9}, {0, 1, 2}};
        const double row[] = {0.5, -2};
        for (int i = 0; i < 3; ++i) records.features.append(row);
        DatasetWriter writer(folder.file("seed.h5"), wide ? 1 : 0);
        writer.begin_split("train", 2, wide);
        writer.append(records);
        writer.set_facts({Scaling::public_constants,
                          IdKind::given,
                          3,
                          "people",
                          {-2, 1},
                          default_feature_range,
                          "seed",
                          {"a", "b"}});
        writer.commit();
        return bytes_of(folder.file("seed.h5"));
    }
};

class CheckpointTarget final : public Target {
  public:
    std::string file_name() const override { return "1/a"; }
    std::vector<std::string> seeds() const override {
        const TemporaryFolder folder;
        save_in(folder.path());
        return {bytes_of(folder.file("1/a"))};
    }
    void read(const std::string& path) const override {
        const TemporaryFolder folder;
        save_in(folder.path());
        std::filesystem::copy_file(path, folder.file("1/a"),
                                   std::filesystem::copy_options::overwrite_existing);
        for (const auto& payload : CheckpointFolder(folder.path(), "fingerprint").load_latest())
            MemberState::unpacked(payload);
    }

  private:
    static void save_in(const std::string& folder) {
        MemberState state;
        state.step = 1;
        state.levels = {{0, {1, 2}, {1, 2}, {}, {}}, {1, {0, 1}, {2, 3}, {}, {}}};
        state.normalisers = {100};
        state.metrics.resize(1);
        CheckpointFolder(folder, "fingerprint").save({{"a", state.packed()}}, *make_serial_communicator());
    }
};

class MemberTarget final : public Target {
  public:
    std::string file_name() const override { return "members/members-00000-00000"; }
    std::vector<std::string> seeds() const override {
        const TemporaryFolder folder;
        const MemberStore store(RunFolder::create(folder.path(), true), "fingerprint");
        MemberWriter writer(store, 0, 2, 3);
        writer.write({1, 2, 3}, {1, 2, 3});
        writer.write({0, 1, 2}, {2, 3, 4});
        writer.commit("{\"step\":0}\n");
        return {bytes_of(store.file(0))};
    }
    void read(const std::string& path) const override {
        const std::string folder = std::filesystem::path(path).parent_path().parent_path();
        const MemberStore store(RunFolder::create(folder, true), "fingerprint");
        MemberReader reader(store, 0, 2, 3);
        std::vector<std::int64_t> lower, upper;
        for (int level = 0; level < 2; ++level) reader.read(lower, upper);
        reader.finish();
    }
};

class ModelTarget final : public Target {
  public:
    std::string file_name() const override { return "model.h5"; }
    bool uses_hdf5() const override { return true; }
    std::vector<std::string> seeds() const override {
        const Guarantee open = Guarantee::not_private("a model", "its boxes are");
        return {
            bytes_of_model({Network(2, {}, 2, Loss::hinge),
                            Precision::double_precision,
                            {1, -2, 3},
                            "elsewhere",
                            "a program",
                            "1",
                            open.to_json(),
                            nullptr}),
            bytes_of_model(
                {Network(1, {2}, 3, Loss::cross_entropy, {0.5, 2, {-1, 1}}),
                 Precision::single_precision,
                 std::vector<std::int64_t>(13, 5),
                 "noisy",
                 "holdfast",
                 "1",
                 Guarantee::proved("private", "add_remove").to_json(),
                 {{"epsilon", 1}, {"delta", 1e-5}, {"mechanism", "noisy"}, {"parameters", {{"q", 0.5}}}}})};
    }
    void read(const std::string& path) const override {
        add_seal(path, path);  // or it alone would be tried
        const StoredModel stored = read_model(path);
        Guarantee::text_of(stored.model.guarantee);
        stored.model.cost.dump();
    }

  private:
    static std::string bytes_of_model(const Model& model) {
        const TemporaryFolder folder;
        write_model(folder.file("model.h5"), model);
        return bytes_of(folder.file("model.h5"));
    }
};

class ConfigurationTarget final : public Target {
  public:
    std::string file_name() const override { return "settings.toml"; }
    std::vector<std::string> seeds() const override {
        return {
            "# a\n[network]\nhidden = [128, 64]\nclasses = 3\nloss = \"cross_entropy\"\n[training]\nepochs = "
            "4\nlearning_rate = 1.5e-1\n",
            "[clip]\nkind = 'factored'\ndelta_limit = 0.25\n[certificate]\nlevels = 0x10\nrelation = "
            "\"add_remove\"\n",
            "network.hidden = []\ntraining = {epochs = 2, l2 = 0.0}\n"};
    }
    void read(const std::string& path) const override { options_help(), read_configuration(path, {}); }
};

class ManifestTarget final : public Target {
  public:
    std::string file_name() const override { return "stated.json"; }
    std::vector<std::string> seeds() const override {
        RunManifest manifest;
        manifest.kind = "boxes";
        manifest.configuration =
            to_json(read_configuration("", {"network.hidden=[]", "certificate.levels=2"}));
        manifest.dataset.features = 2;
        manifest.levels = {0, 1, 2};
        manifest.layers = {{2, 1}};
        manifest.arithmetic = manifest.guarantee = nlohmann::json::object();
        const std::string plain = manifest.to_json().dump();
        manifest.dataset.schema = R"({"column":[{"name":"a","type":"number"},{"name":"b","type":"number"}]})";
        return {plain, manifest.to_json().dump(1)};
    }
    /// Sealed as it comes. The boxes beside it are sound: one member, levels 0..2, three parameters.
    void read(const std::string& path) const override {
        const RunFolder run = RunFolder::create(std::filesystem::path(path).parent_path(), true);
        run.write_text("manifest.json", sealed_json(bytes_of(path)));
        if (!std::filesystem::exists(run.file("boxes.h5"))) {
            BoxesWriter boxes(run, 1, {0, 1, 2}, 3);
            for (std::size_t level = 0; level < 3; ++level) boxes.write(0, level, {0, 0, 0}, {1, 1, 1});
            boxes.commit();
        }
        const FinishedRun opened = FinishedRun::open(run.path());
        distance_cap(opened, true);
        opened.certificate->claim().text();
        opened.manifest.to_json().dump();
    }
};

}  // namespace holdfast::fuzz
