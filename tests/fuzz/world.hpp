// SPDX-License-Identifier: Apache-2.0
// Two endpoints on a line in memory that an input may disturb in every way, and what has to be
// true of them all the same.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/endpoint/endpoint.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::fuzz {

using endpoint::ConnectionId;
using endpoint::TransferId;

/// 0 is the client, 1 the server.
using Side = std::size_t;
constexpr Side other(Side side) noexcept {
  return 1 - side;
}

struct Parcel {
  SocketAddress from;
  SocketAddress to;
  std::vector<std::byte> bytes;
  base::Ecn ecn = base::Ecn::not_ect;
};

/// What happens to the datagrams that leave next, one each in turn.
struct Trouble {
  std::uint32_t drop = 0;
  std::uint32_t duplicate = 0;
  std::uint32_t mark = 0;  ///< congestion experienced
  std::uint32_t delay = 0;
  Duration delay_by{0};
  std::uint32_t damage = 0;  ///< one byte changes; the checksum stays
  std::uint32_t forge = 0;   ///< one byte changes and the checksum is made right
  std::uint16_t at = 0;      ///< which byte, modulo the size
  std::uint8_t flip = 1;     ///< xor
};

/// One send or receive, from the call to its one terminal event.
struct Posted {
  Side side = 0;
  bool is_send = false;
  ConnectionId connection = 0;
  std::uint32_t epoch = 0;  ///< of the pair of connections
  Tag tag = 0;
  std::optional<std::uint64_t> n{};  ///< none = rejected at once
  std::vector<std::byte> bytes{};
  bool growing = false;
  std::optional<Status> status{};
};

class World {
 public:
  struct Setup {
    std::uint64_t seed = 1;
    Duration one_way = std::chrono::milliseconds(5);
    bool cubic = false;
    bool validate_addresses = true;
    bool tight = false;  ///< hardly any budget for transfers
    std::uint32_t mtu = 1500;
    bool secure = false;  ///< both ends hold a key, and nothing can be forged
  };
  explicit World(const Setup& setup);

  // What the application does.
  void connect();
  void send(Side side, Tag tag, std::size_t bytes, std::size_t parts, const SendOptions& options);
  void receive(Side side, Tag tag, std::size_t bytes, std::size_t parts,
               const ReceiveOptions& options);
  void cancel(std::size_t which);
  void ready(std::size_t which, std::uint64_t share);
  void close(Side side);

  // What the network and an attacker on it do.
  Trouble trouble{};
  void partition(bool on) {
    partitioned_ = on;
    harmed_ = harmed_ || on;
  }
  void rebind_client();
  /// Puts a datagram on the line; what an honest network cannot do makes the run a forged one.
  void inject(Side to, std::vector<std::byte> bytes, bool forged);
  void replay(std::size_t which);
  /// Header of the last short packet to that side; none before there was one.
  std::optional<wire::ShortHeader> last_header(Side to) const { return last_header_[to]; }
  const wire::LongHeader& last_long(Side to) const { return last_long_[to]; }

  /// Inputs and outputs until nothing happens before `time` has passed.
  void run(Duration time);
  /// A line that works again, long enough for everything that can end to end; then both close.
  /// Every promise of DESIGN §5 that holds for all inputs is checked here.
  void finish();

 private:
  struct Peer {
    SocketAddress address;
    std::unique_ptr<endpoint::Endpoint> endpoint;
    ConnectionId connection = 0;  ///< 0 = none is open
  };
  struct Pairing {
    Tag tag;
    Side sender;
    friend auto operator<=>(const Pairing&, const Pairing&) = default;
  };

  EndpointConfig config(const Setup& setup) const;
  void post(Posted&& posted, std::size_t parts, const SendOptions& send,
            const ReceiveOptions& receive);
  void drain(Side side);
  void leave(const base::TxDatagram& slot, Side from);
  void disturb(Parcel& parcel);
  void deliver(Parcel& parcel);
  void take_events(Side side);
  void on_connection(Side side, const endpoint::ConnectionEvent& event);
  void on_end(const endpoint::TransferEvent& event);
  void check_bytes(const Posted& receive, const endpoint::TransferEvent& event) const;
  std::uint64_t content_seed(const Posted& posted) const;
  bool matched_have_ended() const;
  void check_pairs() const;
  template <typename Visit>
  void for_each_pair(Visit visit) const;

  Duration one_way_;
  bool partitioned_ = false;
  Timestamp now_ = Timestamp{} + std::chrono::hours(1);
  std::array<Peer, 2> peers_;
  std::multimap<Timestamp, Parcel> under_way_;
  std::vector<Parcel> seen_;  ///< for replays
  std::map<TransferId, Posted> posted_;
  std::map<std::pair<Side, Pairing>, std::uint64_t> next_n_;  ///< of this epoch
  std::array<std::optional<wire::ShortHeader>, 2> last_header_{};
  std::array<wire::LongHeader, 2> last_long_{};
  std::vector<std::vector<std::byte>> heads_;
  std::vector<base::TxDatagram> slots_;
  TransferId next_id_ = 1;
  std::uint32_t epoch_ = 0;
  std::uint32_t incoming_ = 0;  ///< of this epoch
  bool secure_;
  bool forged_ = false;
  bool harmed_ = false;  ///< somebody closed, or did more to the line than to speak on it
  bool broken_ = false;  ///< a connection of this epoch ended, or who is whose is not known
};

}  // namespace longhaul::fuzz
