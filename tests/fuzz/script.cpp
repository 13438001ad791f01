// SPDX-License-Identifier: Apache-2.0
// A whole connection: the input is a seed and a list of operations (README.md) of two applications,
// of the network between them, and of somebody on it who can compute a checksum.
#include "tests/fuzz/script.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "lib/base/byte_reader.hpp"
#include "tests/fuzz/frame_maker.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/integrity.hpp"
#include "tests/fuzz/world.hpp"
#include "tests/support/heap.hpp"

namespace longhaul::fuzz {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kOperationsMax = 200;
// Both endpoints' budgets with `eager_budget`, early packets and records of the line, and what the
// harness keeps of the datagrams on it.
constexpr std::uint64_t kHeapMax = 64u << 20;

class Script {
 public:
  Script(World& world, base::ByteReader& input) : world_(world), in_(input) {}

  void play() {
    for (std::size_t i = 0; i < kOperationsMax && in_.remaining() > 0; ++i) step();
  }

 private:
  using Operation = void (Script::*)();

  void step() {
    static constexpr Operation kOperations[] = {
        &Script::wait,        &Script::send,          &Script::receive,      &Script::exchange,
        &Script::cancel,      &Script::ready,         &Script::close,        &Script::connect,
        &Script::drop,        &Script::duplicate,     &Script::delay,        &Script::damage,
        &Script::mark,        &Script::partition,     &Script::rebind,       &Script::replay,
        &Script::garbage,     &Script::forge,         &Script::forge_frames, &Script::forge_body,
        &Script::forge_chunk, &Script::forge_initial, &Script::cut,
    };
    (this->*kOperations[in_.u8() % std::size(kOperations)])();
  }

  Side side() { return in_.u8() & 1; }
  // Half the values are a few packets, the others up to 128 KiB.
  std::size_t size() {
    const std::uint8_t code = in_.u8();
    return code < 128 ? std::size_t{code} * 40 : std::size_t{code} * 512;
  }
  std::span<const std::byte> some_bytes() {
    const std::size_t wanted = in_.u8();
    return in_.bytes(std::min(wanted, in_.remaining()));
  }

  void wait() {
    const std::uint8_t code = in_.u8();
    world_.run(code < 200 ? milliseconds(code / 4) : milliseconds((code - 199) * 50));
  }

  std::optional<Duration> deadline() {
    const std::uint8_t code = in_.u8();
    if (code < 128) return std::nullopt;
    return milliseconds((code - 127) * 10);
  }

  SendOptions send_options(std::size_t bytes) {
    const std::uint8_t code = in_.u8();
    SendOptions options;
    options.traffic_class = static_cast<TrafficClass>(1 + code % 3);
    options.reliability = static_cast<Reliability>(code / 4 % 3);
    options.growing = (code & 0x80) != 0;
    options.deadline = deadline();
    if (options.reliability == Reliability::bounded_loss) {
      options.loss_budget = bytes / 2;
      if (!options.deadline) options.deadline = milliseconds(200);
    }
    return options;
  }

  void send() {
    const Side from = side();
    const std::size_t bytes = size();
    const Tag tag = in_.u8() & 3;
    world_.send(from, tag, bytes, 1 + in_.u8() % 3, send_options(bytes));
  }

  void receive() {
    const Side at = side();
    const std::size_t bytes = size();
    const Tag tag = in_.u8() & 3;
    ReceiveOptions options;
    const std::uint8_t code = in_.u8();
    options.piece_events = (code & 0x80) != 0;
    options.deadline = deadline();
    world_.receive(at, tag, bytes, 1 + code % 3, options);
  }

  void exchange() {
    const Side from = side();
    const std::size_t bytes = size();
    const Tag tag = in_.u8() & 3;
    world_.receive(other(from), tag, bytes, 1, {});
    world_.send(from, tag, bytes, 1, send_options(bytes));
  }

  void cancel() { world_.cancel(in_.u8()); }
  void ready() {
    const std::size_t which = in_.u8();
    world_.ready(which, in_.u8() & 15);
  }
  void close() { world_.close(side()); }
  void connect() { world_.connect(); }

  void drop() { world_.trouble.drop = in_.u8(); }
  void duplicate() { world_.trouble.duplicate = in_.u8(); }
  void mark() { world_.trouble.mark = in_.u8(); }
  void delay() {
    world_.trouble.delay = in_.u8();
    world_.trouble.delay_by = std::chrono::microseconds(in_.u8() * 200);
  }
  void aim() {
    world_.trouble.at = in_.u16();
    world_.trouble.flip = in_.u8() | 1;
  }
  void damage() {
    world_.trouble.damage = in_.u8();
    aim();
  }
  void partition() { world_.partition((in_.u8() & 1) != 0); }
  void rebind() { world_.rebind_client(); }
  void replay() { world_.replay(in_.u8()); }
  void garbage() {
    const Side to = side();
    const auto bytes = some_bytes();
    // What carries no right checksum is noise; a version negotiation carries none.
    world_.inject(to, {bytes.begin(), bytes.end()}, true);
  }

