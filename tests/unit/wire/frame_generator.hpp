// SPDX-License-Identifier: Apache-2.0
// Random frames that the format can carry, with a liking for the edges of fields.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/wire/frame.hpp"
#include "tests/unit/wire/bytes.hpp"

namespace longhaul::wire::test {

/// Frames borrow from it, so it must outlive them.
class FrameGenerator {
 public:
  explicit FrameGenerator(std::uint64_t seed) : random_(seed) {}

  base::Random& random() { return random_; }

  Frame frame() { return frame(random_.below(std::variant_size_v<Frame>)); }
  Frame frame(std::size_t alternative) {
    Frame frame;
    select<0>(frame, alternative);
    return frame;
  }

  void fill(Ping&) {}
  void fill(Ack& f) {
    f.space = u16();
    f.floor = varint() >> 1;
    f.largest_delay_us = varint();
    f.packets = varint();
    f.bytes = varint();
    f.ce = varint();
    f.lateness_us = varint();
    f.largest_is_newest = flip();
    auto& gaps = gaps_.emplace_back();
    std::uint64_t next = f.floor + random_.below(3);
    const std::uint64_t count = random_.below(flip() ? 4 : 80);
    for (std::uint64_t i = 0; i < count; ++i) {
      gaps.push_back({next, 1 + run()});
      next = gaps.back().first + gaps.back().length + 1 + run();
    }
    // The interval ends with its last gap, right behind it, or farther on.
    const bool ends_missing = !gaps.empty() && random_.below(4) == 0;
    f.largest = ends_missing ? gaps.back().first + gaps.back().length - 1 : next + run();
    if (ends_missing) f.largest_is_newest = false;
    f.gaps = gaps;
  }
  void fill(Floor& f) {
    f.space = u16();
    f.floor = random_.next();
  }
  void fill(ConnectionClose& f) {
    f.code = u16();
    f.frame_type = u8();
    f.reason = reason();
  }
  void fill(PathChallenge& f) { f.data = random_.next(); }
  void fill(PathResponse& f) { f.data = random_.next(); }
  void fill(Handshake& f) {
    f.offset = varint();
    f.received = varint();
    f.data = data();
  }
  void fill(TransportParametersFrame& f) { f.encoded = data(); }
  void fill(Transfer& f) {
    f.alias = u24();
    f.tag = u64();
    f.n = varint();
    f.piece_log2 = static_cast<std::uint8_t>(random_.below(kPieceLog2Max + 1));
    f.bytes = std::min(varint(), (std::uint64_t{1} << 30) << std::min<int>(f.piece_log2, 32));
    f.growing = flip();
    f.list = flip();
    f.eager = flip();
    f.traffic_class = static_cast<TrafficClass>(random_.below(4));
    f.reliability = static_cast<Reliability>(random_.below(3));
    f.loss_budget = varint();
    f.schema = u64();
    f.count = std::max<std::uint64_t>(varint(), 1);
    f.dtype = static_cast<Dtype>(1 + random_.below(15));
    std::vector<std::uint64_t> extents(random_.below(kDimensionsMax + 1));
    for (std::uint64_t& extent : extents) extent = varint();
    f.shape = *Shape::from(extents);
  }
  void fill(Layout& f) {
    f.alias = u24();
    f.layout = u8();
    f.chunk_size = 1 + static_cast<std::uint32_t>(varint() % 0xffffffff);
    f.first = varint();
    f.length = std::min(varint(), std::uint64_t{f.chunk_size} << 24);
  }
  void fill(Posted& f) {
    f.tag = u64();
    f.n = varint();
    f.bytes = varint();
    f.schema = u64();
  }
  void fill(SendEnd& f) {
    f.tag = u64();
    f.n = varint();
    f.status = status();
    f.reason = reason();
  }
  void fill(ReceiveEnd& f) {
    f.tag = u64();
    f.n = varint();
    f.status = status();
    f.bytes = varint();
    f.reason = reason();
  }
  void fill(Refetch& f) {
    f.tag = u64();
    f.n = varint();
    f.first = varint();
    f.length = varint();
  }
  void fill(AllSent& f) {
    f.tag = u64();
    f.n = varint();
  }

 private:
  template <std::size_t kIndex>
  void select(Frame& frame, std::size_t alternative) {
    if constexpr (kIndex < std::variant_size_v<Frame>) {
      if (kIndex != alternative) return select<kIndex + 1>(frame, alternative);
      fill(frame.emplace<kIndex>());
    }
  }

  bool flip() { return random_.below(2) == 0; }
  /// An edge of the field, or any number of any length.
  std::uint64_t edge(unsigned bits) {
    const std::uint64_t max = ~std::uint64_t{0} >> (64 - bits);
    switch (random_.below(6)) {
      case 0:
        return 0;
      case 1:
        return max;
      case 2: {
        constexpr std::uint64_t kEdges[] = {1, 63, 64, 16383, 16384, 1073741823, 1073741824};
        return std::min(kEdges[random_.below(std::size(kEdges))], max);
      }
      default:
        return (random_.next() & max) >> random_.below(bits);
    }
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(edge(8)); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(edge(16)); }
  std::uint32_t u24() { return static_cast<std::uint32_t>(edge(24)); }
  std::uint64_t u64() { return edge(64); }
  std::uint64_t varint() { return edge(62); }
  /// Length of a run of packet numbers.
  std::uint64_t run() { return random_.below(std::uint64_t{1} << random_.below(40)); }
  Status status() { return static_cast<Status>(1 + random_.below(9)); }
  std::string_view reason() {
    std::string& text = texts_.emplace_back(random_.below(flip() ? 8 : kReasonBytesMax + 1), ' ');
    for (char& c : text) c = static_cast<char>(' ' + random_.below(95));
    return text;
  }
  std::span<const std::byte> data() {
    return data_.emplace_back(random_bytes(random_, random_.below(flip() ? 8 : 1500)));
  }

  base::Random random_;
  std::deque<std::vector<Gap>> gaps_;
  std::deque<std::string> texts_;
  std::deque<Bytes> data_;
};

}  // namespace longhaul::wire::test
