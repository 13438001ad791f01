// SPDX-License-Identifier: Apache-2.0
// Numbered, time-stamped UDP between two namespaces of one machine.
//   probe send HOST PORT COUNT PAYLOAD GAP_NS TOS   prints {"sent":…,"seconds":…}
//   probe receive PORT FILE IDLE_MS                 writes one record a packet, ends when idle
// The sender's stamp is taken right before the packet is sent, the receiver's is the kernel's.
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kMagic = 0x4c484f50;
constexpr int kBufferBytes = 64 << 20;
constexpr std::size_t kBurst = 64;
constexpr std::size_t kPacketMax = 65536;

/// In front of every payload.
struct Stamp {
  std::uint32_t magic;
  std::uint32_t number;
  std::int64_t sent_ns;
};

/// What the receiver writes of each packet.
struct Record {
  std::int64_t sent_ns;
  std::int64_t arrived_ns;
  std::uint32_t number;
  std::uint32_t ecn;
};

std::int64_t now_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

int fail(std::string_view what) {
  std::fprintf(stderr, "probe: %.*s: %s\n", static_cast<int>(what.size()), what.data(),
               std::strerror(errno));
  return 1;
}

int send_all(int fd, std::uint32_t count, std::size_t payload, std::int64_t gap) {
  std::vector<std::byte> packet(payload, std::byte{0x5a});
  const std::int64_t start = now_ns(CLOCK_MONOTONIC);
  std::uint32_t sent = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t due = start + gap * i;
    // Packets of one wake-up leave together; the model is told each one's own moment.
    if (now_ns(CLOCK_MONOTONIC) < due) {
      const timespec until{due / kSecond, due % kSecond};
      ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    }
    const Stamp stamp{kMagic, i, now_ns(CLOCK_REALTIME)};
    std::memcpy(packet.data(), &stamp, sizeof stamp);
    // A full socket buffer would block and shift all later packets: it counts as not sent.
    if (::send(fd, packet.data(), packet.size(), MSG_DONTWAIT) >= 0) ++sent;
  }
  const double seconds = static_cast<double>(now_ns(CLOCK_MONOTONIC) - start) / kSecond;
  std::printf("{\"sent\": %u, \"seconds\": %.6f}\n", sent, seconds);
  return 0;
}

int send_main(char** argv) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(argv[2], argv[3], &hints, &found) != 0) return fail("no such address");
  const int fd = ::socket(found->ai_family, SOCK_DGRAM, 0);
  const int tos = std::atoi(argv[7]);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kBufferBytes, sizeof kBufferBytes);
  if (found->ai_family == AF_INET6) {
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &tos, sizeof tos);
  } else {
    ::setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof tos);
  }
  const int connected = ::connect(fd, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  if (connected != 0) return fail("connect");
  const auto payload = static_cast<std::size_t>(std::atoll(argv[5]));
  if (payload < sizeof(Stamp)) return fail("payload too small");
  return send_all(fd, static_cast<std::uint32_t>(std::atoll(argv[4])), payload,
                  std::atoll(argv[6]));
}

/// Room for a burst of packets with their control data.
struct Burst {
  std::vector<std::byte> bytes = std::vector<std::byte>(kBurst * kPacketMax);
  std::array<std::array<std::byte, 256>, kBurst> control{};
  std::array<iovec, kBurst> parts{};
  std::array<mmsghdr, kBurst> messages{};

  void prepare() {
    for (std::size_t i = 0; i < kBurst; ++i) {
      parts[i] = {bytes.data() + i * kPacketMax, kPacketMax};
      messages[i].msg_hdr = {};
      messages[i].msg_hdr.msg_iov = &parts[i];
      messages[i].msg_hdr.msg_iovlen = 1;
      messages[i].msg_hdr.msg_control = control[i].data();
      messages[i].msg_hdr.msg_controllen = control[i].size();
    }
  }
};

void read_control(msghdr& header, Record& record) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_TIMESTAMPNS) {
      timespec time{};
      std::memcpy(&time, CMSG_DATA(c), sizeof time);
      record.arrived_ns = time.tv_sec * kSecond + time.tv_nsec;
    } else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_TOS) {
      record.ecn = std::to_integer<std::uint32_t>(*reinterpret_cast<std::byte*>(CMSG_DATA(c))) & 3;
    } else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_TCLASS) {
      int tos = 0;
      std::memcpy(&tos, CMSG_DATA(c), sizeof tos);
      record.ecn = static_cast<std::uint32_t>(tos) & 3;
    }
  }
}

int receive_all(int fd, std::FILE* file, int idle_ms) {
  Burst burst;
  pollfd wait{fd, POLLIN, 0};
  // Patient before the first one.
  for (int patience = 5000; ::poll(&wait, 1, patience) == 1; patience = idle_ms) {
    burst.prepare();
    const int got = ::recvmmsg(fd, burst.messages.data(), kBurst, MSG_DONTWAIT, nullptr);
    for (int i = 0; i < got; ++i) {
      auto& message = burst.messages[static_cast<std::size_t>(i)];
      Stamp stamp{};
      if (message.msg_len < sizeof stamp) continue;
      std::memcpy(&stamp, message.msg_hdr.msg_iov->iov_base, sizeof stamp);
      if (stamp.magic != kMagic) continue;
      Record record{stamp.sent_ns, 0, stamp.number, 0};
      read_control(message.msg_hdr, record);
      if (std::fwrite(&record, sizeof record, 1, file) != 1) return fail("write");
    }
  }
  return std::fclose(file) == 0 ? 0 : fail("close");
}

int receive_main(char** argv) {
  const int fd = ::socket(AF_INET6, SOCK_DGRAM, 0);
  const int one = 1;
  const int zero = 0;
  ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &kBufferBytes, sizeof kBufferBytes);
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, &one, sizeof one);
  ::setsockopt(fd, IPPROTO_IP, IP_RECVTOS, &one, sizeof one);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(static_cast<std::uint16_t>(std::atoi(argv[2])));
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail("bind");
  std::FILE* file = std::fopen(argv[3], "wb");
  if (file == nullptr) return fail(argv[3]);
  std::printf("listening\n");
  std::fflush(stdout);
  return receive_all(fd, file, std::atoi(argv[4]));
}

}  // namespace

int main(int argc, char** argv) {
  ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "send" && argc == 8) return send_main(argv);
  if (mode == "receive" && argc == 5) return receive_main(argv);
  std::fputs("usage: probe send HOST PORT COUNT PAYLOAD GAP_NS TOS | receive PORT FILE IDLE_MS\n",
             stderr);
  return 2;
}
