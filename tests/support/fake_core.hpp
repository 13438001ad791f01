// SPDX-License-Identifier: Apache-2.0
// A core that does what a test's script says, to be linked instead of lib/endpoint: the worker and
// the API can then be tested without a protocol.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "lib/endpoint/endpoint.hpp"

namespace longhaul::tests {

/// What a fake core is to say, and what it was told.
struct CoreScript {
  /// A datagram to send: bytes of the head, and tensor memory behind it.
  struct Outgoing {
    std::string head;
    std::span<const std::byte> payload;
  };

  Timestamp next_timeout = kNever;
  bool connecting = false;
  Duration shortest_rtt{};
  std::deque<Outgoing> outgoing;
  std::deque<endpoint::Event> events;

  std::vector<std::string> calls;     ///< one line a call
  std::vector<std::string> received;  ///< datagrams
  std::vector<Duration> deadlines;    ///< of sends and receives
  std::vector<std::size_t> bursts;    ///< sizes handed to handle_datagrams
};

/// The script of the next core to be made; set it before.
void use_script(CoreScript& script);

}  // namespace longhaul::tests
