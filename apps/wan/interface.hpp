// SPDX-License-Identifier: Apache-2.0
// What has to be known of a network interface and changed about it, by ioctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/files.hpp"
#include "longhaul/result.hpp"

namespace longhaul::apps::wan {

struct InterfaceFacts {
  int index = 0;
  std::size_t mtu = 0;
};

/// An interface that exists, is up and is Ethernet; otherwise an error that says what to do.
Result<InterfaceFacts> look_up(const std::string& name);

enum class InterfaceState : std::uint8_t { up, no_carrier, down };

/// Of the interface with this number, whatever it is called by now; nothing if there is none.
std::optional<InterfaceState> state_of(int index) noexcept;

/// A name held in this network namespace, so that no second emulator bridges the same interface;
/// free again with the process.
Result<FileDescriptor> claim(const std::string& name);

/// Offloads that would let super-frames or packets without checksum onto the line, switched off
/// here and put back when this goes.
class OffloadsOff {
 public:
  /// Adds a line to `notes` if there was anything to switch off.
  static Result<OffloadsOff> apply(const std::string& name, std::vector<std::string>& notes);
  OffloadsOff(OffloadsOff&&) noexcept = default;
  OffloadsOff& operator=(OffloadsOff&&) = delete;
  OffloadsOff(const OffloadsOff&) = delete;
  OffloadsOff& operator=(const OffloadsOff&) = delete;
  ~OffloadsOff();

 private:
  explicit OffloadsOff(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::vector<std::uint32_t> changed_;  // commands that switch it on again, in order
};

/// Marks an interface as up and gives it a long queue: one that we made.
Result<void> bring_up(const std::string& name);

}  // namespace longhaul::apps::wan
