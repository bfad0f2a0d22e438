#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dist/files/seal.hpp"
#include "dist/runs/manifest.hpp"
#include "jobs/study/report/page.hpp"
#include "jobs/study/report/read_run.hpp"
#include "kernels/base/error.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;

/// With every field that a manifest has, of these as they are here.
std::string completed(const char* fields) {
    RunManifest whole;
    whole.kind = "boxes";
    whole.configuration = whole.arithmetic = whole.guarantee = nlohmann::json::object();
    nlohmann::json object = whole.to_json();
    object.merge_patch(nlohmann::json::parse(fields));
    return object.dump();
}

const std::string manifest = completed(R"({"program":"holdfast","version":"0.1.0",
 "configuration":{"training.batch":500,"training.learning_rate":0.5,"network.hidden":[16],"network.name":"<b>&\"net\""},
 "dataset":{"path":"blobs.h5","rows":3000,"features":2,"scaling":"public","ids":"given","digest":"5e7"},"digest":"abc123","steps":2,"levels":[0,1,2],"members":2,
 "parameters":65,"relation":"add_remove","guarantee":{"status":"proved","statement":"Boxes enclose <all> runs.",
 "relation":"add_remove","conditions":["public scaling"]}})");

constexpr const char* metrics =
    R"({"member":0,"step":0,"accuracy":0.5,"level":2,"accuracy_lower":0.4,"accuracy_upper":0.6,"width_mean":1e-3,"width_max":1e-2}
{"member":0,"step":1,"accuracy":0.9,"level":2,"accuracy_lower":0.7,"accuracy_upper":1.0,"width_mean":2e-3,"width_max":2e-2}
{"member":1,"step":1,"accuracy":0.9,"level":2,"accuracy_lower":null,"accuracy_upper":1.0,"width_mean":2e-3,"width_max":2e-2}
)";

constexpr const char* evaluation =
    R"json({"data":"blobs.h5:test","queries":1000,"classes":2,"levels":[0,1,2],"members":2,
 "relation":"add_remove","accuracy":{"single":0.99,"ensemble":0.995},
 "certified_fraction":{"single":[1.0,0.75,0.5],"ensemble":{"k":[0,1,2,3],"fraction":[1,0.9,0.8,0.7]}},
 "distances":{"single":[500,500,1000],"ensemble":{"value":[0,2,5],"count":[100,200,700]}},"epsilons":[0.1,1],
 "private_accuracy":[
  {"mechanism":"stable_rr","delta":0,"setting":"single","accuracy":[0.913,0.971],"guarantee":{"status":"proved","statement":"Pure."}},
  {"mechanism":"ptr","delta":1e-6,"setting":"ensemble","accuracy":[0.5,0.972],"guarantee":{"status":"proved","statement":"Pure."}},
  {"mechanism":"paper_sparse","delta":0,"setting":"single","accuracy":[0.999,0.999],
   "guarantee":{"status":"not differentially private","statement":"Sparse levels."}}],
 "guarantee":{"status":"as published (gap: assumed)","gap":"assumed","statement":"Labels."},"digest":"77aa"})json";

/// A run folder in the temporary folder of the test.
class Report : public testing::Test {
  public:
    Report() : folder_(std::filesystem::path(testing::TempDir()) / unique_name()) {
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        write("manifest.json", manifest);
    }
    ~Report() override { std::filesystem::remove_all(folder_); }

  protected:
    static std::string unique_name() {
        return std::string("report_") + testing::UnitTest::GetInstance()->current_test_info()->name();
    }
    void write(const std::string& name, const std::string& content) const {
        std::ofstream(folder_ / name) << (name.ends_with(".json") ? sealed_json(content) : content);
    }
    void write_all() const {
        write("metrics.jsonl", metrics);
        write("evaluation.json", evaluation);
    }
    std::string path(const std::string& name = "") const { return name.empty() ? folder_ : folder_ / name; }
    std::string page() const { return render_report(read_run_files(path())); }
    Error error() const {
        try {
            read_run_files(path());
        } catch (const Error& error) {
            return error;
        }
        return Error(ExitCode::success, "nothing was thrown");
    }

    std::filesystem::path folder_;
};

std::string body_of(const std::string& page) {
    return page.substr(page.find("</style>"));
}

int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

