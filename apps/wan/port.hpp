// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "apps/wan/clocks.hpp"
#include "apps/wan/interface.hpp"
#include "longhaul/result.hpp"
#include "longhaul/time.hpp"

namespace longhaul::apps::wan {

/// A frame as it came; the bytes are the port's and valid until its next call.
struct ReceivedFrame {
  std::span<const std::byte> bytes;
  std::size_t whole_bytes = 0;      ///< more than `bytes` if it did not fit
  Timestamp arrived{};              ///< as the kernel saw it, not as we came to read it
  std::uint16_t vlan_protocol = 0;  ///< of a tag the kernel took out; 0 = none
  std::uint16_t vlan_tag = 0;
  bool no_checksum = false;  ///< the sender leaves checksums to a card that is not there
};

/// What became of a frame that was to leave.
enum class SendFate : std::uint8_t { taken, refused, interface_down };

/// One end of a link. One call per burst.
class Port {
 public:
  virtual ~Port() = default;
  /// Frames that wait, up to the length of `frames`; returns how many.
  virtual std::size_t receive(const Clocks& clocks, std::span<ReceivedFrame> frames) = 0;
  /// Says of each frame what became of it; `fates` is as long as `frames`. Never waits.
  virtual void send(std::span<const std::span<const std::byte>> frames,
                    std::span<SendFate> fates) = 0;
  /// Frames that were dropped before they could be read, since the start.
  virtual std::uint64_t kernel_dropped() = 0;
  /// Readable when frames wait.
  virtual int fd() const noexcept = 0;
  /// How the interface is now; an error if it has gone. Takes an error off the descriptor.
  virtual Result<InterfaceState> look() = 0;

  const std::string& name() const noexcept { return name_; }
  /// Largest packet behind the Ethernet header.
  std::size_t mtu() const noexcept { return mtu_; }

 protected:
  Port(std::string name, std::size_t mtu) : name_(std::move(name)), mtu_(mtu) {}

 private:
  std::string name_;
  std::size_t mtu_;
};

/// An interface that exists (AF_PACKET), or with the prefix "tap:" one that is made. `notes` gets a
/// line for each thing that was changed about it.
Result<std::unique_ptr<Port>> open_port(const std::string& name, std::vector<std::string>& notes);

}  // namespace longhaul::apps::wan
