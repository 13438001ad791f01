// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace longhaul::apps::perf {
namespace {

using testing::HasSubstr;
using testing::Not;

Summary whole_test() {
  Summary summary;
  summary.plan.extents = {1024};
  summary.plan.bytes = 1024;
  SenderReport sender;
  sender.completed = 10;
  sender.p50_ms = 1;
  sender.max_ms = 2;
  sender.packets_sent = 1000;
  sender.packets_lost = 5;
  sender.cpu_percent = 11;
  sender.peak_rss_mib = 12;
  summary.sender = sender;
  ReceiverReport receiver;
  receiver.bytes = 125'000'000;
  receiver.seconds = 2;
  receiver.completed = 10;
  receiver.digest_ok = true;
  receiver.cpu_percent = 21;
  receiver.peak_rss_mib = 22;
  summary.receiver = receiver;
  summary.local_bytes = 126'000'000;
  summary.local_seconds = 2;
  return summary;
}

TestPlan file_plan() {
  TestPlan plan;
  plan.mode = Mode::file;
  plan.file_name = "model.safetensors";
  plan.file_bytes = 1000;
  plan.transfers = 7;
  return plan;
}

StartInfo start_info(const TestPlan& plan) {
  StartInfo info;
  info.plan = plan;
  info.controller = "fixed";
  info.rate_bps = 900'000'000;
  return info;
}

TEST(EndObject, HasExactlyTheMembersOfTheSchema) {
  const OrderedJson end = end_object(whole_test());
  std::set<std::string> names;
  for (const auto& [name, value] : end.items()) names.insert(name);
  EXPECT_EQ(names,
            (std::set<std::string>{"bytes", "seconds", "goodput_mbps", "transfers", "packets_sent",
                                   "packets_lost", "retransmitted_bytes", "repair_bytes", "rtt_ms",
                                   "cpu_percent", "peak_rss_mib", "digest_ok"}));
  EXPECT_EQ(end["transfers"].size(), 5u);
  EXPECT_EQ(end["rtt_ms"].size(), 2u);
  EXPECT_DOUBLE_EQ(end["goodput_mbps"].get<double>(), 500);
  EXPECT_TRUE(end["digest_ok"].get<bool>());
}

TEST(EndObject, LocalIsTheEndThatPrintsIt) {
  Summary summary = whole_test();
  OrderedJson end = end_object(summary);
  EXPECT_DOUBLE_EQ(end["cpu_percent"]["local"].get<double>(), 11);
  EXPECT_DOUBLE_EQ(end["cpu_percent"]["remote"].get<double>(), 21);
  summary.sending = false;
  end = end_object(summary);
  EXPECT_DOUBLE_EQ(end["peak_rss_mib"]["local"].get<double>(), 22);
  EXPECT_DOUBLE_EQ(end["peak_rss_mib"]["remote"].get<double>(), 12);
}

TEST(EndObject, ATestWithoutResultsIsNotGood) {
  Summary summary = whole_test();
  summary.receiver.reset();
  const OrderedJson end = end_object(summary);
  EXPECT_FALSE(end["digest_ok"].get<bool>());
  EXPECT_DOUBLE_EQ(end["goodput_mbps"].get<double>(), 0);
}

TEST(JsonReport, IsOneObjectWithStartIntervalsAndEnd) {
  testing::internal::CaptureStdout();
  const auto reporter = make_json_reporter();
  reporter->on_connecting("h", 1);
  reporter->on_start(start_info(file_plan()));
  reporter->on_interval({{}, IntervalLine::Path{1, 2, 3, 4}});
  reporter->on_progress(1, 2, 3);
  reporter->on_end(whole_test());
  const Json object = Json::parse(testing::internal::GetCapturedStdout(), nullptr, false);
  ASSERT_TRUE(object.is_object());
  EXPECT_EQ(object["start"]["file"], "model.safetensors");
  EXPECT_EQ(object["start"]["tensors"], 7);
  EXPECT_EQ(object["intervals"].size(), 1u);
  EXPECT_EQ(object["intervals"][0]["packets_lost"], 1);
  EXPECT_TRUE(object.contains("receiver_intervals"));
  EXPECT_EQ(object["end"], Json::parse(end_object(whole_test()).dump()));
  EXPECT_FALSE(object.contains("error"));
}

TEST(JsonReport, AFailureIsAnObjectToo) {
  testing::internal::CaptureStdout();
  make_json_reporter()->on_error("no \xff host");
  const Json object = Json::parse(testing::internal::GetCapturedStdout(), nullptr, false);
  ASSERT_TRUE(object.is_object());
  EXPECT_THAT(object["error"].get<std::string>(), HasSubstr("host"));
}

std::string text_of_file_test(bool terminal) {
  testing::internal::CaptureStdout();
  const auto reporter = make_text_reporter(terminal);
  reporter->on_start(start_info(file_plan()));
  reporter->on_progress(500, 1000, 1);
  Summary summary = whole_test();
  summary.plan = file_plan();
  reporter->on_end(summary);
  return testing::internal::GetCapturedStdout();
}

TEST(TextReport, ShowsAProgressBarOnATerminalAndNoneInAPipe) {
  EXPECT_THAT(text_of_file_test(true), HasSubstr("[###"));
  const std::string piped = text_of_file_test(false);
  EXPECT_THAT(piped, Not(HasSubstr("[###")));
  EXPECT_THAT(piped, Not(HasSubstr("\r")));
  EXPECT_THAT(piped, Not(HasSubstr("\x1b")));
}

TEST(TextReport, SaysWhatWasVerifiedAndHowFast) {
  const std::string text = text_of_file_test(false);
  EXPECT_THAT(text, HasSubstr("digest ok: 10 tensors"));
  EXPECT_THAT(text, HasSubstr("500 Mbits/sec  received and verified"));
  EXPECT_THAT(text, HasSubstr("p99"));
  EXPECT_THAT(text, HasSubstr("5 lost (0.5 %)"));
}

TEST(TextReport, AFailedDigestIsUnmistakable) {
  testing::internal::CaptureStdout();
  Summary summary = whole_test();
  summary.receiver->digest_ok = false;
  summary.receiver->problems = {"tensor \"w\" has another digest than was sent"};
  make_text_reporter(false)->on_end(summary);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_THAT(text, HasSubstr("digest FAILED"));
  EXPECT_THAT(text, HasSubstr("tensor \"w\""));
  EXPECT_THAT(text, Not(HasSubstr("digest ok")));
}

}  // namespace
}  // namespace longhaul::apps::perf
