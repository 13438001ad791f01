// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "longhaul/export.hpp"
#include "longhaul/time.hpp"

namespace longhaul {

/// Why a received datagram was dropped without any other effect.
enum class DropReason : std::uint8_t {
  too_short = 0,
  malformed_header,
  unknown_version,
  unknown_connection,
  failed_integrity,
  duplicate_packet,
  malformed_frame,
  unknown_transfer,
  invalid_token,
  table_full,
  amplification_limit,
  wrong_size,
  kCount,
};
inline constexpr std::size_t kDropReasons = static_cast<std::size_t>(DropReason::kCount);
/// "failed_integrity" …
LONGHAUL_API std::string_view to_string(DropReason reason) noexcept;

/// Counters of one connection since it opened; a plain copy taken on its worker.
struct ConnectionStats {
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t packets_lost = 0;           ///< declared lost by us
  std::uint64_t spurious_losses = 0;        ///< declared lost, later reported as received
  std::uint64_t bytes_sent = 0;             ///< UDP payload
  std::uint64_t bytes_received = 0;         ///< UDP payload
  std::uint64_t tensor_bytes_sent = 0;      ///< first copies
  std::uint64_t tensor_bytes_verified = 0;  ///< received, digest-checked
  std::uint64_t retransmitted_bytes = 0;    ///< tensor bytes sent again
  std::uint64_t repair_bytes = 0;           ///< FEC repair symbols
  std::uint64_t duplicate_bytes = 0;        ///< tensor bytes received more than once
  std::uint64_t pieces_refetched = 0;
  std::uint64_t bytes_in_flight = 0;
  std::uint64_t congestion_window = 0;  ///< bytes
  std::uint64_t pacing_rate_bps = 0;
  std::uint32_t max_datagram = 0;  ///< PLPMTU as UDP payload, bytes
  std::uint32_t mtu_black_holes = 0;
  std::uint32_t migrations = 0;  ///< validated changes of the peer's address
  Duration min_rtt{};
  Duration smoothed_rtt{};
  Duration rtt_variation{};
  Duration reordering_window{};  ///< of the busiest packet-number space
  /// Time with data outstanding, by what held it back.
  Duration limited_by_congestion{};
  Duration limited_by_receiver{};     ///< no posted receive and no eager budget
  Duration limited_by_application{};  ///< nothing to send, or a growing source not ready
  std::string controller;
  /// Who the peer has proven to be: "psk NAME" or "certificate SUBJECT sha256:FINGERPRINT"; empty
  /// with security none, and until the handshake is over.
  std::string peer_identity;
  /// What seals the packets: "aes_128_gcm" or "chacha20_poly1305"; empty as above.
  std::string cipher;
  std::uint64_t key_updates = 0;  ///< keys renewed, of both directions
};

/// Counters of an endpoint, all workers together.
struct EndpointStats {
  std::uint64_t datagrams_sent = 0;
  std::uint64_t datagrams_received = 0;
  std::uint64_t transmit_blocked = 0;  ///< bursts the backend accepted only in part
  std::uint32_t connections = 0;
  std::uint64_t memory_budget_bytes = 0;  ///< what was computed at open
  std::array<std::uint64_t, kDropReasons> dropped{};
  /// What moves the datagrams now: "mmsg", "io_uring" …; empty where the backend has one way only.
  std::string engine;
};

}  // namespace longhaul
