// SPDX-License-Identifier: Apache-2.0
// What people read says what the program does.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "apps/wan/flags.hpp"
#include "apps/wan/plan_checks.hpp"
#include "apps/wan/report.hpp"
#include "apps/wan/scenario.hpp"

namespace longhaul::apps::wan {
namespace {

const std::string kFolder = LONGHAUL_WAN_FOLDER;

TEST(Documents, KnowEveryFlagEffectAndCounter) {
  const std::string help = help_text();
  const std::string manual = manual_page();
  for (const Flag& flag : flags()) {
    EXPECT_NE(help.find("--" + std::string(flag.name)), std::string::npos);
    EXPECT_NE(manual.find("\\-\\-" + std::string(flag.name)), std::string::npos);
  }
  for (const CounterName& counter : counter_names()) {
    EXPECT_NE(help.find("  " + std::string(counter.name) + " "), std::string::npos) << counter.name;
    EXPECT_NE(manual.find("\\fB" + std::string(counter.name) + "\\fR"), std::string::npos);
  }
  for (const EffectKey& key : effect_keys()) {
    EXPECT_NE(help.find(std::string(key.name) + "="), std::string::npos);
    EXPECT_NE(manual.find("\\fB" + std::string(key.name) + "\\fR="), std::string::npos);
  }
}

/// One section of the manual page, without its heading.
std::string section(const std::string& manual, const std::string& name) {
  const std::size_t from = manual.find(".SH " + name + "\n");
  return from == std::string::npos ? "" : manual.substr(from, manual.find("\n.SH ", from) - from);
}

TEST(Documents, TheManualHasEachThingInItsPlace) {
  const std::string manual = manual_page();
  for (const char* word : {"\\-h, \\-\\-help", "\\-\\-version"})
    EXPECT_NE(section(manual, "OPTIONS").find(word), std::string::npos) << word;
  EXPECT_NE(section(manual, "VALUES").find("TIME"), std::string::npos);
  EXPECT_NE(section(manual, "EFFECTS").find("mtu > policer"), std::string::npos);
  const std::string exits = section(manual, "EXIT STATUS");
  EXPECT_NE(exits.find("  0  after"), std::string::npos) << exits;
  EXPECT_EQ(exits.find("xit status:"), std::string::npos) << exits;
  EXPECT_EQ(exits.find("TIME"), std::string::npos) << exits;
}

TEST(Documents, TheReadmeNamesEveryKeyOfTheJson) {
  std::ifstream file(kFolder + "/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Report report;
  report.links.push_back({"a-b", "a", "b", {}});
  report.events = {{Duration{1}, "a-b", "both", "down for 2 s"}};
  const auto named = [&](const nlohmann::json& object) {
    for (const auto& [key, value] : object.items())
      EXPECT_NE(readme.find('`' + key + '`'), std::string::npos) << key;
  };
  const auto json = nlohmann::json::parse(json_text(report));
  named(json);
  named(json["links"][0]);
  named(json["links"][0]["forward"]);
  named(json["events"][0]);
}

TEST(Documents, TheExampleIsAScenario) {
  Options options;
  const auto read = read_scenario(kFolder + "/examples/two-links.json", options);
  ASSERT_TRUE(read) << read.error().context;
  const auto plans = plan_links(options.links);
  ASSERT_TRUE(plans) << plans.error().context;
  ASSERT_EQ(plans->size(), 2u);
  EXPECT_EQ(plans->front().name, "east-west");
  const auto checked = check_limits(*plans, options);
  EXPECT_TRUE(checked) << checked.error().context;
}

}  // namespace
}  // namespace longhaul::apps::wan
