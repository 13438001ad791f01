// SPDX-License-Identifier: Apache-2.0
// From words, by flags or a scenario, to what the model is told and when.
#include "apps/wan/plan.hpp"

#include <gtest/gtest.h>

#include "apps/wan/flags.hpp"
#include "apps/wan/plan_checks.hpp"
#include "apps/wan/plan_events.hpp"
#include "apps/wan/scenario.hpp"

namespace longhaul::apps::wan {
namespace {

using namespace std::chrono_literals;

Result<netmodel::LinkConfig> config_of(std::string_view text) {
  auto list = split_effects(text);
  if (!list) return tl::unexpected(list.error());
  Effects effects;
  if (auto applied = apply_effects(effects, *list); !applied)
    return tl::unexpected(applied.error());
  return link_config(effects);
}

std::string refusal_of(std::string_view text) {
  const auto config = config_of(text);
  return config ? "accepted" : config.error().context;
}

TEST(Effects, BecomeTheModelsConfiguration) {
  const auto config = config_of(
      "rate=1G,delay=25ms,jitter=5ms,jitter_reorders=true,queue=64K,loss=1e-2,duplicate=0.5%,"
      "corrupt=0.001,mtu=1400,reorder=1%,reorder_delay=2ms,policer_rate=500M,policer_burst=1M");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->rate_bps, 1'000'000'000u);
  EXPECT_EQ(config->propagation, 25ms);
  EXPECT_EQ(config->jitter, 5ms);
  EXPECT_TRUE(config->jitter_reorders);
  EXPECT_EQ(config->queue_bytes, 65536u);
  EXPECT_DOUBLE_EQ(config->loss, 0.01);
  EXPECT_DOUBLE_EQ(config->duplicate, 0.005);
  EXPECT_DOUBLE_EQ(config->corrupt, 0.001);
  EXPECT_EQ(config->mtu, 1400u);
  EXPECT_DOUBLE_EQ(config->reorder_probability, 0.01);
  EXPECT_EQ(config->reorder_delay, 2ms);
  EXPECT_EQ(config->policer.rate_bps, 500'000'000u);
  EXPECT_EQ(config->policer.burst_bytes, 1u << 20);
}

TEST(Effects, BandwidthDelayProductIsRateTimesTwiceTheDelay) {
  const auto config =
      config_of("queue=0.5bdp,red_min=0.1bdp,red_max=1bdp,rate=1G,delay=25ms,ecn=true");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->queue_bytes, 3'125'000u);
  EXPECT_EQ(config->red.min_bytes, 625'000u);
  EXPECT_EQ(config->red.max_bytes, 6'250'000u);
  EXPECT_TRUE(config->red.ecn);
  EXPECT_NE(refusal_of("rate=1G,queue=1bdp").find("delay="), std::string::npos);
  EXPECT_NE(refusal_of("delay=1ms,queue=1bdp").find("rate="), std::string::npos);
}

TEST(Effects, BurstsBecomeGilbertElliott) {
  const auto config = config_of("burst_loss=1e-3,burst_length=50");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_DOUBLE_EQ(config->burst.bad_to_good, 0.02);
  const auto& burst = config->burst;
  EXPECT_NEAR(burst.good_to_bad / (burst.good_to_bad + burst.bad_to_good), 1e-3, 1e-12);
}

TEST(Effects, LaterListsWinAndUnlimitedTakesBack) {
  Effects effects;
  for (const char* text : {"rate=1G,policer_rate=1M", "rate=300M,policer_rate=unlimited"})
    ASSERT_TRUE(apply_effects(effects, *split_effects(text)));
  const auto config = link_config(effects);
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->rate_bps, 300'000'000u);
  EXPECT_EQ(config->policer.rate_bps, 0u);
}

TEST(Effects, MayHaveSpacesAroundThem) {
  const auto list = split_effects(" rate = 1G ,  delay=5ms");
  ASSERT_TRUE(list) << list.error().context;
  EXPECT_EQ(*list, (EffectList{{"rate", "1G"}, {"delay", "5ms"}}));
  const auto scheduled = parse_scheduled("10s: both: rate=1G");
  ASSERT_TRUE(scheduled) << scheduled.error().context;
  EXPECT_EQ(scheduled->effects, (EffectList{{"rate", "1G"}}));
}

struct Refusal {
  std::string_view effects;
  std::string_view names;
};

class RefusedEffects : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedEffects, AreNamedWithTheRemedy) {
  const std::string context = refusal_of(GetParam().effects);
  EXPECT_NE(context.find(GetParam().names), std::string::npos) << context;
  EXPECT_EQ(context.find('\n'), std::string::npos) << context;
}
INSTANTIATE_TEST_SUITE_P(
    All, RefusedEffects,
    testing::Values(Refusal{"rate=0", "unlimited"}, Refusal{"rate=5T", "1T"},
                    Refusal{"delay=25", "25ms"}, Refusal{"delay=-5ms", "less than 0"},
                    Refusal{"loss=1%,loss=2%", "twice, loss=1% and loss=2%"},
                    Refusal{" =1ms", "key=value"}, Refusal{"delay", "key=value"},
                    Refusal{"delay=", "key=value"}, Refusal{"", "key=value"},
                    Refusal{"delay=1ms,", "key=value"}, Refusal{"dealy=1ms", "duplicate"},
                    Refusal{"loss=2", "1%"}, Refusal{"rate=1G,queue=0", "unlimited"},
                    Refusal{"queue=64K", "rate="}, Refusal{"rate=1G,queue=xbdp", "1bdp"},
                    Refusal{"mtu=20", "68"}, Refusal{"burst_loss=1%", "burst_length="},
                    Refusal{"burst_loss=60%,burst_length=1", "larger"},
                    Refusal{"burst_loss=1%,burst_length=0.5", "1 or more"},
                    Refusal{"reorder=1%", "reorder_delay="},
                    Refusal{"policer_rate=1M", "policer_burst="},
                    Refusal{"rate=1G,ecn=true", "red_max="}, Refusal{"red_max=1K", "rate="},
                    Refusal{"rate=1G,red_min=2K,red_max=1K", "more than red_min="},
                    Refusal{"jitter_reorders=yes", "true"}));

