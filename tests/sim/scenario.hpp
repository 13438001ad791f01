// SPDX-License-Identifier: Apache-2.0
// A scenario as data: topology, faults, workload, expectation (DESIGN §12). Tables of them stand
// in scenarios/; runner.hpp plays one, checks.hpp compares.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "tests/sim/world.hpp"

namespace longhaul::simtest {

inline constexpr std::uint64_t kMiB = 1u << 20;
inline constexpr std::uint64_t kSame = std::numeric_limits<std::uint64_t>::max();

/// Client to server, or server to client.
enum class Way : std::uint8_t { there, back };

/// `count` equal transfers of one tag, and how each has to end. Times count from the scenario's
/// start.
struct Load {
  Way way = Way::there;
  Tag tag = 1;
  std::uint64_t bytes = 32 * kMiB;
  std::uint32_t count = 1;
  Dtype dtype = Dtype::u8;
  std::uint32_t parts = 1;  ///< more than one: a list of tensors of nearly equal size
  SendOptions send{};
  ReceiveOptions receive{};
  Duration send_at{0};
  std::optional<Duration> receive_at{};  ///< none = 1.2 RTT before the start
  bool posted = true;                    ///< false: nobody ever receives it
  bool sent = true;                      ///< false: nobody ever sends it
  std::uint64_t receive_bytes = kSame;   ///< size of the posted receive
  std::optional<Dtype> receive_dtype{};  ///< none = the sender's
  std::optional<Shape> receive_shape{};  ///< none = one dimension
  Duration grow_over{0};                 ///< a growing source becomes ready in steps over this
  Status sender = Status::completed;     ///< how the send has to end
  Status receiver = Status::completed;   ///< how the receive has to end
};

/// Something that happens at a moment after the start.
struct Change {
  enum class What : std::uint8_t {
    line,             ///< the line and its faults are these from now on
    suspend_server,   ///< the server's process stops …
    resume_server,    ///< … and goes on
    rebind_client,    ///< the client's address and port change, as behind a NAT
    rebind_port,      ///< only the port
    cancel_sends,     ///< the client cancels what it sends
    cancel_receives,  ///< the server cancels what it receives
    close_client,     ///< the client closes the connection
    close_server,     ///< the server does
    inject_garbage,   ///< 10,000 garbage datagrams a second to the server, until the end
  };
  Duration at{};
  What what = What::line;
  Line line{};                   ///< `line` only
  netmodel::LinkConfig there{};  ///< `line` only: faults
  netmodel::LinkConfig back{};
};

/// A line that returns: what has to be true then.
struct Resume {
  Duration down_at{};
  Duration up_at{};
  Duration first_byte_within{};  ///< of `up_at`, at the receiver
  Duration rate_within{};        ///< of `up_at`: nine tenths of the old rate
};

struct Expectation {
  double completion_max = 0;      ///< of the last receive, in T* of all bytes one way; 0 = any
  Duration completion_extra{0};   ///< added to that bound: for what T* does not know
  double packets_max = 0;         ///< client's packets in N of all bytes one way; 0 = any
  double retransmitted_max = -1;  ///< share of the tensor bytes; negative = any
  double goodput_min = 0;         ///< of the undisturbed run; 0 = any
  Duration all_ended_by{0};       ///< every request has its status then; 0 = `limit`
  std::optional<Resume> resume{};
  std::uint32_t max_datagram = 0;  ///< PLPMTU at the end is at most 16 bytes below it; 0 = any
  std::optional<std::uint32_t> black_holes{};
  std::uint32_t migrations_min = 0;     ///< seen by the server
  Duration limited_by_receiver_min{0};  ///< in the client's account of its time
  std::optional<DropReason> dropped{};  ///< the server counted drops of this reason
};

/// What the second run, which must give the same trace, is.
enum class Modes : std::uint8_t {
  bytes_and_reference,
  bytes_twice,
  reference_twice,  ///< bytes are not compared; for sizes no memory holds
};

struct Scenario {
  std::string_view name{};
  Line line{};
  netmodel::LinkConfig there{};  ///< faults; rate, propagation and MTU come from `line`
  netmodel::LinkConfig back{};   ///< down-times count from the start
  bool connect_under_faults = false;
  std::string_view controller = "fixed";
  std::uint32_t interface_mtu = 9000;
  std::uint32_t mtu_base = 1280;
  Duration peer_timeout = std::chrono::seconds(2);
  Duration heartbeat{0};
  Modes modes = Modes::bytes_and_reference;
  std::uint64_t seed = 1;
  Duration settle = std::chrono::milliseconds(1500);  ///< for the MTU search, before the start
  Duration limit = std::chrono::seconds(120);
  std::vector<Load> loads{};
  std::vector<Change> changes{};
  Expectation expect{};
  /// Every configured fault has to strike at least once.
  bool faults_strike = true;
  /// Canary only: damages one received byte before the comparison.
  bool sabotage = false;
};

/// How GoogleTest names a row.
inline void PrintTo(const Scenario& scenario, std::ostream* out) {
  *out << scenario.name;
}

using Table = std::vector<Scenario>;

}  // namespace longhaul::simtest
