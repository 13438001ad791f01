// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TestPlan stream_plan() {
  TestPlan plan;
  plan.dtype = Dtype::bf16;
  plan.extents = {4, 8};
  plan.bytes = 64;
  plan.time = 10s;
  plan.omit = 1s;
  plan.interval = 500ms;
  plan.parallel = 3;
  plan.seed = ~std::uint64_t{0};
  plan.direction = Direction::both;
  plan.server_cpu = 3;
  plan.server_rate_bps = 80'000'000;
  plan.server_output = true;
  return plan;
}

/// As the peer gets it.
Json delivered(const Json& message) {
  auto decoded = decode(encode(message));
  EXPECT_TRUE(decoded);
  return *decoded;
}

TEST(Messages, APlanArrivesAsItWasSent) {
  const TestPlan plan = plan_from(delivered(to_message(stream_plan()))).value();
  EXPECT_EQ(plan.mode, Mode::stream);
  EXPECT_EQ(plan.dtype, Dtype::bf16);
  EXPECT_EQ(plan.extents, (std::vector<std::uint64_t>{4, 8}));
  EXPECT_EQ(plan.bytes, 64u);
  EXPECT_EQ(plan.time, 10s);
  EXPECT_EQ(plan.omit, 1s);
  EXPECT_EQ(plan.interval, 500ms);
  EXPECT_EQ(plan.parallel, 3u);
  EXPECT_EQ(plan.seed, ~std::uint64_t{0});
  EXPECT_EQ(plan.direction, Direction::both);
  EXPECT_EQ(plan.server_cpu, 3u);
  EXPECT_EQ(plan.server_rate_bps, 80'000'000u);
  EXPECT_TRUE(plan.server_output);
}

TEST(Messages, ATranscriptArrivesWholeOrSaysWhatIsMissing) {
  EXPECT_FALSE(transcript_from(delivered(finished_message(nullptr))).value());
  const Transcript small{"{\"a\": 1}\n", true};
  const auto same = transcript_from(delivered(finished_message(&small))).value();
  EXPECT_EQ(same->text, small.text);
  EXPECT_TRUE(same->json);
  // Every character of it doubles in a message.
  const Transcript large{std::string(kMessageMax, '\n') + "the result\n", true};
  const Json message = finished_message(&large);
  EXPECT_LE(encode(message).size(), kMessageMax);
  const auto cut = transcript_from(delivered(message)).value();
  EXPECT_THAT(cut->text, testing::StartsWith("(the first "));
  EXPECT_THAT(cut->text, testing::EndsWith("\nthe result\n"));
  EXPECT_FALSE(cut->json);
  const Transcript evil{"a\x1b[2Jb\n", false};
  EXPECT_EQ(transcript_from(delivered(finished_message(&evil))).value()->text, "a?[2Jb\n");
  EXPECT_FALSE(transcript_from(Json{{"kind", "finished"}}));
  EXPECT_FALSE(
      transcript_from(Json{{"kind", "finished"}, {"output", 7}, {"output_is_json", true}}));
}

TEST(Messages, ReportsArriveAsTheyWereSent) {
  SenderReport sender;
  sender.completed = 7;
  sender.p99_ms = 1.5;
  sender.packets_lost = 3;
  sender.interrupted = true;
  const SenderReport sent = sender_report_from(delivered(to_message(sender))).value();
  EXPECT_EQ(sent.completed, 7u);
  EXPECT_DOUBLE_EQ(sent.p99_ms, 1.5);
  EXPECT_EQ(sent.packets_lost, 3u);
  EXPECT_TRUE(sent.interrupted);

  ReceiverReport receiver;
  receiver.bytes = 1u << 30;
  receiver.seconds = 2.5;
  receiver.digest_ok = true;
  receiver.problems = {"a\x1b[31m"};
  receiver.intervals = {{0s, 1s, 100, true}, {0s, 1s, 200, false}};
  const ReceiverReport got = receiver_report_from(delivered(to_message(receiver))).value();
  EXPECT_EQ(got.bytes, 1u << 30);
  EXPECT_DOUBLE_EQ(got.seconds, 2.5);
  EXPECT_TRUE(got.digest_ok);
  EXPECT_EQ(got.problems, std::vector<std::string>{"a?[31m"});
  ASSERT_EQ(got.intervals.size(), 2u);
  EXPECT_TRUE(got.intervals[0].omitted);
  EXPECT_EQ(got.intervals[1].bytes, 200u);
}

