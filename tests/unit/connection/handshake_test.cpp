// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/handshake.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string_view>
#include <vector>

#include "tests/support/seeded_source.hpp"

namespace longhaul::connection {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kClosed = base::Hindrance::port_closed;

struct HandshakeTest : testing::Test {
  EndpointConfig endpoint;
  Timestamp now = Timestamp{} + std::chrono::hours(1);
  std::vector<std::byte> buffer = std::vector<std::byte>(2000);

  ConnectionConfig config(Role role) {
    ConnectionConfig result;
    result.role = role;
    result.own_cid = role == Role::client ? 11 : 22;
    result.peer_cid = role == Role::client ? 0 : 11;
    result.attempt = 99;
    result.connect_timeout = seconds(3);
    result.endpoint = &endpoint;
    return result;
  }
  tests::SeededSource random{1};
  Handshake client{config(Role::client), random, now};

  // The packet that is due, or one of no type.
  std::optional<wire::LongPacket> write(Handshake& from) {
    const std::size_t size = from.write(now, buffer);
    if (size == 0) return std::nullopt;
    written = size;
    wire::LongError error{};
    return wire::read_long_packet(std::span(buffer).first(size), error);
  }
  wire::LongPacket answer(wire::LongType type, std::span<const std::byte> frames) {
    wire::LongPacket packet;
    packet.header.type = type;
    packet.header.destination_id = 11;
    packet.header.source_id = 22;
    packet.header.attempt = 99;
    packet.frames = frames;
    return packet;
  }
  std::size_t written = 0;
};

TEST_F(HandshakeTest, refusals_that_repeat_for_a_second_end_an_attempt) {
  client.on_refusal(now, kClosed);
  client.on_refusal(now, kClosed);
  client.on_refusal(now + milliseconds(999), kClosed);
  EXPECT_FALSE(client.failure().has_value()) << "many at once are one";
  client.on_refusal(now + seconds(1), kClosed);
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_EQ(client.failure()->code, ErrorCode::refused);
  EXPECT_NE(client.failure()->reason.find("nothing listens on UDP port"), std::string::npos);
  EXPECT_EQ(client.next_timeout(), kNever);
}

TEST_F(HandshakeTest, two_refusals_are_not_enough_however_far_apart) {
  client.on_refusal(now, kClosed);
  client.on_refusal(now + seconds(2), kClosed);
  EXPECT_FALSE(client.failure().has_value());
}

TEST_F(HandshakeTest, what_our_own_system_says_is_believed_the_second_time) {
  const auto reason_of = [&](base::Hindrance cause) {
    Handshake hindered(config(Role::client), random, now);
    hindered.on_refusal(now, cause);
    hindered.on_refusal(now, cause);
    EXPECT_FALSE(hindered.failure().has_value()) << "one flight";
    hindered.on_refusal(now + milliseconds(250), cause);
    EXPECT_TRUE(hindered.failure().has_value());
    return hindered.failure() ? hindered.failure()->reason : "";
  };
  EXPECT_NE(reason_of(base::Hindrance::no_route).find("; check `ip route get "), std::string::npos);
  EXPECT_NE(reason_of(base::Hindrance::forbidden).find("firewall"), std::string::npos);
}

TEST_F(HandshakeTest, a_deadline_says_what_is_known_by_then) {
  client.on_refusal(now, kClosed);
  client.handle_timeout(now + seconds(3600));
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_EQ(client.failure()->code, ErrorCode::timed_out) << "one message may be forged";
  EXPECT_NE(client.failure()->reason.find("nothing listens"), std::string::npos);
}

TEST_F(HandshakeTest, a_refusal_means_nothing_once_the_server_spoke) {
  wire::LongPacket retry = answer(wire::LongType::retry, {});
  const std::vector<std::byte> token(20, std::byte{7});
  retry.header.token = token;
  client.on_long_packet(now, retry);
  for (int i = 0; i < 10; ++i) client.on_refusal(now + i * seconds(1), kClosed);
  EXPECT_FALSE(client.failure().has_value());
  Handshake server(config(Role::server), random, now);
  for (int i = 0; i < 10; ++i) server.on_refusal(now + i * seconds(1), kClosed);
  EXPECT_FALSE(server.failure().has_value());
}

TEST_F(HandshakeTest, an_exchange_of_two_packets_establishes_both_ends) {
  Handshake server(config(Role::server), random, now);
  const auto initial = write(client);
  ASSERT_TRUE(initial.has_value());
  EXPECT_EQ(written, wire::kInitialDatagramMin);
  ASSERT_TRUE(server.on_initial(now, *initial));
  EXPECT_TRUE(server.established());
  now += milliseconds(40);
  const auto accept = write(server);
  ASSERT_TRUE(accept.has_value());
  client.on_long_packet(now, *accept);
  EXPECT_TRUE(client.established());
  EXPECT_EQ(client.peer_cid(), 22u);
  EXPECT_EQ(client.rtt_sample(), milliseconds(40));
  EXPECT_EQ(client.next_timeout(), kNever);
  EXPECT_EQ(server.next_timeout(), kNever);
  EXPECT_EQ(server.write(now, buffer), 0u);
}

TEST_F(HandshakeTest, the_initial_is_repeated_at_growing_distances_until_the_timeout) {
  std::vector<Duration> times;
  const Timestamp begin = now;
  while (!client.failure()) {
    if (write(client)) times.push_back(now - begin);
    ASSERT_GT(client.next_timeout(), now);
    now = client.next_timeout();
    client.handle_timeout(now);
  }
  EXPECT_EQ(times,
            (std::vector<Duration>{
                {}, milliseconds(250), milliseconds(750), milliseconds(1750), milliseconds(2750)}));
  EXPECT_EQ(client.failure()->code, ErrorCode::timed_out);
  EXPECT_EQ(now, begin + seconds(3));
  EXPECT_EQ(client.next_timeout(), kNever);
}

TEST_F(HandshakeTest, a_repeated_exchange_gives_no_sample_since_nobody_knows_which_was_answered) {
  Handshake server(config(Role::server), random, now);
  write(client);
  now += milliseconds(250);
  const auto initial = write(client);
  ASSERT_TRUE(server.on_initial(now, *initial));
  client.on_long_packet(now, *write(server));
  EXPECT_TRUE(client.established());
  EXPECT_FALSE(client.rtt_sample().has_value());
}

TEST_F(HandshakeTest, retries_of_a_stranger_make_no_round_trip_too_short) {
  for (const int retries : {1, 2}) {
    Handshake asking(config(Role::client), random, now);
    Handshake server(config(Role::server), random, now);
    ASSERT_TRUE(server.on_initial(now, *write(asking)));
    const Timestamp begin = now;
    for (int i = 0; i < retries; ++i) {
      now += milliseconds(18);
      auto retry = answer(wire::LongType::retry, {});
      const std::vector<std::byte> token(24, static_cast<std::byte>(i));
      retry.header.token = token;
      asking.on_long_packet(now, retry);
      ASSERT_TRUE(write(asking).has_value());
    }
    now = begin + milliseconds(40);
    asking.on_long_packet(now, *write(server));
    ASSERT_TRUE(asking.established());
    if (retries == 1)
      EXPECT_EQ(asking.rtt_sample(), milliseconds(22)) << "half of it is the least";
    else
      EXPECT_FALSE(asking.rtt_sample().has_value());
  }
}

TEST_F(HandshakeTest, a_retry_is_followed_at_once_and_once_and_so_is_another) {
  write(client);
  now += milliseconds(10);
  const std::vector<std::byte> token(24, std::byte{7});
  auto retry = answer(wire::LongType::retry, {});
  retry.header.token = token;
  client.on_long_packet(now, retry);
  EXPECT_EQ(client.next_timeout(), now);
  const auto again = write(client);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(std::ranges::equal(again->header.token, token));
  EXPECT_EQ(written, wire::kInitialDatagramMin);
  client.on_long_packet(now, retry);
  EXPECT_GT(client.next_timeout(), now);
  // Either may be a stranger's.
  const std::vector<std::byte> other(24, std::byte{8});
  retry.header.token = other;
  client.on_long_packet(now, retry);
  EXPECT_EQ(client.next_timeout(), now);
  EXPECT_TRUE(std::ranges::equal(write(client)->header.token, other));
  EXPECT_GT(client.next_timeout(), now);
}

TEST_F(HandshakeTest, many_retries_cost_few_packets_and_each_gets_its_turn) {
  write(client);
  std::set<std::byte> tried;
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<std::byte> token(24, static_cast<std::byte>(i));
    auto retry = answer(wire::LongType::retry, {});
    retry.header.token = token;
    client.on_long_packet(now, retry);
    while (const auto packet = write(client)) {
      tried.insert(packet->header.token[0]);
      ++sent;
    }
  }
  EXPECT_EQ(sent, 8u);
  EXPECT_EQ(tried.size(), 8u);
  // Later another is asked for, and can come.
  bool asked = false;
  for (int i = 0; i < 12 && !asked; ++i) {
    now = client.next_timeout();
    asked = write(client)->header.token.empty();
  }
  EXPECT_TRUE(asked);
  const std::vector<std::byte> right(24, std::byte{200});
  auto retry = answer(wire::LongType::retry, {});
  retry.header.token = right;
  client.on_long_packet(now, retry);
  EXPECT_TRUE(std::ranges::equal(write(client)->header.token, right));
}

