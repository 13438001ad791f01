// SPDX-License-Identifier: Apache-2.0
#include "lib/connection/handshake_stream.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace longhaul::connection {
namespace {

// Type and length of a frame, offset and received as variable-length integers of at most 4 bytes:
// both stay below kBytesMax.
constexpr std::size_t kFrameOverhead = 3 + 4 + 4;
constexpr std::size_t kEarlyMax = 64;

}  // namespace

std::size_t HandshakeStream::write(std::span<std::byte> out) {
  if (out.size() < kFrameOverhead) return 0;
  const std::size_t length = std::min(out_.size() - next_, out.size() - kFrameOverhead);
  const std::size_t size = wire::write_frame(
      wire::Handshake{next_, all_again_ ? 0 : received(), std::span(out_).subspan(next_, length)},
      out);
  if (size > 0) next_ += length;
  return size;
}

bool HandshakeStream::on_frame(const wire::Handshake& frame) {
  if (frame.offset > kBytesMax || frame.data.size() > kBytesMax - frame.offset) return false;
  // More than we ever said: of an earlier conversation of the same attempt.
  acknowledged_ = static_cast<std::size_t>(std::min<std::uint64_t>(frame.received, out_.size()));
  if (frame.offset < received()) {
    const auto known = std::span(history_).subspan(frame.offset);
    const std::size_t common = std::min(known.size(), frame.data.size());
    contradicted_ =
        contradicted_ || !std::ranges::equal(known.first(common), frame.data.first(common));
  }
  if (frame.data.empty() || frame.offset + frame.data.size() <= received()) return true;
  // The longer of two pieces that begin alike stays; more pieces than a window of packets only
  // want us to work.
  std::vector<std::byte>& kept = early_[frame.offset];
  if (kept.size() < frame.data.size()) {
    early_bytes_ += frame.data.size() - kept.size();
    kept.assign(frame.data.begin(), frame.data.end());
  }
  while (early_.size() > kEarlyMax || early_bytes_ > kBytesMax) {
    const auto last = std::prev(early_.end());
    early_bytes_ -= last->second.size();
    early_.erase(last);
  }
  while (!early_.empty() && early_.begin()->first <= received()) {
    const auto node = early_.extract(early_.begin());
    early_bytes_ -= node.mapped().size();
    const std::uint64_t known = received() - node.key();
    if (node.mapped().size() <= known) continue;
    history_.insert(history_.end(), node.mapped().begin() + static_cast<std::ptrdiff_t>(known),
                    node.mapped().end());
  }
  return true;
}

std::span<const std::byte> HandshakeStream::take() {
  return std::span(history_).subspan(std::exchange(taken_, history_.size()));
}

}  // namespace longhaul::connection