TEST_F(Report, ShowsEveryNumberOfTheEvaluation) {
    write_all();
    const std::string page = body_of(this->page());
    for (const char* figure :
         {"99.0%", "99.5%", "91.3%", "97.1%", "97.2%", "50.0%", "ε = 0.1", "3000", "abc123", "77aa"}) {
        EXPECT_THAT(page, HasSubstr(figure));
    }
    EXPECT_THAT(page, HasSubstr("certified at k = 2"));
    EXPECT_THAT(page, HasSubstr("ptr δ=1e-06"));
}

TEST_F(Report, HasAChartForEachSubject) {
    write_all();
    const std::string page = this->page();
    for (const char* description :
         {"Expected accuracy against epsilon, single", "Expected accuracy against epsilon, ensemble",
          "Fraction of queries whose label is certified", "distance, One member", "distance, Ensemble",
          "Training accuracy of member 0", "Training accuracy of member 1", "\"Width of the parameters"}) {
        EXPECT_EQ(count(page, description), 1) << description;
    }
    EXPECT_EQ(count(page, "<svg"), 8);
}

TEST_F(Report, StandsAlone) {
    write_all();
    const std::string page = this->page();
    for (const char* outside : {"<script", "<link", "<img", "http:", "https:", "url(", "@import"}) {
        EXPECT_THAT(page, Not(HasSubstr(outside)));
    }
}

TEST_F(Report, ClosesEveryElementItOpens) {
    write_all();
    const std::string page = body_of(this->page());
    for (const char* tag :
         {"div", "p", "table", "tr", "td", "th", "svg", "text", "title", "ul", "li", "dl", "dd", "section"}) {
        const std::string open(tag);
        EXPECT_EQ(count(page, "<" + open + ">") + count(page, "<" + open + " "),
                  count(page, "</" + open + ">"))
            << tag;
    }
}

TEST_F(Report, EscapesWhatFilesSay) {
    write_all();
    const std::string page = this->page();
    EXPECT_THAT(page, HasSubstr("&lt;b&gt;&amp;&quot;net&quot;"));
    EXPECT_THAT(page, HasSubstr("Boxes enclose &lt;all&gt; runs."));
    EXPECT_THAT(page, Not(HasSubstr("<b>&")));
    EXPECT_THAT(page, Not(HasSubstr("<all>")));
}

TEST_F(Report, NamesTheGuaranteeOfEachNumber) {
    write_all();
    const std::string page = body_of(this->page());
    EXPECT_THAT(page, HasSubstr("The guarantee of each number"));
    EXPECT_THAT(page, HasSubstr("badge fair\">as published<"));
    EXPECT_THAT(page, HasSubstr("<dt>Gap</dt><dd>assumed</dd>"));
    EXPECT_THAT(page, HasSubstr("badge bad\">not differentially private"));
    // Mechanisms with the same guarantee share a card.
    EXPECT_EQ(count(page, "Pure."), 1);
    EXPECT_THAT(page, HasSubstr("<code>stable_rr</code>, <code>ptr δ=1e-06</code>"));
}

TEST_F(Report, CallsOnlyAProvedMechanismTheBest) {
    write_all();
    const std::string page = body_of(this->page());
    EXPECT_THAT(page, HasSubstr("figure best\">91.3%"));
    EXPECT_THAT(page, Not(HasSubstr("figure best\">99.9%")));
    EXPECT_EQ(count(page, "dashed\""), 1);  // paper_sparse
}

TEST_F(Report, ShowsOneModelOnce) {
    std::string one = evaluation;
    one.replace(one.find("\"members\":2"), 11, "\"members\":1");
    write("evaluation.json", one);
    const std::string page = body_of(this->page());
    EXPECT_EQ(count(page, "<svg"), 3);
    EXPECT_THAT(page, Not(HasSubstr("one member")));
    EXPECT_THAT(page, Not(HasSubstr(">Ensemble<")));
}

/// `evaluation` with what evaluate --budget adds.
std::string with_budget(const std::string& budget) {
    std::string text = evaluation;
    return text.insert(1, "\"budget\":" + budget + ",");
}