TEST_F(HandshakeTest, the_longest_token_fits_and_the_datagram_stays_as_large_as_it_has_to_be) {
  write(client);
  const std::vector<std::byte> token(wire::kTokenBytesMax, std::byte{7});
  auto retry = answer(wire::LongType::retry, {});
  retry.header.token = token;
  client.on_long_packet(now, retry);
  ASSERT_TRUE(write(client).has_value());
  EXPECT_GE(written, wire::kInitialDatagramMin);
}

TEST_F(HandshakeTest, answers_to_another_attempt_or_id_are_ignored) {
  Handshake server(config(Role::server), random, now);
  ASSERT_TRUE(server.on_initial(now, *write(client)));
  const auto accept = *write(server);
  auto wrong = accept;
  wrong.header.attempt = 98;
  client.on_long_packet(now, wrong);
  wrong = accept;
  wrong.header.destination_id = 12;
  client.on_long_packet(now, wrong);
  EXPECT_FALSE(client.established());
  client.on_long_packet(now, accept);
  EXPECT_TRUE(client.established());
}

TEST_F(HandshakeTest, a_refusal_says_why) {
  std::vector<std::byte> frames(100);
  frames.resize(wire::write_frame(wire::ConnectionClose{3, 0, "not today"}, frames));
  client.on_long_packet(now, answer(wire::LongType::accept, frames));
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_EQ(client.failure()->code, ErrorCode::refused);
  EXPECT_EQ(client.failure()->reason, "not today");
}