LinkRequest request_of(std::string_view both) {
  LinkRequest request = *parse_link("w0:w1");
  request.both = *split_effects(both);
  return request;
}

TEST(Plan, StagesFollowTheScheduleOfTheirDirection) {
  LinkRequest request = request_of("rate=1G,delay=25ms");
  request.backward = *split_effects("loss=1%");
  for (const char* text : {"12s:both:rate=300M", "5s:forward:loss=2%", "5s:forward:delay=30ms"})
    request.schedule.push_back(*parse_scheduled(text));
  const auto plan = plan_link(request);
  ASSERT_TRUE(plan) << plan.error().context;
  const auto& forward = plan->directions[0].stages;
  ASSERT_EQ(forward.size(), 3u);
  EXPECT_EQ(forward[0].config.loss, 0);
  EXPECT_EQ(forward[1].at, 5s);
  EXPECT_DOUBLE_EQ(forward[1].config.loss, 0.02);
  EXPECT_EQ(forward[1].config.propagation, 30ms);
  EXPECT_EQ(forward[2].at, 12s);
  EXPECT_EQ(forward[2].config.rate_bps, 300'000'000u);
  EXPECT_DOUBLE_EQ(forward[2].config.loss, 0.02);
  const auto& backward = plan->directions[1].stages;
  ASSERT_EQ(backward.size(), 2u);
  EXPECT_DOUBLE_EQ(backward[0].config.loss, 0.01);
  EXPECT_EQ(backward[1].at, 12s);
}

