// What a statement says of a ledger, and what it does not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "jobs/answers/statement/document.hpp"
#include "jobs/answers/statement/render.hpp"
#include "models/privacy/accountant/renyi.hpp"
#include "models/privacy/guarantee.hpp"
#include "models/privacy/selection/runs_law.hpp"
#include "tests/support/ledger_queries.hpp"
#include "tests/support/temporary_folder.hpp"

namespace holdfast {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::ordered_json;

const Rational millionth(1, 1000000);

std::string guarantee(bool proved) {
    Guarantee claim = Guarantee::proved("a model of <noise>", "add_remove");
    claim.require("the key is secret");
    if (!proved) claim.weaken("the published proof");
    return claim.to_json().dump();
}

Payment training(const std::string& token) {
    return {token,          Rational(1, 2),
            millionth,      {},
            "noisy",        R"({"noise_multiplier":1.5,"sampling_rate":"1/64","steps":640})",
            guarantee(true)};
}

/// One training with a published model and one answer, about records whose digest is given; all on one day.
void write_history(const std::string& path, const std::string& dataset, std::size_t people) {
    {
        Ledger ledger(path);
        std::vector<std::uint64_t> ids(people);
        for (std::size_t i = 0; i < people; ++i) ids[i] = 7000000 + i;
        ledger.add_version("ward <A&E>", dataset, ids,
                           Account{{2, 2 * millionth, std::nullopt}, "add_remove"});
        ledger.pay(dataset, training("token of " + dataset));
        ledger.record_publication(dataset, "token of " + dataset, "model digest");
        ledger.answer(dataset, {Rational(1, 10), 0, "stable_rr", guarantee(true)}, query(1), always(4));
    }
    run_sql(path, std::string("UPDATE payments SET time = 1700000000000;"
                              "UPDATE publications SET time = 1700100000000;"
                              "UPDATE charges SET time = 1700200000000;") +
                      as_layout_4);
}

struct StatementTest : ::testing::Test {
    TemporaryFolder folder;
    std::string path = folder.file("ledger.db");

