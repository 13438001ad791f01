// SPDX-License-Identifier: Apache-2.0
// What the kernel backend's tests share: addresses, bursts that own their memory, collecting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/datagram.hpp"
#include "lib/io/backend.hpp"
#include "lib/io/kernel/kernel_backend.hpp"

namespace longhaul::io::kernel::test {

using Bytes = std::vector<std::byte>;

SocketAddress loopback(AddressFamily family, std::uint16_t port = 0);
SocketAddress ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                   std::uint16_t port);

/// The machine's clock as the backend's caller would give it.
Timestamp now();

/// Bytes that differ from position to position and from seed to seed.
Bytes pattern(std::size_t size, std::uint64_t seed);

struct Marks {
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
};

/// A burst together with the memory it points into.
class Burst {
 public:
  /// Adds a datagram whose content is `head` followed by `payload`.
  void add(const SocketAddress& remote, Bytes head, Bytes payload, Marks marks = {});
  /// Adds a datagram of `size` patterned bytes, at most 28 of them head.
  void add(const SocketAddress& remote, std::size_t size, Marks marks = {});

  std::span<const base::TxDatagram> datagrams() const { return datagrams_; }
  /// The bytes datagram `index` must arrive as.
  Bytes content(std::size_t index) const;
  std::size_t size() const { return datagrams_.size(); }

 private:
  std::deque<std::pair<Bytes, Bytes>> memory_;
  std::vector<base::TxDatagram> datagrams_;
};

/// A received datagram that outlives the next `receive`.
struct Arrival {
  Bytes content;
  SocketAddress remote;
  base::Ecn ecn = base::Ecn::not_ect;
  std::uint8_t dscp = 0;
  Timestamp received_at{};
};

/// Receives until `count` datagrams are there, or none came for `patience`.
std::vector<Arrival> collect(Backend& backend, std::size_t count, std::size_t burst = 64,
                             Duration patience = std::chrono::seconds(2));

/// Opens a backend or fails the running test with the error's text.
std::unique_ptr<Backend> open_backend(const KernelOptions& options);
std::unique_ptr<Backend> open_loopback(AddressFamily family,
                                       EngineChoice engine = EngineChoice::mmsg);

/// "mmsg" …, to name test cases.
std::string name_of(EngineChoice engine);

/// Whether this machine lets us bind ::1.
bool has_ipv6();

}  // namespace longhaul::io::kernel::test
