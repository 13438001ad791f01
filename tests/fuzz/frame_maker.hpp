// SPDX-License-Identifier: Apache-2.0
// Frames out of few bytes of an input, with numbers that mean something to the connection they are
// put into: small tags, aliases and counts, and powers of two with their neighbours.
#pragma once

#include <array>

#include "lib/base/byte_reader.hpp"
#include "lib/wire/frame.hpp"

namespace longhaul::fuzz {

class FrameMaker {
 public:
  explicit FrameMaker(base::ByteReader& input) : in_(input) {}

  /// 0 … 127 as they are; above, a power of two below 2^62, one less half the time.
  std::uint64_t number() {
    const std::uint8_t code = in_.u8();
    if (code < 128) return code;
    const unsigned power = code & 63;
    return (std::uint64_t{1} << std::min(power, 61u)) - (code >> 6 & 1);
  }

  /// Borrows from this object and from the input.
  wire::Frame make() {
    switch (in_.u8() % 16) {
      case 0:
        return wire::Ping{};
      case 1:
      case 2:
        return ack();
      case 3:
        return wire::Floor{space(), number()};
      case 4:
        return wire::ConnectionClose{in_.u8(), in_.u8(), "forged"};
      case 5:
        return wire::PathChallenge{number()};
      case 6:
        return wire::PathResponse{number()};
      case 7:
        return wire::Handshake{number(), number(), in_.bytes(in_.u8() & 3)};
      case 8:
        return transfer();
      case 9:
        return layout();
      case 10:
        return wire::Posted{tag(), n(), number(), number()};
      case 11:
        return wire::SendEnd{tag(), n(), status(), "forged"};
      case 12:
        return wire::ReceiveEnd{tag(), n(), status(), number(), "forged"};
      case 13:
        return wire::Refetch{tag(), n(), number(), number()};
      case 14:
        return wire::AllSent{tag(), n()};
      default:
        return wire::TransportParametersFrame{in_.bytes(in_.u8() & 15)};
    }
  }

 private:
  std::uint16_t space() { return in_.u8() & 7; }
  std::uint64_t tag() { return in_.u8() & 3; }
  std::uint64_t n() {
    const std::uint8_t code = in_.u8();
    return code < 240 ? code & 7 : number();
  }
  Status status() { return static_cast<Status>(1 + in_.u8() % 9); }

  wire::Ack ack() {
    wire::Ack ack;
    ack.space = space();
    ack.floor = number();
    ack.largest = std::min(ack.floor + number(), wire::kPacketNumberMax);
    ack.largest_delay_us = number();
    ack.packets = number();
    ack.bytes = number();
    ack.ce = number();
    ack.lateness_us = number();
    std::uint64_t next = ack.floor + (in_.u8() & 1);
    std::size_t count = 0;
    for (std::size_t wanted = in_.u8() & 3; wanted > 0; --wanted) {
      const wire::Gap gap{next, 1 + (number() & 0xffff)};
      if (gap.first + gap.length > ack.largest) break;
      gaps_[count++] = gap;
      next = gap.first + gap.length + 1 + in_.u8();
    }
    ack.largest_is_newest = (in_.u8() & 1) != 0;
    ack.gaps = std::span(gaps_).first(count);
    return ack;
  }

  wire::Transfer transfer() {
    wire::Transfer frame;
    frame.alias = static_cast<std::uint32_t>(number() & wire::kAliasMax);
    frame.tag = tag();
    frame.n = n();
    frame.bytes = number();
    const std::uint8_t code = in_.u8();
    frame.growing = (code & 1) != 0;
    frame.list = (code & 2) != 0;
    frame.eager = (code & 4) != 0;
    frame.traffic_class = static_cast<TrafficClass>(code >> 3 & 3);
    frame.reliability = static_cast<Reliability>((code >> 5) % 3);
    frame.loss_budget = number();
    frame.piece_log2 = in_.u8() % (wire::kPieceLog2Max + 1);
    frame.schema = number();
    frame.count = number() + 1;
    frame.shape = Shape{frame.bytes};
    return frame;
  }

  wire::Layout layout() {
    wire::Layout frame;
    frame.alias = static_cast<std::uint32_t>(number() & wire::kAliasMax);
    frame.layout = in_.u8() & 3;
    frame.chunk_size = static_cast<std::uint32_t>(1 + (number() & 0xffffff));
    frame.first = number();
    frame.length = std::min(number(), std::uint64_t{frame.chunk_size} << 24);
    return frame;
  }

  base::ByteReader& in_;
  std::array<wire::Gap, 4> gaps_{};
};

}  // namespace longhaul::fuzz
