// SPDX-License-Identifier: Apache-2.0
// Both ends of longhaul-perf over the loopback interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "apps/common/sample_file.hpp"
#include "tests/unit/apps/loopback_server.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(Exchange, BothEndsAgreeOnAStreamOfTransfers) {
  Options server_options;
  server_options.one_off = true;
  LoopbackServer server(server_options);
  Options options = client_options(server);
  options.amount.transfers = 50;
  options.size = 100'000;
  options.parallel = 3;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_EQ(server.join(), 0);
  const DirectionSummary& here = outcome->direction();
  EXPECT_EQ(here.receiver->bytes, 5'000'000u);
  EXPECT_EQ(here.receiver->completed, 50u);
  EXPECT_EQ(here.sender->completed, 50u);
  EXPECT_TRUE(here.receiver->digest_ok);
  EXPECT_GT(here.sender->max_ms, 0);
  const DirectionSummary& there = server.reporter().summaries().front().directions.at(0);
  EXPECT_FALSE(there.sending);
  EXPECT_EQ(there.receiver->bytes, 5'000'000u);
  EXPECT_EQ(there.sender->completed, 50u);
}

TEST(Exchange, TheServerWaitsUntilItsReportHasArrivedHoweverFarTheClientIs) {
  const auto far = [](Options options) {
    options.peer_timeout = options.connect_timeout = 20s;
    options.inject.delay = 1100ms;  // each way; the server's patience is 2 s from then on
    return options;
  };
  Options server_options;
  server_options.one_off = true;
  LoopbackServer server(far(server_options));
  Options options = far(client_options(server));
  options.amount.transfers = 1;
  options.size = 1;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_EQ(server.join(), 0);
}

TEST(Exchange, ATimedTestEndsInTimeAndLeavesTheOmittedPartOut) {
  LoopbackServer server;
  Options options = client_options(server);
  options.time = 400ms;
  options.omit = 200ms;
  options.interval = 100ms;
  options.size = 1u << 20;
  options.rate_bps = 200'000'000;
  const auto begin = Clock::now();
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_LT(Clock::now() - begin, 10s);
  const ReceiverReport& receiver = *outcome->direction().receiver;
  // The sender's end may come a little before the receiver's, never much.
  EXPECT_GE(receiver.seconds, 0.3);
  // 200 Mbit/s for 0.4 s are 10 MB; in the omitted 0.2 s another 5 crossed.
  EXPECT_LE(8e-6 * static_cast<double>(receiver.bytes) / receiver.seconds, 230);
  EXPECT_GE(receiver.intervals.size(), 3u);
  EXPECT_TRUE(receiver.intervals.front().omitted);
  EXPECT_FALSE(receiver.intervals.back().omitted);
}

TEST(Exchange, EmptyTransfersAreTransfers) {
  LoopbackServer server;
  Options options = client_options(server);
  options.amount.transfers = 20;
  options.size = 0;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_EQ(outcome->direction().receiver->completed, 20u);
}

TEST(Exchange, AFileArrivesIdenticalOverABadLine) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_sample_file(folder.file("model"), 4u << 20));
  Options server_options;
  server_options.output = folder.file("copy");
  server_options.inject.loss = 0.01;
  LoopbackServer server(server_options);
  Options options = client_options(server);
  options.file = folder.file("model");
  options.rate_bps = 900'000'000;
  options.inject.loss = options.inject.reorder = options.inject.corrupt = 0.01;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_EQ(outcome->direction().receiver->bytes, 4u << 20);
  EXPECT_EQ(TemporaryFolder::read(folder.file("copy")),
            TemporaryFolder::read(folder.file("model")));
  EXPECT_EQ(folder.entries(), 2u);
}

TEST(Exchange, AnOutputThatCannotBeWrittenIsToldToBothEnds) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_sample_file(folder.file("model"), 1u << 20));
  Options server_options;
  server_options.output = "/nonexistent/copy";
  LoopbackServer server(server_options);
  Options options = client_options(server);
  options.file = folder.file("model");
  const auto outcome = run(options);
  EXPECT_EQ(outcome->status, 1);
  ASSERT_EQ(outcome->reporter.errors().size(), 1u);
  EXPECT_THAT(outcome->reporter.errors()[0], HasSubstr("/nonexistent/copy"));
  EXPECT_TRUE(server.reporter().wait_until([](auto& r) { return r.errors().size() == 1; }));
  EXPECT_THAT(server.reporter().errors()[0], HasSubstr("/nonexistent/copy"));
}

TEST(Exchange, ATestTooLargeForTheServerIsRefusedWithTheRemedy) {
  LoopbackServer server;
  Options options = client_options(server);
  // The client's one buffer fits; the server's window of them does not.
  options.size = available_memory() / 8192;
  options.parallel = 16384;
  options.amount.transfers = 100'000;
  options.seed = 1;
  const auto outcome = run(options);
  EXPECT_EQ(outcome->status, 1);
  ASSERT_FALSE(outcome->reporter.errors().empty());
  EXPECT_THAT(outcome->reporter.errors()[0], HasSubstr("--size"));
}

TEST(Exchange, ASecondClientIsTurnedAwayAndTheFirstGoesOn) {
  LoopbackServer server;
  Options options = client_options(server);
  options.time = 1500ms;
  options.size = 1u << 20;
  options.rate_bps = 50'000'000;
  std::unique_ptr<Outcome> first;
  std::thread running([&] { first = run(options); });
  ASSERT_TRUE(server.reporter().wait_until([](auto& r) { return r.starts() == 1; }));
  const auto second = run(options);
  running.join();
  EXPECT_EQ(second->status, 1);
  ASSERT_FALSE(second->reporter.errors().empty());
  EXPECT_THAT(second->reporter.errors()[0], HasSubstr("busy"));
  EXPECT_EQ(first->status, 0);
}