TEST(Plan, DownTimesAreKnownFromTheStartAndMoveWithIt) {
  LinkRequest request = request_of("delay=5ms,down=1s");
  request.schedule.push_back(*parse_scheduled("10s:forward:down=2s"));
  const auto plan = plan_link(request);
  ASSERT_TRUE(plan) << plan.error().context;
  const auto& down = plan->directions[0].stages.front().config.down;
  ASSERT_EQ(down.size(), 2u);
  EXPECT_EQ(down[1].from, Timestamp{} + 10s);
  EXPECT_EQ(down[1].to, Timestamp{} + 12s);
  EXPECT_EQ(plan->directions[1].stages.front().config.down.size(), 1u);
  const auto moved = from_start(plan->directions[0].stages.front().config, Timestamp{} + 100s);
  EXPECT_EQ(moved.down[0].from, Timestamp{} + 100s);
  EXPECT_EQ(moved.down[1].to, Timestamp{} + 112s);
}

TEST(Plan, AnOutageOfOneDirectionWinsOverThatOfBoth) {
  LinkRequest request = request_of("down=3s");
  request.forward = *split_effects("down=1s");
  request.backward = *split_effects("down=0");
  const auto plan = plan_link(request);
  ASSERT_TRUE(plan) << plan.error().context;
  const auto& down = plan->directions[0].stages.front().config.down;
  ASSERT_EQ(down.size(), 1u);
  EXPECT_EQ(down[0].to, Timestamp{} + 1s);
  EXPECT_TRUE(plan->directions[1].stages.front().config.down.empty());
}

TEST(Plan, SaysInWordsWhatHappensWhen) {
  LinkRequest request = request_of("rate=1G,delay=25ms,down=500ms");
  request.backward = *split_effects("down=0");
  for (const char* text : {"4s:forward:rate=10M,loss=1%", "2s:both:down=1500ms,delay=1ms"})
    request.schedule.push_back(*parse_scheduled(text));
  const auto plan = plan_link(request);
  ASSERT_TRUE(plan) << plan.error().context;
  std::string told;
  for (const PlannedEvent& event : plan->events)
    told += time_text(event.at) + ' ' + std::string(direction_name(event.direction)) + ' ' +
            event.what + '\n';
  EXPECT_EQ(told,
            "0 us forward down for 500 ms\n"
            "500 ms forward up again\n"
            "2 s both down for 1.5 s, delay=1ms\n"
            "3.5 s both up again\n"
            "4 s forward rate=10M, loss=1%\n");
}

TEST(Plan, RefusesWhatCannotBeBeforeAnythingIsOpened) {
  LinkRequest late = request_of("rate=1G,delay=5ms");
  late.schedule.push_back(*parse_scheduled("5s:backward:rate=unlimited,queue=1bdp"));
  const auto plan = plan_link(late);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().context.find("at 5 s, backward"), std::string::npos)
      << plan.error().context;
  EXPECT_FALSE(parse_link("w0"));
  EXPECT_FALSE(parse_link("w0:"));
  EXPECT_FALSE(parse_link("w0:w1:w2"));
  EXPECT_FALSE(plan_link(*parse_link("w0:a-name-too-long-for-linux")));
  EXPECT_EQ(parse_link("tap:east:tap:west")->b, "tap:west");
  EXPECT_FALSE(plan_links({*parse_link("w0:w1"), *parse_link("w2:tap:w0")}));
  EXPECT_FALSE(parse_scheduled("5s:up:loss=1%"));
  EXPECT_FALSE(parse_scheduled("5:both:loss=1%"));
  EXPECT_FALSE(parse_scheduled("5s:both"));
}

std::string refusal_of(const LinkRequest& request) {
  const auto plan = plan_link(request);
  return plan ? "accepted" : plan.error().context;
}

TEST(Plan, RefusesWordsThatDoNothing) {
  for (const char* text : {"reorder_delay=5ms", "burst_length=50", "jitter_reorders=true",
                           "rate=1G,red_probability=0.2", "policer_burst=1M"}) {
    const std::string context = refusal_of(request_of(text));
    EXPECT_NE(context.find("does nothing without"), std::string::npos) << text << ": " << context;
    LinkRequest later = request_of("rate=1G,delay=1ms");
    later.schedule.push_back(*parse_scheduled("5s:forward:" + std::string(text)));
    EXPECT_NE(refusal_of(later).find("at 5 s, forward: "), std::string::npos) << text;
  }
}

