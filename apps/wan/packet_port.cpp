// SPDX-License-Identifier: Apache-2.0
#include "apps/wan/packet_port.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "apps/common/files.hpp"
#include "apps/wan/frame.hpp"
#include "apps/wan/interface.hpp"
#include "apps/wan/packet_ring.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::string_view kTapPrefix = "tap:";
constexpr int kSendBufferBytes = 32 << 20;
constexpr std::size_t kBurst = 64;

class PacketPort : public Port {
 public:
  PacketPort(std::string name, const InterfaceFacts& facts, FileDescriptor lock,
             OffloadsOff offloads, FileDescriptor fd, PacketRing ring)
      : Port(std::move(name), facts.mtu),
        lock_(std::move(lock)),
        offloads_(std::move(offloads)),
        fd_(std::move(fd)),
        ring_(std::move(ring)),
        index_(facts.index) {}

  std::size_t receive(const Clocks& clocks, std::span<ReceivedFrame> frames) override {
    return ring_.receive(clocks, frames);
  }

  void send(std::span<const std::span<const std::byte>> frames,
            std::span<SendFate> fates) override {
    while (!frames.empty()) {
      const std::size_t count = std::min(frames.size(), kBurst);
      for (std::size_t i = 0; i < count; ++i) {
        // sendmmsg does not write to what it sends, but its type has no word for that.
        parts_[i] = {const_cast<std::byte*>(frames[i].data()), frames[i].size()};
        messages_[i] = {};
        messages_[i].msg_hdr.msg_iov = &parts_[i];
        messages_[i].msg_hdr.msg_iovlen = 1;
      }
      const int sent =
          ::sendmmsg(fd_.get(), messages_.data(), static_cast<unsigned>(count), MSG_DONTWAIT);
      // An error concerns the first one that was not sent; a line does not wait for it.
      const SendFate fate = sent < 0 ? fate_of_failure(errno) : SendFate::taken;
      const std::size_t done = sent < 0 ? 1 : static_cast<std::size_t>(sent);
      std::fill_n(fates.begin(), done, fate);
      frames = frames.subspan(done);
      fates = fates.subspan(done);
    }
  }

  std::uint64_t kernel_dropped() override {
    tpacket_stats stats{};
    socklen_t length = sizeof stats;
    // Reading sets the kernel's counters back.
    if (::getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &stats, &length) == 0)
      dropped_ += stats.tp_drops;
    return dropped_;
  }

  int fd() const noexcept override { return fd_.get(); }

  Result<InterfaceState> look() override {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (const auto state = state_of(index_)) return *state;
    return fail(ErrorCode::closed,
                fmt::format("interface {} has gone; start again when it is back", name()));
  }

 private:
  /// Without its other end an interface refuses as one does that is overrun.
  SendFate fate_of_failure(int os_error) const noexcept {
    const bool down = os_error == ENETDOWN || state_of(index_) != InterfaceState::up;
    return down ? SendFate::interface_down : SendFate::refused;
  }

  FileDescriptor lock_;
  OffloadsOff offloads_;
  FileDescriptor fd_;
  PacketRing ring_;
  int index_;
  std::uint64_t dropped_ = 0;
  std::array<iovec, kBurst> parts_{};
  std::array<mmsghdr, kBurst> messages_{};
};

Result<FileDescriptor> packet_socket() {
  // No protocol yet: nothing may come before the socket is bound to its interface.
  FileDescriptor fd(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() >= 0) return fd;
  if (errno == EPERM || errno == EACCES) {
    return fail(ErrorCode::no_permission,
                "frames need root, or CAP_NET_RAW and CAP_NET_ADMIN; start it with sudo");
  }
  return fail(ErrorCode::system, "no AF_PACKET socket", errno);
}

Result<void> bind_to(int fd, const std::string& name, int index) {
  const int one = 1;
  // Ours, going out, would come back in.
  if (::setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof one) != 0) {
    return fail(ErrorCode::unsupported,
                "this kernel shows a bridge its own frames; use Linux 4.20 or later", errno);
  }
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &kSendBufferBytes, sizeof kSendBufferBytes);
  // Without a wish for stamps the kernel takes them when it copies, later than the frame came.
  ::setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one);
  packet_mreq promiscuous{};
  promiscuous.mr_ifindex = index;
  promiscuous.mr_type = PACKET_MR_PROMISC;
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = index;
  if (::setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promiscuous, sizeof promiscuous) != 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(ErrorCode::system, fmt::format("{} cannot be opened for frames", name), errno);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Port>> open_packet_port(const std::string& name,
                                               std::vector<std::string>& notes) {
  auto fd = packet_socket();
  if (!fd) return tl::unexpected(std::move(fd.error()));
  const auto facts = look_up(name);
  if (!facts) return tl::unexpected(facts.error());
  auto lock = claim(name);
  if (!lock) return tl::unexpected(std::move(lock.error()));
  auto offloads = OffloadsOff::apply(name, notes);
  if (!offloads) return tl::unexpected(std::move(offloads.error()));
  auto ring = PacketRing::create(fd->get(), facts->mtu + kEthernetBytes + kVlanBytes);
  if (!ring) return tl::unexpected(std::move(ring.error()));
  if (auto bound = bind_to(fd->get(), name, facts->index); !bound)
    return tl::unexpected(std::move(bound.error()));
  return std::make_unique<PacketPort>(name, *facts, std::move(*lock), std::move(*offloads),
                                      std::move(*fd), std::move(*ring));
}

Result<std::unique_ptr<Port>> open_port(const std::string& name, std::vector<std::string>& notes) {
  if (name.starts_with(kTapPrefix)) return open_tap_port(name.substr(kTapPrefix.size()));
  return open_packet_port(name, notes);
}

}  // namespace longhaul::apps::wan
