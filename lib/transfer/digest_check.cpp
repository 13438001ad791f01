// SPDX-License-Identifier: Apache-2.0
#include "lib/transfer/digest_check.hpp"

#include "lib/base/byte_reader.hpp"

namespace longhaul::transfer {

DigestCheck::Verdict DigestCheck::on_computed(const Pieces& pieces, std::uint64_t piece,
                                              std::uint64_t digest) {
  const std::uint64_t index = piece / wire::kPiecesPerGroup;
  if (finished_.contains(index)) return Verdict::open;
  Group& group = open(index);
  group.computed[piece % wire::kPiecesPerGroup] = digest;
  group.has_computed.set(piece % wire::kPiecesPerGroup);
  return judge(pieces, index, piece);
}

DigestCheck::Group& DigestCheck::open(std::uint64_t index) {
  if (const auto it = groups_.find(index); it != groups_.end()) return it->second;
  if (spare_.empty()) return groups_[index];
  Groups::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = index;
  node.mapped() = Group{};
  return groups_.insert(std::move(node)).position->second;
}

DigestCheck::Verdict DigestCheck::judge(const Pieces& pieces, std::uint64_t index,
                                        std::uint64_t piece) {
  Group& group = groups_[index];
  const std::size_t slot = piece % wire::kPiecesPerGroup;
  if (!group.has_expected || !group.has_computed[slot] || group.verified[slot])
    return Verdict::open;
  if (!accept_everything_ && group.expected[slot] != group.computed[slot]) return Verdict::mismatch;
  group.verified.set(slot);
  if (group.verified.count() == pieces.group(index).length()) {
    spare_.push_back(groups_.extract(index));
    finished_.insert(index, index + 1);
  }
  return Verdict::verified;
}

bool DigestCheck::on_expected(const Pieces& pieces, std::uint64_t index,
                              std::span<const std::byte> digests) {
  const base::Interval range = pieces.group(index);
  if (range.length() == 0 || digests.size() != range.length() * wire::kDigestBytes) return false;
  if (finished_.contains(index)) return true;
  Group& group = open(index);
  base::ByteReader reader(digests);
  for (std::uint64_t piece = range.begin; piece < range.end; ++piece) {
    const std::uint64_t digest = reader.u64();
    // What was verified stays judged by what verified it.
    if (!group.verified[piece % wire::kPiecesPerGroup])
      group.expected[piece % wire::kPiecesPerGroup] = digest;
  }
  group.has_expected = true;
  return true;
}

DigestCheck::Verdict DigestCheck::next_verdict(const Pieces& pieces, std::uint64_t index,
                                               std::uint64_t& piece) {
  if (!groups_.contains(index)) return Verdict::open;
  const base::Interval range = pieces.group(index);
  for (piece = range.begin; piece < range.end; ++piece) {
    const Verdict verdict = judge(pieces, index, piece);
    if (verdict != Verdict::open) return verdict;
  }
  return Verdict::open;
}

void DigestCheck::reopen(std::uint64_t piece) {
  const auto it = groups_.find(piece / wire::kPiecesPerGroup);
  if (it == groups_.end()) return;
  it->second.has_computed.reset(piece % wire::kPiecesPerGroup);
  // The digest itself may have been the damaged one.
  it->second.has_expected = false;
}

}  // namespace longhaul::transfer
