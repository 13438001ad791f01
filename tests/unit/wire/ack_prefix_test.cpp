// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "lib/base/interval_set.hpp"
#include "tests/unit/wire/frame_generator.hpp"
#include "tests/unit/wire/frame_text.hpp"

namespace longhaul::wire {
namespace {

using test::Bytes;
using test::FrameGenerator;

/// The ACK without its first numbers, as a caller goes on behind `covered`.
Ack remainder(const Ack& ack, std::uint64_t covered) {
  Ack rest = ack;
  rest.floor = covered + 1;
  while (!rest.gaps.empty() && rest.gaps.front().first <= covered) {
    EXPECT_LE(rest.gaps.front().first + rest.gaps.front().length - 1, covered)
        << "a gap must not be cut in two";
    rest.gaps = rest.gaps.subspan(1);
  }
  return rest;
}

std::size_t whole_size(const Ack& ack) {
  Bytes out(70000);
  return write_frame(ack, out);
}

// Whether the next longer interval that ends just before a gap, or the whole one, fits too.
bool could_be_longer(const Ack& ack, std::uint64_t covered, std::size_t room) {
  if (covered == ack.largest) return false;
  Ack longer = ack;
  std::size_t gaps = 0;
  while (gaps < ack.gaps.size() && ack.gaps[gaps].first <= covered + 1) ++gaps;
  longer.gaps = ack.gaps.first(gaps);
  longer.largest = gaps < ack.gaps.size() ? ack.gaps[gaps].first - 1 : ack.largest;
  return whole_size(longer) <= room;
}

// Room that any ACK with one gap fits, so that splitting always gets on.
constexpr std::size_t kRoomMin = 3 + 2 + 7 * 8 + 1 + 16 + 1;

TEST(AckPrefix, splitting_says_everything_exactly_once) {
  FrameGenerator generator(21);
  test::GuardedMemory memory(4096);
  std::vector<Gap> scratch;
  for (int i = 0; i < 4000; ++i) {
    Ack ack;
    generator.fill(ack);
    base::IntervalSet missing;
    for (const Gap& gap : ack.gaps) missing.insert(gap.first, gap.first + gap.length);
    const std::size_t room = kRoomMin + generator.random().below(i % 2 == 0 ? 30 : 900);

    base::IntervalSet covered_before;
    base::IntervalSet missing_said;
    Ack rest = ack;
    for (bool last = false; !last;) {
      const auto out = memory.copy(Bytes(room));
      std::uint64_t covered = 0;
      const std::size_t size = write_ack_prefix(rest, out, covered);
      ASSERT_GT(size, 0u);
      ASSERT_LE(size, room);
      ASSERT_FALSE(could_be_longer(rest, covered, room));
      last = covered == ack.largest;

      const auto frame = FrameReader(out.first(size), scratch).next();
      ASSERT_TRUE(frame) << test::text_of(rest);
      const Ack& part = std::get<Ack>(*frame);
      ASSERT_EQ(part.floor, rest.floor);
      ASSERT_EQ(part.largest, covered);
      ASSERT_EQ(part.largest_is_newest, last && ack.largest_is_newest);
      ASSERT_EQ(part.largest_delay_us, ack.largest_delay_us);
      ASSERT_EQ(part.packets, ack.packets);
      ASSERT_EQ(covered_before.insert(part.floor, part.largest + 1), part.largest + 1 - part.floor)
          << "said before";
      for (const Gap& gap : part.gaps) {
        ASSERT_EQ(missing_said.insert(gap.first, gap.first + gap.length), gap.length);
      }
      if (!last) rest = remainder(rest, covered);
    }
    ASSERT_EQ(covered_before.intervals().size(), 1u);
    ASSERT_TRUE(covered_before.covers(ack.floor, ack.largest + 1));
    ASSERT_TRUE(std::ranges::equal(missing_said.intervals(), missing.intervals()));
  }
}

TEST(AckPrefix, writes_all_of_it_exactly_when_all_of_it_fits) {
  FrameGenerator generator(22);
  for (int i = 0; i < 2000; ++i) {
    Ack ack;
    generator.fill(ack);
    const std::size_t size = whole_size(ack);
    Bytes out(size);
    std::uint64_t covered = 0;
    ASSERT_EQ(write_ack_prefix(ack, out, covered), size);
    ASSERT_EQ(covered, ack.largest);
    Bytes expected(size);
    write_frame(ack, expected);
    ASSERT_EQ(out, expected);
    const std::size_t less =
        write_ack_prefix(ack, std::span<std::byte>(out).first(size - 1), covered);
    ASSERT_LT(less, size);
    ASSERT_TRUE(less == 0 || covered < ack.largest);
  }
}

TEST(AckPrefix, writes_nothing_where_not_even_the_first_number_fits) {
  const Gap gap{5, 3};
  const Ack ack{.space = 1, .floor = 5, .largest = 20, .gaps = std::span(&gap, 1)};
  Bytes out(100);
  std::uint64_t covered = 99;
  const std::size_t size = whole_size(ack);
  EXPECT_EQ(write_ack_prefix(ack, std::span<std::byte>(out).first(size - 1), covered), 0u)
      << "the interval begins with a gap that does not fit";
  EXPECT_EQ(covered, 99u);
  EXPECT_EQ(write_ack_prefix(ack, {}, covered), 0u);
  EXPECT_EQ(write_ack_prefix(ack, out, covered), size);
  EXPECT_EQ(covered, 20u);
}

TEST(AckPrefix, stays_below_the_length_field_however_large_the_room) {
  std::vector<Gap> gaps;
  for (std::uint64_t i = 0; i < 40000; ++i) gaps.push_back({2 * i, 1});
  const Ack ack{.floor = 0, .largest = 2 * 40000, .gaps = gaps};
  Bytes out(200000);
  std::uint64_t covered = 0;
  const std::size_t size = write_ack_prefix(ack, out, covered);
  EXPECT_GT(size, 65000u);
  EXPECT_LE(size, kFrameHeaderBytes + kFrameBodyMax);
  std::vector<Gap> scratch;
  const auto frame = FrameReader(std::span(out).first(size), scratch).next();
  ASSERT_TRUE(frame);
  EXPECT_EQ(std::get<Ack>(*frame).largest, covered);
  EXPECT_EQ(std::get<Ack>(*frame).gaps.size(), (covered + 1) / 2);
}

}  // namespace
}  // namespace longhaul::wire
