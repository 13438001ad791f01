// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lib/transfer/pieces.hpp"
#include "lib/wire/constants.hpp"

namespace longhaul::transfer {

/// Brings together the digests a receiver computed and those the sender sent, in any order.
/// Keeps only groups in which something is still open.
class DigestCheck {
 public:
  enum class Verdict : std::uint8_t { open, verified, mismatch };

  /// The piece is complete and hashes to `digest`.
  Verdict on_computed(const Pieces& pieces, std::uint64_t piece, std::uint64_t digest);
  /// The sender's digests of a group arrived. False if the packet has the wrong size.
  bool on_expected(const Pieces& pieces, std::uint64_t group, std::span<const std::byte> digests);
  /// Judges pieces of `group` that became decidable; call until it returns open. `piece` is set
  /// otherwise.
  Verdict next_verdict(const Pieces& pieces, std::uint64_t group, std::uint64_t& piece);
  /// The piece has to come again.
  void reopen(std::uint64_t piece);
  /// payload mode `reference`: nothing is hashed, everything matches.
  void accept_everything() noexcept { accept_everything_ = true; }

 private:
  struct Group {
    std::array<std::uint64_t, wire::kPiecesPerGroup> expected;
    std::array<std::uint64_t, wire::kPiecesPerGroup> computed;
    std::bitset<wire::kPiecesPerGroup> has_computed;
    std::bitset<wire::kPiecesPerGroup> verified;
    bool has_expected = false;
  };
  using Groups = std::map<std::uint64_t, Group>;
  Verdict judge(const Pieces& pieces, std::uint64_t group, std::uint64_t piece);
  Group& open(std::uint64_t group);

  Groups groups_;
  std::vector<Groups::node_type> spare_;  // of finished groups, so that a long tensor needs no more
  base::IntervalSet finished_;            // groups all of whose pieces are verified
  bool accept_everything_ = false;
};

}  // namespace longhaul::transfer
