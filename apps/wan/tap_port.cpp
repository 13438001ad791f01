// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

#include "apps/common/files.hpp"
#include "apps/common/printable.hpp"
#include "apps/common/units.hpp"
#include "apps/wan/frame.hpp"
#include "apps/wan/interface.hpp"
#include "apps/wan/packet_port.hpp"

namespace longhaul::apps::wan {

namespace {

constexpr std::size_t kBurst = 64;

class TapPort : public Port {
 public:
  TapPort(std::string name, const InterfaceFacts& facts, FileDescriptor fd)
      : Port(std::move(name), facts.mtu),
        fd_(std::move(fd)),
        index_(facts.index),
        slot_bytes_(facts.mtu + kEthernetBytes + kVlanBytes),
        memory_(kBurst * slot_bytes_) {}

  std::size_t receive(const Clocks& clocks, std::span<ReceivedFrame> frames) override {
    std::size_t count = 0;
    while (count < std::min(frames.size(), kBurst)) {
      std::byte* slot = memory_.data() + count * slot_bytes_;
      const ssize_t bytes = ::read(fd_.get(), slot, slot_bytes_);
      if (bytes <= 0) break;
      const auto size = static_cast<std::size_t>(bytes);
      frames[count++] = {{slot, size}, size, clocks.now, 0, 0, false};
    }
    return count;
  }

  void send(std::span<const std::span<const std::byte>> frames,
            std::span<SendFate> fates) override {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const bool taken = ::write(fd_.get(), frames[i].data(), frames[i].size()) >= 0;
      fates[i] = taken ? SendFate::taken : fate_of_failure();
    }
  }

  std::uint64_t kernel_dropped() override {
    // The queue between the kernel and us is the interface's transmit queue.
    std::ifstream file(fmt::format("/sys/class/net/{}/statistics/tx_dropped", name()));
    std::uint64_t dropped = 0;
    if (file >> dropped) dropped_ = dropped;
    return dropped_;
  }

  int fd() const noexcept override { return fd_.get(); }
  Result<InterfaceState> look() override {
    if (const auto state = state_of(index_)) return *state;
    return fail(ErrorCode::closed,
                fmt::format("interface {} has gone; start again to make it anew", name()));
  }

 private:
  SendFate fate_of_failure() const noexcept {
    return state_of(index_) == InterfaceState::up ? SendFate::refused : SendFate::interface_down;
  }

  FileDescriptor fd_;
  int index_;
  std::size_t slot_bytes_;
  std::vector<std::byte> memory_;
  std::uint64_t dropped_ = 0;
};

}  // namespace

Result<std::unique_ptr<Port>> open_tap_port(const std::string& name) {
  FileDescriptor fd(::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    return fail(ErrorCode::system, "no TAP interfaces here: /dev/net/tun does not open", errno);
  }
  if (::if_nametoindex(name.c_str()) != 0) {
    return fail(ErrorCode::address_in_use,
                fmt::format("there is an interface {0} already; bridge it as {0} without tap:, or "
                            "give another name",
                            printable(name)));
  }
  ifreq request{};
  std::copy_n(name.data(), std::min<std::size_t>(name.size(), IFNAMSIZ - 1), request.ifr_name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(fd.get(), TUNSETIFF, &request) != 0) {
    if (errno == EPERM || errno == EACCES) {
      return fail(ErrorCode::no_permission,
                  "a TAP interface needs root, or CAP_NET_ADMIN; start it with sudo");
    }
    return fail(ErrorCode::system, fmt::format("TAP interface {} cannot be made", printable(name)),
                errno);
  }
  if (auto up = bring_up(name); !up) return tl::unexpected(std::move(up.error()));
  const auto facts = look_up(name);
  if (!facts) return tl::unexpected(facts.error());
  return std::make_unique<TapPort>(name, *facts, std::move(fd));
}

}  // namespace longhaul::apps::wan