TEST(Exchange, AServerThatIsInterruptedTellsItsClient) {
  auto server = std::make_unique<LoopbackServer>();
  Options options = client_options(*server);
  options.time = 20s;
  options.size = 1u << 20;
  options.rate_bps = 50'000'000;
  std::unique_ptr<Outcome> outcome;
  std::thread running([&] { outcome = run(options); });
  ASSERT_TRUE(server->reporter().wait_until([](auto& r) { return r.starts() == 1; }));
  const auto begin = Clock::now();
  EXPECT_EQ(server->interrupt(), 1);
  running.join();
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_EQ(outcome->status, 1);
  ASSERT_EQ(outcome->reporter.summaries().size(), 1u) << "a summary is due";
  EXPECT_THAT(outcome->summary().error, HasSubstr("interrupted"));
}

TEST(Exchange, InReverseTheServerSends) {
  Options server_options;
  server_options.one_off = true;
  LoopbackServer server(server_options);
  Options options = client_options(server);
  options.direction = Direction::reverse;
  options.amount.transfers = 50;
  options.size = 100'000;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  EXPECT_EQ(server.join(), 0);
  const DirectionSummary& here = outcome->direction();
  EXPECT_EQ(outcome->summary().directions.size(), 1u);
  EXPECT_FALSE(here.sending);
  EXPECT_EQ(here.receiver->bytes, 5'000'000u);
  EXPECT_EQ(here.sender->completed, 50u);
  EXPECT_TRUE(here.receiver->digest_ok);
  const DirectionSummary& there = server.reporter().summaries().front().directions.at(0);
  EXPECT_TRUE(there.sending);
  EXPECT_EQ(there.receiver->bytes, 5'000'000u);
  EXPECT_EQ(there.sender->packets_sent, here.sender->packets_sent);
}

TEST(Exchange, BothDirectionsRunAtOnce) {
  LoopbackServer server;
  Options options = client_options(server);
  options.direction = Direction::both;
  options.time = 400ms;
  options.omit = 100ms;
  options.interval = 100ms;
  options.size = 1u << 20;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  ASSERT_EQ(outcome->summary().directions.size(), 2u);
  EXPECT_TRUE(outcome->direction(0).sending);
  EXPECT_FALSE(outcome->direction(1).sending);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_TRUE(outcome->direction(i).receiver->digest_ok);
    EXPECT_GT(outcome->direction(i).receiver->bytes, 1u << 20);
    EXPECT_GE(outcome->direction(i).receiver->intervals.size(), 3u);
  }
  EXPECT_GE(outcome->reporter.intervals(), 6);
}

TEST(Exchange, TheRateOfTheClientHoldsForAServerThatSends) {
  LoopbackServer server;
  Options options = client_options(server);
  options.direction = Direction::reverse;
  options.time = 1s;
  options.size = 300'000;
  options.rate_bps = 80'000'000;
  const auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  const ReceiverReport& receiver = *outcome->direction().receiver;
  EXPECT_LE(8e-6 * static_cast<double>(receiver.bytes) / receiver.seconds, 84);
  // A busy machine sends late, and then catches up.
  EXPECT_GE(8e-6 * static_cast<double>(receiver.bytes) / receiver.seconds, 50);
  options.size = 0;
  options.time.reset();
  options.amount.transfers = 10;
  EXPECT_EQ(run(options)->status, 0) << "empty transfers need no leave";
}

TEST(Exchange, WhatTheServerPrintsReachesTheClientWhoAsks) {
  LoopbackServer server;
  Options options = client_options(server);
  options.amount.transfers = 3;
  options.size = 1000;
  auto outcome = run(options);
  ASSERT_EQ(outcome->status, 0);
  EXPECT_FALSE(outcome->summary().server_output);
  options.server_output = true;
  outcome = run(options);
  ASSERT_EQ(outcome->status, 0);
  EXPECT_EQ(outcome->summary().server_output->text, RecordingReporter::kTranscript);
}

TEST(Exchange, TheServersCoreIsTheClientsToName) {
  LoopbackServer server;
  Options options = client_options(server);
  options.amount.transfers = 3;
  options.size = 1000;
  options.server_cpu = 0;
  EXPECT_EQ(run(options)->status, 0);
  options.server_cpu = 1023;
  const auto outcome = run(options);
  EXPECT_EQ(outcome->status, 1);
  ASSERT_FALSE(outcome->reporter.errors().empty());
  EXPECT_THAT(outcome->reporter.errors()[0],
              testing::AllOf(HasSubstr("-A"), HasSubstr("no core 1023"), HasSubstr("may use")));
}

TEST(Exchange, AServerInterruptedInReverseTellsItsClient) {
  auto server = std::make_unique<LoopbackServer>();
  Options options = client_options(*server);
  options.direction = Direction::reverse;
  options.time = 20s;
  options.size = 1u << 20;
  std::unique_ptr<Outcome> outcome;
  std::thread running([&] { outcome = run(options); });
  ASSERT_TRUE(server->reporter().wait_until([](auto& r) { return r.starts() == 1; }));
  EXPECT_EQ(server->interrupt(), 1);
  running.join();
  EXPECT_EQ(outcome->status, 1);
  ASSERT_EQ(outcome->reporter.summaries().size(), 1u);
  EXPECT_THAT(outcome->summary().error, HasSubstr("interrupted"));
}

}  // namespace
}  // namespace longhaul::apps::perf
