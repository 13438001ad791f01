// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "lib/io/backend.hpp"

namespace longhaul::io {

/// What a Recorder was asked to send, with memory of its own.
struct Sent {
  std::vector<std::byte> head;
  std::span<const std::byte> payload;
  std::vector<std::byte> bytes;  // head and payload
  Timestamp at{};
  Timestamp departure{};
  std::uint8_t dscp = 0;
  bool damaged = false;
};

struct Record {
  std::vector<Sent> sent;
  std::vector<std::size_t> bursts;  // length of each call that got through in part at least
  std::size_t room = SIZE_MAX;      // datagrams it still takes
  std::vector<Duration> waits;
  int wakes = 0;
};

/// Takes datagrams as long as there is room and writes down what they were.
class Recorder final : public Backend {
 public:
  explicit Recorder(Record& record) : record_(record) {
    capabilities_.name = "recorder";
    capabilities_.datagram_max = 9000;
  }
  const Capabilities& capabilities() const override { return capabilities_; }
  SocketAddress local_address() const override { return {}; }
  std::size_t receive(Timestamp, std::span<base::RxDatagram>) override { return 0; }
  std::size_t transmit(Timestamp now, std::span<const base::TxDatagram> burst) override {
    const std::size_t count = std::min(burst.size(), record_.room);
    record_.room -= count;
    if (count > 0) record_.bursts.push_back(count);
    for (const base::TxDatagram& d : burst.first(count)) {
      Sent sent{{d.head.begin(), d.head.begin() + static_cast<std::ptrdiff_t>(d.head_size)},
                d.payload,
                {},
                now,
                d.departure,
                d.dscp,
                d.damaged};
      sent.bytes = sent.head;
      sent.bytes.insert(sent.bytes.end(), d.payload.begin(), d.payload.end());
      record_.sent.push_back(std::move(sent));
    }
    return count;
  }
  void wait(Duration longest) override { record_.waits.push_back(longest); }
  void wake() override { ++record_.wakes; }
  Result<void> register_memory(Region, std::span<std::byte>) override { return {}; }
  void unregister_memory(Region) override {}
  BackendStats stats() const override { return {}; }

 private:
  Record& record_;
  Capabilities capabilities_;
};

}  // namespace longhaul::io
