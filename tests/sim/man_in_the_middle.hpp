// SPDX-License-Identifier: Apache-2.0
// Somebody on the line between two endpoints, who has no key and sees, holds and says what he
// likes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "lib/base/random.hpp"
#include "lib/io/sim/network.hpp"
#include "lib/wire/packet.hpp"

namespace longhaul::simtest {

using Bytes = std::vector<std::byte>;

enum class Trick : std::uint8_t { drop, edit, delay, replay, inject };
inline constexpr std::size_t kTricks = 5;

/// What he does, and how often.
struct Habits {
  double rate = 0;  ///< of the packets that pass, how many give him an idea
  std::array<std::uint32_t, kTricks> weights{};  ///< of each trick among his ideas
  Duration delay_max = std::chrono::milliseconds(50);
  double strangers = 0;     ///< share of what he injects that claims another source address
  std::uint32_t burst = 1;  ///< how much he says at most when he has an idea
};

/// One end as seen from the line.
struct LineEnd {
  sim::HostId host;
  SocketAddress address;
};

/// He is the network's filter for as long as he lives, and everything he does follows from one
/// seed and from what passes.
class ManInTheMiddle {
 public:
  ManInTheMiddle(sim::Network& network, const LineEnd& client, const LineEnd& server,
                 std::uint64_t seed, const Habits& habits);
  ~ManInTheMiddle();
  ManInTheMiddle(const ManInTheMiddle&) = delete;
  ManInTheMiddle& operator=(const ManInTheMiddle&) = delete;

  /// When something he holds back is to go on; kNever if he holds nothing.
  Timestamp next_release() const noexcept;
  void release_due(Timestamp now);
  /// From now on everything passes; what he holds back is gone.
  void rest();

  struct Counts {
    std::uint64_t passed = 0;  ///< what the ends sent
    std::array<std::uint64_t, kTricks> tricks{};
  };
  const Counts& counts() const noexcept { return counts_; }

 private:
  enum Side : std::size_t { client_side = 0, server_side = 1 };
  struct Seen {
    Side to{};
    Bytes bytes;
  };

  sim::Verdict on_packet(const sim::FilterView& view);
  sim::Verdict play(Trick trick, Timestamp now, const Seen& seen);
  void record(const Seen& seen);
  void put(Side to, std::span<const std::byte> bytes);
  Bytes edited(const Bytes& original);
  void say_something(const Seen& passing);
  Bytes forged(Side to);
  Bytes forged_short(Side to);
  Bytes forged_long(Side to);
  Bytes random_bytes(std::size_t size);
  std::size_t write_lies(std::span<std::byte> out);
  const Seen& any_recorded();

  sim::Network& network_;
  std::array<LineEnd, 2> ends_;
  base::Random random_;
  Habits habits_;
  bool resting_ = false;
  bool own_ = false;  // what enters the line now is his
  Counts counts_;
  std::vector<Seen> handshakes_;  // the first ones, for ever
  std::vector<Seen> recent_;      // a ring
  std::size_t next_recent_ = 0;
  std::array<std::optional<wire::ShortHeader>, 2> last_short_{};  // by whom it goes to
  std::array<std::optional<wire::LongPeek>, 2> last_long_{};
  std::multimap<Timestamp, Seen> held_;
  Timestamp words_since_{};
  std::uint32_t words_ = 0;  // said since
};

}  // namespace longhaul::simtest
