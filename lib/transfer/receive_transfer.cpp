// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/receive_transfer.hpp"

#include <algorithm>

namespace longhaul::transfer {
namespace {
constexpr int kRefetchesMax = 3;
}

void ReceiveTransfer::set_announcement(const wire::Transfer& frame) {
  pieces_.bytes = frame.bytes;
  pieces_.log2 = frame.piece_log2;
  announced_ = true;
}

void ReceiveTransfer::set_destination(DestinationMemory&& memory) {
  if (held_) {
    for (const base::Interval& run : placed_.intervals())
      copy_in(std::span<const std::byte>(held_.get() + run.begin, run.length()), memory, run.begin);
    held_.reset();
  }
  memory_ = std::move(memory);
  has_destination_ = true;
}

void ReceiveTransfer::hold_eagerly() {
  if (mode_ == base::PayloadMode::bytes && pieces_.bytes > 0) {
    held_ = std::make_unique<std::byte[]>(pieces_.bytes);
    memory_.add({held_.get(), pieces_.bytes});
  }
  has_destination_ = true;
}

void ReceiveTransfer::report_pieces() {
  report_pieces_ = true;
  newly_placed_ = placed_;
  newly_verified_ = verified_;
}

bool ReceiveTransfer::add_layout(std::uint8_t number, const Layout& layout) {
  if (layout.length == 0 || layout.length > pieces_.bytes ||
      layout.first > pieces_.bytes - layout.length ||
      layout.chunks() > std::uint64_t{wire::kChunkIndexMax} + 1)
    return false;
  if (layouts_.size() <= number) layouts_.resize(std::size_t{number} + 1);
  auto& slot = layouts_[number];
  if (slot)
    return slot->chunk_size == layout.chunk_size && slot->first == layout.first &&
           slot->length == layout.length;
  slot = layout;
  return true;
}

ReceiveTransfer::Result ReceiveTransfer::on_chunk(std::uint8_t number, std::uint32_t index,
                                                  const ChunkBytes& chunk) {
  if (number >= layouts_.size() || !layouts_[number]) return Result::unknown_layout;
  const base::Interval range = layouts_[number]->range(index);
  if (range.length() == 0 || range.length() != chunk.length) return Result::wrong_size;
  if (placed_.covers(range.begin, range.end)) {
    duplicate_bytes_ += range.length();
    return Result::duplicate;
  }
  place(range, chunk);
  for (const base::Interval& fresh : fresh_) check_pieces(fresh);
  return Result::placed;
}

// Only bytes that are still missing are written: what has been verified stays as it is.
void ReceiveTransfer::place(const base::Interval& range, const ChunkBytes& chunk) {
  fresh_.clear();
  for (std::uint64_t at = range.begin; at < range.end;) {
    const base::Interval gap = placed_.next_gap(at, range.end);
    if (gap.length() == 0) break;
    at = gap.end;
    fresh_.push_back(gap);
    if (report_pieces_) newly_placed_.insert(gap.begin, gap.end);
    if (mode_ == base::PayloadMode::bytes)
      copy_in(chunk.bytes.subspan(gap.begin - range.begin, gap.length()), memory_, gap.begin);
  }
  duplicate_bytes_ += range.length() - placed_.insert(range.begin, range.end);
}

void ReceiveTransfer::check_pieces(const base::Interval& fresh) {
  const std::uint64_t last = pieces_.index_of(fresh.end - 1);
  for (std::uint64_t piece = pieces_.index_of(fresh.begin); piece <= last; ++piece) {
    const base::Interval bytes = pieces_.range(piece);
    if (!placed_.covers(bytes.begin, bytes.end)) continue;
    const std::uint64_t value =
        mode_ == base::PayloadMode::bytes ? digest(memory_, bytes.begin, bytes.length()) : 0;
    settle(digests_.on_computed(pieces_, piece, value), piece);
  }
}

ReceiveTransfer::Result ReceiveTransfer::on_digests(std::uint32_t group, const ChunkBytes& chunk) {
  if (!digests_.on_expected(pieces_, group, chunk.bytes)) return Result::wrong_size;
  std::uint64_t piece = 0;
  for (auto verdict = digests_.next_verdict(pieces_, group, piece);
       verdict != DigestCheck::Verdict::open;
       verdict = digests_.next_verdict(pieces_, group, piece))
    settle(verdict, piece);
  return Result::placed;
}

void ReceiveTransfer::settle(DigestCheck::Verdict verdict, std::uint64_t piece) {
  const base::Interval bytes = pieces_.range(piece);
  if (verdict == DigestCheck::Verdict::verified) {
    verified_.insert(bytes.begin, bytes.end);
    if (report_pieces_) newly_verified_.insert(bytes.begin, bytes.end);
  } else if (verdict == DigestCheck::Verdict::mismatch) {
    digests_.reopen(piece);
    placed_.erase(bytes.begin, bytes.end);
    auto retry = std::ranges::find(retries_, piece, &Retry::piece);
    if (retry == retries_.end()) retry = retries_.insert(retries_.end(), {piece, 0});
    if (++retry->times > kRefetchesMax)
      hopeless_ = true;
    else
      refetch_.push_back(bytes);
  }
}

std::optional<base::Interval> ReceiveTransfer::take_refetch() {
  if (refetch_.empty()) return std::nullopt;
  const base::Interval range = refetch_.back();
  refetch_.pop_back();
  return range;
}

}  // namespace longhaul::transfer
