// SPDX-License-Identifier: Apache-2.0
// A tensor cut by several layouts, its chunks and digests in any order, some of them twice, some
// forged, against a plain array and a flag for each byte.
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/base/byte_writer.hpp"
#include "lib/transfer/receive_transfer.hpp"
#include "tests/unit/transfer/requests.hpp"

namespace longhaul::transfer {
namespace {

struct Packet {
  bool digest = false;
  std::uint8_t layout = 0;
  std::uint32_t index = 0;
  base::Interval range;
};

class Model {
 public:
  Model(std::uint64_t seed, double forged)
      : random_(seed),
        forged_(forged),
        pieces_{1 + random_.below(40'000), kPieceLog2Min},
        source_(random_bytes(pieces_.bytes, seed)),
        target_(pieces_.bytes, std::byte{0xee}),
        written_(pieces_.bytes) {
    source_memory_.add(source_);
    wire::Transfer frame;
    frame.bytes = pieces_.bytes;
    frame.piece_log2 = pieces_.log2;
    transfer_.set_announcement(frame);
    DestinationMemory memory;
    const std::uint64_t cut = random_.below(pieces_.bytes + 1);
    memory.add(std::span(target_).first(cut));
    memory.add(std::span(target_).subspan(cut));
    transfer_.set_destination(std::move(memory));
    cut_up();
  }

  void run() {
    for (std::size_t i = 0; i < packets_.size(); ++i) {
      std::swap(packets_[i], packets_[i + random_.below(packets_.size() - i)]);
      deliver(packets_[i]);
      if (random_.below(8) == 0) deliver(packets_[random_.below(i + 1)]);
      if (testing::Test::HasFatalFailure()) return;
      serve_refetches();
    }
    ASSERT_TRUE(transfer_.complete() || transfer_.hopeless());
    if (transfer_.complete()) {
      ASSERT_EQ(target_, source_);
    }
  }
  bool complete() const { return transfer_.complete(); }

 private:
  void cut_up() {
    const std::uint8_t layouts = static_cast<std::uint8_t>(1 + random_.below(5));
    for (std::uint8_t number = 0; number < layouts; ++number) {
      Layout layout;
      layout.chunk_size = static_cast<std::uint32_t>(300 + random_.below(4000));
      layout.first = number == 0 ? 0 : random_.below(pieces_.bytes);
      layout.length = pieces_.bytes - layout.first;
      ASSERT_TRUE(transfer_.add_layout(number, layout));
      for (std::uint32_t i = 0; i < layout.chunks(); ++i)
        packets_.push_back({false, number, i, layout.range(i)});
      layouts_.push_back(layout);
    }
    for (std::uint32_t group = 0; group < pieces_.groups(); ++group)
      packets_.push_back({true, 0, group, {}});
  }

  void deliver(const Packet& packet) {
    if (packet.digest) return deliver_digests(packet.index);
    std::vector<std::byte> bytes(source_.begin() + static_cast<std::ptrdiff_t>(packet.range.begin),
                                 source_.begin() + static_cast<std::ptrdiff_t>(packet.range.end));
    if (random_.chance(forged_)) bytes[random_.below(bytes.size())] ^= std::byte{0x40};
    std::uint64_t missing = 0;
    for (std::uint64_t i = packet.range.begin; i < packet.range.end; ++i) missing += !written_[i];
    const auto result =
        transfer_.on_chunk(packet.layout, packet.index, {bytes, bytes.size(), false});
    ASSERT_EQ(result,
              missing > 0 ? ReceiveTransfer::Result::placed : ReceiveTransfer::Result::duplicate);
    follow(packet.range, bytes);
  }

  // Only bytes that were missing may have changed.
  void follow(const base::Interval& range, const std::vector<std::byte>& bytes) {
    for (std::uint64_t i = range.begin; i < range.end; ++i) {
      if (written_[i]) continue;
      ASSERT_EQ(target_[i], bytes[i - range.begin]);
      written_[i] = true;
    }
    sync();
  }
  // A piece that failed is missing again.
  void sync() {
    for (std::uint64_t piece = 0; piece < pieces_.count(); ++piece) {
      const base::Interval bytes = pieces_.range(piece);
      for (std::uint64_t i = bytes.begin; i < bytes.end; ++i)
        if (written_[i] && !transfer_.placed().contains(i)) written_[i] = false;
    }
  }

  void deliver_digests(std::uint32_t group) {
    const base::Interval range = pieces_.group(group);
    std::vector<std::byte> bytes(range.length() * wire::kDigestBytes);
    base::ByteWriter writer(bytes);
    for (std::uint64_t piece = range.begin; piece < range.end; ++piece)
      writer.u64(digest(source_memory_, pieces_.range(piece).begin, pieces_.range(piece).length()));
    ASSERT_EQ(transfer_.on_digests(group, {bytes, bytes.size(), false}),
              ReceiveTransfer::Result::placed);
    sync();
  }

  void serve_refetches() {
    while (const auto range = transfer_.take_refetch()) {
      const Layout& layout = layouts_[0];
      for (std::uint32_t i = layout.index_of(range->begin);
           i < layout.chunks() && layout.range(i).begin < range->end; ++i)
        packets_.push_back({false, 0, i, layout.range(i)});
      packets_.push_back(
          {true, 0, static_cast<std::uint32_t>((range->begin >> pieces_.log2) / 64), {}});
    }
  }

  base::Random random_;
  double forged_;
  Pieces pieces_;
  std::vector<std::byte> source_;
  SourceMemory source_memory_;
  std::vector<std::byte> target_;
  std::vector<bool> written_;
  std::vector<Layout> layouts_;
  std::vector<Packet> packets_;
  ReceiveTransfer transfer_{base::PayloadMode::bytes};
};

TEST(receive_property, chunks_of_any_layout_in_any_order_make_the_tensor) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Model model(seed, 0);
    model.run();
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    EXPECT_TRUE(model.complete()) << "seed " << seed;
  }
}

TEST(receive_property, forged_bytes_never_make_a_complete_tensor) {
  int complete = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Model model(seed, 0.02);
    model.run();
    if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed;
    complete += model.complete() ? 1 : 0;
  }
  EXPECT_GT(complete, 12);
}

}  // namespace
}  // namespace longhaul::transfer
