// SPDX-License-Identifier: Apache-2.0
// Both ends of longhaul-perf over the loopback interface, and clients that are not longhaul-perf.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "apps/common/sample_file.hpp"
#include "apps/perf/client.hpp"
#include "apps/perf/control_channel.hpp"
#include "apps/perf/endpoint_setup.hpp"
#include "tests/unit/apps/loopback_server.hpp"
#include "tests/unit/apps/temporary_folder.hpp"

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Options client_options(const LoopbackServer& server) {
  Options options;
  options.role = Role::client;
  options.host = "127.0.0.1";
  options.port = server.port();
  return options;
}

struct Outcome {
  int status = -1;
  RecordingReporter reporter;
  const Summary& summary() const { return reporter.summaries().front(); }
  const DirectionSummary& direction(std::size_t i = 0) const { return summary().directions.at(i); }
};

std::unique_ptr<Outcome> run(const Options& options) {
  auto outcome = std::make_unique<Outcome>();
  outcome->status = run_client(options, outcome->reporter);
  return outcome;
}

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

/// A client that speaks Longhaul but not longhaul-perf's exchange.
class Stranger {
 public:
  explicit Stranger(const LoopbackServer& server) {
    Options options;
    auto endpoint = Endpoint::open(endpoint_config(options, any_address(AddressFamily::ipv4, 0)));
    EXPECT_TRUE(endpoint) << to_string(endpoint.error());
    endpoint_ = std::move(*endpoint);
    auto connection = endpoint_.connect(server.address());
    EXPECT_TRUE(connection) << to_string(connection.error());
    connection_ = *connection;
    control_.emplace(connection_);
    EXPECT_TRUE(control_->start());
  }
  ~Stranger() { endpoint_.close(); }

  Connection& connection() { return connection_; }
  void say(const Json& message) { EXPECT_TRUE(control_->send(message)); }
  void say_bytes(std::uint64_t announced, std::string_view body) {
    for (unsigned i = 0; i < 8; ++i) length_[i] = static_cast<char>(announced >> 8 * i & 0xff);
    body_ = body;
    EXPECT_TRUE(connection_.send_tensor(kControlTag, bytes_view(std::as_const(length_).data(), 8)));
    if (!body.empty()) {
      EXPECT_TRUE(connection_.send_tensor(kControlTag,
                                          bytes_view(std::as_const(body_).data(), body_.size())));
    }
  }
  /// What the server answers, or the reason it hangs up with.
  std::string answer() {
    const auto deadline = Clock::now() + 10s;
    std::array<Completion, 16> batch;
    while (Clock::now() < deadline) {
      for (const Completion& completion : std::span(batch).first(endpoint_.poll(batch))) {
        if (completion.kind == Completion::Kind::disconnected) return connection_.reason();
        if (completion.kind != Completion::Kind::transfer) continue;
        const auto event = control_->on_completion(completion);
        if (event && event->message) return encode(*event->message);
      }
      std::this_thread::sleep_for(1ms);
    }
    return "nothing";
  }

 private:
  Endpoint endpoint_;
  Connection connection_;
  std::optional<ControlChannel> control_;
  std::array<char, 8> length_{};
  std::string body_;
};

class BadClients : public testing::Test {
 protected:
  /// Whatever happened before, an honest client is served.
  void TearDown() override {
    Options options = client_options(server_);
    options.amount.transfers = 3;
    options.size = 1000;
    ASSERT_TRUE(server_.reporter().wait_until([](auto& r) { return r.announcements() > 1; }));
    const auto outcome = run(options);
    EXPECT_EQ(outcome->status, 0) << testing::PrintToString(outcome->reporter.errors());
  }

  TestPlan good_plan() {
    TestPlan plan;
    plan.extents = {1000};
    plan.bytes = 1000;
    plan.transfers = 3;
    return plan;
  }

  LoopbackServer server_;
};

TEST_F(BadClients, NonsenseIsAnsweredWithAnError) {
  Stranger stranger(server_);
  stranger.say_bytes(5, "hello");
  EXPECT_THAT(stranger.answer(), HasSubstr("no message of longhaul-perf"));
}

TEST_F(BadClients, AnEndlessMessageIsRefusedUnread) {
  Stranger stranger(server_);
  stranger.say_bytes(~std::uint64_t{0}, "");
  EXPECT_THAT(stranger.answer(), HasSubstr("at most"));
}

TEST_F(BadClients, AnotherVersionIsRefusedByName) {
  Stranger stranger(server_);
  Json message = to_message(good_plan());
  message["exchange"] = 7;
  stranger.say(message);
  EXPECT_THAT(stranger.answer(), HasSubstr("version_mismatch"));
}

TEST_F(BadClients, APlanThatContradictsItselfIsRefused) {
  Stranger stranger(server_);
  TestPlan plan = good_plan();
  plan.bytes = 1u << 30;
  stranger.say(to_message(plan));
  EXPECT_THAT(stranger.answer(), HasSubstr("makes no sense"));
}

