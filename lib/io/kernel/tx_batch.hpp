// SPDX-License-Identifier: Apache-2.0
// Turns datagrams into messages for the system: gathers, groups, marks. No system call in here.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "lib/base/datagram.hpp"
#include "lib/io/kernel/control.hpp"
#include "lib/io/kernel/native_address.hpp"

namespace longhaul::io::kernel {

/// Kernels before 6.9 cut one message into no more datagrams than this.
inline constexpr std::size_t kSegmentsMax = 64;
/// Largest UDP payload of one message, cut or not.
inline constexpr std::size_t kMessageBytesMax = 65507;

/// What one message may hold.
struct TrainLimits {
  /// Several datagrams in one message, for the system to cut.
  bool segmentation = true;
  /// Datagrams with at least this much payload are to be sent without a copy, where a message has
  /// to fit the page list of one packet of the system: see `fragments_max`.
  std::size_t uncopied_payload_min = SIZE_MAX;
  /// Pieces of pages such a message may touch.
  std::size_t fragments_max = SIZE_MAX;
};

/// How many pieces of pages a datagram is: its head, and its payload cut at every page.
std::size_t fragments_of(const base::TxDatagram& datagram) noexcept;

/// A burst as messages. It points into the burst's memory and copies none of it.
class TxBatch {
 public:
  static constexpr std::size_t kMessagesMax = 64;
  /// A datagram contributes its head and its payload.
  static constexpr std::size_t kDatagramsMax = 256;

  /// Describes the longest prefix of `burst` that fits and returns its length, 0 only if `burst` is
  /// empty. With segmentation neighbours that go to the same place with the same marks and size
  /// (the last may be shorter) become one message that the system cuts again.
  std::size_t fill(std::span<const base::TxDatagram> burst, const TrainLimits& limits) noexcept;

  /// What `sendmmsg` takes.
  std::span<mmsghdr> messages() noexcept { return {headers_.data(), messages_}; }
  /// How many datagrams message `index` holds.
  std::size_t datagrams(std::size_t index) const noexcept { return counts_[index]; }

 private:
  void add_message(std::span<const base::TxDatagram> group) noexcept;
  void gather(const base::TxDatagram& datagram) noexcept;

  std::size_t messages_ = 0;
  std::size_t vectors_ = 0;
  std::array<mmsghdr, kMessagesMax> headers_;
  std::array<std::size_t, kMessagesMax> counts_;
  std::array<NativeAddress, kMessagesMax> remotes_;
  std::array<TxControl, kMessagesMax> controls_;
  std::array<iovec, 2 * kDatagramsMax> iovecs_;
};

}  // namespace longhaul::io::kernel
