// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/wire/frame.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::hex;

constexpr std::string_view kDefaults =
    "0001 0004 0000ffe3"
    "0002 0004 000007d0"
    "0003 0004 00000190"
    "0004 0008 0000000000000000"
    "0005 0004 00000000"
    "0006 0004 00000400"
    "0008 0001 00";

Bytes written(const TransportParameters& parameters) {
  Bytes out(200);
  out.resize(write_transport_parameters(parameters, out));
  return out;
}

TransportParameters random_parameters(base::Random& random) {
  TransportParameters p;
  p.max_datagram = static_cast<std::uint32_t>(random.next());
  p.peer_timeout_ms = static_cast<std::uint32_t>(random.next());
  p.heartbeat_ms = static_cast<std::uint32_t>(random.next());
  p.eager_budget = random.next();
  p.eager_max = static_cast<std::uint32_t>(random.next());
  p.transfers_max = static_cast<std::uint32_t>(random.next());
  p.reference_payload = random.below(2) == 0;
  if (random.below(2) == 0) p.connection_id = static_cast<std::uint32_t>(random.next());
  if (random.below(2) == 0) {
    std::ranges::copy(test::random_bytes(random, 16), p.reset_token.emplace().begin());
  }
  return p;
}

TEST(TransportParameters, have_these_bytes) {
  EXPECT_EQ(written({}), hex(kDefaults));
  TransportParameters all;
  all.max_datagram = 1472;
  all.peer_timeout_ms = 1;
  all.heartbeat_ms = 2;
  all.eager_budget = 0x0102030405060708;
  all.eager_max = 3;
  all.transfers_max = 4;
  all.reset_token.emplace().fill(std::byte{0xee});
  all.reference_payload = true;
  all.connection_id = 0x0a0b0c0d;
  const Bytes bytes =
      hex("0001 0004 000005c0"
          "0002 0004 00000001"
          "0003 0004 00000002"
          "0004 0008 0102030405060708"
          "0005 0004 00000003"
          "0006 0004 00000004"
          "0007 0010 eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
          "0008 0001 01"
          "0009 0004 0a0b0c0d");
  EXPECT_EQ(written(all), bytes);
  EXPECT_EQ(read_transport_parameters(bytes), all);
}

TEST(TransportParameters, what_is_absent_has_its_default) {
  EXPECT_EQ(read_transport_parameters({}), TransportParameters{});
  EXPECT_EQ(read_transport_parameters(hex(kDefaults)), TransportParameters{});
  TransportParameters one;
  one.eager_max = 9;
  EXPECT_EQ(read_transport_parameters(hex("0005 0004 00000009")), one);
}

TEST(TransportParameters, any_values_survive_and_any_prefix_is_cut_between_two_or_malformed) {
  base::Random random(31);
  test::GuardedMemory memory(200);
  for (int i = 0; i < 2000; ++i) {
    const TransportParameters parameters = random_parameters(random);
    const Bytes bytes = written(parameters);
    ASSERT_EQ(read_transport_parameters(memory.copy(bytes)), parameters);
    std::size_t boundaries = 0;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto out = memory.copy(Bytes(size));
      ASSERT_EQ(write_transport_parameters(parameters, out), 0u);
      if (read_transport_parameters(memory.copy(std::span(bytes).first(size)))) ++boundaries;
    }
    ASSERT_EQ(boundaries,
              7u + (parameters.reset_token ? 1u : 0u) + (parameters.connection_id ? 1u : 0u));
  }
}

TEST(TransportParameters, unknown_ones_are_ignored_even_twice) {
  EXPECT_EQ(read_transport_parameters(hex("000a 0003 010203 000a 0000 ffff 0001 aa 0000 0000")),
            TransportParameters{});
}

TEST(TransportParameters, a_known_one_twice_or_of_another_length_is_malformed) {
  EXPECT_FALSE(read_transport_parameters(hex("0005 0004 00000009 0005 0004 00000009")));
  for (const std::string_view id :
       {"0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009"}) {
    EXPECT_FALSE(read_transport_parameters(hex(std::string(id) + "0000"))) << id;
    EXPECT_FALSE(read_transport_parameters(hex(std::string(id) + "0003 000000"))) << id;
    EXPECT_FALSE(read_transport_parameters(hex(std::string(id) + "0011" + std::string(34, '0'))))
        << id;
  }
  EXPECT_FALSE(read_transport_parameters(hex("0008 0001 02"))) << "no such payload mode";
  EXPECT_TRUE(read_transport_parameters(hex("0008 0001 00")));
}

}  // namespace
}  // namespace longhaul::wire
