// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/closing.hpp"

#include <gtest/gtest.h>

namespace longhaul::connection {
namespace {

using std::chrono::milliseconds;

constexpr Duration kLinger = milliseconds(300);
constexpr Duration kPto = milliseconds(100);

Timestamp at(Duration since) {
  return Timestamp{} + since;
}

struct ClosingTest : testing::Test {
  Closing closing;
  void close() { closing.close(at({}), wire::CloseCode::no_error, "bye", kLinger); }
};

TEST_F(ClosingTest, an_open_connection_waits_for_nothing) {
  EXPECT_TRUE(closing.is_open());
  EXPECT_FALSE(closing.close_due(at(std::chrono::hours(1))));
  EXPECT_EQ(closing.next_timeout(), kNever);
}

TEST_F(ClosingTest, the_close_is_said_three_times_unasked) {
  close();
  int said = 0;
  for (Duration now{}; now < kLinger; now += milliseconds(1))
    if (closing.close_due(at(now))) {
      ++said;
      closing.on_close_sent(at(now), kPto);
      EXPECT_FALSE(closing.close_due(at(now)));
    }
  EXPECT_EQ(said, 3);
}

TEST_F(ClosingTest, it_is_said_again_ever_more_rarely_while_packets_come) {
  close();
  int said = 0;
  for (int packet = 0; packet < 1000; ++packet) {
    closing.on_packet();
    if (!closing.close_due(at(milliseconds(100)))) continue;
    ++said;
    closing.on_close_sent(at(milliseconds(100)), kPto);
  }
  EXPECT_GE(said, 10);
  EXPECT_LE(said, 13);
}

TEST_F(ClosingTest, it_is_over_after_the_linger) {
  close();
  closing.handle_timeout(at(kLinger - milliseconds(1)));
  EXPECT_EQ(closing.state(), Closing::State::closing);
  closing.handle_timeout(at(kLinger));
  EXPECT_EQ(closing.state(), Closing::State::done);
  EXPECT_EQ(closing.next_timeout(), kNever);
}

TEST_F(ClosingTest, the_first_reason_stands) {
  close();
  closing.close(at({}), wire::CloseCode::internal, "no", kLinger);
  EXPECT_EQ(closing.frame().code, 0);
  EXPECT_EQ(closing.frame().reason, "bye");
}

TEST_F(ClosingTest, draining_says_nothing_whatever_comes) {
  close();
  closing.drain(at({}), kLinger);
  closing.on_packet();
  EXPECT_EQ(closing.state(), Closing::State::draining);
  EXPECT_FALSE(closing.close_due(at({})));
  EXPECT_EQ(closing.next_timeout(), at(kLinger));
}

}  // namespace
}  // namespace longhaul::connection