TEST_F(HandshakeTest, a_refusal_that_wants_to_rule_the_terminal_is_made_plain) {
  constexpr std::string_view kHostile =
      "\x1b[31mno\nlonghaul-perf: error: run this \xc2\x9b"
      "32m \x9b"
      "33m caf\xc3";
  std::vector<std::byte> frames(1000);
  frames.resize(wire::write_frame(wire::ConnectionClose{3, 0, kHostile}, frames));
  client.on_long_packet(now, answer(wire::LongType::accept, frames));
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_EQ(client.failure()->reason, "?[31mno?longhaul-perf: error: run this ?32m ?33m caf?");
}

TEST_F(HandshakeTest, of_many_versions_a_peer_claims_to_speak_a_few_are_named) {
  std::vector<std::uint32_t> versions(300);
  std::iota(versions.begin(), versions.end(), 1);
  client.on_version_negotiation(now, versions);
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_NE(client.failure()->reason.find("0x00000008, we speak"), std::string::npos);
}

TEST_F(HandshakeTest, version_negotiation_ends_an_attempt_that_nothing_else_has_answered) {
  constexpr std::array kOthers{0x1u, 0x2u};
  constexpr std::array kOurs{0x1u, wire::kVersion};
  client.on_version_negotiation(now, kOurs);  // who speaks it would not say so
  EXPECT_FALSE(client.failure().has_value());
  client.on_version_negotiation(now, kOthers);
  ASSERT_TRUE(client.failure().has_value());
  EXPECT_EQ(client.failure()->code, ErrorCode::version_mismatch);
  EXPECT_NE(client.failure()->reason.find("0x00000001, 0x00000002"), std::string::npos);
}

TEST_F(HandshakeTest, version_negotiation_after_any_other_answer_is_ignored) {
  const std::vector<std::byte> token(24, std::byte{7});
  auto retry = answer(wire::LongType::retry, {});
  retry.header.token = token;
  client.on_long_packet(now, retry);
  constexpr std::array kOthers{0x1u};
  client.on_version_negotiation(now, kOthers);
  EXPECT_FALSE(client.failure().has_value());
}

TEST_F(HandshakeTest, a_peer_of_the_other_payload_mode_is_not_talked_to) {
  ConnectionConfig other = config(Role::server);
  other.payload_mode = base::PayloadMode::reference;
  Handshake server(other, random, now);
  EXPECT_FALSE(server.on_initial(now, *write(client)));
  EXPECT_FALSE(server.established());
}

TEST_F(HandshakeTest, a_peer_that_takes_only_tiny_datagrams_is_not_talked_to) {
  ConnectionConfig tiny = config(Role::client);
  tiny.datagram_max = 1199;
  Handshake small(tiny, random, now);
  Handshake server(config(Role::server), random, now);
  EXPECT_FALSE(server.on_initial(now, *write(small)));
}

TEST_F(HandshakeTest, limits_travel_as_configured) {
  endpoint.peer_timeout = milliseconds(700);
  endpoint.eager_budget = 123'456;
  endpoint.eager_max = std::uint64_t{1} << 40;
  endpoint.transfers_max = 77;
  Handshake asking(config(Role::client), random, now);
  Handshake server(config(Role::server), random, now);
  ASSERT_TRUE(server.on_initial(now, *write(asking)));
  EXPECT_EQ(server.peer().peer_timeout_ms, 700u);
  EXPECT_EQ(server.peer().heartbeat_ms, 140u);
  EXPECT_EQ(server.peer().eager_budget, 123'456u);
  EXPECT_EQ(server.peer().eager_max, UINT32_MAX);
  EXPECT_EQ(server.peer().transfers_max, 77u);
}

}  // namespace
}  // namespace longhaul::connection
