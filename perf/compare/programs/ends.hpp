// SPDX-License-Identifier: Apache-2.0
// The seam between the tests, which are the same for all, and a rival.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

namespace longhaul::compare {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

/// The sending end of one connection (or pool) of a rival. One thread uses it.
class Sender {
 public:
  virtual ~Sender() = default;
  Sender() = default;
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Sends the next message; its memory is borrowed until it is answered. May return before the
  /// message has left.
  virtual void send(std::span<const std::byte> message) = 0;
  /// Waits until `count` messages were answered since the beginning, or until `until`; says how
  /// many were.
  virtual std::uint64_t wait_answers(std::uint64_t count, Clock::time_point until) = 0;
  /// The rival's version, and the settings in effect.
  virtual Json about() = 0;
  /// What the rival counted: retransmissions and the like.
  virtual Json counters() = 0;
  /// Tells the server, and waits for nothing that may not come.
  virtual void close() = 0;
};

/// Where a receiver puts messages.
class Inbox {
 public:
  virtual ~Inbox() = default;
  Inbox() = default;
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// Memory of the message `index`, counted from 0; taken again `slots()` messages later.
  virtual std::span<std::byte> slot(std::uint64_t index) = 0;
  virtual std::uint64_t slots() const = 0;
  /// The message is whole. Throws if it is not what was sent.
  virtual void arrived(std::uint64_t index) = 0;
};

/// The receiving end. Listens from its construction on.
class Receiver {
 public:
  virtual ~Receiver() = default;
  Receiver() = default;
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  /// Waits for the client.
  virtual void accept() = 0;
  /// Takes messages and answers each with one byte, in order, until the client leaves.
  virtual void run(Inbox& inbox) = 0;
};

}  // namespace longhaul::compare
