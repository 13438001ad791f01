// SPDX-License-Identifier: Apache-2.0
// Included only by lib/connection, lib/endpoint and lib/runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/assert.hpp"
#include "lib/base/datagram.hpp"
#include "lib/connection/acknowledger.hpp"
#include "lib/connection/closing.hpp"
#include "lib/connection/handshake.hpp"
#include "lib/connection/identity.hpp"
#include "lib/connection/liveness.hpp"
#include "lib/connection/packet_counts.hpp"
#include "lib/connection/spaces.hpp"
#include "lib/connection/tail_markers.hpp"
#include "lib/crypto/packet_protection.hpp"
#include "lib/crypto/secret_random.hpp"
#include "lib/path/path.hpp"
#include "lib/path/path_validator.hpp"
#include "lib/recovery/reliable_frames.hpp"
#include "lib/transfer/receivers.hpp"
#include "lib/transfer/senders.hpp"
#include "longhaul/stats.hpp"

namespace longhaul::connection {

/// One connection: joins the duties, owns none of them. Five entry points and the drain contract of
/// lib/endpoint/endpoint.hpp. A broken invariant inside an entry point poisons the connection: its
/// requests end `internal`, the peer is told, the process goes on.
class Connection {
 public:
  Connection(const ConnectionConfig& config, Timestamp now, std::deque<transfer::Event>& events,
             DropCounts& drops);

  // Requests. Precondition of `send` and `receive`: is_open().
  void send(Timestamp now, transfer::SendRequest&& request);
  void receive(Timestamp now, transfer::ReceiveRequest&& request);
  void cancel(Timestamp now, transfer::TransferId id);
  void ready(Timestamp now, transfer::TransferId id, std::uint64_t bytes);
  void close(Timestamp now, std::string_view reason);

  // The five entry points.
  void handle_datagrams(Timestamp now, std::span<base::RxDatagram> burst);
  void handle_timeout(Timestamp now);
  std::size_t poll_transmit(Timestamp now, std::span<base::TxDatagram> slots);
  /// Coalesced notifications; the others go to the shared queue at once.
  bool poll_notification(transfer::Event& event);
  Timestamp next_timeout() const;

  // Long packets and resets, which the endpoint recognises.
  [[nodiscard]] bool handle_initial(Timestamp now, const wire::LongPacket& packet);
  void handle_long_packet(Timestamp now, const wire::LongPacket& packet);
  void handle_version_negotiation(Timestamp now, std::span<const std::uint32_t> versions);
  /// Somebody says that nobody listens at the peer's address. Nothing once established.
  void handle_refusal(Timestamp now, base::Hindrance cause);
  /// Our own system takes no datagram of that size to the peer.
  void handle_too_big(Timestamp now, std::uint32_t size);
  /// Open, but not established yet.
  bool connecting() const noexcept {
    return life_.closing.is_open() && !life_.handshake.confirmed();
  }
  void handle_reset(const wire::ResetToken& token);
  /// Server: for a client that has not got through. Nobody is told; nothing once it has.
  void give_up() noexcept {
    if (!life_.told_connected) life_.closing.finish();
  }

  const ConnectionConfig& config() const noexcept { return config_; }
  std::uint64_t attempt() const noexcept { return life_.handshake.attempt(); }
  std::uint32_t peer_cid() const noexcept { return life_.handshake.peer_cid(); }
  const SocketAddress& remote() const noexcept { return path_.remote(); }
  /// The path's shortest round trip; zero before the first.
  Duration measured_rtt() const noexcept {
    return path_.rtt().has_sample() ? path_.rtt().min() : Duration::zero();
  }
  /// False once it is closing, draining or done: nothing new is taken then.
  bool is_open() const noexcept { return life_.closing.is_open(); }
  bool done() const noexcept { return life_.closing.state() == Closing::State::done; }
  ConnectionStats stats() const;
  void dump(Timestamp now, std::vector<std::string>& lines) const;

 private:
  // What is under way in one call of poll_transmit.
  struct Burst {
    std::span<base::TxDatagram> slots;
    std::size_t used = 0;
    bool full() const noexcept { return used == slots.size(); }
  };
  struct Life {
    Handshake handshake;
    Liveness liveness;
    Closing closing;
    bool told_connected = false;
  };
  struct ControlState {
    recovery::ReliableFrames frames;
    Acknowledger acknowledger;
    TailMarkers markers;
    std::vector<std::uint64_t> path_responses;
    Timestamp last_ping{};
  };

  // connection.cpp
  void on_established(Timestamp now);
  void on_confirmed(Timestamp now);
  void ask_for_answer(Timestamp now);
  void end(Status status, std::string_view reason, ErrorCode error = ErrorCode::closed);
  void end_and_tell(Timestamp now, Status status, wire::CloseCode code, std::string_view reason);
  void check_failures();
  void check_keys(Timestamp now);
  void check_poison(Timestamp now, const base::PoisonScope& scope);
  bool may_speak() const noexcept;

  // connection_receive.cpp
  void handle_short(Timestamp now, const base::RxDatagram& datagram,
                    const wire::ShortHeader& header, std::uint64_t number);
  bool handle_frames(Timestamp now, const SocketAddress& from, std::span<const std::byte> frames,
                     bool& ack_eliciting, bool& ping);
  bool handle_frame(Timestamp now, const SocketAddress& from, const wire::Frame& frame);
  bool handle_ack(Timestamp now, const wire::Ack& ack);
  Duration all_sent_grace() const noexcept;
  void follow_peer(Timestamp now);
  void settle(Timestamp now, TrafficClass c, const recovery::AckOutcome& outcome);
  void settle_lost(Timestamp now, std::span<const recovery::Settled> lost,
                   path::Path::Settlement& sums);
  void apply_mtu_change(Timestamp now);

  // connection_transmit.cpp
  void transmit_handshake(Timestamp now, Burst& burst);
  void transmit_close(Timestamp now, Burst& burst);
  bool transmit_control(Timestamp now, Burst& burst);
  bool transmit_challenge(Timestamp now, Burst& burst);
  void transmit_probe(Timestamp now, Burst& burst);
  void transmit_markers(Timestamp now, Burst& burst);
  void transmit_data(Timestamp now, Burst& burst);
  bool transmit_class(Timestamp now, TrafficClass c, Burst& burst);
  std::size_t begin_packet(base::TxDatagram& slot, wire::PacketType type, TrafficClass c,
                           const transfer::OutgoingChunk* chunk);
  void finish_control(Timestamp now, Burst& burst, TrafficClass c, std::size_t size,
                      recovery::SentPacket packet);
  void finish_chunk(Timestamp now, Burst& burst, TrafficClass c,
                    const transfer::OutgoingChunk& out);
  void note_limit(Timestamp now, Limit limit);
  std::uint32_t payload_max() const noexcept;
  bool has_window() const noexcept;
  Duration pacing_horizon() const noexcept;
  Timestamp marker_due(TrafficClass c) const noexcept;
  recovery::RepeatTiming repeat_timing() const noexcept;
  recovery::AckTiming ack_timing() const noexcept;
  Duration probe_interval_max() const noexcept;
  Duration answer_patience() const noexcept;

  ConnectionConfig config_;
  crypto::SecretRandom random_;
  Life life_;
  path::Path path_;
  path::PathValidator validator_;
  Spaces spaces_;
  std::unique_ptr<crypto::PacketProtection> protection_;
  ControlState control_;
  transfer::Senders senders_;
  transfer::Receivers receivers_;
  PacketCounts counts_;
  Shared shared_;
};

}  // namespace longhaul::connection
