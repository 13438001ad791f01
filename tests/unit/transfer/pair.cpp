// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/transfer/pair.hpp"

#include <gtest/gtest.h>

#include <array>

namespace longhaul::transfer {
namespace {

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

std::vector<FrameBytes> Side::take_frames(Timestamp now) {
  std::vector<FrameBytes> result;
  std::array<std::byte, 1200> packet{};
  std::uint32_t carrier = 0;
  while (const std::size_t size = control_.write_due(now, packet, {}, carrier)) {
    control_.on_carrier_acked(carrier);
    for (std::size_t at = 0; at < size;) {
      const std::size_t length =
          wire::kFrameHeaderBytes + (std::to_integer<std::size_t>(packet[at + 1]) << 8 |
                                     std::to_integer<std::size_t>(packet[at + 2]));
      const auto begin = packet.begin() + static_cast<std::ptrdiff_t>(at);
      result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(length));
      at += length;
    }
  }
  return result;
}

bool Side::handle(Timestamp now, const FrameBytes& bytes) {
  wire::FrameReader reader(bytes, gaps_);
  const auto frame = reader.next();
  if (!frame) return false;
  constexpr Duration kGrace = std::chrono::milliseconds(5);
  return std::visit(
      Overloaded{
          [&](const wire::Transfer& value) { return receivers.on_transfer(now, value); },
          [&](const wire::Layout& value) { return receivers.on_layout(now, value); },
          [&](const wire::Posted& value) { return senders.on_posted(now, value); },
          [&](const wire::SendEnd& value) { return receivers.on_send_end(now, value); },
          [&](const wire::ReceiveEnd& value) { return senders.on_receive_end(now, value); },
          [&](const wire::Refetch& value) { return senders.on_refetch(value); },
          [&](const wire::AllSent& value) { return receivers.on_all_sent(now, value, kGrace); },
          [](const auto&) { return false; },
      },
      *frame);
}

bool Side::next(Timestamp now, std::uint32_t payload_max, DataPacket& packet) {
  for (const auto c : {TrafficClass::critical, TrafficClass::bulk, TrafficClass::scavenger}) {
    auto result = Senders::Next::control;
    while (result == Senders::Next::control)
      result = senders.next(now, c, payload_max, packet.chunk);
    if (result == Senders::Next::nothing) continue;
    const SendChunk& chunk = packet.chunk.chunk;
    packet.bytes.resize(chunk.length);
    if (chunk.digest)
      packet.chunk.source->write_digests(chunk.index, packet.bytes);
    else
      copy_out(packet.chunk.source->memory(), chunk.offset, packet.bytes);
    return true;
  }
  return false;
}

Receivers::Fate Side::handle(Timestamp now, const DataPacket& packet) {
  const SendChunk& chunk = packet.chunk.chunk;
  return receivers.on_chunk(now, packet.chunk.alias, chunk.layout, chunk.index, chunk.digest,
                            {packet.bytes, packet.bytes.size(), false});
}

void Side::lose(const DataPacket& packet) {
  const SendChunk& chunk = packet.chunk.chunk;
  senders.on_packet_lost(packet.chunk.transfer, chunk.digest, chunk.layout, chunk.index);
}

void Side::collect() {
  for (; !events.empty(); events.pop_front()) {
    const auto* event = std::get_if<TransferEvent>(&events.front());
    if (event == nullptr) continue;
    EXPECT_TRUE(endings_.emplace(event->transfer, *event).second)
        << "transfer " << event->transfer << " ended twice";
  }
}

Status Side::status(TransferId id) {
  collect();
  const auto it = endings_.find(id);
  return it == endings_.end() ? Status::pending : it->second.status;
}

const TransferEvent& Side::ending(TransferId id) {
  collect();
  return endings_.at(id);
}

std::size_t Side::endings() {
  collect();
  return endings_.size();
}

void Pair::frames(Side& from, Side& to) {
  for (const FrameBytes& frame : from.take_frames(now)) EXPECT_TRUE(to.handle(now, frame));
}

void Pair::settle() {
  for (bool busy = true; busy;) {
    busy = false;
    for (auto [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      DataPacket packet;
      while (from->next(now, payload_max, packet)) {
        busy = true;
        frames(*from, *to);
        if (to->handle(now, packet) != Receivers::Fate::accepted) from->lose(packet);
      }
      for (const FrameBytes& frame : from->take_frames(now)) {
        busy = true;
        EXPECT_TRUE(to->handle(now, frame));
      }
    }
  }
}

}  // namespace longhaul::transfer
