// SPDX-License-Identifier: Apache-2.0
// Control messages: what the system is told and tells about one message beside its bytes.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/base/datagram.hpp"
#include "longhaul/address.hpp"

namespace longhaul::io::kernel {

/// Room for the control messages of one outgoing message: traffic class and segment size.
struct alignas(cmsghdr) TxControl {
  std::array<std::byte, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint16_t))> bytes;
};

/// Room for those of an incoming one: traffic class, segment size, drop counter.
struct alignas(cmsghdr) RxControl {
  std::array<std::byte, 3 * CMSG_SPACE(sizeof(int))> bytes;
};

/// What goes along with an outgoing message.
struct TxMarks {
  AddressFamily family = AddressFamily::ipv4;
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
  /// Where the system is to cut the message into datagrams; 0 is "it is one datagram".
  std::uint16_t segment_size = 0;
};

/// What came along with an incoming message.
struct RxMarks {
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
  /// Size of the datagrams the system joined into this message; 0 is "it is one datagram".
  std::size_t segment_size = 0;
  /// The socket's count of messages lost for want of room, when the system reported it.
  std::optional<std::uint32_t> dropped;
};

/// Writes `marks` to `control` and points `header` there. A message without marks has none.
void write_control(const TxMarks& marks, TxControl& control, msghdr& header) noexcept;

/// Reads what the system left in `header`'s control buffer.
RxMarks read_control(msghdr& header) noexcept;

}  // namespace longhaul::io::kernel