TEST_F(Report, DrawsALineARouteAgainstTheNumberOfAnswers) {
    write("evaluation.json", evaluation);
    const std::size_t before = count(body_of(page()), "<svg");
    write("evaluation.json", with_budget(R"json({"epsilon":1,"delta":1e-5,"answers":[1,100,1000000],"routes":[
  {"route":"stable_rr","setting":"single","accuracy":[0.981,0.5,0.5],"guarantee":{"status":"proved"}},
  {"route":"stable_rr","setting":"ensemble","accuracy":[0.982,0.6,0.5],"guarantee":{"status":"proved"}},
  {"route":"cauchy","setting":"single","accuracy":[0.731,0.4,0.3],"guarantee":{"status":"proved"}},
  {"route":"session","setting":"ensemble","accuracy":[0.1,0.723,0.814],"guarantee":{"status":"proved"}}],"best":[]})json"));
    const std::string page = body_of(this->page());
    EXPECT_EQ(count(page, "<svg"), before + 1);
    EXPECT_THAT(page, HasSubstr("ε = 1, δ = 1e-05"));
    EXPECT_THAT(page, HasSubstr("session, answers 1\u202f000\u202f000: 81.4%"));  // a dot's tooltip
    EXPECT_THAT(page, Not(HasSubstr("98.1%")));                                   // the worse setting
    for (const char* best : {"98.2%", "72.3%", "81.4%"})
        EXPECT_THAT(page, HasSubstr(std::string("figure best\">") + best));
    EXPECT_THAT(page, Not(HasSubstr("figure best\">73.1%")));
    const std::string chart = page.substr(page.find("against the number of answers, at one"));
    EXPECT_EQ(count(chart.substr(0, chart.find("</svg>")), "class=\"line "), 4);  // three routes, no privacy
    EXPECT_EQ(count(chart.substr(0, chart.find("</svg>")), "dashed\""), 1);
    EXPECT_EQ(count(chart.substr(0, chart.find("</svg>")), ">cauchy<"), 0);  // nowhere the best
    EXPECT_THAT(page, HasSubstr("outside the guarantee"));
}

TEST_F(Report, SaysWhyABudgetHasNoRoute) {
    write("evaluation.json",
          with_budget(R"({"epsilon":1,"delta":0,"answers":[1],"routes":[],"refused":"<removals>"})"));
    EXPECT_THAT(page(), HasSubstr("No route: &lt;removals&gt;"));
    write("evaluation.json",
          with_budget(R"({"epsilon":1,"answers":[1,2],"routes":[{"route":"ptr","accuracy":[1]}]})"));
    EXPECT_THAT(error().message(), HasSubstr("ptr has 1 values for 2 numbers of answers"));
    write("evaluation.json", with_budget("3"));
    EXPECT_THAT(error().message(), HasSubstr("\"budget\" must be an object"));
}

TEST_F(Report, SaysThatTheEvaluationIsMissing) {
    const std::string page = this->page();
    EXPECT_THAT(page, HasSubstr("Not evaluated yet."));
    EXPECT_THAT(page, HasSubstr("holdfast evaluate --run"));
    EXPECT_THAT(page, HasSubstr("learning_rate"));
    EXPECT_THAT(page, Not(HasSubstr("<svg")));
    write("metrics.jsonl", metrics);
    EXPECT_EQ(count(this->page(), "<svg"), 3);
}

// Three charts of a line a layer and member, labelled once; what older programs wrote has none.
TEST_F(Report, ShowsWhereTheBoxesGrow) {
    const std::string row =
        R"("layer_width_mean":[1e-3,2e-3],"layer_width_max":[1e-2,1e-2],"undecided":[0.25],"charge_share":[1,null]})";
    std::string lines;
    for (const char* start : {R"({"member":0,"step":0,"level":2,)", R"({"member":0,"step":1,"level":2,)",
                              R"({"member":1,"step":0,"level":2,)", R"({"member":1,"step":1,"level":2,)"})
        lines += start + row + "\n";
    write("metrics.jsonl", lines);
    const std::string page = body_of(this->page());
    for (const char* description :
         {"\"Mean width of the parameters", "\"Share of activations that may change sign by",
          "\"Share of the width that is charged"})
        EXPECT_EQ(count(page, description), 1) << description;
    EXPECT_EQ(count(page, ">layer 1<"), 3);
    EXPECT_EQ(count(page, ">layer 2<"), 1);  // one hidden layer, and no finite share of the second
    write("metrics.jsonl", metrics);
    EXPECT_THAT(this->page(), Not(HasSubstr("by layer")));
}

