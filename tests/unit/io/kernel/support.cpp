// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/io/kernel/support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace longhaul::io::kernel::test {

SocketAddress ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d,
                   std::uint16_t port) {
  SocketAddress address;
  address.bytes = {a, b, c, d};
  address.port = port;
  return address;
}

SocketAddress loopback(AddressFamily family, std::uint16_t port) {
  if (family == AddressFamily::ipv4) return ipv4(127, 0, 0, 1, port);
  SocketAddress address;
  address.family = AddressFamily::ipv6;
  address.bytes[15] = 1;
  address.port = port;
  return address;
}

Timestamp now() {
  return Timestamp(std::chrono::steady_clock::now().time_since_epoch());
}

Bytes pattern(std::size_t size, std::uint64_t seed) {
  Bytes bytes(size);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (std::byte& byte : bytes) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    byte = static_cast<std::byte>(state & 0xffU);
  }
  return bytes;
}

void Burst::add(const SocketAddress& remote, Bytes head, Bytes payload, Marks marks) {
  auto& [stored_head, stored_payload] = memory_.emplace_back(std::move(head), std::move(payload));
  base::TxDatagram datagram;
  datagram.head = stored_head;
  datagram.head_size = stored_head.size();
  datagram.payload = stored_payload;
  datagram.remote = remote;
  datagram.ecn = marks.ecn;
  datagram.dscp = marks.dscp;
  datagrams_.push_back(datagram);
}

void Burst::add(const SocketAddress& remote, std::size_t size, Marks marks) {
  Bytes head = pattern(size, datagrams_.size() + 1);
  const auto cut = head.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, 28));
  Bytes payload(cut, head.end());
  head.erase(cut, head.end());
  add(remote, std::move(head), std::move(payload), marks);
}

Bytes Burst::content(std::size_t index) const {
  const auto& [head, payload] = memory_[index];
  Bytes whole = head;
  whole.insert(whole.end(), payload.begin(), payload.end());
  return whole;
}

std::vector<Arrival> collect(Backend& backend, std::size_t count, std::size_t burst,
                             Duration patience) {
  std::vector<Arrival> arrivals;
  std::vector<base::RxDatagram> out(burst);
  Timestamp last = now();
  while (arrivals.size() < count && now() - last < patience) {
    const std::size_t received = backend.receive(now(), out);
    for (const base::RxDatagram& datagram : std::span(out).first(received)) {
      arrivals.push_back({.content = Bytes(datagram.data.begin(), datagram.data.end()),
                          .remote = datagram.remote,
                          .ecn = datagram.ecn,
                          .dscp = datagram.dscp,
                          .received_at = datagram.received_at});
      last = now();
    }
    if (received == 0) backend.wait(std::chrono::milliseconds(20));
  }
  return arrivals;
}

std::unique_ptr<Backend> open_backend(const KernelOptions& options) {
  auto backend = KernelBackend::open(options);
  if (!backend) {
    ADD_FAILURE() << backend.error().context << " (errno " << backend.error().os_error << ")";
    return nullptr;
  }
  return std::move(*backend);
}

std::unique_ptr<Backend> open_loopback(AddressFamily family, EngineChoice engine) {
  return open_backend({.local = loopback(family), .engine = engine});
}

std::string name_of(EngineChoice engine) {
  for (const EngineName& entry : kEngineNames) {
    if (entry.choice == engine) return std::string(entry.name);
  }
  return "unknown";
}

bool has_ipv6() {
  return KernelBackend::open({.local = loopback(AddressFamily::ipv6), .engine = EngineChoice::mmsg})
      .has_value();
}

}  // namespace longhaul::io::kernel::test
