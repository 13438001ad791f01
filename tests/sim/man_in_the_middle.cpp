// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/man_in_the_middle.hpp"

#include <algorithm>

#include "lib/wire/frame.hpp"
#include "tests/fuzz/integrity.hpp"

namespace longhaul::simtest {
namespace {

constexpr std::size_t kHandshakesKept = 64;
constexpr std::size_t kRecentKept = 256;
constexpr std::size_t kHeldMax = 512;
constexpr std::size_t kEditsMax = 8;
// What he says is answered, and each answer passes him: without a bound he would only hear himself.
constexpr std::uint32_t kWordsMax = 100;
constexpr Duration kWordsWithin = std::chrono::milliseconds(10);
constexpr std::array kStrangers{40001, 40002, 5201};

}  // namespace

ManInTheMiddle::ManInTheMiddle(sim::Network& network, const LineEnd& client, const LineEnd& server,
                               std::uint64_t seed, const Habits& habits)
    : network_(network), ends_{client, server}, random_(seed), habits_(habits) {
  network_.set_filter([this](const sim::FilterView& view) { return on_packet(view); });
}

ManInTheMiddle::~ManInTheMiddle() {
  network_.set_filter({});
}

void ManInTheMiddle::rest() {
  resting_ = true;
  held_.clear();
}

Timestamp ManInTheMiddle::next_release() const noexcept {
  return held_.empty() ? kNever : held_.begin()->first;
}

void ManInTheMiddle::release_due(Timestamp now) {
  while (!held_.empty() && held_.begin()->first <= now) {
    const auto node = held_.extract(held_.begin());
    put(node.mapped().to, node.mapped().bytes);
  }
}

sim::Verdict ManInTheMiddle::on_packet(const sim::FilterView& view) {
  if (own_ || resting_ || view.head.empty()) return sim::Verdict::pass;
  ++counts_.passed;
  const Side to = view.to == ends_[client_side].host ? client_side : server_side;
  const Seen seen{to, Bytes(view.head.begin(), view.head.end())};
  record(seen);
  if (!random_.chance(habits_.rate)) return sim::Verdict::pass;
  std::uint64_t all = 0;
  for (const std::uint32_t weight : habits_.weights) all += weight;
  std::uint64_t drawn = random_.below(std::max<std::uint64_t>(all, 1));
  for (std::size_t i = 0; i < kTricks; ++i) {
    if (drawn >= habits_.weights[i]) {
      drawn -= habits_.weights[i];
      continue;
    }
    ++counts_.tricks[i];
    return play(static_cast<Trick>(i), view.now, seen);
  }
  return sim::Verdict::pass;
}

sim::Verdict ManInTheMiddle::play(Trick trick, Timestamp now, const Seen& seen) {
  switch (trick) {
    case Trick::drop:
      return sim::Verdict::drop;
    case Trick::edit:
      put(seen.to, edited(seen.bytes));
      return sim::Verdict::drop;
    case Trick::delay:
      if (held_.size() < kHeldMax) {
        const auto most = static_cast<std::uint64_t>(habits_.delay_max.count());
        held_.emplace(now + Duration(1 + random_.below(most)), seen);
      }
      return sim::Verdict::drop;
    case Trick::replay: {
      const Seen& old = any_recorded();
      put(old.to, old.bytes);
      // Some come back much later.
      if (held_.size() < kHeldMax && random_.chance(0.2))
        held_.emplace(now + std::chrono::milliseconds(random_.below(5000)), old);
      return sim::Verdict::pass;
    }
    case Trick::inject:
      for (std::uint64_t i = 1 + random_.below(habits_.burst); i > 0; --i) say_something(seen);
      return sim::Verdict::pass;
  }
  return sim::Verdict::pass;
}

// What he makes of the packet that passes arrives before it.
void ManInTheMiddle::say_something(const Seen& passing) {
  const std::uint64_t kind = random_.below(10);
  if (kind < 3) return put(passing.to, edited(passing.bytes));
  if (kind < 5) {
    const Seen& old = any_recorded();
    return put(old.to, edited(old.bytes));
  }
  const Side to = random_.chance(0.5) ? client_side : server_side;
  put(to, forged(to));
}

void ManInTheMiddle::record(const Seen& seen) {
  if (wire::is_long(seen.bytes[0])) {
    last_long_[seen.to] = wire::peek_long(seen.bytes);
    if (handshakes_.size() < kHandshakesKept) handshakes_.push_back(seen);
  } else if (const auto header = wire::read_short_header(seen.bytes)) {
    last_short_[seen.to] = header;
  }
  if (recent_.size() < kRecentKept)
    recent_.push_back(seen);
  else
    recent_[next_recent_++ % kRecentKept] = seen;
}

const ManInTheMiddle::Seen& ManInTheMiddle::any_recorded() {
  const bool handshake = !handshakes_.empty() && random_.chance(0.3);
  const auto& from = handshake ? handshakes_ : recent_;
  return from[random_.below(from.size())];
}

void ManInTheMiddle::put(Side to, std::span<const std::byte> bytes) {
  if (network_.now() - words_since_ > kWordsWithin) {
    words_since_ = network_.now();
    words_ = 0;
  }
  if (bytes.empty() || ++words_ > kWordsMax) return;
  SocketAddress from = ends_[1 - to].address;
  if (random_.chance(habits_.strangers)) {
    from.port = static_cast<std::uint16_t>(kStrangers[random_.below(kStrangers.size())]);
    if (random_.chance(0.5)) from.bytes[3] = 77;
  }
  own_ = true;
  network_.inject(from, ends_[to].address, bytes);
  own_ = false;
}

Bytes ManInTheMiddle::random_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random_.next());
  return bytes;
}

