// SPDX-License-Identifier: Apache-2.0
// Somebody on the way who has no key: flips bits, forges, replays, edits what is said in the clear.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "lib/base/byte_writer.hpp"
#include "lib/base/random.hpp"
#include "lib/wire/frame.hpp"
#include "lib/wire/packet.hpp"
#include "tests/unit/connection/secure_hosts.hpp"

namespace longhaul::endpoint {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBytes = 500'000;

struct AttackTest : testing::Test {
  Network network;
  Host& client = add_secure(network, 1, psk());
  Host& server = add_secure(network, 2, psk());
  base::Random random{3};

  std::uint64_t dropped(DropReason reason) const {
    return server.endpoint.stats().dropped[static_cast<std::size_t>(reason)];
  }
  void expect_transfer() {
    network.transfer(client, server, 1, kBytes);
    network.run(seconds(20), [&] {
      return client.status(1) != Status::pending && server.status(1) != Status::pending;
    });
    EXPECT_EQ(server.status(1), Status::completed);
    EXPECT_EQ(client.status(1), Status::completed);
    EXPECT_TRUE(network.arrived_whole(1));
    EXPECT_EQ(client.connections.size(), 1u) << "nobody but the ends can close it";
    EXPECT_EQ(server.connections.size(), 1u);
  }
};

TEST_F(AttackTest, a_flipped_bit_anywhere_makes_a_packet_nothing) {
  network.on_leave = [&](Parcel& parcel) {
    if (random.below(20) == 0)
      parcel.bytes[random.below(parcel.bytes.size())] ^= std::byte{1} << random.below(8);
    return true;
  };
  network.connect(client, server);
  expect_transfer();
  EXPECT_GT(dropped(DropReason::failed_integrity), 0u);
}

TEST_F(AttackTest, a_forged_packet_for_every_chunk_changes_nothing) {
  network.connect(client, server);
  std::size_t forged = 0;
  network.on_leave = [&](Parcel& parcel) {
    const auto header = wire::read_short_header(parcel.bytes);
    if (wire::is_long(parcel.bytes[0]) || !header || header->type != wire::PacketType::source)
      return true;
    std::vector<std::byte> lie = parcel.bytes;
    for (std::size_t i = wire::kSourceHeaderBytes; i < lie.size(); ++i)
      lie[i] = static_cast<std::byte>(random.next());
    network.inject(parcel.from, parcel.to, std::move(lie));  // arrives before the true one
    ++forged;
    return true;
  };
  expect_transfer();
  EXPECT_GE(forged, kBytes / 1472);
  EXPECT_GE(dropped(DropReason::failed_integrity), forged);
}

TEST_F(AttackTest, what_was_recorded_is_worth_nothing_later) {
  network.connect(client, server);
  std::vector<Parcel> recorded;
  network.on_leave = [&](Parcel& parcel) {
    recorded.push_back(parcel);
    return true;
  };
  expect_transfer();
  network.on_leave = [](Parcel&) { return true; };
  const auto before = server.endpoint.connection_stats(server.opened)->tensor_bytes_verified;
  for (const Parcel& parcel : recorded) network.inject(parcel.from, parcel.to, parcel.bytes);
  network.run(seconds(1));
  EXPECT_GE(dropped(DropReason::duplicate_packet), kBytes / 1472);
  EXPECT_EQ(server.endpoint.connection_stats(server.opened)->tensor_bytes_verified, before);
  EXPECT_EQ(server.connections.size(), 1u);
}

// Recomputes what anybody can.
void fix_checksum(std::vector<std::byte>& packet) {
  const std::size_t token =
      std::to_integer<std::size_t>(packet[25]) << 8 | std::to_integer<std::size_t>(packet[26]);
  const std::size_t header = wire::kLongHeaderBytes + token;
  if (header + wire::kCrcBytes > packet.size()) return;
  base::ByteWriter(std::span(packet).subspan(header, wire::kCrcBytes))
      .u32(wire::crc32c(std::span(packet).first(header),
                        std::span(packet).subspan(header + wire::kCrcBytes)));
}

TEST_F(AttackTest, edited_set_up_packets_delay_it_and_no_more) {
  int opened = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Network line;
    Host& from = add_secure(line, 1, psk());
    Host& to = add_secure(line, 2, psk());
    base::Random choice(seed);
    line.on_leave = [&](Parcel& parcel) {
      if (!wire::is_long(parcel.bytes[0]) || choice.below(10) != 0) return true;
      const std::size_t end = std::min<std::size_t>(parcel.bytes.size(), 600);
      parcel.bytes[1 + choice.below(end - 1)] ^= static_cast<std::byte>(1 + choice.below(255));
      fix_checksum(parcel.bytes);
      return true;
    };
    line.connect(from, to, seconds(10));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    ++opened;
    line.transfer(from, to, 1, 10'000);
    line.run(seconds(5), [&] { return to.status(1) != Status::pending; });
    EXPECT_EQ(to.status(1), Status::completed) << seed;
  }
  EXPECT_EQ(opened, 100);
}

// Makes the first TLS record of the packet longer than it is (RFC 8446 §5.1), so that whoever reads
// it waits for the rest. False without a record.
bool lengthen_record(std::vector<std::byte>& packet) {
  for (std::size_t i = wire::kLongHeaderBytes; i + 5 < packet.size(); ++i) {
    const auto type = std::to_integer<unsigned>(packet[i]);
    const bool version = packet[i + 1] == std::byte{3} && packet[i + 2] <= std::byte{3};
    if (type < 0x14 || type > 0x17 || !version) continue;
    packet[i + 3] ^= std::byte{0x08};
    fix_checksum(packet);
    return true;
  }
  return false;
}

TEST_F(AttackTest, an_end_that_was_made_to_wait_for_what_never_comes_is_got_out_of_it) {
  for (int which = 0; which < 4; ++which) {
    Network line;
    Host& from = add_secure(line, 1, psk());
    Host& to = add_secure(line, 2, psk());
    int records = 0;
    line.on_leave = [&](Parcel& parcel) {
      std::vector<std::byte> longer(parcel.bytes);
      if (wire::is_long(parcel.bytes[0]) && lengthen_record(longer) && records++ == which)
        parcel.bytes = longer;
      return true;
    };
    line.connect(from, to, seconds(10));
    if (HasFatalFailure()) FAIL() << "record " << which << " of " << records;
  }
}

TEST_F(AttackTest, injected_set_up_packets_close_nothing_once_it_is_open) {
  std::vector<Parcel> set_up;
  network.on_leave = [&](Parcel& parcel) {
    if (wire::is_long(parcel.bytes[0])) set_up.push_back(parcel);
    return true;
  };
  network.connect(client, server);
  network.on_leave = [&](Parcel&) {
    // Old ones, broken ones, and a refusal in the server's name.
    Parcel again = set_up[random.below(set_up.size())];
    if (random.below(2) == 0) {
      again.bytes[random.below(again.bytes.size())] ^= std::byte{0x55};
      fix_checksum(again.bytes);
    }
    network.inject(again.from, again.to, std::move(again.bytes));
    return true;
  };
  expect_transfer();
}

// What a server would answer that wants nobody.
std::vector<std::byte> refusal_of(const wire::LongPeek& initial) {
  std::vector<std::byte> frames(64);
  frames.resize(wire::write_frame(wire::ConnectionClose{3, 0, "go away"}, frames));
  wire::LongHeader header;
  header.type = wire::LongType::accept;
  header.destination_id = initial.source_id;
  header.attempt = initial.attempt;
  std::vector<std::byte> refusal(200);
  refusal.resize(wire::write_long_packet(header, frames, refusal));
  return refusal;
}

TEST_F(AttackTest, a_false_refusal_does_not_end_an_attempt) {
  network.on_leave = [&](Parcel& parcel) {
    const auto peek = wire::peek_long(parcel.bytes);
    if (!peek || peek->type != wire::LongType::initial) return true;
    network.inject(parcel.to, parcel.from, refusal_of(*peek));
    return true;
  };
  network.connect(client, server);
  network.on_leave = [](Parcel&) { return true; };
  expect_transfer();
}

// What a client says first is not encrypted: a token in it would end the connection in its name.
TEST_F(AttackTest, nothing_that_is_said_in_the_clear_works_as_a_reset) {
  std::vector<std::vector<std::byte>> heard;
  network.on_leave = [&](Parcel& parcel) {
    if (wire::is_long(parcel.bytes[0])) heard.push_back(parcel.bytes);
    return true;
  };
  network.connect(client, server);
  network.on_leave = [](Parcel&) { return true; };
  std::set<std::uint32_t> ids;
  for (const auto& packet : heard) ids.insert(wire::peek_long(packet)->source_id);
  for (const auto& packet : heard) {
    for (std::size_t at = 0; at + wire::kResetTokenBytes <= packet.size(); ++at) {
      wire::ResetToken token;
      std::copy_n(packet.begin() + static_cast<std::ptrdiff_t>(at), token.size(), token.begin());
      for (const std::uint32_t id : ids) {
        std::vector<std::byte> reset(wire::kResetDatagramMin);
        wire::write_reset(id, token, reset);
        network.inject(client.address, server.address, reset);
        network.inject(server.address, client.address, reset);
      }
    }
  }
  expect_transfer();
}

// Somebody who is always first, and gives up after a while.
struct RaceTest : AttackTest {
  Timestamp gives_up = network.now + seconds(3);
  void run(const std::function<void(const Parcel&)>& say) {
    network.on_leave = [this, say](Parcel& parcel) {
      if (wire::is_long(parcel.bytes[0]) && network.now < gives_up) say(parcel);
      return true;
    };
    network.connect(client, server, seconds(10));
    ASSERT_FALSE(HasFatalFailure());
    expect_transfer();
  }
  void say_edited(const Parcel& parcel) {
    Parcel lie = parcel;
    lie.bytes[wire::kLongHeaderBytes + wire::kCrcBytes + 12] ^= std::byte{0x55};
    fix_checksum(lie.bytes);
    network.inject(lie.from, lie.to, std::move(lie.bytes));
  }
  void refuse(const Parcel& parcel) {
    const auto peek = wire::peek_long(parcel.bytes);
    if (peek->type != wire::LongType::initial) return;
    network.inject(parcel.to, parcel.from, refusal_of(*peek));
  }
};

TEST_F(RaceTest, whoever_answers_first_only_delays_set_up) {
  run([this](const Parcel& parcel) {
    if (parcel.from == server.address) say_edited(parcel);
    refuse(parcel);
  });
}

TEST_F(RaceTest, whoever_asks_first_only_delays_set_up) {
  run([this](const Parcel& parcel) {
    if (parcel.from == client.address) say_edited(parcel);
    refuse(parcel);
  });
}

TEST_F(RaceTest, an_initial_with_another_connection_id_sends_one_answer_astray_and_not_all) {
  gives_up = network.now + milliseconds(100);
  run([&](const Parcel& parcel) {
    if (parcel.from != client.address) return;
    Parcel lie = parcel;
    lie.bytes[9] ^= std::byte{0x55};
    fix_checksum(lie.bytes);
    network.inject(lie.from, lie.to, std::move(lie.bytes));
  });
}

TEST_F(RaceTest, a_token_of_somebody_else_costs_no_time) {
  const Timestamp begin = network.now;
  Duration took{};
  run([&](const Parcel& parcel) {
    took = network.now - begin;
    const auto peek = wire::peek_long(parcel.bytes);
    if (peek->type != wire::LongType::retry) return;
    wire::LongHeader header;
    header.type = wire::LongType::retry;
    header.destination_id = peek->destination_id;
    header.attempt = peek->attempt;
    const std::vector<std::byte> token(24, std::byte{7});
    header.token = token;
    std::vector<std::byte> retry(100);
    retry.resize(wire::write_long_packet(header, {}, retry));
    network.inject(parcel.from, parcel.to, std::move(retry));
  });
  EXPECT_LT(took, milliseconds(50)) << "five times 5 ms are needed";
}

// Handshakes nobody is behind fill no place that clients need.
TEST(Attack, begun_handshakes_do_not_count_as_connections) {
  EndpointConfig config = Network::config();
  config.connections_max = 4;
  config.validate_addresses = false;
  Network network;
  Host& client = add_secure(network, 1, psk());
  Host& server = add_secure(network, 2, psk(), config);
  Host& late = add_secure(network, 3, psk());
  std::vector<std::byte> hello;
  network.on_leave = [&](Parcel& parcel) {
    if (hello.empty()) hello = parcel.bytes;
    return true;
  };
  network.connect(client, server);
  base::Random random(1);
  const auto strangers = [&] {
    for (std::uint8_t i = 0; i < 20; ++i) {
      for (std::size_t at = 13; at < 21; ++at) hello[at] = static_cast<std::byte>(random.next());
      fix_checksum(hello);
      network.inject(address(100 + i), server.address, hello);
    }
    network.run(milliseconds(1));
    EXPECT_LE(server.endpoint.stats().connections, 4u);
  };
  strangers();
  network.connect(late, server);
  strangers();
  EXPECT_NE(late.opened, 0u);
  network.run(seconds(15));
  EXPECT_EQ(server.connections.size(), 2u) << "both live and no other was seen";
  EXPECT_EQ(server.endpoint.stats().connections, 2u);
}

// A client that has finished is told so by the server's next packet; what is said in between must
// not make it begin another connection.
TEST_F(AttackTest, a_late_lie_makes_no_second_connection) {
  network.on_leave = [&](Parcel& parcel) {
    if (!wire::is_long(parcel.bytes[0]) || parcel.from != server.address) return true;
    std::vector<std::byte> lie = parcel.bytes;
    lie[lie.size() / 2] ^= std::byte{0x55};
    fix_checksum(lie);
    const Parcel true_one = parcel;
    network.inject(true_one.from, true_one.to, true_one.bytes);
    network.inject(true_one.from, true_one.to, std::move(lie));
    return true;
  };
  network.connect(client, server);
  network.on_leave = [](Parcel&) { return true; };
  expect_transfer();
  EXPECT_EQ(server.endpoint.stats().connections, 1u);
}

}  // namespace
}  // namespace longhaul::endpoint
