// SPDX-License-Identifier: Apache-2.0
#include "lib/io/kernel/socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>
#include <thread>

#include "lib/io/kernel/native_address.hpp"
#include "tests/unit/io/kernel/support.hpp"

namespace longhaul::io::kernel {
namespace {

using test::ipv4;
using test::loopback;

int option_of(const Socket& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof(value);
  getsockopt(socket.number(), level, name, &value, &size);
  return value;
}

TEST(SocketTest, IsNonBlockingAndClosedOnExec) {
  const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4)});
  ASSERT_TRUE(socket) << socket.error().context;
  EXPECT_NE(fcntl(socket->number(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(socket->number(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(SocketTest, NeverFragmentsAndIgnoresTheKernelsPathMtu) {
  const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4)});
  ASSERT_TRUE(socket) << socket.error().context;
  EXPECT_EQ(option_of(*socket, SOL_IP, IP_MTU_DISCOVER), IP_PMTUDISC_PROBE);
  if (!test::has_ipv6()) GTEST_SKIP() << "needs IPv6 on the loopback interface";
  const auto six = Socket::open({.local = loopback(AddressFamily::ipv6)});
  ASSERT_TRUE(six) << six.error().context;
  EXPECT_EQ(option_of(*six, SOL_IPV6, IPV6_MTU_DISCOVER), IPV6_PMTUDISC_PROBE);
  EXPECT_EQ(option_of(*six, SOL_IPV6, IPV6_V6ONLY), 1);
}

TEST(SocketTest, StaysOnAnInterfaceThatExists) {
  const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4), .device = "lo"});
  ASSERT_TRUE(socket) << socket.error().context;
  std::array<char, 16> device{};
  socklen_t size = device.size();
  ASSERT_EQ(getsockopt(socket->number(), SOL_SOCKET, SO_BINDTODEVICE, device.data(), &size), 0);
  EXPECT_STREQ(device.data(), "lo");
  const auto refused =
      Socket::open({.local = loopback(AddressFamily::ipv4), .device = "no-such-dev"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().context.find("no-such-dev"), std::string::npos);
}

TEST(SocketTest, TellsThePortTheSystemChose) {
  const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4)});
  ASSERT_TRUE(socket) << socket.error().context;
  EXPECT_NE(socket->local().port, 0);
  EXPECT_EQ(socket->local(), loopback(AddressFamily::ipv4, socket->local().port));
}

TEST(SocketTest, KeepsAWildcardAWildcard) {
  const auto socket = Socket::open({.local = ipv4(0, 0, 0, 0, 0)});
  ASSERT_TRUE(socket) << socket.error().context;
  EXPECT_TRUE(is_wildcard(socket->local()));
  // Loopback is among the interfaces a wildcard can use, and the one of largest MTU.
  EXPECT_EQ(socket->datagram_max(), 65507U);
}

TEST(SocketTest, AnyAddressOfTheLoopbackNetworkKnowsItsInterface) {
  const auto socket = Socket::open({.local = ipv4(127, 9, 8, 7, 0)});
  ASSERT_TRUE(socket) << socket.error().context;
  EXPECT_EQ(socket->datagram_max(), 65507U);
}

TEST(SocketTest, AWildcardOfEachFamilyMayHaveTheSamePort) {
  if (!test::has_ipv6()) GTEST_SKIP() << "needs IPv6 on the loopback interface";
  SocketAddress six;
  six.family = AddressFamily::ipv6;
  const auto first = Socket::open({.local = six});
  ASSERT_TRUE(first) << first.error().context;
  const auto second = Socket::open({.local = ipv4(0, 0, 0, 0, first->local().port)});
  EXPECT_TRUE(second) << second.error().context;
}

TEST(SocketTest, GrantsTheBuffersAskedForWithinTheSystemsMaximum) {
  const auto socket = Socket::open(
      {.local = loopback(AddressFamily::ipv4), .receive_buffer = 100000, .send_buffer = 50000});
  ASSERT_TRUE(socket) << socket.error().context;
  // The system doubles what it is asked for.
  EXPECT_EQ(socket->receive_buffer(), 200000U);
  EXPECT_EQ(socket->send_buffer(), 100000U);
}

TEST(SocketTest, ATakenPortIsNamedWithTheWayOut) {
  const auto first = Socket::open({.local = loopback(AddressFamily::ipv4)});
  ASSERT_TRUE(first) << first.error().context;
  const std::uint16_t port = first->local().port;
  const auto second = Socket::open({.local = loopback(AddressFamily::ipv4, port)});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::address_in_use);
  EXPECT_EQ(second.error().os_error, EADDRINUSE);
  EXPECT_EQ(second.error().context, "UDP port " + std::to_string(port) +
                                        " is taken; choose another port or stop the other process");
}

TEST(SocketTest, AnAddressOfAnotherMachineIsNamed) {
  const auto socket = Socket::open({.local = ipv4(192, 0, 2, 1, 0)});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(socket.error().os_error, EADDRNOTAVAIL);
  EXPECT_NE(socket.error().context.find("192.0.2.1"), std::string::npos);
}

TEST(SocketTest, AnIpv4AddressInIpv6ClothingIsRefused) {
  SocketAddress mapped;
  mapped.family = AddressFamily::ipv6;
  mapped.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  const auto socket = Socket::open({.local = mapped});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::wrong_family);
}

TEST(SocketTest, ALinkLocalAddressNeedsItsInterface) {
  SocketAddress local;
  local.family = AddressFamily::ipv6;
  local.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  const auto socket = Socket::open({.local = local});
  ASSERT_FALSE(socket);
  EXPECT_EQ(socket.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(socket.error().context.find("fe80::1%eth0"), std::string::npos);
}

/// Runs `work` on a thread that is an ordinary user, and only that thread.
template <typename Work>
bool as_ordinary_user(Work work) {
  bool changed = true;
  std::thread([&] {
    // The system call, unlike the C library's wrapper, changes the calling thread alone.
    if (geteuid() == 0) changed = syscall(SYS_setresuid, 65534, 65534, 65534) == 0;
    if (changed) work();
  }).join();
  return changed;
}

TEST(SocketTest, APortBelow1024WithoutPermissionSaysWhatIsNeeded) {
  int first_free_port = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free_port;
  if (first_free_port <= 901) GTEST_SKIP() << "needs net.ipv4.ip_unprivileged_port_start = 1024";
  bool ran = false;
  const bool possible = as_ordinary_user([&] {
    const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4, 901)});
    ASSERT_FALSE(socket);
    EXPECT_EQ(socket.error().code, ErrorCode::no_permission);
    EXPECT_EQ(socket.error().context,
              "UDP port 901 is below 1024, which needs CAP_NET_BIND_SERVICE; choose a higher "
              "port");
    ran = true;
  });
  if (!possible) GTEST_SKIP() << "needs to become an ordinary user";
  EXPECT_TRUE(ran);
}

TEST(SocketTest, WithoutPrivilegesItOpensWithTheBuffersTheSystemAllows) {
  const bool possible = as_ordinary_user([&] {
    const auto socket = Socket::open({.local = loopback(AddressFamily::ipv4)});
    ASSERT_TRUE(socket) << socket.error().context;
    EXPECT_GT(socket->receive_buffer(), 0U);
    EXPECT_LE(socket->receive_buffer(), 2U * (32U << 20U));
  });
  if (!possible) GTEST_SKIP() << "needs to become an ordinary user";
}

}  // namespace
}  // namespace longhaul::io::kernel
