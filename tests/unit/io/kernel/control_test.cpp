// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/control.hpp"

#include <gtest/gtest.h>
#include <netinet/udp.h>

#include <cstring>

namespace longhaul::io::kernel {
namespace {

TEST(ControlTest, AMessageWithoutMarksHasNoControlMessages) {
  TxControl control;
  msghdr header{};
  write_control({}, control, header);
  EXPECT_EQ(header.msg_control, nullptr);
  EXPECT_EQ(header.msg_controllen, 0U);
}

TEST(ControlTest, WritesTrafficClassAndSegmentSizeSideBySide) {
  for (const auto family : {AddressFamily::ipv4, AddressFamily::ipv6}) {
    const bool ipv4 = family == AddressFamily::ipv4;
    TxControl control;
    msghdr header{};
    write_control({.family = family, .ecn = base::Ecn::ect1, .dscp = 46, .segment_size = 1400},
                  control, header);
    cmsghdr* first = CMSG_FIRSTHDR(&header);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->cmsg_level, ipv4 ? SOL_IP : SOL_IPV6);
    EXPECT_EQ(first->cmsg_type, ipv4 ? IP_TOS : IPV6_TCLASS);
    int traffic_class = 0;
    std::memcpy(&traffic_class, CMSG_DATA(first), sizeof(traffic_class));
    EXPECT_EQ(traffic_class, 46 * 4 + 1);
    cmsghdr* second = CMSG_NXTHDR(&header, first);
    ASSERT_NE(second, nullptr);
    EXPECT_EQ(second->cmsg_level, SOL_UDP);
    EXPECT_EQ(second->cmsg_type, UDP_SEGMENT);
    std::uint16_t size = 0;
    std::memcpy(&size, CMSG_DATA(second), sizeof(size));
    EXPECT_EQ(size, 1400);
    EXPECT_EQ(CMSG_NXTHDR(&header, second), nullptr);
  }
}

TEST(ControlTest, ADscpOutOfRangeNeverReachesTheEcnBits) {
  TxControl control;
  msghdr header{};
  write_control({.ecn = base::Ecn::ect0, .dscp = 255}, control, header);
  int traffic_class = 0;
  std::memcpy(&traffic_class, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(traffic_class));
  EXPECT_EQ(traffic_class, 63 * 4 + 2);
}

}  // namespace
}  // namespace longhaul::io::kernel