    Json statement(const std::string& file) const {
        const Ledger ledger(file);
        return statement_document(ledger, ledger.populations());
    }
};

TEST_F(StatementTest, SaysWhatWasReleasedUnderWhichTerms) {
    write_history(path, "digest of the records", 3);
    const Json document = statement(path);
    ASSERT_EQ(document.at("statements").size(), 1U);
    const Json& one = document.at("statements")[0];
    EXPECT_EQ(one.at("population"), "ward <A&E>");
    EXPECT_EQ(one.at("period"), Json({{"first_release", "2023-11-14"}, {"last_release", "2023-11-17"}}));
    EXPECT_EQ(one.at("status"), "proved");
    EXPECT_EQ(one.at("privacy_loss").at("spent").at("epsilon"), 0.6);
    EXPECT_EQ(one.at("privacy_loss").at("spent").at("delta"), 1e-6);
    EXPECT_EQ(one.at("privacy_loss").at("budget").at("epsilon"), 2.0);
    EXPECT_EQ(one.at("privacy_loss").at("budget").at("probability_ratio"), 7.39);  // e^2 = 7.38905…
    EXPECT_EQ(one.at("neighbours").at("known_as"), "unbounded differential privacy");
    const Json &answers = one.at("releases")[0], &model = one.at("releases")[1];
    EXPECT_EQ(answers.at("answers"), 1);
    EXPECT_EQ(answers.at("epsilon_an_answer"), 0.1);
    EXPECT_EQ(model.at("mechanism"), "noisy");
    EXPECT_EQ(model.at("parameters").at("noise_multiplier"), 1.5);
    EXPECT_EQ(model.at("models"), Json::array({{{"published", "2023-11-16"}, {"digest", "model digest"}}}));
    EXPECT_EQ(model.at("guarantee").at("conditions"), Json::array({"the key is secret"}));
    EXPECT_EQ(one.at("registry_entry").at("privacy_loss").at("privacy_parameters").at("epsilon"), 2.0);
    EXPECT_EQ(one.at("registry_entry").at("deployment_model").at("access_type"), "Interactive");
}

// The same releases about other records: not a byte differs, in any form.
TEST_F(StatementTest, IsTheSameForNeighbours) {
    const std::string other = folder.file("other.db");
    write_history(path, "digest of the records", 3);
    write_history(other, "another digest", 4);
    Json ours = statement(path), theirs = statement(other);
    for (Json* document : {&ours, &theirs})  // a hash under the ledger's own random key
        EXPECT_EQ((*document)["ledger"].erase("chain_head"), 1u);
    EXPECT_EQ(ours.dump(), theirs.dump());
    const std::string all =
        statement(path).dump() + statement_text(statement(path)) + statement_page(statement(path));
    for (const char* hidden : {"digest of the records", "token of", "7000000", "1700000000000", path.c_str()})
        EXPECT_THAT(all, Not(HasSubstr(hidden)));
}

// The time between payment and publication tells how many trainings a selection drew.
TEST_F(StatementTest, ASelectionHasTheDayOfItsPaymentAlone) {
    write_history(path, "data", 3);
    Payment chosen = training("chosen");
    chosen.mechanism = selection_mechanism;
    Ledger(path).pay("data", chosen);
    Ledger(path).record_publication("data", "chosen", "the best");
    const Json document = statement(path), &one = document.at("statements")[0];
    const Json& entry = one.at("releases").back();
    EXPECT_EQ(entry.at("models"), Json::parse(R"([{"digest":"the best"}])"));
    const std::string day = entry.at("charged");
    EXPECT_EQ(one.at("period").at("last_release"), day);
}

// Later versions: a new person, another label or other features, and a person with the features of one in
// another account, change no byte.
TEST_F(StatementTest, IsTheSameForNeighboursOfLaterVersionsAndOtherAccounts) {
    const std::vector<std::uint64_t> ids{1, 2, 3}, more{1, 2, 3, 4}, features{10, 20, 30}, others{10, 20, 31},
        with_more{10, 20, 30, 40}, clinic{7, 8}, apart{70, 80}, equal{70, 30};
    const Account terms{{2, 0, std::nullopt}, "add_remove"};
    const auto write = [&](const std::string& file, const std::vector<std::uint64_t>& later_ids,
                           const std::vector<std::uint64_t>& later_features,
                           const std::vector<std::uint64_t>& clinic_features) {
        Ledger ledger(file);
        ledger.add_version("ward", "a", ids, terms, {"given", features, true});
        ledger.add_version("ward", "b", later_ids, std::nullopt, {"given", later_features, true});
        ledger.add_version("clinic", "c", clinic, terms, {"given", clinic_features, true});
        Json document = statement(file);
        EXPECT_EQ(document["ledger"].erase("chain_head"), 1U);
        return document.dump();
    };
    const std::string plain = write(folder.file("plain.db"), ids, features, apart);
    EXPECT_EQ(write(folder.file("person.db"), more, with_more, apart), plain);
    EXPECT_EQ(write(folder.file("feature.db"), ids, others, apart), plain);
    EXPECT_EQ(write(folder.file("equal.db"), ids, features, equal), plain);
}

TEST_F(StatementTest, SaysTheSameInEveryForm) {
    write_history(path, "digest", 3);
    const Json document = statement(path);
    const std::string text = statement_text(document), page = statement_page(document);
    for (const char* fact :
         {"model digest", "1/64", "2023-11-16", "the key is secret", "NIST SP 800-226", "Rogers"}) {
        EXPECT_THAT(text, HasSubstr(fact));
        EXPECT_THAT(page, HasSubstr(fact));
    }
    // What nobody but the owner knows is named, and no dash stands for it.
    EXPECT_THAT(text, HasSubstr("for the owner to add: data curators, intended use, data product region"));
    EXPECT_THAT(page, HasSubstr("<dt>For the owner to add</dt><dd>justification</dd>"));
    EXPECT_THAT(text + page, Not(HasSubstr("–")));
    EXPECT_THAT(document.at("statements")[0].at("assumptions").dump(), Not(HasSubstr("Not so")));
    EXPECT_THAT(text, HasSubstr("epsilon 0.6 of 2, delta 1e-06 of 2e-06"));
    EXPECT_THAT(page, HasSubstr("ward &lt;A&amp;E&gt;"));
    EXPECT_THAT(page, HasSubstr("a model of &lt;noise&gt;"));
    EXPECT_THAT(page, Not(HasSubstr("<A&E>")));
    EXPECT_THAT(page, Not(HasSubstr("://")));
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        EXPECT_LE(end - begin, 104U) << text.substr(begin,
                                                    end - begin);  // a dash is one letter of three bytes
        begin = end + 1;
    }
}

