// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/send_transfer.hpp"

#include <algorithm>

#include "lib/base/assert.hpp"
#include "lib/base/byte_writer.hpp"

namespace longhaul::transfer {
namespace {

// Layout numbers are 8 bits. Growing is a convenience and stops early; shrinking is a need.
constexpr std::size_t kLayoutsMax = 256;
constexpr std::size_t kLayoutsForGrowth = 128;

}  // namespace

SendTransfer::SendTransfer(SendRequest&& request, std::uint64_t n, std::uint32_t alias,
                           base::PayloadMode mode)
    : id_(request.transfer),
      tag_(request.tag),
      n_(n),
      alias_(alias),
      options_(request.options),
      mode_(mode) {
  for (const SendSegment& segment : request.segments) {
    memory_.add(segment.bytes);
    element_size_ =
        std::max(element_size_, static_cast<std::uint32_t>(longhaul::element_size(segment.dtype)));
  }
  pieces_.bytes = memory_.size();
  ready_ = options_.growing ? 0 : pieces_.bytes;
}

bool SendTransfer::idle() const noexcept {
  return again_.empty() && groups_again_.empty() && !fresh_group_ && cursor_ == ready_;
}

bool SendTransfer::all_left_once() const noexcept {
  return cursor_ == pieces_.bytes && !fresh_group_ && groups_again_.empty();
}

SendTransfer::Next SendTransfer::next(std::uint32_t payload_max, SendChunk& out) {
  if (fresh_group_ || !groups_again_.empty()) return next_digest(out);
  if (!again_.empty()) return next_retransmission(payload_max, out);
  if (cursor_ < ready_) return next_new(payload_max, out);
  return Next::nothing;
}

SendTransfer::Next SendTransfer::next_digest(SendChunk& out) {
  out = {};
  out.digest = true;
  if (fresh_group_) {
    out.index = *fresh_group_;
    fresh_group_.reset();
  } else {
    const std::uint64_t group = groups_again_.intervals().front().begin;
    groups_again_.erase(group, group + 1);
    out.index = static_cast<std::uint32_t>(group);
    out.first_copy = false;
  }
  out.length = static_cast<std::uint32_t>(pieces_.group(out.index).length() * wire::kDigestBytes);
  return Next::chunk;
}

SendTransfer::Next SendTransfer::next_retransmission(std::uint32_t payload_max, SendChunk& out) {
  const std::uint64_t begin = again_.intervals().front().begin;
  for (std::size_t i = layouts_.size(); i-- > 0;) {
    const Layout& layout = layouts_[i];
    if (!layout.covers(begin) || layout.chunk_size > payload_max) continue;
    const std::uint32_t index = layout.index_of(begin);
    const base::Interval range = layout.range(index);
    // Cut elsewhere, the same bytes may lie in a chunk with some that are not valid yet.
    if (range.end > ready_) continue;
    again_.erase(range.begin, range.end);
    fill(out, i, index, false);
    return Next::chunk;
  }
  return add_layout({begin, ready_}, payload_max);
}

SendTransfer::Next SendTransfer::next_new(std::uint32_t payload_max, SendChunk& out) {
  if (layouts_.empty() || !layouts_[present_].covers(cursor_))
    return add_layout_for_new(payload_max);
  const Layout& layout = layouts_[present_];
  const std::uint32_t wanted = chunk_size_for(payload_max);
  const bool too_large = layout.chunk_size > payload_max;
  const bool outgrown = wanted > layout.chunk_size + layout.chunk_size / 20 &&
                        layouts_.size() < kLayoutsForGrowth &&
                        layout.end() - cursor_ > layout.chunk_size;
  if (too_large || outgrown) return add_layout_for_new(payload_max);
  const std::uint32_t index = layout.index_of(cursor_);
  const base::Interval range = layout.range(index);
  if (range.end > ready_) return Next::nothing;
  fill(out, present_, index, true);
  cursor_ = range.end;
  hash_passed_pieces();
  return Next::chunk;
}

std::uint32_t SendTransfer::chunk_size_for(std::uint32_t payload_max) const noexcept {
  return std::max(payload_max / element_size_ * element_size_, element_size_);
}

SendTransfer::Next SendTransfer::add_layout_for_new(std::uint32_t payload_max) {
  const Next result = add_layout({cursor_, pieces_.bytes}, payload_max);
  if (result == Next::new_layout) present_ = layouts_.size() - 1;
  return result;
}

SendTransfer::Next SendTransfer::add_layout(const base::Interval& bytes,
                                            std::uint32_t payload_max) {
  if (layouts_.size() == kLayoutsMax) return Next::exhausted;
  Layout layout;
  layout.chunk_size = chunk_size_for(payload_max);
  layout.first = bytes.begin;
  layout.length = std::min<std::uint64_t>(
      bytes.length(), (std::uint64_t{wire::kChunkIndexMax} + 1) * layout.chunk_size);
  layouts_.push_back(layout);
  return Next::new_layout;
}

void SendTransfer::fill(SendChunk& out, std::size_t layout, std::uint32_t index,
                        bool first_copy) const {
  const base::Interval range = layouts_[layout].range(index);
  out = {};
  out.first_copy = first_copy;
  out.layout = static_cast<std::uint8_t>(layout);
  out.index = index;
  out.offset = range.begin;
  out.length = static_cast<std::uint32_t>(range.length());
}

// Digests are taken while the piece is still in cache from being sent.
void SendTransfer::hash_passed_pieces() {
  while (hashed_pieces_ < pieces_.count() && pieces_.range(hashed_pieces_).end <= cursor_) {
    const base::Interval range = pieces_.range(hashed_pieces_);
    if (mode_ == base::PayloadMode::bytes)
      group_digests_[hashed_pieces_ % wire::kPiecesPerGroup] =
          digest(memory_, range.begin, range.length());
    ++hashed_pieces_;
    if (hashed_pieces_ % wire::kPiecesPerGroup == 0 || hashed_pieces_ == pieces_.count()) {
      // A group leaves before the next chunk. Only a chunk larger than a piece can finish two at
      // once; the first is then computed again when it leaves.
      if (fresh_group_) send_digests_again(*fresh_group_);
      fresh_group_ = static_cast<std::uint32_t>((hashed_pieces_ - 1) / wire::kPiecesPerGroup);
    }
  }
}

void SendTransfer::write_digests(std::uint32_t group, std::span<std::byte> out) const {
  base::ByteWriter writer(out);
  const base::Interval range = pieces_.group(group);
  const std::uint64_t hashed_group =
      hashed_pieces_ == 0 ? 0 : (hashed_pieces_ - 1) / wire::kPiecesPerGroup;
  for (std::uint64_t piece = range.begin; piece < range.end; ++piece) {
    if (mode_ == base::PayloadMode::reference) {
      writer.u64(0);
    } else if (group == hashed_group) {
      writer.u64(group_digests_[piece % wire::kPiecesPerGroup]);
    } else {
      const base::Interval bytes = pieces_.range(piece);
      writer.u64(digest(memory_, bytes.begin, bytes.length()));
    }
  }
}

void SendTransfer::on_lost(bool digest, std::uint8_t layout, std::uint32_t index) {
  if (options_.reliability == Reliability::best_effort) return;
  if (digest) {
    send_digests_again(index);
    return;
  }
  const base::Interval range = layouts_[layout].range(index);
  again_.insert(range.begin, range.end);
}

bool SendTransfer::refetch(std::uint64_t first, std::uint64_t length) {
  if (length == 0 || length > cursor_ || first > cursor_ - length) return false;
  again_.insert(first, first + length);
  const std::uint64_t last = pieces_.index_of(first + length - 1) / wire::kPiecesPerGroup;
  for (std::uint64_t group = pieces_.index_of(first) / wire::kPiecesPerGroup; group <= last;
       ++group)
    // A group not complete yet has still to leave for the first time.
    if (pieces_.group(group).end <= hashed_pieces_) send_digests_again(group);
  return true;
}

void SendTransfer::send_digests_again(std::uint64_t group) {
  groups_again_.insert(group, group + 1);
}

}  // namespace longhaul::transfer
