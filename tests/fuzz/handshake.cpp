// SPDX-License-Identifier: Apache-2.0
// Set-up with a pre-shared key: a client, a server for each of its attempts, and an input that
// loses, edits and invents long packets between them.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "lib/base/byte_reader.hpp"
#include "lib/connection/handshake.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/integrity.hpp"
#include "tests/support/heap.hpp"
#include "tests/support/seeded_source.hpp"

namespace longhaul::fuzz {
namespace {

using connection::Handshake;
using connection::Role;
using std::chrono::milliseconds;

using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kClientId = 11;
constexpr std::uint32_t kServerId = 22;
constexpr std::size_t kOperationsMax = 100;
constexpr std::size_t kServersMax = 32;
// What two conversations and a few hundred packets take.
constexpr std::uint64_t kHeapMax = 32u << 20;

std::shared_ptr<crypto::Credentials> key(unsigned char fill) {
  crypto::PskKey key;
  key.identity = "fuzz";
  std::ranges::fill(key.secret.writable(), std::byte{fill});
  return crypto::Credentials::from_psk(key).value();
}

class Line {
 public:
  explicit Line(base::ByteReader& input)
      : in_(input),
        same_key_((in_.u8() & 7) != 7),
        client_config_(config(Role::client, 7)),
        server_config_(config(Role::server, same_key_ ? 7 : 8)),
        client_(client_config_, random_, now_) {}

  void play() {
    drain();
    for (std::size_t i = 0; i < kOperationsMax && in_.remaining() > 0; ++i) {
      step();
      drain();
    }
    settle();
    check();
  }

 private:
  connection::ConnectionConfig config(Role role, unsigned char fill) {
    connection::ConnectionConfig result;
    result.role = role;
    result.own_cid = role == Role::client ? kClientId : kServerId;
    result.peer_cid = role == Role::client ? 0 : kClientId;
    result.attempt = 99;
    result.connect_timeout = std::chrono::seconds(10);
    result.endpoint = &endpoint_;
    result.address_validated = true;
    result.credentials = key(fill);
    return result;
  }

  void step() {
    switch (in_.u8() % 9) {
      case 0:
        return deliver();
      case 1:
        return deliver();
      case 2:
        if (!queue_.empty()) queue_.pop_front();
        return;
      case 3:
        if (!queue_.empty()) {
          queue_.push_back(queue_.front());
          queue_.pop_front();
        }
        return;
      case 4:
        if (!queue_.empty() && queue_.size() < 200) queue_.push_back(queue_.front());
        return;
      case 5:
        return edit();
      case 6:
        return invent();
      case 7:
        return run(milliseconds(in_.u8() * 4));
      default:
        return say_otherwise();
    }
  }

  void drain() {
    // As the connection does: what failed is gone.
    std::erase_if(servers_, [](const auto& entry) { return entry.second->failure().has_value(); });
    std::array<std::byte, 2000> buffer;
    std::size_t written = 0;
    while (const std::size_t size = client_.write(now_, buffer)) {
      require(++written < 100, "a client falls silent within a moment");
      queue_.push_back({Role::server, Bytes(buffer.begin(), buffer.begin() + size)});
    }
    for (auto& [attempt, server] : servers_) {
      while (const std::size_t size = server->write(now_, buffer)) {
        require(++written < 1000, "a server falls silent within a moment");
        queue_.push_back({Role::client, Bytes(buffer.begin(), buffer.begin() + size)});
      }
    }
    require(client_.next_timeout() > now_, "a drained client wants nothing more at this moment");
  }

  void deliver() {
    if (queue_.empty()) return;
    const Parcel parcel = std::move(queue_.front());
    queue_.pop_front();
    wire::LongError error{};
    const auto packet = wire::read_long_packet(parcel.bytes, error);
    if (!packet) return;
    if (parcel.to == Role::client) {
      client_.on_long_packet(now_, *packet);
      note(client_, client_secrets_);
      return;
    }
    if (packet->header.type != wire::LongType::initial) return;
    auto found = servers_.find(packet->header.attempt);
    if (found == servers_.end()) {
      if (servers_.size() == kServersMax || !connection::begins_tls(packet->frames)) return;
      auto made = server_config_;
      made.attempt = packet->header.attempt;
      made.peer_cid = packet->header.source_id;
      found =
          servers_.emplace(made.attempt, std::make_unique<Handshake>(made, random_, now_)).first;
    }
    (void)found->second->on_initial(now_, *packet);
    note(*found->second, server_secrets_);
  }

  // Whoever wants them takes them at once: TLS is gone some time later.
  using Secrets = std::map<std::uint64_t, crypto::TrafficSecrets>;
  static void note(const Handshake& handshake, Secrets& secrets) {
    if (handshake.established() && !secrets.contains(handshake.attempt()))
      secrets.emplace(handshake.attempt(), handshake.secrets());
  }

