// SPDX-License-Identifier: Apache-2.0
#include "apps/perf/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace longhaul::apps::perf {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Keeps what is printed.
class MemoryOutput : public Output {
 public:
  explicit MemoryOutput(bool terminal = false) : terminal_(terminal) {}
  void write(std::string_view text) override { text_ += text; }
  void complain(std::string_view line) override { complaints_ += line; }
  bool terminal() const override { return terminal_; }
  const std::string& text() const { return text_; }
  const std::string& complaints() const { return complaints_; }

 private:
  bool terminal_;
  std::string text_;
  std::string complaints_;
};

DirectionSummary whole_direction() {
  DirectionSummary summary;
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

Summary whole_test() {
  Summary summary;
  summary.plan.extents = {1024};
  summary.plan.bytes = 1024;
  summary.directions = {whole_direction()};
  return summary;
}

Summary both_ways() {
  Summary summary = whole_test();
  summary.plan.direction = Direction::both;
  summary.directions.push_back(whole_direction());
  summary.directions[1].sending = false;
  summary.directions[1].receiver->bytes = 250'000'000;
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
  const OrderedJson end = end_object({}, whole_direction());
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
  DirectionSummary summary = whole_direction();
  OrderedJson end = end_object({}, summary);
  EXPECT_DOUBLE_EQ(end["cpu_percent"]["local"].get<double>(), 11);
  EXPECT_DOUBLE_EQ(end["cpu_percent"]["remote"].get<double>(), 21);
  summary.sending = false;
  end = end_object({}, summary);
  EXPECT_DOUBLE_EQ(end["peak_rss_mib"]["local"].get<double>(), 22);
  EXPECT_DOUBLE_EQ(end["peak_rss_mib"]["remote"].get<double>(), 12);
}

TEST(EndObject, ATestWithoutResultsIsNotGood) {
  DirectionSummary summary = whole_direction();
  summary.receiver.reset();
  const OrderedJson end = end_object({}, summary);
  EXPECT_FALSE(end["digest_ok"].get<bool>());
  EXPECT_DOUBLE_EQ(end["goodput_mbps"].get<double>(), 0);
}

TEST(EndObject, WithoutACompletedTransferThereIsNoVerdict) {
  DirectionSummary summary = whole_direction();
  summary.sender->completed = 0;
  EXPECT_TRUE(end_object({}, summary)["digest_ok"].is_null());
  // A tensorless file is whole all the same.
  EXPECT_TRUE(end_object(file_plan(), summary)["digest_ok"].get<bool>());
  summary.receiver->digest_ok = false;
  EXPECT_FALSE(end_object({}, summary)["digest_ok"].get<bool>());
}

TEST(JsonReport, IsOneObjectWithStartIntervalsAndEnd) {
  MemoryOutput output;
  const auto reporter = make_json_reporter(output);
  reporter->on_connecting("h", 1);
  reporter->on_start(start_info(file_plan()));
  reporter->on_interval({{}, true, IntervalLine::Path{1, 2, 3, 4}});
  reporter->on_progress(1, 2, 3);
  reporter->on_end(whole_test());
  const Json object = Json::parse(output.text(), nullptr, false);
  ASSERT_TRUE(object.is_object());
  EXPECT_EQ(object["start"]["file"], "model.safetensors");
  EXPECT_EQ(object["start"]["tensors"], 7);
  EXPECT_EQ(object["intervals"].size(), 1u);
  EXPECT_EQ(object["intervals"][0]["packets_lost"], 1);
  EXPECT_TRUE(object["intervals"][0]["sender"]);
  EXPECT_TRUE(object.contains("receiver_intervals"));
  EXPECT_EQ(object["end"], Json::parse(end_object({}, whole_direction()).dump()));
  EXPECT_FALSE(object.contains("end_bidir_reverse"));
  EXPECT_FALSE(object.contains("error"));
}

TEST(JsonReport, SaysWhoThePeerIsAndWhatSealsThePackets) {
  MemoryOutput output;
  const auto reporter = make_json_reporter(output);
  StartInfo info = start_info(file_plan());
  info.security = "psk";
  info.peer_identity = "psk lab";
  info.cipher = "aes_128_gcm";
  reporter->on_start(info);
  reporter->on_end(whole_test());
  const Json start = Json::parse(output.text())["start"];
  EXPECT_EQ(start["security"], "psk");
  EXPECT_EQ(start["peer_identity"], "psk lab");
  EXPECT_EQ(start["cipher"], "aes_128_gcm");
}

TEST(TextReport, SaysWhoThePeerIsAndWhatSealsThePackets) {
  MemoryOutput output;
  const auto reporter = make_text_reporter(output);
  StartInfo info = start_info(file_plan());
  info.security = "certificates";
  info.peer_identity = "certificate CN=lab\x1b[2J sha256:ab";
  info.cipher = "chacha20_poly1305";
  reporter->on_start(info);
  EXPECT_THAT(output.text(), HasSubstr("proven to be certificate CN=lab"));
  EXPECT_THAT(output.text(), HasSubstr("sealed with chacha20_poly1305\n"));
  EXPECT_THAT(output.text(), Not(HasSubstr("\x1b")));
  info.security = "none";
  reporter->on_start(info);
  EXPECT_THAT(output.text(), HasSubstr("neither encrypted nor authenticated"));
}

TEST(JsonReport, BothDirectionsHaveTheirEnd) {
  MemoryOutput output;
  make_json_reporter(output)->on_end(both_ways());
  const Json object = Json::parse(output.text(), nullptr, false);
  EXPECT_EQ(object["end"]["bytes"], 125'000'000);
  EXPECT_EQ(object["end_bidir_reverse"]["bytes"], 250'000'000);
  // What the other end received it counted; what this end received are its own intervals.
  EXPECT_TRUE(object.contains("receiver_intervals"));
  EXPECT_FALSE(object.contains("receiver_intervals_bidir_reverse"));
  // Each end's own processor time is local.
  EXPECT_DOUBLE_EQ(object["end"]["cpu_percent"]["local"].get<double>(), 11);
  EXPECT_DOUBLE_EQ(object["end_bidir_reverse"]["cpu_percent"]["local"].get<double>(), 21);
}

TEST(JsonReport, WhatTheServerPrintedIsAMember) {
  MemoryOutput output;
  Summary summary = whole_test();
  summary.server_output = Transcript{"{\"end\": 7}\n", true};
  make_json_reporter(output)->on_end(summary);
  EXPECT_EQ(Json::parse(output.text())["server_output_json"]["end"], 7);
  MemoryOutput again;
  summary.server_output = Transcript{"lines\n", false};
  make_json_reporter(again)->on_end(summary);
  EXPECT_EQ(Json::parse(again.text())["server_output_text"], "lines\n");
}

TEST(JsonReport, AFailureIsAnObjectToo) {
  MemoryOutput output;
  make_json_reporter(output)->on_error("no \xff host");
  const Json object = Json::parse(output.text(), nullptr, false);
  ASSERT_TRUE(object.is_object());
  EXPECT_THAT(object["error"].get<std::string>(), HasSubstr("host"));
}

TEST(JsonReport, ItsTranscriptIsTheLastObject) {
  MemoryOutput output;
  const auto reporter = make_json_reporter(output);
  reporter->record();
  reporter->on_end(whole_test());
  const Transcript transcript = reporter->take_transcript();
  EXPECT_TRUE(transcript.json);
  EXPECT_EQ(transcript.text, output.text());
}

TEST(JsonStream, IsOneObjectALine) {
  MemoryOutput output;
  const auto reporter = make_json_stream_reporter(output);
  reporter->on_start(start_info(file_plan()));
  reporter->record();
  reporter->on_interval({{}, false, std::nullopt});
  reporter->on_end(both_ways());
  reporter->on_error("broken\nline");
  std::istringstream lines(output.text());
  std::vector<std::string> events;
  for (std::string line; std::getline(lines, line);) {
    const Json object = Json::parse(line, nullptr, false);
    ASSERT_TRUE(object.is_object()) << line;
    ASSERT_EQ(object.size(), 2u);
    events.push_back(object["event"]);
    if (events.back() == "end") {
      EXPECT_TRUE(object["data"].contains("end_bidir_reverse"));
    }
  }
  EXPECT_EQ(events, (std::vector<std::string>{"start", "interval", "end", "error"}));
  EXPECT_THAT(reporter->take_transcript().text, testing::StartsWith("{\"event\":\"interval\""));
}

std::string text_of_file_test(bool terminal) {
  MemoryOutput output(terminal);
  const auto reporter = make_text_reporter(output);
  reporter->on_start(start_info(file_plan()));
  reporter->on_progress(500, 1000, 1);
  Summary summary = whole_test();
  summary.plan = file_plan();
  reporter->on_end(summary);
  return output.text();
}

std::string text_of(const Summary& summary) {
  MemoryOutput output;
  make_text_reporter(output)->on_end(summary);
  return output.text() + output.complaints();
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
  Summary summary = whole_test();
  summary.directions[0].receiver->digest_ok = false;
  summary.directions[0].receiver->problems = {"tensor \"w\" has another digest than was sent"};
  const std::string text = text_of(summary);
  EXPECT_THAT(text, HasSubstr("digest FAILED"));
  EXPECT_THAT(text, HasSubstr("tensor \"w\""));
  EXPECT_THAT(text, Not(HasSubstr("digest ok")));
}

TEST(TextReport, NothingCompletedIsNoDigestOk) {
  Summary summary = whole_test();
  summary.directions[0].sender->completed = 0;
  const std::string text = text_of(summary);
  EXPECT_THAT(text, Not(HasSubstr("digest ok")));
  EXPECT_THAT(text, HasSubstr("nothing completed within the test"));
}

/// The receiver completes what was on its way when the sender stopped counting.
TEST(TextReport, BothCountsOfTransfersAgree) {
  Summary summary = whole_test();
  summary.directions[0].receiver->completed = 11;
  const std::string text = text_of(summary);
  EXPECT_THAT(text, HasSubstr("Transfers   10 completed"));
  EXPECT_THAT(text, HasSubstr("digest ok: 10 transfers complete"));
}

TEST(TextReport, DirectionsAreToldApart) {
  Summary summary = both_ways();
  const std::string client = text_of(summary);
  EXPECT_THAT(client, HasSubstr("[TX-C]"));
  EXPECT_THAT(client, HasSubstr("[RX-C]"));
  EXPECT_THAT(client, HasSubstr("1.00 Gbits/sec  received and verified"));
  summary.at_client = false;
  EXPECT_THAT(text_of(summary), HasSubstr("[TX-S]"));
  EXPECT_THAT(text_of(whole_test()), Not(HasSubstr("[TX")));
}

TEST(TextReport, WhatIsNotKnownIsNotMadeUp) {
  Summary summary = whole_test();
  SenderReport& sender = *summary.directions[0].sender;
  sender.completed = 0;
  EXPECT_THAT(text_of(summary), Not(HasSubstr("p50")));
  sender.whole = false;
  EXPECT_THAT(text_of(summary), HasSubstr("up to the last line"));
  sender.packets_sent = 0;
  EXPECT_THAT(text_of(summary), Not(HasSubstr("0 sent")));
}

TEST(TextReport, TheServersWordsComeLast) {
  Summary summary = whole_test();
  summary.server_output = Transcript{"the server's line\n", false};
  EXPECT_THAT(text_of(summary), testing::EndsWith("Server output:\nthe server's line\n"));
}

}  // namespace
}  // namespace longhaul::apps::perf
