// SPDX-License-Identifier: Apache-2.0
// Frames: whatever is read keeps the promises of frame.hpp, is written, and is then read as the
// same.
#include <algorithm>
#include <string>
#include <vector>

#include "lib/wire/frame.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/unit/wire/frame_text.hpp"

namespace longhaul::fuzz {
namespace {

using wire::test::text_of;

// Returns the text of the only frame of `bytes`, "" if there is none.
std::string only_frame(std::span<const std::byte> bytes) {
  std::vector<wire::Gap> gaps;
  wire::FrameReader reader(bytes, gaps);
  const auto frame = reader.next();
  if (!frame) return {};
  std::string text = text_of(*frame);
  require(!reader.next() && !reader.failed(), "what is written is one frame");
  return text;
}

void check_gaps(const wire::Ack& ack) {
  require(ack.floor <= ack.largest && ack.largest <= wire::kPacketNumberMax, "an ACK is ordered");
  std::uint64_t next = ack.floor;
  bool first = true;
  for (const wire::Gap& gap : ack.gaps) {
    require(gap.length > 0 && gap.first >= next && (first || gap.first > next),
            "gaps ascend and do not touch");
    require(gap.first + gap.length <= ack.largest + 1, "gaps lie in the interval");
    next = gap.first + gap.length;
    first = false;
  }
}

// A report in parts has the gaps of the whole, wherever it is cut.
void check_prefixes(wire::Ack ack, std::size_t room) {
  std::vector<std::byte> out(room);
  std::vector<wire::Gap> joined;
  const std::vector<wire::Gap> all(ack.gaps.begin(), ack.gaps.end());
  std::vector<wire::Gap> rest = all;
  for (int part = 0; part < 1000; ++part) {
    ack.gaps = rest;
    std::uint64_t covered = 0;
    const std::size_t size = wire::write_ack_prefix(ack, out, covered);
    if (size == 0) return;
    require(covered >= ack.floor && covered <= ack.largest, "a part ends inside its report");
    std::vector<wire::Gap> gaps;
    const auto written = std::span(out).first(size);
    wire::FrameReader reader(written, gaps);
    const auto frame = reader.next();
    require(frame && std::holds_alternative<wire::Ack>(*frame), "a part is an ACK");
    const auto& read = std::get<wire::Ack>(*frame);
    check_gaps(read);
    require(read.floor == ack.floor && read.largest == covered, "a part says what it covers");
    joined.insert(joined.end(), read.gaps.begin(), read.gaps.end());
    if (covered == ack.largest) {
      require(joined == all, "the parts list every gap once");
      return;
    }
    ack.floor = covered + 1;
    std::erase_if(rest, [&](const wire::Gap& gap) { return gap.first < ack.floor; });
  }
}

void check_frame(const wire::Frame& frame, std::size_t input_size) {
  const std::string text = text_of(frame);
  std::vector<std::byte> out(wire::kFrameHeaderBytes + wire::kFrameBodyMax);
  const std::size_t size = wire::write_frame(frame, out);
  require(size > 0 && size <= input_size + 128, "what was read can be written, and is not longer");
  require(only_frame(std::span(out).first(size)) == text, "a frame is read as it was written");
  require(wire::write_frame(frame, std::span(out).first(size - 1)) == 0,
          "no frame is written without room");
  if (const auto* ack = std::get_if<wire::Ack>(&frame)) {
    check_gaps(*ack);
    check_prefixes(*ack, 64 + input_size % 64);
  }
}

}  // namespace
}  // namespace longhaul::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longhaul;
  std::vector<wire::Gap> gaps;
  wire::FrameReader reader(fuzz::bytes_of(data, size), gaps);
  while (const auto frame = reader.next()) fuzz::check_frame(*frame, size);
  fuzz::require(gaps.capacity() <= size / 2 + 1, "gaps cost what the packet has bytes for");
  return 0;
}