TEST_F(Report, OfANoisyRunShowsWhatItCostAndNoBoxes) {
    RunManifest noisy;
    noisy.kind = "noisy";
    noisy.configuration = nlohmann::json::object();
    noisy.arithmetic = noisy.guarantee = nlohmann::json::object();
    noisy.dataset.scaling = Scaling::public_constants;
    noisy.payment = {{"token", "aa"},
                     {"epsilon", 1.0},
                     {"delta", 1e-5},
                     {"mechanism", "noisy_training"},
                     {"parameters", nlohmann::json::object()}};
    write("manifest.json", noisy.to_json().dump());
    write("metrics.jsonl", metrics);
    write("evaluation.json", evaluation);
    const std::string page = this->page();
    EXPECT_THAT(page, HasSubstr("epsilon 1, delta 1e-05"));
    EXPECT_THAT(page, HasSubstr("holdfast publish"));
    EXPECT_THAT(page, HasSubstr("Accuracy on the records of each step."));
    for (const char* of_boxes : {"holdfast release", "Certified fraction", "Stable distances", "levels k",
                                 "Width of the parameters", "certified at"})
        EXPECT_THAT(page, Not(HasSubstr(of_boxes))) << of_boxes;
}

TEST_F(Report, ToleratesMissingFields) {
    write("manifest.json", completed("{}"));
    write("metrics.jsonl", "{}\n");
    write("evaluation.json", R"({"distances":{"single":[null,1],"ensemble":{"value":[null],"count":[1]}}})");
    EXPECT_THAT(page(), HasSubstr("no guarantee stated"));
    EXPECT_THAT(page(), Not(HasSubstr("nan")));
}

TEST_F(Report, NamesTheMalformedFile) {
    for (const char* name : {"manifest.json", "evaluation.json"}) {
        for (const char* content :
             {"{\"steps\": ", "[1, 2]", "", "{\"guarantee\": 3}", "{\"levels\": [\"x\"]}"}) {
            write("manifest.json", manifest);
            write(name, content);
            EXPECT_EQ(error().code(), ExitCode::input) << content;
            EXPECT_EQ(error().where(), path(name)) << content;
            EXPECT_FALSE(error().hint().empty());
        }
    }
}

TEST_F(Report, NamesTheMalformedLine) {
    write("metrics.jsonl", "{\"step\": 1}\n{\"step\": oops}\n");
    EXPECT_EQ(error().code(), ExitCode::input);
    EXPECT_EQ(error().where(), path("metrics.jsonl") + ":2");
    write("metrics.jsonl", "{\"step\": \"one\"}\n");
    EXPECT_THAT(error().message(), HasSubstr("field \"step\" must be a number"));
}

TEST_F(Report, RefusesListsOfDifferentLengths) {
    write("evaluation.json",
          R"({"epsilons":[1,2],"private_accuracy":[{"mechanism":"ptr","accuracy":[0.5]}]})");
    EXPECT_THAT(error().message(), HasSubstr("ptr has 1 values for 2 epsilons"));
    write("evaluation.json", R"({"certified_fraction":{"ensemble":{"k":[0,1],"fraction":[1]}}})");
    EXPECT_THAT(error().message(), HasSubstr("2 positions for 1 values"));
}

TEST_F(Report, RefusesWhatIsNoRunFolder) {
    std::filesystem::remove(path("manifest.json"));
    EXPECT_THAT(error().message(), HasSubstr("manifest.json is missing"));
    std::filesystem::remove_all(folder_);
    EXPECT_THAT(error().message(), HasSubstr("no such run folder"));
}

/// A fleet that was asked everything. Its first record changes two answers, the second none but most.
struct FleetReport : Report {
    FleetReport() {
        write("manifest.json",
              completed(R"({"kind":"fleet","program":"holdfast","version":"0.1.0","configuration":{},
 "dataset":{"path":"two.h5","rows":3,"features":2,"classes":2,"scaling":"public","ids":"given","range":[0,1],"population":"p","digest":"5e7"},
 "public":{"records":0,"digest":""},"members":4,"steps":2,"parameters":65,"levels":[0],"layers":[[2,2]],"normaliser":3,
 "relation":"remove","digest":"abc123","arithmetic":{},"guarantee":{"status":"proved","statement":"Every network is."}})"));
    }
    void write_figures(const std::string& newton = ",newton", const std::string& estimates = ",0.31") const {
        write("influence_records.csv",
              "record,labels_changed,largest_change,mean_change,own_lead_with,own_lead_without,memorised" +
                  newton + "\n4711,2,0.25,0.125,1,-1,1" + estimates + "\n42,0,0.75,0.0625,1,1,0" + estimates +
                  "\n7,0,0.5,0.03125,1,1,0" + estimates + "\n");
        write("influence.json", R"({"queries":9,"records":3,"records_that_change_an_answer":1,
 "queries_that_a_record_changes":2,"top":[],"newton":{"correlation":0.875,"largest_error":0.0625,"largest_change":0.75,"gradient":0.5}})");
        write(
            "idp.json",
            R"({"format":1,"fleet":"abc123","low":0,"high":1,"gap":0.001,"seconds":2,"guarantee":{"status":"proved","statement":"Above it."},
 "classes":[{"lower":1.25,"upper":1.5,"record":4711,"input":[0.5,0.5],"complete":false,"seconds":2},null]})");
        write(
            "evaluation.json",
            R"({"data":"two.h5","queries":9,"classes":2,"networks":4,"relation":"remove","members":1,"accuracy":{"single":0.875},
 "rules":[{"rule":"vote","answered":0.75,"right":0.625,"accuracy":0.813},{"rule":"bound","answered":0.5,"right":0.4375,"accuracy":0.687}],
 "epsilons":[1],"private_accuracy":[{"mechanism":"one_record_rr","delta":0,"setting":"vote","accuracy":[0.731],"guarantee":{"status":"proved"}}],
 "guarantee":{"status":"proved"},"digest":"77aa"})");
    }
};