TEST(Plan, TakesWordsThatDoSomethingInOneDirection) {
  LinkRequest request = request_of("burst_length=50,reorder_delay=5ms,jitter_reorders=false");
  request.forward = *split_effects("burst_loss=1%");
  request.backward = *split_effects("reorder=1%");
  request.schedule.push_back(*parse_scheduled("5s:forward:burst_loss=0"));
  request.schedule.push_back(*parse_scheduled("6s:backward:reorder=0,reorder_delay=0"));
  EXPECT_EQ(refusal_of(request), "accepted");
}

TEST(Plan, RefusesOutagesThatOverlap) {
  LinkRequest request = request_of("down=1s");
  request.schedule.push_back(*parse_scheduled("1s:both:down=2s"));
  request.schedule.push_back(*parse_scheduled("3s:forward:down=2s"));
  EXPECT_EQ(refusal_of(request), "accepted");
  request.schedule.push_back(*parse_scheduled("4s:backward:down=2s"));
  EXPECT_EQ(refusal_of(request), "accepted");
  request.schedule.push_back(*parse_scheduled("4s:forward:down=2s"));
  EXPECT_NE(refusal_of(request).find("forward: the outage at 4 s begins before that of 3 s"),
            std::string::npos)
      << refusal_of(request);
}

TEST(Plan, RefusesWhatDoesNotFitTheRun) {
  const auto refused = [](const LinkRequest& request, const Options& options) {
    const auto checked = check_limits({*plan_link(request)}, options);
    return checked ? std::string("accepted") : checked.error().context;
  };
  Options options;
  LinkRequest late = request_of("delay=1ms");
  late.schedule.push_back(*parse_scheduled("5s:backward:loss=1%"));
  EXPECT_EQ(refused(late, options), "accepted");
  options.duration = 5s;
  EXPECT_NE(refused(late, options).find("backward: the change at 5 s never comes"),
            std::string::npos);
  options.duration = 6s;
  EXPECT_EQ(refused(late, options), "accepted");
  const LinkRequest long_queue = request_of("rate=100G,delay=100ms,queue=1bdp");
  EXPECT_NE(refused(long_queue, options).find("a queue of 2.33 GBytes is more"), std::string::npos)
      << refused(long_queue, options);
  options.buffer_bytes = 4ull << 30;
  EXPECT_EQ(refused(long_queue, options), "accepted");
}

TEST(Flags, EffectsBelongToTheLinkBeforeThem) {
  const char* words[] = {"longhaul-wan",
                         "--link",
                         "w0:w1",
                         "--both",
                         "rate=1G,delay=1ms",
                         "--at",
                         "1s:both:down=1s",
                         "--link",
                         "w2:w3",
                         "--backward",
                         "loss=1%",
                         "--seed",
                         "7",
                         "--both",
                         "delay=3ms",
                         "--duration",
                         "5s"};
  const auto line = parse_command_line(std::size(words), words);
  ASSERT_TRUE(line) << line.error().context;
  ASSERT_EQ(line->options.links.size(), 2u);
  EXPECT_EQ(line->options.links[0].both.size(), 2u);
  EXPECT_EQ(line->options.links[0].schedule.size(), 1u);
  EXPECT_EQ(line->options.links[1].both.size(), 1u);
  EXPECT_EQ(line->options.links[1].backward.size(), 1u);
  EXPECT_EQ(line->options.seed, 7u);
  EXPECT_EQ(line->options.duration, 5s);
}