TEST_F(BadClients, AbsurdSizesAreRefusedInBothDirections) {
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    Stranger stranger(server_);
    TestPlan plan = good_plan();
    plan.direction = direction;
    plan.extents = {std::uint64_t{1} << 62};
    plan.bytes = std::uint64_t{1} << 62;
    stranger.say(to_message(plan));
    EXPECT_THAT(stranger.answer(), HasSubstr("memory"));
  }
}

TEST_F(BadClients, MarksWithoutEndAreRefused) {
  Stranger stranger(server_);
  TestPlan plan = good_plan();
  plan.interval = 1ns;
  stranger.say(to_message(plan));
  EXPECT_THAT(stranger.answer(), HasSubstr("makes no sense"));
}

TEST_F(BadClients, AFileFromTheServerIsRefused) {
  Stranger stranger(server_);
  Json message = to_message(good_plan());
  message["mode"] = "file";
  message["direction"] = "reverse";
  stranger.say(message);
  EXPECT_THAT(stranger.answer(), HasSubstr("makes no sense"));
}

TEST_F(BadClients, WhoSaysNothingHoldsNobodyUp) {
  Stranger silent(server_);
  Options options = client_options(server_);
  options.amount.transfers = 3;
  options.size = 1000;
  const auto begin = Clock::now();
  EXPECT_EQ(run(options)->status, 0);
  // Less than the silent one is given.
  EXPECT_LT(Clock::now() - begin, 8s);
}

TEST_F(BadClients, ManyWhoSayNothingHoldNobodyUp) {
  std::vector<std::unique_ptr<Stranger>> silent;
  for (int i = 0; i < 80; ++i) silent.push_back(std::make_unique<Stranger>(server_));
  Options options = client_options(server_);
  options.amount.transfers = 3;
  options.size = 1000;
  EXPECT_EQ(run(options)->status, 0);
}

TEST_F(BadClients, AReverseTestNobodyReceivesEndsWithItsClient) {
  {
    Stranger stranger(server_);
    TestPlan plan = good_plan();
    plan.direction = Direction::reverse;
    stranger.say(to_message(plan));
    ASSERT_THAT(stranger.answer(), HasSubstr("ready"));
    stranger.say(simple_message(kind::go));
    EXPECT_THAT(stranger.answer(), HasSubstr("go"));
  }
  EXPECT_TRUE(server_.reporter().wait_until([](auto& r) { return r.summaries().size() == 1; }));
}

TEST_F(BadClients, ResultsNobodyAskedForAreRefused) {
  Stranger stranger(server_);
  TestPlan plan = good_plan();
  plan.direction = Direction::reverse;
  stranger.say(to_message(plan));
  ASSERT_THAT(stranger.answer(), HasSubstr("ready"));
  stranger.say(simple_message(kind::go));
  EXPECT_THAT(stranger.answer(), HasSubstr("go"));
  stranger.say(to_message(ReceiverReport{}));
  EXPECT_THAT(stranger.answer(), HasSubstr("means nothing here"));
}

TEST_F(BadClients, MessagesOutOfTurnAreRefused) {
  Stranger stranger(server_);
  stranger.say(simple_message(kind::go));
  EXPECT_THAT(stranger.answer(), HasSubstr("means nothing here"));
}

TEST_F(BadClients, ALyingFileHeaderIsRefused) {
  Stranger stranger(server_);
  TestPlan plan;
  plan.mode = Mode::file;
  plan.file_name = "evil.safetensors";
  plan.header_bytes = 10;
  plan.file_bytes = 12;
  stranger.say(to_message(plan));
  const std::array<std::byte, 10> header{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  ASSERT_TRUE(stranger.connection().send_tensor(kHeaderTag, bytes_view(header.data(), 10)));
  EXPECT_THAT(stranger.answer(), HasSubstr("evil.safetensors"));
}

TEST_F(BadClients, DataOfAnotherDtypeEndsTheTestAndNotTheServer) {
  Stranger stranger(server_);
  stranger.say(to_message(good_plan()));
  ASSERT_THAT(stranger.answer(), HasSubstr("ready"));
  stranger.say(simple_message(kind::go));
  const std::array<float, 250> data{};
  ConstTensorView view;
  view.data = data.data();
  view.bytes = sizeof data;
  view.dtype = Dtype::f32;
  view.shape = Shape{250};
  const auto transfer = stranger.connection().send_tensor(kStreamTag, view);
  ASSERT_TRUE(transfer);
  EXPECT_EQ(transfer->wait(10s).value(), Status::refused);
  EXPECT_TRUE(stranger.connection().close("gone"));
}

TEST_F(BadClients, AClientThatLeavesIsForgotten) {
  {
    Stranger stranger(server_);
    stranger.say(to_message(good_plan()));
    ASSERT_THAT(stranger.answer(), HasSubstr("ready"));
  }
  EXPECT_TRUE(server_.reporter().wait_until([](auto& r) { return r.errors().size() == 1; }));
}

}  // namespace
}  // namespace longhaul::apps::perf