TEST(Messages, ResultsOfADayWithShortIntervalsStayReadable) {
  ReceiverReport receiver;
  for (int i = 0; i < 100'000; ++i) receiver.intervals.push_back({0s, 86'400s, 1u << 30, false});
  receiver.problems.assign(100'000, std::string(300, 'p'));
  const std::string text = encode(to_message(receiver));
  EXPECT_LE(text.size(), kMessageMax);
  EXPECT_TRUE(receiver_report_from(decode(text).value()));
}

TEST(Messages, EveryMissingOrWrongFieldOfAPlanIsNamed) {
  const Json good = delivered(to_message(stream_plan()));
  for (const auto& [name, value] : good.items()) {
    if (name == "kind") continue;
    Json missing = good;
    missing.erase(name);
    EXPECT_FALSE(plan_from(missing)) << name;
    Json wrong = good;
    wrong[name] = Json::object();
    const auto plan = plan_from(wrong);
    ASSERT_FALSE(plan) << name;
    if (name != "exchange") {
      EXPECT_THAT(plan.error().context, HasSubstr(name));
    }
  }
}

TEST(Messages, PlansThatMakeNoSenseAreRefused) {
  const auto refused = [](const char* name, const Json& value) {
    Json message = delivered(to_message(stream_plan()));
    message[name] = value;
    return !plan_from(delivered(message));
  };
  EXPECT_TRUE(refused("bytes", 65));
  EXPECT_TRUE(refused("bytes", -1));
  EXPECT_TRUE(refused("extents", {1u << 31, 1u << 31, 1u << 31}));
  EXPECT_TRUE(refused("extents", {1, 1, 1, 1, 1, 1, 1, 4, 8}));
  EXPECT_TRUE(refused("dtype", "f99"));
  EXPECT_TRUE(refused("parallel", 0));
  EXPECT_TRUE(refused("parallel", 1u << 20));
  EXPECT_TRUE(refused("transfers", 5));
  EXPECT_TRUE(refused("time_ns", 0));
  EXPECT_TRUE(refused("time_ns", ~std::uint64_t{0}));
  EXPECT_TRUE(refused("mode", "sideways"));
  EXPECT_FALSE(refused("seed", 5));
}

TEST(Messages, AFilePlanMustHoldItsHeader) {
  TestPlan plan;
  plan.mode = Mode::file;
  plan.file_bytes = 1000;
  const auto accepted = [&](std::uint64_t header_bytes) {
    plan.header_bytes = header_bytes;
    return plan_from(delivered(to_message(plan))).has_value();
  };
  EXPECT_TRUE(accepted(100));
  EXPECT_FALSE(accepted(7));
  EXPECT_FALSE(accepted(1001));
  plan.file_bytes = ~std::uint64_t{0};
  EXPECT_FALSE(accepted(std::uint64_t{1} << 40));
}

TEST(Messages, AnotherVersionIsRefusedWithBothNumbers) {
  Json message = delivered(to_message(stream_plan()));
  message["exchange"] = 99;
  const auto plan = plan_from(delivered(message));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::version_mismatch);
  EXPECT_THAT(plan.error().context, HasSubstr("99"));
}

TEST(Messages, WhatIsNoMessageIsRefused) {
  for (const char* text :
       {"", "{", "[]", "1", "{}", R"({"kind":1})", "\xff\xfe", R"({"kind":"x"}x)"}) {
    EXPECT_FALSE(decode(text)) << text;
  }
  EXPECT_FALSE(decode(std::string(500'000, '[')));
}

TEST(Messages, NamesThatAreNoUtf8StillTravel) {
  TestPlan plan = stream_plan();
  plan.file_name = "m\xff.safetensors";
  EXPECT_TRUE(plan_from(delivered(to_message(plan))));
}

TEST(Messages, ErrorTextsAreMadeFitForATerminal) {
  EXPECT_EQ(error_text(delivered(error_message("disk\x07 full"))), "disk? full");
  EXPECT_FALSE(error_text(Json{{"kind", "error"}}).empty());
}

}  // namespace
}  // namespace longhaul::apps::perf