  void forge() {
    world_.trouble.forge = in_.u8() & 7;
    aim();
  }

  void inject_short(Side to, wire::ShortHeader header, std::span<const std::byte> body) {
    const std::size_t head = wire::header_bytes(header.type);
    std::vector<std::byte> packet(head + wire::kCrcBytes + body.size());
    wire::write_short_header(header, packet);
    std::ranges::copy(body, packet.end() - static_cast<std::ptrdiff_t>(body.size()));
    make_integrity_right(packet);
    world_.inject(to, std::move(packet), true);
  }

  // A header as the peer would write it next, or near it.
  std::optional<wire::ShortHeader> header_to(Side to, wire::PacketType type) {
    auto header = world_.last_header(to);
    const std::uint8_t ahead = in_.u8();
    if (!header) return header;
    header->type = type;
    header->packet_number += ahead < 0xf0 ? ahead : std::uint32_t{1} << (2 * (ahead & 15));
    const std::uint8_t space = in_.u8();
    if (space < 8) header->space = space;
    return header;
  }

  void forge_frames() {
    const Side to = side();
    const auto header = header_to(to, wire::PacketType::control);
    std::array<std::byte, 1200> body;
    std::size_t used = 0;
    FrameMaker maker(in_);
    for (std::size_t count = 1 + in_.u8() % 4; count > 0; --count)
      used += wire::write_frame(maker.make(), std::span(body).subspan(used));
    if (header) inject_short(to, *header, std::span(body).first(used));
  }

  void forge_body() {
    const Side to = side();
    const auto header = header_to(to, wire::PacketType::control);
    const auto body = some_bytes();
    if (header) inject_short(to, *header, body);
  }

  void forge_chunk() {
    const Side to = side();
    constexpr std::array kTypes{wire::PacketType::source, wire::PacketType::digest,
                                wire::PacketType::repair};
    auto header = header_to(to, kTypes[in_.u8() % kTypes.size()]);
    FrameMaker maker(in_);
    const auto alias = static_cast<std::uint32_t>(maker.number() & wire::kAliasMax);
    const auto chunk = static_cast<std::uint32_t>(maker.number() & wire::kChunkIndexMax);
    const std::vector<std::byte> body(size() % 1400, std::byte{in_.u8()});
    if (!header) return;
    header->alias = alias;
    header->chunk = chunk;
    header->layout = in_.u8() & 3;
    inject_short(to, *header, body);
  }

  void forge_initial() {
    const Side to = side();
    wire::LongHeader header = world_.last_long(to);
    const std::uint8_t code = in_.u8();
    header.type = static_cast<wire::LongType>(1 + code % 3);
    if ((code & 0x80) != 0) header.attempt += code;
    const auto token = (code & 0x40) != 0 ? some_bytes() : std::span<const std::byte>{};
    header.token = token.first(std::min(token.size(), wire::kTokenBytesMax));
    const auto frames = some_bytes();
    std::vector<std::byte> body(frames.begin(), frames.end());
    body.resize(wire::kInitialDatagramMin);
    std::vector<std::byte> packet(wire::kInitialDatagramMin + 256);
    packet.resize(wire::write_long_packet(header, body, packet));
    world_.inject(to, std::move(packet), true);
  }

  // Everything that came so far no longer disturbs.
  void cut() {
    world_.trouble = {};
    world_.partition(false);
  }

  World& world_;
  base::ByteReader& in_;
};

World::Setup setup(base::ByteReader& input, bool secure) {
  constexpr std::array<std::uint32_t, 4> kMtus{1500, 1280, 9000, 1400};
  World::Setup setup;
  setup.secure = secure;
  setup.seed = input.u8();
  const std::uint8_t code = input.u8();
  setup.cubic = (code & 1) != 0;
  setup.validate_addresses = (code & 2) == 0;
  setup.tight = (code & 4) != 0;
  setup.mtu = kMtus[code >> 3 & 3];
  setup.one_way = std::chrono::microseconds(100 + 500 * (code >> 5));
  return setup;
}

}  // namespace

void play_connection(const std::uint8_t* data, std::size_t size, bool secure) {
  const std::uint64_t before = tests::Heap::live();
  tests::Heap::reset_peak();
  {
    base::ByteReader input(bytes_of(data, size));
    World world(setup(input, secure));
    // Nothing but noise in a set-up is the exception.
    world.connect();
    if (size == 0 || (data[0] & 7) != 0) world.run(milliseconds(200));
    Script(world, input).play();
    world.finish();
  }
  require(tests::Heap::peak() - before < kHeapMax, "memory is bounded");
}

}  // namespace longhaul::fuzz