TEST_F(StatementTest, NamesTheRuleAndTheRelation) {
    {
        Ledger ledger(path);
        ledger.open_account("basic", {{1, 0, std::nullopt}, "substitute"});
        ledger.open_account("fixed", {{1, millionth, Rational(1, 100)}, "add_remove"});
        ledger.add_version(
            "renyi", "a", {},
            Account{{1, millionth, std::nullopt, order_for_budget(1, millionth), millionth / 4},
                    "add_remove"});
        ledger.add_version("renyi", "b", {});
    }
    const Json document = statement(path);
    const Json &basic = document.at("statements")[0], &fixed = document.at("statements")[1],
               &renyi = document.at("statements")[2];
    EXPECT_EQ(basic.at("neighbours").at("known_as"), "bounded differential privacy");
    EXPECT_THAT(basic.at("privacy_loss").at("definition").get<std::string>(), HasSubstr("pure"));
    EXPECT_EQ(basic.at("status"), "nothing was released");
    EXPECT_TRUE(basic.at("period").is_null());
    EXPECT_EQ(fixed.at("composition").at("epsilon_an_answer"), 0.01);
    EXPECT_THAT(fixed.at("composition").at("theorem").get<std::string>(), HasSubstr("Kairouz"));
    EXPECT_EQ(renyi.at("composition").at("renyi_order"), order_for_budget(1, millionth));
    EXPECT_EQ(renyi.at("composition").at("delta_set_apart"), 2.5e-7);
    EXPECT_THAT(renyi.at("composition").at("theorem").get<std::string>(), HasSubstr("Feldman"));
    EXPECT_TRUE(renyi.at("unit_of_privacy").contains("without_ids"));
    EXPECT_EQ(renyi.at("registry_entry").at("deployment_model").at("data_source_type"), "Dynamic");
}

TEST_F(StatementTest, CountsWhatIsNotProved) {
    {
        Ledger ledger(path);
        ledger.add_version("ward", "a", {}, Account{{100, 0, std::nullopt}, "add_remove"});
        ledger.answer("a", {1, 0, "cauchy", guarantee(false)}, query(1), always(0));
        ledger.answer("a", {1, 0, "stable_rr", guarantee(true)}, query(2), always(0));
    }
    const Json one = statement(path).at("statements")[0];
    EXPECT_THAT(one.at("status").get<std::string>(), HasSubstr("as published (gap: 1 of 2"));
    EXPECT_EQ(one.at("releases")[0].at("guarantee").at("gap"), "the published proof");
    EXPECT_THAT(one.at("assumptions").at("settings").get<std::string>(),
                HasSubstr("Not so, as far as these gaps say it: the published proof."));
}

TEST_F(StatementTest, RefusesWhatItCannotSay) {
    write_history(path, "digest", 3);
    const Ledger ledger(path);
    EXPECT_EQ(error_of([&] { statement_document(ledger, {"nobody"}); }).code(), ExitCode::usage);
    for (const std::string damaged : {"{", "[]", "{}"}) {
        run_sql(path, "UPDATE guarantees SET text = '" + damaged + "';" + as_layout_4);
        EXPECT_EQ(error_of([&] { statement(path); }).code(), ExitCode::input) << damaged;
    }
}

}  // namespace
}  // namespace holdfast