  void edit() {
    if (queue_.empty()) return;
    Bytes& bytes = queue_.front().bytes;
    const std::size_t at = in_.u16() % bytes.size();
    bytes[at] ^= static_cast<std::byte>(in_.u8() | 1);
    make_integrity_right(bytes);
  }

  // Frames the input makes up, in a packet that fits the conversation.
  void invent() {
    const std::uint8_t code = in_.u8();
    const Role to = (code & 1) != 0 ? Role::client : Role::server;
    wire::LongHeader header;
    header.type = to == Role::server ? wire::LongType::initial
                  : (code & 2) != 0  ? wire::LongType::retry
                                     : wire::LongType::accept;
    header.destination_id = to == Role::client ? kClientId : 0;
    header.source_id = to == Role::client ? kServerId : kClientId;
    header.attempt = client_.attempt();
    const std::size_t wanted = in_.u8();
    const auto body = in_.bytes(std::min(wanted, in_.remaining()));
    if (header.type == wire::LongType::retry)
      header.token = body.first(std::min(body.size(), wire::kTokenBytesMax));
    std::array<std::byte, 600> frames{};
    std::size_t used = 0;
    if ((code & 4) != 0) {
      const std::uint64_t offset = (code & 8) != 0 ? in_.u16() : 0;
      used = wire::write_frame(wire::Handshake{offset, in_.u16(), body}, frames);
    } else {
      std::ranges::copy(body, frames.begin());
      used = body.size();
    }
    Bytes bytes(1400);
    bytes.resize(wire::write_long_packet(header, std::span(frames).first(used), bytes));
    if (!bytes.empty()) queue_.push_front({to, std::move(bytes)});
  }

  void say_otherwise() {
    constexpr std::array kOthers{1u, 2u};
    const unsigned what = in_.u8();
    if ((what & 1) != 0)
      client_.on_refusal(now_, static_cast<base::Hindrance>((what >> 1) % 3));
    else
      client_.on_version_negotiation(now_, kOthers);
  }

  void run(Duration time) {
    const Timestamp end = now_ + time;
    for (std::size_t wakeups = 0; now_ < end; ++wakeups) {
      require(wakeups < 5000, "set-up does not spin");
      Timestamp next = std::min(end, client_.next_timeout());
      for (const auto& [attempt, server] : servers_) next = std::min(next, server->next_timeout());
      now_ = std::max(now_ + Duration(1), next);
      client_.handle_timeout(now_);
      for (const auto& [attempt, server] : servers_) server->handle_timeout(now_);
      drain();
    }
  }

  // An honest line from here on, with one of time's steps a delivery.
  void settle() {
    for (int i = 0; i < 8000 && !client_.failure() && !both(); ++i) {
      while (!queue_.empty()) {
        deliver();
        drain();
      }
      run(milliseconds(5));
    }
  }

  Handshake* partner() {
    const auto found = servers_.find(client_.attempt());
    return found == servers_.end() ? nullptr : found->second.get();
  }
  bool both() { return client_.established() && partner() && partner()->established(); }

  void check() {
    require(client_.failure() || both() || client_.established(),
            "set-up ends, one way or another");
    require(same_key_ || !client_.established(), "nobody is believed without the key");
    for (const auto& [attempt, server] : servers_)
      require(same_key_ || !server->established(), "nobody is let in without the key");
    if (!both()) return;
    const auto same = [](const crypto::Secret& a, const crypto::Secret& b) {
      return std::ranges::equal(a.bytes(), b.bytes());
    };
    const crypto::TrafficSecrets& client = client_secrets_.at(client_.attempt());
    const crypto::TrafficSecrets& server = server_secrets_.at(client_.attempt());
    require(same(client.send, server.receive) && same(client.receive, server.send),
            "both ends of an attempt have the same keys");
    require(client_.peer_cid() == kServerId && partner()->peer_cid() == kClientId,
            "both know what the other is addressed by");
  }

  struct Parcel {
    Role to{};
    Bytes bytes;
  };

  base::ByteReader& in_;
  EndpointConfig endpoint_;
  Timestamp now_ = Timestamp{} + std::chrono::hours(1);
  bool same_key_;
  connection::ConnectionConfig client_config_;
  connection::ConnectionConfig server_config_;
  tests::SeededSource random_{99};
  Handshake client_;
  std::map<std::uint64_t, std::unique_ptr<Handshake>> servers_;
  std::deque<Parcel> queue_;
  Secrets client_secrets_;
  Secrets server_secrets_;
};

}  // namespace
}  // namespace longhaul::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace longhaul;
  const std::uint64_t before = tests::Heap::live();
  tests::Heap::reset_peak();
  {
    base::ByteReader input(fuzz::bytes_of(data, size));
    fuzz::Line(input).play();
  }
  fuzz::require(tests::Heap::peak() - before < fuzz::kHeapMax, "memory is bounded");
  return 0;
}
