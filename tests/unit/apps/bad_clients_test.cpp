// SPDX-License-Identifier: Apache-2.0
// Clients that are not longhaul-perf, and what they cost its server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "apps/perf/control_channel.hpp"
#include "apps/perf/endpoint_setup.hpp"
#include "tests/unit/apps/loopback_server.hpp"

namespace longhaul::apps::perf {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A client that speaks Longhaul but not longhaul-perf's exchange.
class Stranger {
 public:
  explicit Stranger(const LoopbackServer& server) {
    Options options;
    options.security = "none";
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

  // A test in which the server sends has begun.
  void begin_reverse(Stranger& stranger) {
    TestPlan plan = good_plan();
    plan.direction = Direction::reverse;
    stranger.say(to_message(plan));
    ASSERT_THAT(stranger.answer(), HasSubstr("ready"));
    stranger.say(simple_message(kind::go));
    EXPECT_THAT(stranger.answer(), HasSubstr("go"));
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
    begin_reverse(stranger);
  }
  EXPECT_TRUE(server_.reporter().wait_until([](auto& r) { return r.summaries().size() == 1; }));
}

TEST_F(BadClients, ResultsNobodyAskedForAreRefused) {
  Stranger stranger(server_);
  begin_reverse(stranger);
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
