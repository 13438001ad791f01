// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "lib/wire/frame.hpp"

namespace longhaul::connection {

/// The two byte streams of a handshake, carried in pieces that may be lost, late, doubled or cut
/// anew: what we say is kept until the peer says it has it, what the peer says is put in order.
class HandshakeStream {
 public:
  /// What a peer may be ahead of what we have, and a bound for a whole handshake: certificate
  /// chains take some ten KiB.
  static constexpr std::uint64_t kBytesMax = 256 * 1024;

  // Ours.
  std::vector<std::byte>& outgoing() noexcept { return out_; }
  bool has_unsent() const noexcept { return next_ < out_.size(); }
  /// The next packets begin again with what the peer has not said it has. Or with everything, and
  /// ask for all of the peer's: what it says, and what we have, may be somebody else's.
  void rewind(bool all) noexcept {
    next_ = all ? 0 : acknowledged_;
    all_again_ = all;
  }
  /// Writes a frame with as much of ours as fits, perhaps nothing; returns its size.
  std::size_t write(std::span<std::byte> out);

  // The peer's.
  /// False if the frame cannot be: it is too much.
  [[nodiscard]] bool on_frame(const wire::Handshake& frame);
  /// Takes what is in order now and was not taken before; valid until the next frame.
  std::span<const std::byte> take();
  std::uint64_t received() const noexcept { return history_.size(); }
  /// What came contradicts what came before: one of them is somebody else's.
  bool contradicted() const noexcept { return contradicted_; }

 private:
  std::vector<std::byte> out_;
  std::size_t acknowledged_ = 0;
  std::size_t next_ = 0;
  bool all_again_ = false;
  std::vector<std::byte> history_;  // in order
  std::size_t taken_ = 0;           // of it
  bool contradicted_ = false;
  std::map<std::uint64_t, std::vector<std::byte>> early_;  // by offset; few
  std::size_t early_bytes_ = 0;
};

}  // namespace longhaul::connection