// Heads are what decides: half the edits go there.
Bytes ManInTheMiddle::edited(const Bytes& original) {
  Bytes bytes = original;
  for (std::size_t edits = 1 + random_.below(kEditsMax); edits > 0; --edits) {
    const std::size_t within =
        random_.chance(0.5) ? std::min<std::size_t>(bytes.size(), 64) : bytes.size();
    bytes[random_.below(within)] ^= static_cast<std::byte>(1 + random_.below(255));
  }
  if (random_.chance(0.1)) bytes.resize(1 + random_.below(bytes.size() + 20));
  if (wire::is_long(bytes[0]) && random_.chance(0.75)) fuzz::make_integrity_right(bytes);
  return bytes;
}

Bytes ManInTheMiddle::forged(Side to) {
  const std::uint64_t kind = random_.below(10);
  if (kind < 2) return random_bytes(1 + random_.below(1400));
  return kind < 6 ? forged_short(to) : forged_long(to);
}

// The right connection ID in front of nonsense, numbers near those in use, and resets.
Bytes ManInTheMiddle::forged_short(Side to) {
  Bytes bytes = random_bytes(wire::kResetDatagramMin + random_.below(1400));
  // A reset names the sender's ID of the connection: what the other side is addressed by.
  const bool reset = random_.chance(0.25);
  const auto& last = last_short_[reset ? 1 - to : to];
  wire::ShortHeader header = last.value_or(wire::ShortHeader{});
  if (reset) {
    wire::write_reset(header.connection_id, {}, bytes);
    for (std::size_t i = bytes.size() - wire::kResetTokenBytes; i < bytes.size(); ++i)
      bytes[i] = static_cast<std::byte>(random_.next());
    return bytes;
  }
  constexpr std::array kTypes{wire::PacketType::source, wire::PacketType::repair,
                              wire::PacketType::control, wire::PacketType::digest};
  header.type = kTypes[random_.below(kTypes.size())];
  header.key_phase = static_cast<std::uint8_t>(random_.below(4));
  header.packet_number += static_cast<std::uint32_t>(random_.below(1000));
  if (random_.chance(0.1)) header.packet_number = static_cast<std::uint32_t>(random_.next());
  if (random_.chance(0.2)) header.space = static_cast<std::uint16_t>(random_.below(8));
  wire::write_short_header(header, bytes);
  return bytes;
}

std::size_t ManInTheMiddle::write_lies(std::span<std::byte> out) {
  const auto put_frame = [&](const wire::Frame& frame) { return wire::write_frame(frame, out); };
  switch (random_.below(4)) {
    case 0:
      return put_frame(
          wire::ConnectionClose{static_cast<std::uint16_t>(random_.below(7)), 0, "go away"});
    case 1: {
      const Bytes nonsense = random_bytes(1 + random_.below(300));
      const std::uint64_t offset = random_.chance(0.5) ? 0 : random_.below(2000);
      return put_frame(wire::Handshake{offset, random_.below(2000), nonsense});
    }
    case 2: {
      const Bytes nonsense = random_bytes(random_.below(100));
      return put_frame(wire::TransportParametersFrame{nonsense});
    }
    default: {
      const Bytes nonsense = random_bytes(random_.below(out.size()));
      std::ranges::copy(nonsense, out.begin());
      return nonsense.size();
    }
  }
}

// Of every type: refusals, retries, other versions, streams of nonsense.
Bytes ManInTheMiddle::forged_long(Side to) {
  const auto& towards = last_long_[to];
  const auto& from = last_long_[1 - to];
  wire::LongHeader header;
  header.destination_id = from ? from->source_id : 0;
  header.source_id = towards ? towards->source_id : static_cast<std::uint32_t>(random_.next());
  header.attempt = towards ? towards->attempt : from ? from->attempt : random_.next();
  if (random_.chance(0.1)) header.attempt = random_.next();
  header.number = static_cast<std::uint32_t>(random_.below(20));
  Bytes bytes(wire::kInitialDatagramMin + wire::kTokenBytesMax);
  if (to == client_side && random_.chance(0.25)) {
    const std::array versions{static_cast<std::uint32_t>(random_.next()),
                              static_cast<std::uint32_t>(random_.next())};
    bytes.resize(
        wire::write_version_negotiation(header.destination_id, header.attempt, versions, bytes));
    return bytes;
  }
  const bool retry = to == client_side && random_.chance(0.3);
  header.type = to == server_side ? wire::LongType::initial
                : retry           ? wire::LongType::retry
                                  : wire::LongType::accept;
  const Bytes token = random_bytes(retry || random_.chance(0.3) ? random_.below(64) : 0);
  header.token = token;
  std::array<std::byte, 1000> frames{};
  const std::size_t used = retry ? 0 : write_lies(frames);
  bytes.resize(wire::write_long_packet(header, std::span(frames).first(used), bytes));
  if (to == server_side) {
    bytes.resize(wire::kInitialDatagramMin);
    fuzz::make_integrity_right(bytes);
  }
  return bytes;
}

}  // namespace longhaul::simtest