TEST(Flags, MistakesAreNamed) {
  const auto says = [](std::vector<const char*> words) {
    words.insert(words.begin(), "longhaul-wan");
    const auto line = parse_command_line(static_cast<int>(words.size()), words.data());
    return line ? std::string("accepted") : line.error().context;
  };
  EXPECT_NE(says({}).find("--link"), std::string::npos);
  EXPECT_NE(says({"--both", "rate=1G"}).find("--link first"), std::string::npos);
  EXPECT_NE(says({"--link", "a:b", "--scenario", "x"}).find("one of them"), std::string::npos);
  EXPECT_NE(says({"--link", "a:b", "--seed", "1", "--seed", "2"}).find("twice"), std::string::npos);
  EXPECT_NE(says({"--link"}).find("A:B"), std::string::npos);
  const auto beside_link = [&](const char* flag, const char* value) {
    return says({"--link", "a:b", flag, value});
  };
  EXPECT_NE(beside_link("--duration", "1").find("with its unit"), std::string::npos);
  EXPECT_NE(beside_link("--interval", "1").find("with its unit"), std::string::npos);
  EXPECT_EQ(beside_link("--interval", "0"), "accepted");
  EXPECT_NE(beside_link("--buffer", "500T").find("more than this machine has"), std::string::npos);
  EXPECT_NE(says({"--link", "a:b", "--both", "loss=1%", "--both", "loss=2%"}).find("twice"),
            std::string::npos);
  EXPECT_NE(says({"--lnik", "a:b"}).find("--lnik"), std::string::npos);
}

TEST(Scenario, SaysTheSameAsFlags) {
  Options options;
  const auto read = parse_scenario(
      R"({"seed": 5, "links": [{"name": "east-west", "a": "w0", "b": "w1",
          "both": {"rate": "1G", "delay": "25ms"}, "forward": {},
          "backward": {"loss": 0.00001, "ecn": false, "mtu": 1400},
          "schedule": [{"at": "10s", "direction": "both", "effects": {"down": "2s"}}]}]})",
      "a.json", options);
  ASSERT_TRUE(read) << read.error().context;
  EXPECT_EQ(options.seed, 5u);
  const auto plans = plan_links(options.links);
  ASSERT_TRUE(plans) << plans.error().context;
  EXPECT_EQ(plans->front().name, "east-west");
  const auto& backward = plans->front().directions[1].stages;
  EXPECT_DOUBLE_EQ(backward[0].config.loss, 0.00001);
  EXPECT_EQ(backward[0].config.mtu, 1400u);
  EXPECT_EQ(backward[0].config.down.size(), 1u);
  EXPECT_EQ(backward[1].at, 10s);
}

TEST(Scenario, ASeedOfTheCommandLineStays) {
  Options options;
  options.seed = 9;
  ASSERT_TRUE(parse_scenario(R"({"seed": 5, "links": [{"a": "x", "b": "y"}]})", "f", options));
  EXPECT_EQ(options.seed, 9u);
}

TEST(Scenario, RefusesByNameWhatItDoesNotKnow) {
  const auto says = [](std::string_view text) {
    Options options;
    const auto read = parse_scenario(text, "a.json", options);
    return read ? std::string("accepted") : read.error().context;
  };
  EXPECT_NE(says("[]").find("object"), std::string::npos);
  EXPECT_NE(says("{").find("not JSON"), std::string::npos);
  EXPECT_NE(says(R"({"speed": 1})").find("\"speed\"; there are seed links"), std::string::npos);
  EXPECT_NE(says(R"({"links": []})").find("one or more"), std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x"}]})").find("\"b\""), std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x", "b": "y", "bth": {}}]})").find("bth"), std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x", "b": "y", "both": {"loss": []}}]})").find("loss"),
            std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x", "b": "y", "both": {"loss": "1%", "loss": "2%"}}]})")
                .find("\"loss\" twice"),
            std::string::npos);
  EXPECT_NE(says(R"({"seed": -1, "links": [{"a": "x", "b": "y"}]})").find("seed"),
            std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x", "b": "y",
                      "schedule": [{"at": "1s", "direction": "both"}]}]})")
                .find("\"effects\""),
            std::string::npos);
  EXPECT_NE(says(R"({"links": [{"a": "x", "b": "y", "schedule": [{"at": "soon"}]}]})")
                .find("schedule entry 1"),
            std::string::npos);
}

}  // namespace
}  // namespace longhaul::apps::wan
