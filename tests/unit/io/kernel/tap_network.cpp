// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/io/kernel/tap_network.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <thread>

#include "lib/io/kernel/native_address.hpp"

namespace longhaul::io::kernel::test {
namespace {

constexpr const char* kPort = "wire0";

ifreq request_for_port() {
  ifreq request{};
  std::strncpy(request.ifr_name, kPort, IFNAMSIZ - 1);
  return request;
}

void store(const SocketAddress& address, sockaddr& into) {
  NativeAddress native{};
  to_native(address, native);
  std::memcpy(&into, &native.ipv4, sizeof(native.ipv4));
}

bool configure_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = request_for_port();
  store(ipv4(10, 77, 0, 1, 0), request.ifr_addr);
  if (ioctl(socket.number(), SIOCSIFADDR, &request) != 0) return false;
  store(ipv4(255, 255, 255, 0, 0), request.ifr_netmask);
  if (ioctl(socket.number(), SIOCSIFNETMASK, &request) != 0) return false;
  request = request_for_port();
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(socket.number(), SIOCSIFFLAGS, &request) == 0;
}

std::uint16_t big_endian(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[at]) << 8U |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

std::optional<Packet> parse(std::span<const std::byte> frame) {
  constexpr std::size_t kIp = 14;
  constexpr std::size_t kUdp = kIp + 20;
  constexpr std::size_t kPayload = kUdp + 8;
  if (frame.size() < kPayload || big_endian(frame, 12) != 0x0800) return std::nullopt;
  if (frame[kIp] != std::byte{0x45} || frame[kIp + 9] != std::byte{17}) return std::nullopt;
  const unsigned fragment = big_endian(frame, kIp + 6);
  Packet packet;
  packet.traffic_class = std::to_integer<std::uint8_t>(frame[kIp + 1]);
  packet.dont_fragment = (fragment & 0x4000U) != 0;
  packet.fragment = (fragment & 0x3fffU) != 0;
  packet.destination_port = big_endian(frame, kUdp + 2);
  const std::size_t length = big_endian(frame, kUdp + 4);
  const auto payload = frame.subspan(kPayload, length - 8);
  packet.payload.assign(payload.begin(), payload.end());
  return packet;
}

}  // namespace

std::unique_ptr<TapNetwork> TapNetwork::make() {
  std::unique_ptr<TapNetwork> made;
  std::thread([&] {
    if (unshare(CLONE_NEWNET) != 0) return;
    Descriptor network(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    Descriptor port(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (!network || !port) return;
    ifreq request = request_for_port();
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(port.number(), TUNSETIFF, &request) != 0) return;
    if (!configure_port()) return;
    made.reset(new TapNetwork(std::move(network), std::move(port)));
  }).join();
  return made;
}

void TapNetwork::inside(const std::function<void()>& work) const {
  std::thread([&] {
    ASSERT_EQ(setns(network_.number(), CLONE_NEWNET), 0);
    work();
  }).join();
}

void TapNetwork::set_mtu(int mtu) const {
  inside([mtu] {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    std::strncpy(request.ifr_name, kPort, sizeof(request.ifr_name) - 1);
    request.ifr_mtu = mtu;
    ASSERT_EQ(ioctl(socket.number(), SIOCSIFMTU, &request), 0);
  });
}

void TapNetwork::offload_checksums() const {
  ASSERT_EQ(ioctl(port_.number(), TUNSETOFFLOAD, TUN_F_CSUM), 0);
}

void TapNetwork::answer_for_neighbour() const {
  inside([] {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    arpreq entry{};
    store(ipv4(10, 77, 0, 2, 0), entry.arp_pa);
    entry.arp_ha.sa_family = ARPHRD_ETHER;
    const std::array<std::uint8_t, 6> station{2, 0, 0, 0, 0, 2};
    std::memcpy(entry.arp_ha.sa_data, station.data(), station.size());
    entry.arp_flags = ATF_PERM | ATF_COM;
    std::strncpy(entry.arp_dev, kPort, sizeof(entry.arp_dev) - 1);
    ASSERT_EQ(ioctl(socket.number(), SIOCSARP, &entry), 0);
  });
}

std::vector<Packet> TapNetwork::capture(std::size_t count, Duration patience) const {
  std::vector<Packet> packets;
  std::array<std::byte, 65536> frame;
  const Timestamp end = now() + patience;
  while (packets.size() < count && now() < end) {
    const ssize_t size = read(port_.number(), frame.data(), frame.size());
    if (size < 0) {
      pollfd watched{port_.number(), POLLIN, 0};
      poll(&watched, 1, 20);
      continue;
    }
    if (auto packet = parse(std::span(frame).first(static_cast<std::size_t>(size)))) {
      packets.push_back(std::move(*packet));
    }
  }
  return packets;
}

}  // namespace longhaul::io::kernel::test
