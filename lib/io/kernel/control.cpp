// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/control.hpp"

#include <netinet/udp.h>

#include <cstring>

namespace longhaul::io::kernel {
namespace {

template <typename T>
cmsghdr* append(msghdr& header, cmsghdr* message, int level, int type, T value) noexcept {
  message->cmsg_level = level;
  message->cmsg_type = type;
  message->cmsg_len = CMSG_LEN(sizeof(T));
  std::memcpy(CMSG_DATA(message), &value, sizeof(T));
  header.msg_controllen += CMSG_SPACE(sizeof(T));
  return reinterpret_cast<cmsghdr*>(reinterpret_cast<std::byte*>(message) + CMSG_SPACE(sizeof(T)));
}

template <typename T>
T value_of(const cmsghdr* message) noexcept {
  T value{};
  std::memcpy(&value, CMSG_DATA(message), sizeof(T));
  return value;
}

void set_traffic_class(RxMarks& marks, unsigned traffic_class) noexcept {
  marks.ecn = static_cast<base::Ecn>(traffic_class & 3U);
  marks.dscp = static_cast<std::uint8_t>((traffic_class >> 2U) & 63U);
}

}  // namespace

void write_control(const TxMarks& marks, TxControl& control, msghdr& header) noexcept {
  header.msg_control = control.bytes.data();
  header.msg_controllen = 0;
  auto* next = reinterpret_cast<cmsghdr*>(control.bytes.data());
  const int traffic_class = (marks.dscp & 63) << 2 | static_cast<int>(marks.ecn);
  // The socket's own traffic class is 0, so only another one needs saying.
  if (traffic_class != 0) {
    const bool ipv4 = marks.family == AddressFamily::ipv4;
    next =
        append(header, next, ipv4 ? SOL_IP : SOL_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, traffic_class);
  }
  if (marks.segment_size != 0) append(header, next, SOL_UDP, UDP_SEGMENT, marks.segment_size);
  if (header.msg_controllen == 0) header.msg_control = nullptr;
}

RxMarks read_control(msghdr& header) noexcept {
  RxMarks marks;
  for (cmsghdr* message = CMSG_FIRSTHDR(&header); message != nullptr;
       message = CMSG_NXTHDR(&header, message)) {
    const int level = message->cmsg_level;
    const int type = message->cmsg_type;
    if (level == SOL_IP && type == IP_TOS) {
      set_traffic_class(marks, value_of<std::uint8_t>(message));
    } else if (level == SOL_IPV6 && type == IPV6_TCLASS) {
      set_traffic_class(marks, value_of<unsigned>(message));
    } else if (level == SOL_UDP && type == UDP_GRO) {
      marks.segment_size = value_of<unsigned>(message);
    } else if (level == SOL_SOCKET && type == SO_RXQ_OVFL) {
      marks.dropped = value_of<std::uint32_t>(message);
    }
  }
  return marks;
}

}  // namespace longhaul::io::kernel