TEST_F(FleetReport, SaysWhatToAskOfAFleetThatNobodyAsked) {
    const std::string page = body_of(this->page());
    for (const char* job : {"holdfast evaluate --run", "holdfast idp --run", "holdfast influence --run"})
        EXPECT_EQ(count(page, job), 1) << job;
    EXPECT_EQ(count(page, "<svg"), 0);
    EXPECT_THAT(page, HasSubstr("no network of a fleet"));
    EXPECT_THAT(page, HasSubstr("<b>4</b><span>networks"));
}

TEST_F(FleetReport, ShowsWhatTheJobsFound) {
    write_figures();
    const std::string page = body_of(this->page());
    for (const char* figure : {"75.0%", "62.5%", "81.3%", "43.8%", "68.7%", "73.1%",  // agreement
                               "1.25", "1.5", "Above it.",                            // the bound
                               "1 of 3 records change an answer", "2 of 9 queries", "correlation 0.8750",
                               "off by 0.0625 at most", "0.03125", "Nothing of it is proved"})
        EXPECT_THAT(page, HasSubstr(figure));
    EXPECT_THAT(page, Not(HasSubstr("Not computed yet")));
    EXPECT_EQ(count(page, "<svg"), 1);
    // The few that matter by name, the first in the order of the file.
    EXPECT_LT(page.find("<code>4711</code>"), page.find("<code>42</code>"));
    EXPECT_EQ(count(page, ">yes<"), 1);
    // The curve is sorted by what it shows.
    EXPECT_THAT(page, HasSubstr("Change of the answers by each record left out, the greatest first"));
    EXPECT_EQ(count(page, "dashed\""), 1);
    for (const char* tag : {"div", "p", "table", "tr", "td", "th", "svg", "text"}) {
        const std::string open(tag);
        EXPECT_EQ(count(page, "<" + open + ">") + count(page, "<" + open + " "),
                  count(page, "</" + open + ">"))
            << tag;
    }
}

TEST_F(FleetReport, DoesWithoutWhatWasNotAsked) {
    write_figures("", "");
    std::filesystem::remove(path("idp.json"));
    const std::string page = body_of(this->page());
    EXPECT_EQ(count(page, "Not computed yet"), 1);
    EXPECT_EQ(count(page, "dashed\""), 0);
    EXPECT_THAT(page, Not(HasSubstr(">largest, estimated<")));
}

TEST_F(FleetReport, RefusesDamagedFiles) {
    const auto refused = [&](const char* name, const std::string& content, const char* words) {
        write_figures();
        write(name, content);
        const Error found = error();
        EXPECT_EQ(found.code(), ExitCode::input) << name;
        EXPECT_THAT(found.where(), HasSubstr(name));
        EXPECT_THAT(found.message(), HasSubstr(words));
    };
    const std::string heads = "record,labels_changed,largest_change,mean_change\n";
    refused("influence_records.csv", "", "empty");
    refused("influence_records.csv", "record,labels_changed,mean_change\n", "no column largest_change");
    refused("influence_records.csv", heads + "1,0,0.5\n", "line 2 has 3 columns of 4");
    refused("influence_records.csv", heads + "1,0,0.5,0.25\n1,0,half,0.25\n",
            "line 3: \"half\" is no number");
    refused("influence.json", "[]", "one JSON object");
    refused("influence.json", R"({"queries":"nine"})", "queries");
    refused("idp.json", R"({"format":1})", "fleet");
    refused("evaluation.json", R"({"rules":7})", "rules");
}

}  // namespace
}  // namespace holdfast
